//! Processes of `hopwatch lab handover`.

use clap::Args;

/// A large message handed over on one host: moved, shared, copied, by DDS
#[derive(Debug, Args)]
pub struct Handover {}

/// Measures.
///
/// # Errors
/// When ROS fails.
pub fn run(_args: &Handover) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
