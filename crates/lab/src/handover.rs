//! The study `handover` (SEEDS S4): a large message from a producer to consumers on one host, moved,
//! shared, copied, through DDS inside one process, through its shared memory, through loopback, lent,
//! and through iceoryx2.
//!
//! * [`Plan`], [`Condition`] and [`Run`]: what is measured, and what a run of probes said.
//! * [`route`]: which way the bytes really went, by evidence.
//! * [`copies`]: how many copies were made, by the addresses of buffers.

mod condition;
pub mod copies;
mod figures;
mod meaning;
pub mod route;
#[cfg(test)]
mod tests;
mod text;

pub use condition::{Condition, Look, Way};
pub use figures::{BurstFigures, ConditionFigures, Contrast, Figures};

use crate::OfRun;
use crate::study::{Raw, Study, StudyReport};
use serde::{Deserialize, Serialize};

/// The study.
#[derive(Debug)]
pub struct Handover;

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Each of them once a round.
    pub conditions: Vec<Condition>,
    /// Rounds.
    pub rounds: u32,
    /// Bytes of a message, without what a middleware adds.
    pub bytes: u64,
    /// Messages of a run, those before that warm it up apart.
    pub messages: u32,
    /// Messages before those.
    pub warm_up: u32,
    /// Messages a second, where they are paced.
    pub rate_hz: f64,
    /// How long a slow consumer takes over each message, where they come in a burst, in ms.
    pub slow_ms: u32,
    /// Whether its processes are in a network namespace of the study's own.
    pub apart: bool,
    /// A run of the pipeline to lay it beside.
    pub of_run: Option<OfRun>,
}

/// What a run gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Its round, from 1.
    pub round: u32,
    /// What was measured.
    pub condition: Condition,
    /// What the producer said.
    pub gave: Gave,
    /// What each consumer said.
    pub took: Vec<Took>,
    /// What the one said that looks on from outside.
    pub watcher: Option<Took>,
}

/// What a producer says at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gave {
    /// Messages handed over, those that warm up apart.
    pub sent: u64,
    /// How long each handing over kept the producer, in ns.
    pub handed_ns: Vec<i64>,
    /// What its process spent on the processors meanwhile, in ns. In one process, everybody's.
    pub cpu_ns: i64,
    /// Bytes that came over the loopback interface meanwhile, whosever they were.
    pub loopback_bytes: u64,
    /// Where each message lay; of runs for addresses.
    pub buffers: Vec<Buffer>,
    /// Shared memory that its process has.
    pub maps: Vec<Mapped>,
    /// Whether its middleware lends messages; none: it wasn't asked to.
    pub lends: Option<bool>,
}

/// What a consumer says at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Took {
    /// From handing over until the consumer has the message, of each one, in ns.
    pub latency_ns: Vec<i64>,
    /// From handing over until the consumer has read all of it, in ns.
    pub read_ns: Vec<i64>,
    /// Messages that did not hold what they should.
    pub wrong: u64,
    /// What its process spent on the processors, in ns; 0 in the producer's process.
    pub cpu_ns: i64,
    /// Where each message lay; of runs for addresses.
    pub buffers: Vec<Buffer>,
    /// Shared memory that its process has.
    pub maps: Vec<Mapped>,
    /// Whether its middleware lends messages; none: it wasn't asked to.
    pub lends: Option<bool>,
}

/// Where the bytes of a message lay.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Buffer {
    /// The message.
    pub number: u64,
    /// The file that the memory is of, by device and inode; empty: memory of the process alone.
    pub file: String,
    /// The place in that file, or the address in the process.
    pub at: u64,
}

/// A file of shared memory that a process has in its memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mapped {
    /// Its name in /dev/shm.
    pub name: String,
    /// Its device and inode: of two files with one name only one is shared.
    pub file: String,
}

impl Study for Handover {
    type Plan = Plan;
    type Run = Run;
    const NAME: &'static str = "handover";

    fn report(raw: &Raw<Plan, Run>) -> StudyReport {
        let figures = Figures::of(raw);
        StudyReport {
            document: text::document(raw, &figures),
            decided: figures.decided,
            figures: serde_json::to_value(&figures).unwrap_or_default(),
        }
    }
}
