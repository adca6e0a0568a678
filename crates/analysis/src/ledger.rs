//! The ledger, put together from four independent sources: the robots' census, DDS' numbering
//! of each writer's messages, the gateway's outcomes and the gateway's counters.
//!
//! **The rule.** Every published message is in exactly one bucket. One whose outcome is known is
//! in the bucket of its outcome. The others are numbers of a writer that are missing, and each
//! belongs to the gateway that had last begun to tell of that writer when the number was due:
//!
//! | missing | the gateway runs | ended in order | ended without a word |
//! |---|---|---|---|
//! | among the numbers that it told of | in flight, but as many as its tap missed: lost in ROS | lost in ROS | *(see below)* |
//! | behind them, before the next gateway's first | in flight | before discovery (of the next) | *(see below)* |
//! | behind the last known, at the end of the run | in flight | lost in ROS | *(see below)* |
//!
//! A gateway has *ended without a word* (killed) when its last counters never came although
//! another one of the lane started after it had last taken a message, or the run has ended. Its
//! messages may have been in its queue, with a worker, or in a record that was not sent yet; its
//! counters may be 250 ms older than its newest trace. So of all its missing numbers together, as
//! many as its tap said were missed are lost in ROS, and the others are `outcome_unknown`. If it
//! had counted more messages as taken than that explains, the difference comes from those before
//! its first known number (workers end out of order), else they were published beyond what is
//! known otherwise. A writer of which such a gateway told nothing, though the robot had started
//! before the next gateway did, counts its messages before the next one's first as unknown, too.
//!
//! A gateway that ended in order has told of every message. When its counters say that it took
//! more, records were lost: so many of its missing ones are `outcome_unknown` and the ledger does
//! not reconcile. A gateway that was only stopped for a while (SIGSTOP) has not ended.
//!
//! Which of two gateways came later is told by their clock (`started_ms`), which needs them on one
//! host. Of a message taken twice, the outcome that came first counts.

mod account;
mod fates;
mod numbers;
mod writers;

pub use account::Account;

use crate::lane::LaneInfo;
use hopwatch_model::{Census, GatewayCounters, Hop, Ledger, Ns, Outcome, REORDERED, Trace};
use numbers::Edge;
use std::collections::{BTreeMap, HashSet, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};
use writers::{Robots, Writer, Written};

/// Takes in what becomes known of one lane, in any order, and gives the account at any moment.
#[derive(Clone, Debug, Default)]
pub struct LedgerBuilder {
    writers: BTreeMap<Writer, Written>,
    /// The robots' counts, by robot and instance; with the first schedule of each.
    instances: BTreeMap<(String, String), Census>,
    /// All schedules, also by when they began.
    schedules: BTreeMap<(String, String, Ns), Census>,
    gateways: BTreeMap<String, Gateway>,
    outcomes: BTreeMap<Outcome, u64>,
    history_depth: Option<u32>,
    /// Lost messages are sent again.
    reliable: bool,
    /// The gateways' clock.
    clock: String,
    ids: Ids,
    /// Of a part of a run: the numbers of messages that are no part of it.
    elsewhere: Option<BTreeMap<Writer, numbers::Numbers>>,
    duplicates: u64,
    duplicate_ids: u64,
    reordered: u64,
}

/// What one start of a gateway told.
#[derive(Clone, Debug, Default)]
struct Gateway {
    /// The latest.
    counters: Option<GatewayCounters>,
    /// Messages whose outcome it told, duplicates included.
    seen: u64,
    /// When it took the first and the last of them.
    taken: Option<(Ns, Ns)>,
}

impl Gateway {
    fn took_at(&mut self, ns: Ns) {
        self.taken = Some(self.taken.map_or((ns, ns), |(a, b)| (a.min(ns), b.max(ns))));
    }

    fn started(&self) -> Ns {
        let told = self.counters.as_ref().map_or(0, |c| c.started_ms);
        if told == 0 {
            self.taken.map_or(Ns::MIN, |(first, _)| first)
        } else {
            told.saturating_mul(1_000_000)
        }
    }

    fn has_told_its_last(&self) -> bool {
        self.counters.as_ref().is_some_and(|c| c.last)
    }

    /// Messages in its queue or with a worker.
    fn held(&self) -> u64 {
        self.counters.as_ref().map_or(0, |c| c.queued.saturating_add(c.working))
    }

    fn counted(&self) -> u64 {
        self.counters.as_ref().map_or(0, |c| c.taken)
    }

    /// Messages that it certainly took and whose outcome is not known.
    fn untold(&self) -> u64 {
        self.counted().saturating_sub(self.seen)
    }
}

