//! `hopwatch lab shapes`.

use super::args::Common;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Shapes {
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) async fn run(args: Shapes) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet: {args:?}")
}
