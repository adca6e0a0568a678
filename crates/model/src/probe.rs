//! Shadow probes: what another link would cost on this very path, now.

use crate::clock::Ns;
use crate::outcome::{Failure, Stage};
use serde::{Deserialize, Serialize};

/// One request over one link to a service's echo handler, with the body of a message.
///
/// Each round has one probe of every enabled link to every service, in random order, so that two
/// links are compared within seconds of each other and at one pace. Times are of the gateway's
/// clock, but the service's own time, which is of the service's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The start of the gateway that sent it: the source of the record. Each counts its own rounds.
    #[serde(skip)]
    pub gateway: String,
    /// The round, from 1.
    pub round: u64,
    /// The service.
    pub stage: Stage,
    /// The link, by name.
    pub link: String,
    /// Whether messages go over this link, too.
    pub is_current: bool,
    /// Probes a second, of all links and services together.
    pub rate_hz: f64,
    /// Size of the body, in bytes.
    pub body_bytes: u64,
    /// Opening a connection, when one had to be opened.
    pub connect_ns: Ns,
    /// From when the request was first sent until the whole reply was there, or it failed.
    pub round_trip_ns: Ns,
    /// The service's own time, within the round trip.
    pub served_ns: Ns,
    /// How often the request was sent again.
    pub retries: u32,
    /// Why there was no reply, if there was none.
    pub failure: Option<Failure>,
}

impl Probe {
    /// All that the link costs: the connection, and the round trip without the service's own
    /// time. `None` when there was no reply.
    pub fn cost_ns(&self) -> Option<Ns> {
        let under_way = self.round_trip_ns.saturating_sub(self.served_ns);
        self.failure.is_none().then(|| self.connect_ns.saturating_add(under_way))
    }
}
