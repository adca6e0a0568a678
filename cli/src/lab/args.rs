//! The command line of `hopwatch lab`.

use super::executor::Executor;
use super::handover::Handover;
use super::shapes::Shapes;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// A study.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// What a message costs by its shape: arrays of structures against primitive arrays
    Shapes(Box<Shapes>),
    /// A 100 Hz loop beside a heavy callback: Rust, Python, C++, few threads and many
    Executor(Box<Executor>),
    /// A large message to consumers on one host: moved, shared, copied, DDS, shared memory, iceoryx2
    Handover(Box<Handover>),
}

/// What all studies take.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Folder for study.json, report.json, report.md, report.html and the probes' logs
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The published sizes and rounds, instead of those that take a few minutes
    #[arg(long)]
    pub(crate) full: bool,
    /// Rounds; each has every condition once, in an order of its own
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: Option<u32>,
    /// What the orders are drawn from, to have the same again
    #[arg(long)]
    seed: Option<u64>,
}

impl Common {
    /// The seed that was given, or one by chance: of 32 bits, for people copy it.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()))
    }
}
