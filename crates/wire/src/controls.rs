//! What can be set while a pipeline runs, from the live page or by anyone with the token.
//!
//! | where | what |
//! |---|---|
//! | AI service `/v1/settings` | [`AiSettings`] |
//! | robots `/v1/settings` | [`RobotSettings`] |
//! | `hopwatch` `/v1/settings` | [`NetworkSettings`], where it made a network |
//! | collector `POST /v1/mark` | [`Mark`] |
//! | collector `POST /v1/measured` | [`MeasureRequest`] |
//!
//! `GET` of a `/v1/settings` tells how it stands; `PUT` sets it and tells how it stands then. A value
//! out of its range is refused with 400 and a sentence, and nothing is changed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Where the page finds what it may set: ports on the host that it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Controls {
    /// The AI service's; `null`: it isn't ours.
    pub ai_port: Option<u16>,
    /// The simulated robots'; `null`: there are none.
    pub robots_port: Option<u16>,
    /// `hopwatch`'s, where it can make a network lose packets.
    pub network_port: Option<u16>,
    /// Whether the token must be shown. On loopback it need not.
    pub token_needed: bool,
}

/// What the simulated AI service does from the next request on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AiSettings {
    /// Model time in ms, the median; 0 to an hour.
    pub model_ms: f64,
}

/// What the simulated robots do from the next message on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct RobotSettings {
    /// Messages a second of each robot on each topic.
    pub rate_hz: f64,
    /// Bytes of filler in each message.
    #[ts(type = "number")]
    pub payload_bytes: u32,
}

/// What the network between the namespaces does to packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct NetworkSettings {
    /// The share of packets that is lost, 0 to 1.
    pub loss: f64,
}

/// An event that the user marks: "door opened".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// What happened, 1 to 200 characters.
    pub text: String,
}

/// Begins or ends a measured run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct MeasureRequest {
    /// Which of the two.
    pub action: MeasureAction,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MeasureAction {
    /// A run begins with the next message taken.
    Start,
    /// It ends, and its report is written.
    Stop,
}