/// The message ids of the newest messages, as hashes: two sets, of which the older one is
/// forgotten when the newer one is full.
#[derive(Clone, Debug, Default)]
struct Ids([HashSet<u64>; 2]);

impl Ids {
    const EACH: usize = 1 << 19;

    /// False for one that is known already. An empty id is none.
    fn is_new(&mut self, id: &str) -> bool {
        if id.is_empty() {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let hash = hasher.finish();
        let [newer, older] = &mut self.0;
        if newer.len() >= Self::EACH {
            *older = std::mem::take(newer);
        }
        !older.contains(&hash) && newer.insert(hash)
    }
}

impl LedgerBuilder {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How the lane is measured. Without it, nothing is said on what may have been overwritten in
    /// the reader's history.
    pub fn set_lane(&mut self, lane: &LaneInfo) {
        self.history_depth = lane.history_depth();
        self.reliable = lane.is_reliable();
        self.clock.clone_from(&lane.clock);
    }

    /// A message that a gateway took, with its outcome. False for one that was taken before:
    /// it is counted as a duplicate and has no part in the figures.
    pub fn observe_trace(&mut self, trace: &Trace) -> bool {
        let taken = trace.stamps.get(Hop::Taken);
        if !self.gateways.contains_key(&trace.gateway) {
            self.gateways.insert(trace.gateway.clone(), Gateway::default());
        }
        if let Some(gateway) = self.gateways.get_mut(&trace.gateway) {
            gateway.seen += 1;
            if let Some(taken) = taken {
                gateway.took_at(taken.ns);
            }
        }
        let (writer, number) = Writer::of(trace);
        let elsewhere = self.elsewhere.as_mut();
        let written = self.writers.entry(writer).or_insert_with_key(|writer| Written {
            elsewhere: elsewhere.and_then(|all| all.remove(writer)).unwrap_or_default(),
            ..Written::default()
        });
        let number = number.unwrap_or_else(|| written.header_number(trace.sequence));
        // One that could not be read speaks for no robot.
        if !trace.robot_id.is_empty() {
            match written.robots.get_mut(&trace.robot_id) {
                Some(life) => life.observe(trace),
                None => {
                    written.robots.entry(trace.robot_id.clone()).or_default().observe(trace);
                }
            }
        }
        if written.contains(number) {
            self.duplicates += 1;
            return false;
        }
        let received = trace.stamps.get(Hop::Received);
        let edge = Edge {
            written: trace.stamps.get(Hop::Written).map(|stamp| stamp.ns),
            waited: taken.zip(received).and_then(|(taken, received)| taken.since(received).ok()),
        };
        if !written.by_gateway.contains_key(&trace.gateway) {
            written.by_gateway.insert(trace.gateway.clone(), numbers::Numbers::default());
        }
        if let Some(numbers) = written.by_gateway.get_mut(&trace.gateway) {
            numbers.insert(number, edge);
        }
        *self.outcomes.entry(trace.outcome).or_default() += 1;
        self.reordered += u64::from(trace.oddities.contains(&REORDERED));
        self.duplicate_ids += u64::from(!self.ids.is_new(&trace.message_id));
        true
    }

    /// The ledger is of a part of a run, and these messages are no part of it: their numbers are
    /// missing in it, and nobody lost them. Told before any message.
    ///
    /// What was lost before the first message of the part and behind the last one is in no count.
    /// A census is of the whole run: a part has none.
    pub fn observe_elsewhere(&mut self, account: &Account) {
        let all = self.elsewhere.get_or_insert_default();
        for (writer, numbers) in account.numbers() {
            all.entry(writer.clone()).or_default().merge(numbers);
        }
    }

    /// A robot's own count; the largest of an instance stands. One whose rate was changed goes on
    /// counting, with another schedule.
    pub fn observe_census(&mut self, census: &Census) {
        let newer =
            |known: &Census| (census.published, census.last) >= (known.published, known.last);
        let (robot, instance) = (census.robot_id.clone(), census.instance.clone());
        let schedule = (robot.clone(), instance.clone(), census.schedule_start_ns);
        let known = self.schedules.entry(schedule).or_insert_with(|| census.clone());
        if newer(known) {
            *known = census.clone();
        }
        let known = self.instances.entry((robot, instance)).or_insert_with(|| census.clone());
        let is_first = census.schedule_start_ns <= known.schedule_start_ns;
        let first = if is_first { census } else { &*known };
        let (start_ns, rate_hz, sequence) =
            (first.schedule_start_ns, first.rate_hz, first.first_sequence);
        if newer(known) {
            *known = census.clone();
        }
        (known.schedule_start_ns, known.rate_hz, known.first_sequence) =
            (start_ns, rate_hz, sequence);
    }

