//! `hopwatch lab handover`.

use super::args::Common;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Handover {
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) async fn run(args: Handover) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet: {args:?}")
}
