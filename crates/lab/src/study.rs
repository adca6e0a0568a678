//! What all studies share: the file with what was measured, and the report made of it.

use crate::document::Document;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema of study.json and of a study's report.json.
pub const SCHEMA: &str = "hopwatch.lab/1";

/// In what a probe is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Hopwatch's own nodes.
    Rust,
    /// rclcpp.
    Cpp,
    /// rclpy.
    Python,
}

/// A study: a plan, runs of probes, and a report of what they said.
pub trait Study {
    /// What was to be done.
    type Plan: Serialize + DeserializeOwned;
    /// What one run of a probe said.
    type Run: Serialize + DeserializeOwned;
    /// Its name on the command line.
    const NAME: &'static str;

    /// The report. The same input gives the same report.
    fn report(raw: &Raw<Self::Plan, Self::Run>) -> StudyReport;
}

/// study.json: everything that was measured, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Raw<Plan, Run> {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`Study::NAME`].
    pub study: String,
    /// When it began, as RFC 3339.
    pub began: String,
    /// What the order of runs was drawn from.
    pub seed: u64,
    /// Whether all runs of the plan are in.
    pub complete: bool,
    /// What describes the machine and its ROS.
    pub environment: BTreeMap<String, String>,
    /// What was to be done.
    pub plan: Plan,
    /// What was not done, and why.
    pub skipped: Vec<Skipped>,
    /// The runs, in the order in which they were made.
    pub runs: Vec<Run>,
    /// What was found beside after each run.
    pub housekeeping: Vec<Housekeeping>,
}

/// A condition that could not be measured here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The condition.
    pub what: String,
    /// Why, and what to do.
    pub why: String,
}

/// What a run left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Housekeeping {
    /// The run.
    pub run: String,
    /// Files of Fast DDS in /dev/shm after it, of all programs of this machine.
    pub segments: u64,
    /// Those of them that nobody has any more.
    pub orphans: u64,
    /// Processes of the run that had to be killed.
    pub killed: u64,
}

/// What a study comes to.
#[derive(Clone, Debug)]
pub struct StudyReport {
    /// The figures, as they stand in report.json.
    pub figures: Value,
    /// The document for people.
    pub document: Document,
    /// Whether what was asked could be answered; else the exit code says inconclusive.
    pub decided: bool,
}