    /// A gateway's counters; the latest of each start stand.
    pub fn observe_counters(&mut self, counters: &GatewayCounters) {
        let gateway = self.gateways.entry(counters.gateway.clone()).or_default();
        let rank = |c: &GatewayCounters| (c.last, c.taken, c.finished, c.missed, c.message_lost);
        if gateway.counters.as_ref().is_none_or(|known| rank(counters) >= rank(known)) {
            gateway.counters = Some(counters.clone());
        }
    }

    /// The robots' own counts, the latest of each schedule: what tells when a message was due.
    /// Those of one instance count on from schedule to schedule; for how many there are, see
    /// [`LedgerBuilder::instances`].
    pub fn census(&self) -> impl Iterator<Item = &Census> {
        self.schedules.values()
    }

    /// The robots' own counts, the latest of each instance, with its first schedule.
    pub fn instances(&self) -> impl Iterator<Item = &Census> {
        self.instances.values()
    }

    /// The counters of each start of the gateway, the latest.
    pub fn counters(&self) -> impl Iterator<Item = &GatewayCounters> {
        self.gateways.values().filter_map(|gateway| gateway.counters.as_ref())
    }

    /// Whether anything was published, as far as is known.
    pub fn has_begun(&self) -> bool {
        !self.writers.is_empty() || self.instances.values().any(|census| census.published > 0)
    }

    /// Whether nothing can follow: every robot with a census has said so, every gateway that runs
    /// has finished what it took, and DDS has nothing to send again.
    pub fn is_over(&self) -> bool {
        let standings = self.standings(false);
        let idle = |gateway: &Gateway| gateway.held() == 0 && gateway.seen == gateway.counted();
        !self.instances.is_empty()
            && self.instances.values().all(|census| census.last)
            && standings.iter().any(|(_, _, standing)| *standing != Standing::Dead)
            && standings
                .iter()
                .all(|(_, gateway, standing)| *standing == Standing::Dead || idle(gateway))
            && !self.may_be_repaired(&standings)
    }

    /// Whether DDS may still bring messages that were published: RELIABLE brings them in order, so
    /// what is missing before a known one never comes, but what is missing behind the last one may,
    /// as long as the gateway that told of it runs. Repair over a bad link takes many seconds.
    fn may_be_repaired(&self, standings: &[(&str, &Gateway, Standing)]) -> bool {
        let runs = |name: &str| {
            standings.iter().any(|(known, _, s)| *known == name && *s == Standing::Running)
        };
        let listens = |written: &Written| {
            let newest = written.by_gateway.iter().max_by_key(|(_, numbers)| numbers.first());
            newest.is_some_and(|(name, _)| runs(name))
        };
        self.reliable
            && Robots::of(&self.writers, self.instances()).groups.iter().any(|group| {
                group.rest() > 0 && group.writers.iter().any(|(_, written)| listens(written))
            })
    }

    /// The account. With `ended`, nothing follows: what is unaccounted for is lost, and a gateway
    /// that has not told its last counters has ended without a word. Otherwise it is in flight.
    pub fn ledger(&self, ended: bool) -> Ledger {
        fates::ledger(self, if ended { Moment::Ended } else { Moment::Running })
    }

    /// The account while the gateway runs: as of an ended run once nothing can follow.
    pub fn ledger_now(&self) -> Ledger {
        fates::ledger(self, if self.is_over() { Moment::Over } else { Moment::Running })
    }

    /// The gateways in the order of their start.
    fn standings(&self, ended: bool) -> Vec<(&str, &Gateway, Standing)> {
        let mut all: Vec<(&str, &Gateway)> =
            self.gateways.iter().map(|(name, gateway)| (name.as_str(), gateway)).collect();
        all.sort_by_key(|(name, gateway)| (gateway.started(), *name));
        let newest = all.last().map(|(_, gateway)| gateway.started());
        all.into_iter()
            .map(|(name, gateway)| {
                let succeeded = newest.is_some_and(|newest| {
                    let sign_of_life = gateway.taken.map_or(Ns::MIN, |(_, last)| last);
                    gateway.started().max(sign_of_life) < newest
                });
                let standing = if gateway.has_told_its_last() {
                    Standing::Orderly
                } else if ended || succeeded {
                    Standing::Dead
                } else {
                    Standing::Running
                };
                (name, gateway, standing)
            })
            .collect()
    }
}

/// When an account is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// More may come.
    Running,
    /// Nothing more can come, though the gateway still runs.
    Over,
    /// The run is over, the gateway with it.
    Ended,
}

/// How a gateway stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It may tell more.
    Running,
    /// It told its last counters.
    Orderly,
    /// It told no last counters, and never will.
    Dead,
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "ledger_robots_tests.rs"]
mod robots_tests;
