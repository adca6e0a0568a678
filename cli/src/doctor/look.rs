//! Looking: what there is on this host, without judging it.

pub(crate) mod host;
pub(crate) mod loss;
pub(crate) mod memory;
pub(crate) mod place;
pub(crate) mod ports;
mod ros;
pub(crate) mod service;

use host::{Clocks, Processors};
use loss::Impairment;
use memory::Memory;
use place::Place;
use ports::Port;
pub(crate) use ros::{Looked, Profiles, Question, Ros, ask};
use service::Service;

/// The kernel's first namespaces have numbers of their own (`include/linux/proc_ns.h`); the first
/// network namespace has none.
const FIRST_TIME: u64 = 4_026_531_834;
const FIRST_PIDS: u64 = 4_026_531_836;
const FIRST_USERS: u64 = 4_026_531_837;
const FIRST_IPC: u64 = 4_026_531_839;

/// All that was found.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) ros: Ros,
    /// Of each topic that was asked for; one without a topic when none was.
    pub(crate) topics: Vec<(Option<String>, Looked)>,
    pub(crate) memory: Memory,
    pub(crate) clocks: Clocks,
    pub(crate) processors: Processors,
    pub(crate) ports: Vec<Port>,
    pub(crate) service: Option<Service>,
    /// An AI service that the configuration names, and that was not asked.
    pub(crate) configured_service: Option<String>,
    pub(crate) place: Place,
    pub(crate) impairment: Impairment,
}

/// The number of a process's namespace; `None`: it can't be seen, or the kernel has none of the kind.
fn namespace(process: &str, kind: &str) -> Option<u64> {
    let link = std::fs::read_link(format!("{process}/ns/{kind}")).ok()?;
    let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}
