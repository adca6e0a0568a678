//! Which way bytes really went. Fast DDS takes another way than the one that was asked for without a word,
//! so it is told from what can be seen outside of it: which shared memory both sides have, and what the
//! loopback interface carried.

use super::{Mapped, Run, Took, Way};
use crate::Language;
use crate::ratio::count;
use serde::Serialize;

/// A way for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Inside one process.
    Process,
    /// Fast DDS' transport by shared memory: copied in, copied out.
    SharedMemory,
    /// Fast DDS' data sharing: the reader reads where the writer wrote.
    DataSharing,
    /// The loopback interface.
    Loopback,
    /// iceoryx2's memory.
    Iceoryx2,
    /// The evidence doesn't tell.
    Unclear,
}

impl Route {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Process => "inside the process",
            Self::SharedMemory => "shared memory",
            Self::DataSharing => "data sharing",
            Self::Loopback => "UDP on loopback",
            Self::Iceoryx2 => "iceoryx2's memory",
            Self::Unclear => "unclear",
        }
    }
}

/// Of what was sent, loopback carried at most so much when it carried something else: heartbeats,
/// discovery, other programs.
const LITTLE: f64 = 0.1;
/// It carried at least so much when it carried the messages.
const MOST: f64 = 0.9;

/// What discovery and heartbeats may put on loopback in a run, in bytes.
const BESIDE: u64 = 65_536;

/// The way of a run, and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The way.
    pub route: Route,
    /// Bytes on loopback ÷ bytes that consumers were to get.
    pub loopback_share: f64,
    /// Kinds of shared memory that the producer has together with each of the consumers.
    pub together: Vec<&'static str>,
}

impl Evidence {
    /// Of a run of messages of this size.
    pub fn of(run: &Run, bytes: u64) -> Self {
        let each = count(run.gave.sent) * count(bytes);
        let due = run.took.iter().map(|_| each).sum::<f64>();
        let carried = count(run.gave.loopback_bytes.saturating_sub(BESIDE));
        let loopback_share = if due > 0.0 { carried / due } else { 0.0 };
        let kinds: Vec<Vec<&'static str>> =
            run.took.iter().map(|took| together(&run.gave.maps, took)).collect();
        let all = |kind: &&'static str| kinds.iter().all(|kinds| kinds.contains(kind));
        let together: Vec<&'static str> =
            KINDS.map(|(_, kind, _)| kind).into_iter().filter(|kind| all(kind)).collect();
        let within = |way| matches!(way, Way::Moved | Way::Shared | Way::Copied | Way::CopiedOnce);
        let route = if run.condition.language == Language::Rust && within(run.condition.way) {
            // There is nothing else that it could take.
            Route::Process
        } else if due <= 0.0 || (loopback_share > LITTLE && loopback_share < MOST) {
            Route::Unclear
        } else if loopback_share >= MOST {
            Route::Loopback
        } else if run.condition.way == Way::OneProcess && !together.is_empty() {
            // It had shared memory to go through as well.
            Route::Unclear
        } else if run.condition.is_in_process() {
            Route::Process
        } else {
            let found = KINDS.iter().find(|(_, kind, _)| together.contains(kind));
            found.map_or(Route::Unclear, |(_, _, route)| *route)
        };
        Self { route, loopback_share, together }
    }
}

/// How files of a kind are named, what they are, and which way they stand for; the closest first: who
/// shares data has a segment for the rest, too.
const KINDS: [(&str, &str, Route); 3] = [
    ("fast_datasharing", "data sharing", Route::DataSharing),
    ("fastrtps_", "Fast DDS segment", Route::SharedMemory),
    ("iox2_", "iceoryx2 segment", Route::Iceoryx2),
];
/// Ports are lists of who has something to say, not what is said.
const PORTS: &str = "fastrtps_port";

fn together(given: &[Mapped], took: &Took) -> Vec<&'static str> {
    KINDS
        .iter()
        .filter(|(begins, _, _)| {
            took.maps.iter().any(|one| {
                one.name.starts_with(begins)
                    && !one.name.starts_with(PORTS)
                    && given.iter().any(|other| other == one)
            })
        })
        .map(|(_, kind, _)| *kind)
        .collect()
}
