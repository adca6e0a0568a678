//! The figures of one trial: one arm in one block, a run of its own (METHOD 15).

use crate::artefacts::{Artefact, Context, artefacts, without};
use crate::decompose::decompose;
use crate::experiment::ExperimentPlan;
use crate::lane::taken_ns;
use crate::parts::{Parts, ros_ns};
use crate::report::{Dataset, accounts};
use crate::stability::stability;
use hopwatch_model::{Ledger, Ns, Outcome, PublisherId, Trace};
use hopwatch_stats::{RunSample, effective_size};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why a run has no figures that could be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrialError {
    /// There is no such lane.
    #[error("trial {trial} has no lane {lane:?}: it has {has}")]
    NoLane {
        /// The trial.
        trial: String,
        /// The lane that was asked for.
        lane: String,
        /// Those that there are.
        has: String,
    },
    /// The plan has no such arm.
    #[error("trial {trial} is of arm {arm}, but the plan has {arms}")]
    NoArm {
        /// The trial.
        trial: String,
        /// The arm, from 0.
        arm: usize,
        /// How many there are.
        arms: usize,
    },
    /// Some messages are no longer kept: their times are unknown.
    #[error(
        "trial {trial} kept only some of its messages, so its quantiles are unknown: make it \
         shorter, or let the collector keep more"
    )]
    NotKept {
        /// The trial.
        trial: String,
    },
    /// Nothing was published behind the warm-up.
    #[error(
        "trial {trial} has no message behind the warm-up: make it longer, or the warm-up shorter"
    )]
    Nothing {
        /// The trial.
        trial: String,
    },
    /// The account doesn't add up.
    #[error("the account of trial {trial} doesn't add up: {why}")]
    Account {
        /// The trial.
        trial: String,
        /// What doesn't.
        why: String,
    },
}

/// What a trial left out of its figures. Counted, since it isn't nothing (METHOD 14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Messages of the warm-up, lost ones included.
    pub warm_up: u64,
    /// Published before writer and reader had found each other.
    pub before_discovery: u64,
    /// Not known yet what becomes of them.
    pub in_flight: u64,
    /// Delivered, but their stamps don't tell the time.
    pub untimed: u64,
}

/// What became of the messages that a trial counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrialCounts {
    /// The denominator: published, without those dropped.
    pub published: u64,
    /// Of these, those that the injected loss did not keep from the gateway: what a link can do
    /// something about. Without injected loss between robot and gateway, all.
    pub reached: u64,
    /// Went the whole way.
    pub delivered: u64,
    /// Went the whole way within the limit, from publication where that is known; one whose time
    /// isn't exact counts when it certainly was in time.
    pub within: u64,
    /// Lost in ROS.
    pub lost_in_ros: u64,
    /// A service gave no usable reply.
    pub failed: u64,
    /// What isn't in these counts.
    pub dropped: Dropped,
}

/// The times of the messages that came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In ns, ascending.
    pub sorted: Vec<Ns>,
    /// How many independent ones they are worth.
    pub n_eff: usize,
}

impl Times {
    fn of(mut series: Vec<(&str, Ns)>) -> Self {
        let n_eff = effective_size(&series);
        series.sort_by_key(|(_, ns)| *ns);
        Self { sorted: series.into_iter().map(|(_, ns)| ns).collect(), n_eff }
    }

    /// As a sample of `of` messages, of which those that are not here took forever.
    pub(crate) fn over(&self, of: u64) -> RunSample<'_> {
        let of = usize::try_from(of).unwrap_or(usize::MAX).max(self.sorted.len());
        let lost = of - self.sorted.len();
        RunSample { sorted: &self.sorted, of, n_eff: self.n_eff.saturating_add(lost).min(of) }
    }
}

/// The figures of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialFigures {
    /// The arm, from 0 in the plan's order.
    pub arm: usize,
    /// The block.
    pub block: u32,
    /// The trial's name, as its folder.
    pub name: String,
    /// What became of its messages.
    pub counts: TrialCounts,
    /// Everything but AI of each message: taken → web_acked.
    pub communication: Times,
    /// The same from publication on; `None` unless that is known of every message.
    pub from_publication: Option<Times>,
    /// taken → web_acked.
    pub total: Times,
    /// The time on the way to and from the services, connections included.
    pub transport: Times,
    /// The communication as it would be without those artefacts that can be put right.
    pub mended: Times,
    /// Through DDS, written → received, of every message taken whose clocks resolve it.
    pub ros: Times,
    /// Whether the AI service told its own time: else the communication lacks its transport.
    pub told: bool,
    /// P99 of waiting for a worker of the gateway.
    pub queue_p99_ns: Ns,
    /// Why its queue had no steady state: then its quantiles mean nothing (METHOD 11).
    pub unstable: Option<String>,
    /// What was found, and what was ruled out.
    pub artefacts: Vec<Artefact>,
}

