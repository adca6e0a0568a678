//! Processes of `hopwatch lab executor`: the node with its loop and its heavy callback, and the
//! laser that gives it work. The protocol stands in `cli/src/lab/executor.rs`.

mod messages;
mod node;
mod pool;
mod scans;

use clap::{Args, ValueEnum};
use hopwatch_tap::{Qos, Reliability};

/// The QoS of both topics on both sides: BEST_EFFORT, VOLATILE, KEEP_LAST 5 (`SensorDataQoS`).
const QOS: Qos = Qos { reliability: Reliability::BestEffort, depth: 5, ..Qos::RELIABLE };
/// Where the laser publishes.
const SCAN: &str = "/scan";
/// Where the loop publishes.
const COMMANDS: &str = "/cmd_vel";

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// The node under test
    Node,
    /// The laser
    Scans,
}

/// A fast loop beside a heavy callback
#[derive(Debug, Args)]
pub struct Executor {
    /// What this process is
    #[arg(long, value_enum)]
    role: Role,
    /// Threads of the worker pool
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Where the heavy work is done; a program without an interpreter does it in its threads
    #[arg(long, default_value = "threads", value_parser = ["threads"])]
    work: String,
    /// Sines that a scan costs
    #[arg(long, default_value_t = 5_000_000)]
    heavy: u64,
    /// Period of the loop, in ms
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    period_ms: u32,
    /// How long the loop goes on from its first turn, in ms; the laser: from its start
    #[arg(long, default_value_t = 6000, value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    for_ms: u32,
    /// Scans a second
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate_hz: u32,
}

/// Does it.
///
/// # Errors
/// When ROS fails, or nobody reads what is said.
pub fn run(args: &Executor) -> anyhow::Result<()> {
    match args.role {
        Role::Node => node::run(args),
        Role::Scans => scans::run(args),
    }
}
