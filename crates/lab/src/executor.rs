//! The study `executor` (SEEDS S3): a fast loop beside a heavy callback, in one node.
//!
//! Two callbacks in mutually exclusive groups: a timer that records when it is called, and a
//! subscription that works hard. Whether the loop holds its rate is a matter of the language and the
//! executor, and here it is measured.

mod figures;
mod meaning;
#[cfg(test)]
mod tests;
mod text;

pub use figures::{ConditionFigures, Contrast, Figures, Pace, RunFigures, Wait, WelchFigures};

use crate::OfRun;
use crate::study::{Language, Raw, Study, StudyReport};
use serde::{Deserialize, Serialize};

/// The study.
#[derive(Debug)]
pub struct Executor;

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Each of them once a round.
    pub conditions: Vec<Condition>,
    /// Rounds.
    pub rounds: u32,
    /// Sines that a scan costs.
    pub heavy: u64,
    /// The loop's period, in ms.
    pub period_ms: u32,
    /// How long the loop goes on, in ms.
    pub for_ms: u32,
    /// How much of that is start-up, in ms: told apart.
    pub start_up_ms: u32,
    /// Scans a second.
    pub scans_hz: u32,
    /// A run of the pipeline to lay it beside.
    pub of_run: Option<OfRun>,
}

/// Where the heavy work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// In the callback, on the executor's threads.
    Threads,
    /// In another process, for which the callback waits.
    Process,
    /// In the callback, by numpy.
    Numpy,
}

/// One node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Condition {
    /// In what it is written: a spin thread and a pool of workers, or the multi-threaded executor of
    /// rclcpp or rclpy.
    pub language: Language,
    /// Where its heavy work is done.
    pub work: Work,
    /// Threads of its executor, or of its pool of workers.
    pub threads: u32,
}

impl Condition {
    /// What it is, without its threads.
    pub const fn kind(&self) -> &'static str {
        match (self.language, self.work) {
            (Language::Rust, _) => "Rust",
            (Language::Cpp, _) => "C++",
            (Language::Python, Work::Threads) => "rclpy",
            (Language::Python, Work::Process) => "rclpy, work in a process",
            (Language::Python, Work::Numpy) => "rclpy, work in NumPy",
        }
    }

    /// Its name in the report.
    pub fn name(&self) -> String {
        format!("{}, {} threads", self.kind(), self.threads)
    }
}

/// What a run gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Its round, from 1.
    pub round: u32,
    /// What was measured.
    pub condition: Condition,
    /// What the node said.
    pub node: Node,
    /// Scans that were published while the laser ran.
    pub scans: u64,
}

/// What a node says at its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// When each turn of the loop was, in ns after the first.
    pub turns_ns: Vec<i64>,
    /// How long each heavy callback took that ended, in ns.
    pub heavy_ns: Vec<i64>,
    /// What each thread did: turns of the loop, heavy callbacks.
    pub callbacks: Vec<[u64; 2]>,
    /// Scans taken.
    pub taken: u64,
}

impl Study for Executor {
    type Plan = Plan;
    type Run = Run;
    const NAME: &'static str = "executor";

    fn report(raw: &Raw<Plan, Run>) -> StudyReport {
        let figures = Figures::of(&raw.plan, &raw.runs, raw.seed);
        StudyReport {
            document: text::document(raw, &figures),
            decided: !figures.conditions.is_empty()
                && figures.conditions.iter().all(|one| one.pace != Pace::Between),
            figures: serde_json::to_value(&figures).unwrap_or_default(),
        }
    }
}
