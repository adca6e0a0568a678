//! The words of Hopwatch as types: clocks and stamps, hops and legs, traces and their outcomes.
//!
//! Everything here is plain data. Nothing reads a clock, a file or the environment; the crate
//! knows no other crate of Hopwatch. What the words mean stands in `docs/glossary.md`.

pub mod census;
pub mod clock;
pub mod hop;
pub mod lane;
pub mod ledger;
pub mod outcome;
pub mod peer;
pub mod probe;
pub mod trace;

pub use census::Census;
pub use clock::{ClockId, DifferentClocks, Ns, Stamp};
pub use hop::{Class, Hop, Leg};
pub use ledger::{BroadcasterCounters, ClientCounters, GatewayCounters, Ledger, PublishedSource};
pub use outcome::{Failure, Outcome, Stage};
pub use peer::PeerExchange;
pub use probe::Probe;
pub use trace::{ClientTrace, IMPOSSIBLE_TIMING, PublisherId, REORDERED, Stamps, Trace, TraceId};