impl TrialFigures {
    /// Of a run's records. The first `warm_up_ns` after the first take are left out: messages up
    /// to the last that each writer had published by then, taken or lost; and what was published
    /// before discovery.
    pub fn of(
        arm: usize,
        block: u32,
        name: &str,
        data: &Dataset,
        lane: &str,
        plan: &ExperimentPlan,
    ) -> Result<Self, TrialError> {
        let trial = || name.to_owned();
        let Some(loss) = plan.arms.get(arm).map(|arm| plan.ros_loss(arm)) else {
            return Err(TrialError::NoArm { trial: trial(), arm, arms: plan.arms.len() });
        };
        let accounts = accounts(data);
        let Some((info, account)) = accounts.iter().find(|(info, _)| info.name == lane) else {
            let names: Vec<&str> = data.lanes.keys().map(String::as_str).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(TrialError::NoLane { trial: trial(), lane: lane.to_owned(), has });
        };
        if data.gone.iter().any(|(of, _)| of == lane) {
            return Err(TrialError::NotKept { trial: trial() });
        }
        let ledger = account.ledger.ledger(true);
        if !ledger.reconciles {
            return Err(TrialError::Account { trial: trial(), why: ledger.notes.join("; ") });
        }
        let warm_up = WarmUp::of(&account.fresh, plan.warm_up_ns);
        let measured: Vec<&Trace> =
            account.fresh.iter().copied().filter(|trace| !warm_up.holds(trace)).collect();
        let clocks = data.clocks();
        let census = account.census();
        let (mut whole, mut ros, mut untimed) = (Vec::new(), Vec::new(), 0);
        for trace in &measured {
            let d = decompose(trace, &census, &clocks);
            ros.extend(d.as_ref().ok().and_then(ros_ns).map(|ns| (trace.robot_id.as_str(), ns)));
            if trace.outcome == Outcome::Delivered {
                match d.ok().and_then(|d| Parts::of(trace, &d)) {
                    Some(parts) => whole.push((trace.robot_id.as_str(), parts)),
                    None => untimed += 1,
                }
            }
        }
        let counted = count(&ledger, &warm_up, &measured, untimed, loss);
        let Some(mut counts) = counted.filter(|counts| counts.published > 0) else {
            return Err(TrialError::Nothing { trial: trial() });
        };
        counts.within = within(&whole, plan.limit_ns);
        let series = |of: fn(&Parts) -> Ns| {
            Times::of(whole.iter().map(|(robot, parts)| (*robot, of(parts))).collect())
        };
        let from_publication: Option<Vec<(&str, Ns)>> =
            whole.iter().map(|(robot, p)| Some((*robot, p.since_publication()?))).collect();
        let parts: Vec<Parts> = whole.iter().map(|(_, parts)| *parts).collect();
        let steady = stability(&account.fresh, info.workers);
        let context = Context { info, stability: &steady, ledger: &ledger, traces: &account.fresh };
        let artefacts = artefacts(&parts, &context);
        let mended = without(&parts, &artefacts);
        let mended = whole.iter().zip(mended).map(|((robot, _), ns)| (*robot, ns)).collect();
        Ok(Self {
            arm,
            block,
            name: trial(),
            counts,
            communication: series(Parts::communication),
            from_publication: from_publication.filter(|all| !all.is_empty()).map(Times::of),
            total: series(|parts| parts.total),
            transport: series(|parts| parts.transport),
            mended: Times::of(mended),
            ros: Times::of(ros),
            told: parts.iter().all(|parts| parts.calls[0].is_some()),
            queue_p99_ns: queue_p99(&parts),
            unstable: steady.unstable.then_some(steady.reason),
            artefacts,
        })
    }
}

/// Which messages are the warm-up's.
struct WarmUp {
    /// Of each writer, the last number that was taken in the warm-up.
    last: BTreeMap<Writer, i64>,
    /// How many messages of theirs were taken.
    taken: u64,
    /// How many numbers among theirs were not.
    missing: u64,
}

