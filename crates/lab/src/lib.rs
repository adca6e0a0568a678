//! The studies of `hopwatch lab`: where the time goes *before* the network, in the message's shape,
//! in the executor, in copies.
//!
//! Probes (`lab/probe`, `lab/python`, `lab/cpp`) measure and tell raw values; `cli` runs them in
//! rounds and keeps what they said in study.json; this crate makes figures, claims and a document of
//! it. Pure: the same study.json gives the same report, byte for byte.

mod aside;
mod document;
pub mod executor;
pub mod handover;
mod markdown;
mod of_run;
mod ratio;
pub mod shapes;
mod study;
mod words;

pub use document::{Block, Document, Mark, Section, Strip, Strips};
pub use of_run::{LaneOfRun, OfRun};
pub use ratio::{Ratio, Spread};
pub use study::{Housekeeping, Language, Raw, SCHEMA, Skipped, Study, StudyReport};
