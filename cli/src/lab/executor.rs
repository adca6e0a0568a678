//! `hopwatch lab executor`.

use super::args::Common;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Executor {
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) async fn run(args: Executor) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet: {args:?}")
}
