//! Exchanges with a clock responder: hosts that see no traffic of the pipeline's own.

use crate::clock::{ClockId, Ns};

/// One question to `hopwatch respond` on another host, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerExchange {
    /// The address that was asked.
    pub peer: String,
    /// Robots that are said to run on that host; others are known by their census' clock.
    pub robots: Vec<String>,
    /// The gateway's clock.
    pub near: ClockId,
    /// The responder's monotonic clock.
    pub far: ClockId,
    /// Near clock: the question leaves.
    pub near_sent: Ns,
    /// Far clock, monotonic and wall: it is there.
    pub far_received: (Ns, Ns),
    /// Far clock, monotonic and wall: the answer leaves.
    pub far_sent: (Ns, Ns),
    /// Near clock: the answer is there.
    pub near_received: Ns,
}
