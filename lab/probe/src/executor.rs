//! Processes of `hopwatch lab executor`.

use clap::Args;

/// A 100 Hz loop beside a heavy callback, by language and threads
#[derive(Debug, Args)]
pub struct Executor {}

/// Measures.
///
/// # Errors
/// When ROS fails.
pub fn run(_args: &Executor) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
