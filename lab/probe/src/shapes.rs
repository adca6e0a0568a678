//! Processes of `hopwatch lab shapes`.

use clap::Args;

/// What a message costs by its shape: arrays of structures against primitive arrays
#[derive(Debug, Args)]
pub struct Shapes {}

/// Measures.
///
/// # Errors
/// When ROS fails.
pub fn run(_args: &Shapes) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
