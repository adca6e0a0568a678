//! What is to be measured, and what a run gave.

use super::shape::{Given, Shape, ShapeError};
use super::values::Compared;
use crate::OfRun;
use hopwatch_rosmsg::{Schema, SchemaError, TypeName, TypeNameError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// What is to be looked at and measured. With it alone the static part can be done again: it holds
/// the definitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The texts of all definitions, by the types' names.
    pub definitions: BTreeMap<String, String>,
    /// The messages.
    pub messages: Vec<Message>,
    /// How often each is published, in Hz.
    pub rate_hz: f64,
    /// What is measured; none: nothing, all is told of the definitions.
    pub measuring: Option<Measuring>,
    /// The run of the pipeline that it is laid beside.
    pub run: Option<OfRun>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its type.
    #[serde(rename = "type")]
    pub of: String,
    /// The lengths that were given.
    pub lengths: Given,
    /// The type that it is a split of.
    pub split_of: Option<String>,
}

/// How it is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measuring {
    /// Iterations of a run at most, behind those of warm-up.
    pub iterations: u32,
    /// Iterations at the begin that are in no figure.
    pub warm_up: u32,
    /// How long a run's iterations may take in all, in ms.
    pub within_ms: u32,
    /// How long is published at the rate, in ms.
    pub paced_ms: u32,
    /// Lengths N that sizes are asked at beside.
    pub sizes: Vec<u64>,
    /// Rounds.
    pub rounds: u32,
}

/// A way to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Rust by r2r: typed messages.
    Rust,
    /// Rust by raw bytes.
    RustRaw,
    /// Python by rclpy.
    Python,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rust, Self::RustRaw, Self::Python];

    /// Its name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust (r2r)",
            Self::RustRaw => "Rust (raw bytes)",
            Self::Python => "Python (rclpy)",
        }
    }
}

/// One run: a publisher and two subscribers, each a fresh process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Its round, from 1.
    pub round: u32,
    /// How it was published and taken.
    pub way: Way,
    /// The message's type.
    #[serde(rename = "type")]
    pub of: String,
    /// The steps alone, without subscribers.
    pub bench: Bench,
    /// Its bytes beside those that are due.
    pub compared: Compared,
    /// The same at the rate, with subscribers.
    pub paced: Paced,
    /// The subscriber that takes bytes.
    pub raw: Taken,
    /// The subscriber that takes messages.
    pub typed: Taken,
}

/// What a publisher said of the steps, in ns, in the order of the iterations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bench {
    /// Bytes of the message serialized.
    pub bytes: u64,
    /// To make the message of plain values.
    pub construct_ns: Vec<i64>,
    /// To make bytes of it; empty where making it is making bytes.
    pub serialize_ns: Vec<i64>,
    /// To publish it.
    pub publish_ns: Vec<i64>,
    /// To make a message of bytes.
    pub deserialize_ns: Vec<i64>,
    /// How often what came back was compared, warm-up included.
    pub round_trips: u64,
    /// Sizes at other lengths: N and bytes.
    pub sizes: Vec<(u64, u64)>,
}

/// What a publisher said of publishing at the rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paced {
    /// How many were due.
    pub due: u64,
    /// How many were sent.
    pub sent: u64,
    /// To make each anew.
    pub build_ns: Vec<i64>,
    /// To publish each.
    pub publish_ns: Vec<i64>,
    /// How late each publish began.
    pub late_ns: Vec<i64>,
    /// From the first due time to the end of the last publish.
    pub took_ns: i64,
}

/// What a subscriber said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// How many it got.
    pub received: u64,
    /// When, on the monotonic clock.
    pub at_ns: Vec<i64>,
    /// Bytes of the last one, of a subscriber to bytes.
    pub bytes: Option<u64>,
}

/// A step that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Values → message.
    Construct,
    /// Message → bytes.
    Serialize,
    /// Publishing, without subscribers.
    Publish,
    /// Bytes → message.
    Deserialize,
    /// Making each message anew at the rate.
    PacedBuild,
    /// Publishing at the rate, with subscribers.
    PacedPublish,
}

/// All steps.
pub const STEPS: [Step; 6] = [
    Step::Construct,
    Step::Serialize,
    Step::Publish,
    Step::Deserialize,
    Step::PacedBuild,
    Step::PacedPublish,
];

/// Something for each step.
pub type Steps<T> = BTreeMap<Step, T>;

impl Step {
    /// Its name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Construct => "construct",
            Self::Serialize => "serialize",
            Self::Publish => "publish",
            Self::Deserialize => "deserialize",
            Self::PacedBuild => "construct at the rate",
            Self::PacedPublish => "publish at the rate",
        }
    }
}

impl Run {
    /// A step's samples, in ns.
    pub fn samples(&self, step: Step) -> &[i64] {
        match step {
            Step::Construct => &self.bench.construct_ns,
            Step::Serialize => &self.bench.serialize_ns,
            Step::Publish => &self.bench.publish_ns,
            Step::Deserialize => &self.bench.deserialize_ns,
            Step::PacedBuild => &self.paced.build_ns,
            Step::PacedPublish => &self.paced.publish_ns,
        }
    }
}

/// What a plan can't be read for.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A type's name.
    #[error(transparent)]
    Name(#[from] TypeNameError),
    /// A definition.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A length.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A run of something that isn't planned.
    #[error("a run is of {0}, which the plan has not")]
    Unplanned(String),
}

impl Plan {
    /// A type's schema, from the plan's own definitions.
    ///
    /// # Errors
    /// When the plan lacks one, or it can't be read.
    pub fn schema(&self, of: &str) -> Result<Schema, PlanError> {
        let name: TypeName = of.parse()?;
        let schema = Schema::load(&name, |of| {
            let text = self.definitions.get(&of.to_string()).cloned();
            text.ok_or_else(|| format!("{of} is not among the plan's definitions"))
        })?;
        Ok(schema)
    }

    /// A message's schema and shape.
    ///
    /// # Errors
    /// When its definition or a length can't be.
    pub fn shape(&self, message: &Message) -> Result<(Schema, Shape), PlanError> {
        let schema = self.schema(&message.of)?;
        let shape = Shape::new(&schema, &message.lengths)?;
        Ok((schema, shape))
    }

    /// The pairs of a message and its split.
    pub fn pairs(&self) -> impl Iterator<Item = (&Message, &Message)> {
        self.messages.iter().filter_map(|split| {
            let of = split.split_of.as_ref()?;
            let array = self.messages.iter().find(|message| message.of == *of)?;
            Some((array, split))
        })
    }
}
