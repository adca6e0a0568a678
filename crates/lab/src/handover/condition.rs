//! What is compared.

use super::copies::Due;
use super::route::Route;
use crate::Language;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// How a message gets from the producer to its consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// In one process: the producer gives its message away, each consumer wants one of its own.
    Moved,
    /// In one process: the producer gives its message away, consumers read it together.
    Shared,
    /// In one process: the producer keeps its message, each consumer wants one of its own.
    Copied,
    /// In one process: the producer keeps its message, consumers read one copy together.
    CopiedOnce,
    /// Through DDS inside one process.
    OneProcess,
    /// Through DDS between processes, by its shared memory, as it comes.
    SharedMemory,
    /// The same with segments of shared memory that hold several messages.
    LargeSegment,
    /// By shared memory, where the producer has none: nobody says so.
    FallBack,
    /// Through DDS between processes, by UDP on the loopback interface.
    Loopback,
    /// A message that the middleware lends, with the settings as they come.
    Loan,
    /// The same with data sharing and lent messages turned on.
    LoanDataSharing,
    /// iceoryx2.
    Iceoryx2,
}

/// What a run is for: none of them can be had together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// Times and processors, paced.
    Times,
    /// Losses: all at once, to slow consumers, through a queue of this depth.
    Burst {
        /// Messages that may wait.
        depth: u32,
    },
    /// Addresses of buffers.
    Addresses {
        /// Whether blocks of the same size are taken in between, so that no freed block comes back:
        /// they cost time, so times aren't told.
        decoys: bool,
    },
}

/// One of those that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Condition {
    /// In what producer and consumers are written.
    pub language: Language,
    /// How messages get over.
    pub way: Way,
    /// Consumers.
    pub consumers: u32,
    /// Whether messages are kept for consumers that come later (TRANSIENT_LOCAL).
    pub kept: bool,
    /// Whether one more looks on from outside, through DDS.
    pub watched: bool,
    /// Whether it is the control: the same as another condition, once more.
    pub control: bool,
    /// What the run is for.
    pub look: Look,
}

impl Condition {
    /// The plainest of a way: Rust, paced, one consumer.
    pub const fn new(way: Way, consumers: u32) -> Self {
        Self {
            language: Language::Rust,
            way,
            consumers,
            kept: false,
            watched: false,
            control: false,
            look: Look::Times,
        }
    }

    /// Its name in the report.
    pub fn name(&self) -> String {
        let mut name = match (self.language, self.way) {
            (Language::Cpp, Way::Moved) => "rclcpp, unique_ptr to unique_ptr".to_owned(),
            (Language::Cpp, Way::Shared) => "rclcpp, unique_ptr to shared_ptr".to_owned(),
            (Language::Cpp, Way::Copied) => "rclcpp, const& to unique_ptr".to_owned(),
            (Language::Cpp, Way::CopiedOnce) => "rclcpp, const& to shared_ptr".to_owned(),
            (Language::Cpp, Way::OneProcess) => "rclcpp, intra-process off".to_owned(),
            (_, Way::Moved) => "moved".to_owned(),
            (_, Way::Shared) => "shared (Arc)".to_owned(),
            (_, Way::Copied) => "copied for each".to_owned(),
            (_, Way::CopiedOnce) => "copied once, shared".to_owned(),
            (_, Way::OneProcess) => "DDS in one process".to_owned(),
            (_, Way::SharedMemory) => "DDS, shared memory".to_owned(),
            (_, Way::LargeSegment) => "DDS, shared memory, large segment".to_owned(),
            (_, Way::FallBack) => "DDS, shared memory on one side only".to_owned(),
            (_, Way::Loopback) => "DDS, UDP".to_owned(),
            (_, Way::Loan) => "DDS, lent, as it comes".to_owned(),
            (_, Way::LoanDataSharing) => "DDS, lent, data sharing".to_owned(),
            (_, Way::Iceoryx2) => "iceoryx2".to_owned(),
        };
        if self.consumers != 1 {
            let _infallible = write!(name, ", {} consumers", self.consumers);
        }
        if self.kept {
            name.push_str(", kept for late ones");
        }
        if self.watched {
            name.push_str(", watched from outside");
        }
        if self.control {
            name.push_str(", once more");
        }
        match self.look {
            Look::Times => {}
            Look::Burst { depth } => {
                let _infallible = write!(name, ", burst, depth {depth}");
            }
            Look::Addresses { decoys: true } => name.push_str(", addresses"),
            Look::Addresses { decoys: false } => name.push_str(", addresses without decoys"),
        }
        name
    }

    /// Whether producer and consumers are in one process.
    pub const fn is_in_process(&self) -> bool {
        matches!(
            self.way,
            Way::Moved | Way::Shared | Way::Copied | Way::CopiedOnce | Way::OneProcess
        )
    }

    /// Which way was asked for.
    pub const fn asked(&self) -> Route {
        match self.way {
            Way::Moved | Way::Shared | Way::Copied | Way::CopiedOnce | Way::OneProcess => {
                Route::Process
            }
            // That nothing is said where it isn't had is what two of them are for.
            Way::SharedMemory | Way::LargeSegment | Way::FallBack => Route::SharedMemory,
            Way::Loan | Way::LoanDataSharing => Route::DataSharing,
            Way::Loopback => Route::Loopback,
            Way::Iceoryx2 => Route::Iceoryx2,
        }
    }

    /// How many copies are due by the rules of the way.
    pub fn due(&self) -> Due {
        let n = self.consumers as usize;
        match self.way {
            // One of the owners can have the producer's own. What is kept is one more, that no consumer has.
            Way::Moved => Due::Exactly(n.saturating_sub(1)),
            Way::Shared | Way::LoanDataSharing | Way::Iceoryx2 => Due::Exactly(0),
            Way::Copied => Due::Exactly(n),
            Way::CopiedOnce => Due::Exactly(1),
            // What a middleware copies on its way has no address that a user sees.
            Way::OneProcess
            | Way::SharedMemory
            | Way::LargeSegment
            | Way::FallBack
            | Way::Loopback
            | Way::Loan => Due::AtLeast(n),
        }
    }
}