/// A writer by its GUID; a robot by its name where the middleware counts nothing.
type Writer = (PublisherId, Option<String>);

fn number(trace: &Trace) -> (Writer, i64) {
    match trace.publication_sequence.and_then(|n| i64::try_from(n).ok()) {
        Some(n) => ((trace.publisher, None), n),
        None => ((trace.publisher, Some(trace.robot_id.clone())), i64::from(trace.sequence)),
    }
}

impl WarmUp {
    fn of(traces: &[&Trace], length: Ns) -> Self {
        let first = traces.iter().map(|trace| taken_ns(trace)).min().unwrap_or(0);
        let end = first.saturating_add(length);
        let mut last: BTreeMap<Writer, i64> = BTreeMap::new();
        for trace in traces.iter().filter(|trace| taken_ns(trace) < end) {
            let (writer, n) = number(trace);
            let known = last.entry(writer).or_insert(n);
            *known = n.max(*known);
        }
        let mut warm_up = Self { last, taken: 0, missing: 0 };
        let mut seen: BTreeMap<Writer, BTreeSet<i64>> = BTreeMap::new();
        for trace in traces.iter().filter(|trace| warm_up.holds(trace)) {
            let (writer, n) = number(trace);
            seen.entry(writer).or_default().insert(n);
        }
        warm_up.taken = traces.iter().map(|trace| u64::from(warm_up.holds(trace))).sum();
        for (writer, numbers) in seen {
            let first = numbers.first().copied().unwrap_or(0);
            let last = warm_up.last.get(&writer).copied().unwrap_or(first);
            let all = u64::try_from(last.saturating_sub(first)).unwrap_or(0).saturating_add(1);
            let known = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
            warm_up.missing = warm_up.missing.saturating_add(all.saturating_sub(known));
        }
        warm_up
    }

    /// Whether its writer published it before the warm-up was over: one that was sent again and
    /// came late is the warm-up's, too.
    fn holds(&self, trace: &Trace) -> bool {
        let (writer, n) = number(trace);
        self.last.get(&writer).is_some_and(|last| n <= *last)
    }
}

/// The counts without the warm-up; `None` when there is less than nothing left.
fn count(
    ledger: &Ledger,
    warm_up: &WarmUp,
    measured: &[&Trace],
    untimed: u64,
    loss: f64,
) -> Option<TrialCounts> {
    let dropped = Dropped {
        warm_up: warm_up.taken.saturating_add(warm_up.missing),
        before_discovery: ledger.lost_before_discovery,
        in_flight: ledger.in_flight,
        untimed,
    };
    let left_out = [dropped.warm_up, dropped.before_discovery, dropped.in_flight, untimed];
    let published = left_out.iter().try_fold(ledger.published, |of, n| of.checked_sub(*n))?;
    let outcomes = |wanted: fn(&Outcome) -> bool| {
        u64::try_from(measured.iter().filter(|trace| wanted(&trace.outcome)).count()).ok()
    };
    let delivered = outcomes(|outcome| *outcome == Outcome::Delivered)?.saturating_sub(untimed);
    let lost_in_ros = ledger.lost_in_ros.saturating_sub(warm_up.missing);
    // Overwritten ones wait for the gateway, and it for its links: they are not the network's.
    let by_loss = lost_in_ros.saturating_sub(ledger.overwritten_in_history);
    let reached = if loss > 0.0 { published.checked_sub(by_loss)? } else { published };
    Some(TrialCounts {
        published: published.max(delivered),
        reached: reached.max(delivered),
        delivered,
        within: 0,
        lost_in_ros,
        failed: outcomes(|outcome| matches!(outcome, Outcome::ServiceFailed(..)))?,
        dropped,
    })
}

fn queue_p99(parts: &[Parts]) -> Ns {
    let mut queue: Vec<Ns> = parts.iter().map(|parts| parts.queue).collect();
    queue.sort_unstable();
    hopwatch_stats::quantile(&queue, 990).unwrap_or(0)
}

/// How many came within the limit: from publication, when that is known of all.
fn within(whole: &[(&str, Parts)], limit: Ns) -> u64 {
    let from_publication = whole.iter().all(|(_, parts)| parts.published.is_some());
    let in_time = |(_, parts): &&(&str, Parts)| match parts.published {
        Some((ns, half)) if from_publication => ns.saturating_add(half) <= limit,
        _ => parts.total <= limit,
    };
    u64::try_from(whole.iter().filter(in_time).count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "trial_tests.rs"]
pub(crate) mod tests;
