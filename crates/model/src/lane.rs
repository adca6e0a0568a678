//! Lanes as they are written: `best-effort,link=http1-fresh`, several with `;` between.
//!
//! A lane is one condition under measurement. The gateway and the robots read the same text, and
//! [`resolve`] makes the same of it on both sides: names, topics, depths.

mod resolve;

pub use resolve::{Lane, Outlet, absolute, outlets, resolve, turn};

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Whether lost messages of a lane's topic are sent again: S1's two settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneQos {
    /// BEST_EFFORT: they stay lost.
    #[default]
    BestEffort,
    /// RELIABLE: they are, while the publisher still has them.
    Reliable,
}

impl LaneQos {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "best-effort",
            Self::Reliable => "reliable",
        }
    }

    /// The history depth that goes with it (SEEDS S1).
    pub const fn depth(self) -> u32 {
        match self {
            Self::BestEffort => 1,
            Self::Reliable => 10,
        }
    }

    fn of(word: &str) -> Option<Self> {
        match word {
            "best-effort" | "best_effort" => Some(Self::BestEffort),
            "reliable" => Some(Self::Reliable),
            _ => None,
        }
    }
}

/// One lane as it is written: words with commas between, in any order.
///
/// `[name=NAME,][qos=]best-effort|reliable[,depth=N][,link=LINK][,topic=/T][,payload=BYTES]`; the
/// name of a QoS or of a link may stand for itself. What isn't written is left to [`resolve`].
/// Which links there are is the gateway's to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneSpec {
    /// Its name in reports.
    pub name: Option<String>,
    /// The QoS of its topic; BEST_EFFORT when it isn't written.
    pub qos: LaneQos,
    /// The history depth on both ends.
    pub depth: Option<u32>,
    /// The link to both services.
    pub link: Option<String>,
    /// The ROS topic.
    pub topic: Option<String>,
    /// The size that simulated robots pad its messages to, in bytes.
    pub payload_bytes: Option<u32>,
}

/// Why a lane can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("lane {lane:?}: {what}")]
pub struct BadLane {
    lane: String,
    what: String,
}

impl BadLane {
    fn new(lane: impl fmt::Display, what: impl Into<String>) -> Self {
        Self { lane: lane.to_string(), what: what.into() }
    }
}

/// A history that is deeper is a slip of the hand.
const DEEPEST: u32 = 1 << 20;
/// The longest name.
const LONGEST_NAME: usize = 64;

impl LaneSpec {
    /// Several, with `;` between. At least one.
    ///
    /// # Errors
    /// When one of them can't be read.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, BadLane> {
        text.split(';').map(str::parse).collect()
    }

    /// The way back from [`LaneSpec::parse_all`].
    pub fn join<'a>(specs: impl IntoIterator<Item = &'a Self>) -> String {
        specs.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(";")
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = |most: u32| {
            let number = value.parse().ok().filter(|number| *number <= most);
            number.ok_or_else(|| format!("{key} is a whole number up to {most}, not {value:?}"))
        };
        match key {
            "name" if !is_name(value) => {
                return Err(format!(
                    "a name is made of letters, digits, '-', '_' and '.', at most {LONGEST_NAME}, \
                     not {value:?}"
                ));
            }
            "name" => self.name = Some(value.to_owned()),
            "qos" => {
                let known = || format!("qos is best-effort or reliable, not {value:?}");
                self.qos = LaneQos::of(value).ok_or_else(known)?;
            }
            "depth" => match number(DEEPEST)? {
                0 => return Err("depth is at least 1".to_owned()),
                depth => self.depth = Some(depth),
            },
            "link" => self.link = Some(value.to_owned()),
            "topic" => self.topic = Some(value.to_owned()),
            "payload" => self.payload_bytes = Some(number(u32::MAX)?),
            _ => {
                return Err(format!(
                    "there is no {key:?}: a lane has name, qos, depth, link, topic and payload"
                ));
            }
        }
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(fits)
}

impl FromStr for LaneSpec {
    type Err = BadLane;

    fn from_str(text: &str) -> Result<Self, BadLane> {
        let mut spec = Self::default();
        let mut written = Vec::new();
        for word in text.split(',').map(str::trim) {
            let (key, value) = match word.split_once('=') {
                Some((key, value)) => (key.trim(), value.trim()),
                None if LaneQos::of(word).is_some() => ("qos", word),
                None => ("link", word),
            };
            if value.is_empty() {
                return Err(BadLane::new(text, "a word is empty"));
            }
            if value.contains(';') {
                return Err(BadLane::new(text, "';' stands between lanes only"));
            }
            if written.contains(&key) {
                let twice = match (key, word.contains('=')) {
                    ("link", false) => format!("two links, if {word:?} is meant as one"),
                    _ => format!("{key} is given twice"),
                };
                return Err(BadLane::new(text, twice));
            }
            spec.set(key, value).map_err(|what| BadLane::new(text, what))?;
            written.push(key);
        }
        Ok(spec)
    }
}

/// Reads back as the same.
impl fmt::Display for LaneSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "name={name},")?;
        }
        f.write_str(self.qos.name())?;
        if let Some(depth) = self.depth {
            write!(f, ",depth={depth}")?;
        }
        if let Some(link) = &self.link {
            write!(f, ",link={link}")?;
        }
        if let Some(topic) = &self.topic {
            write!(f, ",topic={topic}")?;
        }
        if let Some(bytes) = self.payload_bytes {
            write!(f, ",payload={bytes}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
