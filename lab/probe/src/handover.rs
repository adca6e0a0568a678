//! Processes of `hopwatch lab handover`. The protocol stands in `cli/src/lab/handover.rs`.

mod consumer;
mod dds;
mod frame;
mod hub;
mod iceoryx;
mod inside;
mod lent;
mod observe;
mod producer;

use crate::say;
use clap::{Args, ValueEnum};
use hopwatch_lab::handover::{Gave, Took};
use hopwatch_tap::{Durability, Qos};
use serde_json::json;

/// A large message from a producer to consumers on one host
#[derive(Clone, Debug, Args)]
pub struct Handover {
    /// What this process is
    #[arg(long, value_enum)]
    role: Role,
    /// How messages get over
    #[arg(long, value_enum)]
    way: Way,
    /// Bytes of a message, without what a middleware adds
    #[arg(long, default_value_t = 6_220_800, value_parser = clap::value_parser!(u32).range(64..=1_000_000_000))]
    size: u32,
    /// Consumers, for the producer
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    consumers: u32,
    /// Messages that may wait
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// Keep messages for consumers that come later
    #[arg(long)]
    kept: bool,
    /// Let one look on from outside, through DDS
    #[arg(long)]
    watched: bool,
    /// All at once
    #[arg(long)]
    burst: bool,
    /// How long a consumer takes over each message of a burst, in ms
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    slow_ms: u32,
    /// Tell where messages lie
    #[arg(long, value_enum)]
    addresses: Option<Addresses>,
    /// Messages that are told
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    messages: u32,
    /// Messages before, which are not
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1000))]
    warm_up: u32,
    /// Messages a second
    #[arg(long, default_value_t = 30.0)]
    rate_hz: f64,
    /// The topic
    #[arg(long, default_value = "/handover")]
    topic: String,
    /// Whose it is: in a user namespace everybody has the same id
    #[arg(long, default_value_t = 0)]
    user: u32,
    /// When it ends at the latest
    #[arg(long, default_value_t = 60_000)]
    for_ms: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Producer and consumers in one process
    Both,
    /// The producer
    Give,
    /// One consumer
    Take,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Addresses {
    /// With blocks of the same size that are taken and held in between
    Decoys,
    /// As the allocator gives them
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    Moved,
    Shared,
    Copied,
    CopiedOnce,
    Dds,
    Lent,
    Iceoryx2,
}

impl Handover {
    fn qos(&self) -> Qos {
        let durability = if self.kept { Durability::TransientLocal } else { Durability::Volatile };
        Qos { durability, depth: self.depth as usize, ..Qos::RELIABLE }
    }

    /// The number after the last one.
    fn end(&self) -> u64 {
        u64::from(self.warm_up) + u64::from(self.messages)
    }
}

/// Does it.
///
/// # Errors
/// When ROS or iceoryx2 fails, or nobody reads what is said.
pub fn run(args: &Handover) -> anyhow::Result<()> {
    let asked = crate::ending()?;
    match (args.role, args.way) {
        (Role::Both, Way::Dds) => dds::both(args, &asked),
        (Role::Both, Way::Moved | Way::Shared | Way::Copied | Way::CopiedOnce) => {
            inside::both(args, &asked)
        }
        (Role::Give, Way::Dds) => dds::give(args, &asked),
        (Role::Take, Way::Dds) => dds::take(args, &asked),
        (Role::Give, Way::Lent) => lent::give(args, &asked),
        (Role::Take, Way::Lent) => lent::take(args, &asked),
        (Role::Give, Way::Iceoryx2) => iceoryx::give(args, &asked),
        (Role::Take, Way::Iceoryx2) => iceoryx::take(args, &asked),
        (role, way) => anyhow::bail!("{role:?} of {way:?} isn't one process' work"),
    }
}

/// Tells that all is set up.
fn ready() -> anyhow::Result<()> {
    say(&json!({ "ready": true }))
}

/// Tells what was measured.
fn done(gave: Option<&Gave>, took: &[Took]) -> anyhow::Result<()> {
    say(&json!({ "handover": { "gave": gave, "took": took } }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Handover,
    }

    pub(super) fn parsed(words: &[&str]) -> Handover {
        Line::try_parse_from(words).unwrap().args
    }

    #[test]
    fn what_is_no_process_is_refused() {
        let line = |words: &str| Line::try_parse_from(words.split(' ')).map(|line| line.args);
        for bad in ["--size 63", "--consumers 0", "--messages 0", "--depth 0", "--way bus"] {
            assert!(line(&format!("probe --role both --way moved {bad}")).is_err(), "{bad}");
        }
        let error = run(&line("probe --role give --way moved").unwrap()).unwrap_err().to_string();
        assert!(error.contains("isn't one process' work"), "{error}");
    }
}
