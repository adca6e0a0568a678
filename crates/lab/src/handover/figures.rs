//! What runs come to: the run is the unit (METHOD 15).

use super::copies::CopyFigures;
use super::route::{Evidence, Route};
use super::{Condition, Look, Plan, Run, Took, Way};
use crate::ratio::{ONE_SIDED, Ratio, Spread, count, float};
use crate::study::Raw;
use hopwatch_stats::{Modes, Shift, quantile};
use serde::Serialize;

/// Two modes are looked for in so many values.
const LEAST_FOR_MODES: usize = 30;
/// Values closer than this are no two modes, in ns: what a scheduler does by the way.
const RESOLUTION_NS: i64 = 200_000;
/// The part of all processors from which on messages queue up.
const TOO_MUCH: f64 = 0.9;

/// All figures of the study.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// What handing over takes, of each condition that has runs, in the plan's order.
    pub conditions: Vec<ConditionFigures>,
    /// Conditions beside each other.
    pub contrasts: Vec<Contrast>,
    /// What addresses say.
    pub copies: Vec<CopyFigures>,
    /// Losses of bursts.
    pub bursts: Vec<BurstFigures>,
    /// What should be and isn't.
    pub wrong: Vec<String>,
    /// Whether everything that was asked has an answer.
    #[serde(skip)]
    pub decided: bool,
}

/// What handing over takes. Times are in ns; one that is lost to too many messages that never came is
/// infinite, in JSON `null`.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionFigures {
    /// The condition.
    pub condition: Condition,
    /// Its name.
    pub name: String,
    /// Runs.
    pub runs: usize,
    /// Messages sent, in all runs.
    pub sent: u64,
    /// Messages that consumers were to get.
    pub due: u64,
    /// Messages that they got.
    pub received: u64,
    /// P50 of a run from handing over until a consumer has the message: the middle one, the least and the
    /// greatest of the runs. What never came counts as later than all that did.
    pub p50_ns: Option<Spread>,
    /// The same of the P99.
    pub p99_ns: Option<Spread>,
    /// P50 of a run until a consumer has read all of it.
    pub read_p50_ns: Option<Spread>,
    /// P50 of a run of how long handing over keeps the producer.
    pub handed_p50_ns: Option<Spread>,
    /// What a message costs on the processors, making and reading it included, in ns; the one that looks
    /// on from outside not.
    pub cpu_ns: Option<Spread>,
    /// The way that was asked for.
    pub asked: Route,
    /// The ways that the runs really went, each once.
    pub went: Vec<Route>,
    /// Bytes on loopback ÷ bytes that consumers were to get: the least and the greatest of the runs.
    pub loopback_share: Option<(f64, f64)>,
    /// Shared memory that producer and consumers have together, in each run.
    pub together: Vec<&'static str>,
    /// Whether the producer's middleware lends messages of this type; none: it wasn't asked.
    pub producer_lends: Option<bool>,
    /// Whether the consumers' does.
    pub consumers_lend: Option<bool>,
    /// Two modes of the latencies of all runs: their quantiles fall on the one or the other.
    pub modes: Option<Modes>,
    /// The part of all processors that it takes at this rate; none: how many there are isn't known.
    pub load: Option<f64>,
    /// Whether that is too much: messages queue up, and how long they wait says how long it went on.
    pub unstable: bool,
}

/// Two conditions beside each other.
#[derive(Clone, Debug, Serialize)]
pub struct Contrast {
    /// One.
    pub of: String,
    /// The other.
    pub against: String,
    /// How many times as long until a consumer has it, of the runs' P50.
    pub latency: Option<Ratio>,
    /// By how much longer until it is read, in ns: the Hodges-Lehmann shift of the runs' P50, and its bounds,
    /// each with 97.5 %.
    pub longer_ns: Option<(f64, Option<f64>, Option<f64>)>,
    /// How many times as much on the processors.
    pub cpu: Option<Ratio>,
    /// How many times as long until it is read.
    pub read: Option<Ratio>,
    /// Whether it is the control: two times the same, so that 1 is the truth.
    pub control: bool,
}

/// What a queue of a depth loses of a burst.
#[derive(Clone, Debug, Serialize)]
pub struct BurstFigures {
    /// The condition.
    pub condition: Condition,
    /// Its name.
    pub name: String,
    /// Messages that may wait.
    pub depth: u32,
    /// Messages of all runs that consumers were to get.
    pub due: u64,
    /// Those that they got.
    pub received: u64,
    /// Those that a run got, the fewest and the most.
    pub received_range: (u64, u64),
}

impl Figures {
    /// Of what was measured.
    pub fn of(raw: &Raw<Plan, Run>) -> Self {
        let plan = &raw.plan;
        let runs = |condition: Condition| -> Vec<&Run> {
            raw.runs.iter().filter(|run| run.condition == condition).collect()
        };
        let mut wrong = Vec::new();
        let (mut conditions, mut copies, mut bursts) = (Vec::new(), Vec::new(), Vec::new());
        for condition in &plan.conditions {
            let runs = runs(*condition);
            if runs.is_empty() {
                continue;
            }
            let broken: u64 = runs.iter().flat_map(|run| &run.took).map(|took| took.wrong).sum();
            if broken > 0 {
                let name = condition.name();
                wrong.push(format!("{name}: {broken} messages did not hold what was sent"));
            }
            match condition.look {
                Look::Times => {
                    conditions.push(ConditionFigures::of(*condition, raw, &runs));
                }
                Look::Burst { depth } => bursts.push(BurstFigures::of(*condition, depth, &runs)),
                Look::Addresses { .. } => copies.extend(CopyFigures::of(*condition, &runs)),
            }
        }
        wrong.extend(copies.iter().filter_map(against_the_rule));
        wrong.extend(conditions.iter().filter_map(nothing_came));
        let contrasts = contrasts(&conditions, raw);
        let unclear =
            |one: &ConditionFigures| one.went != [one.went[0]] || one.went[0] == Route::Unclear;
        let decided = raw.complete
            && wrong.is_empty()
            && !raw.runs.is_empty()
            && !conditions.iter().any(|one| unclear(one) || one.unstable)
            && copies.iter().all(|one| one.messages > 0)
            && contrasts.iter().all(Contrast::is_bounded);
        Self { conditions, contrasts, copies, bursts, wrong, decided }
    }
}

fn against_the_rule(copies: &CopyFigures) -> Option<String> {
    let (least, most) = copies.copies?;
    (copies.by_rule == Some(false)).then(|| {
        format!("{}: {least} to {most} copies, where {} are due", copies.name, copies.due.words())
    })
}

fn nothing_came(one: &ConditionFigures) -> Option<String> {
    (one.sent > 0 && one.received == 0).then(|| format!("{}: nothing came at all", one.name))
}

impl ConditionFigures {
    fn of(condition: Condition, raw: &Raw<Plan, Run>, runs: &[&Run]) -> Self {
        let plan = &raw.plan;
        let bytes = plan.bytes;
        let spread = |of: &dyn Fn(&Run) -> Option<f64>| {
            Spread::of(runs.iter().filter_map(|run| of(run)).collect())
        };
        let latency = |took: &Took| took.latency_ns.clone();
        let evidence: Vec<Evidence> = runs.iter().map(|run| Evidence::of(run, bytes)).collect();
        let mut went: Vec<Route> = evidence.iter().map(|one| one.route).collect();
        went.sort_unstable();
        went.dedup();
        let shares = || evidence.iter().map(|one| one.loopback_share);
        let together = evidence.first().map(|one| one.together.clone()).unwrap_or_default();
        let in_all = |kind: &&str| evidence.iter().all(|one| one.together.contains(kind));
        let mut all: Vec<i64> = runs
            .iter()
            .flat_map(|run| &run.took)
            .flat_map(|took| took.latency_ns.clone())
            .collect();
        all.sort_unstable();
        let modes = (all.len() >= LEAST_FOR_MODES).then(|| Modes::find(&all, RESOLUTION_NS));
        let cores = raw.environment.get("cores").and_then(|cores| cores.parse::<f64>().ok());
        let spent = spread(&cpu);
        let load =
            spent.zip(cores).map(|(spent, cores)| spent.middle * plan.rate_hz / (cores * 1e9));
        Self {
            condition,
            name: condition.name(),
            runs: runs.len(),
            sent: runs.iter().map(|run| run.gave.sent).sum(),
            due: runs.iter().map(|run| due(run)).sum(),
            received: runs.iter().map(|run| received(run)).sum(),
            p50_ns: spread(&|run| late(run, latency, 500)),
            p99_ns: spread(&|run| late(run, latency, 990)),
            read_p50_ns: spread(&|run| late(run, |took| took.read_ns.clone(), 500)),
            handed_p50_ns: spread(&|run| crate::ratio::middle(&run.gave.handed_ns)),
            cpu_ns: spent,
            modes: modes.flatten(),
            load,
            unstable: load.is_some_and(|load| load >= TOO_MUCH),
            asked: condition.asked(),
            went,
            loopback_share: shares().min_by(f64::total_cmp).zip(shares().max_by(f64::total_cmp)),
            together: together.into_iter().filter(in_all).collect(),
            producer_lends: runs.first().and_then(|run| run.gave.lends),
            consumers_lend: runs
                .first()
                .and_then(|run| run.took.iter().map(|took| took.lends).collect::<Option<Vec<_>>>())
                .filter(|lends| !lends.is_empty())
                .map(|lends| lends.iter().all(|lends| *lends)),
        }
    }
}

impl ConditionFigures {
    /// Whether each run went the way that its name says. Two are named by what they ask for, to be told
    /// what they get.
    pub(super) fn is_what_it_says(&self) -> bool {
        let falls_back = matches!(self.condition.way, Way::FallBack | Way::Loan);
        match self.went.as_slice() {
            [went] => *went != Route::Unclear && (falls_back || *went == self.asked),
            _ => false,
        }
    }
}

/// Messages that consumers were to get.
fn due(run: &Run) -> u64 {
    run.took.iter().map(|_| run.gave.sent).sum()
}

fn received(run: &Run) -> u64 {
    run.took.iter().map(|took| took.latency_ns.len() as u64).sum()
}

/// A quantile of all consumers' times in a run; what never came is later than all that did.
fn late(run: &Run, of: impl Fn(&Took) -> Vec<i64>, thousandths: u32) -> Option<f64> {
    let mut all: Vec<i64> = run.took.iter().flat_map(of).collect();
    all.resize(all.len().max(usize::try_from(due(run)).unwrap_or(0)), i64::MAX);
    all.sort_unstable();
    let ns = quantile(&all, thousandths)?;
    Some(if ns == i64::MAX { f64::INFINITY } else { float(ns) })
}

fn cpu(run: &Run) -> Option<f64> {
    let all = run.gave.cpu_ns + run.took.iter().map(|took| took.cpu_ns).sum::<i64>();
    (run.gave.sent > 0).then(|| float(all) / count(run.gave.sent))
}

impl BurstFigures {
    fn of(condition: Condition, depth: u32, runs: &[&Run]) -> Self {
        let each = || runs.iter().map(|run| received(run));
        Self {
            condition,
            name: condition.name(),
            depth,
            due: runs.iter().map(|run| due(run)).sum(),
            received: each().sum(),
            received_range: (each().min().unwrap_or(0), each().max().unwrap_or(0)),
        }
    }
}

/// Each condition against DDS through shared memory with as many consumers, which is what two nodes of
/// one host have as they come; kept against not kept, watched against not watched, what is copied inside
/// a process against DDS inside it; and the control against what it repeats.
fn contrasts(conditions: &[ConditionFigures], raw: &Raw<Plan, Run>) -> Vec<Contrast> {
    // One that queues up, or that went another way than its name says, is nothing to compare with.
    let conditions: Vec<&ConditionFigures> =
        conditions.iter().filter(|one| !one.unstable && one.is_what_it_says()).collect();
    let find =
        |condition: Condition| conditions.iter().find(|one| one.condition == condition).copied();
    let mut all = Vec::new();
    for one in conditions.iter().copied() {
        let condition = one.condition;
        let plain = Condition { kept: false, watched: false, control: false, ..condition };
        if plain != condition {
            all.extend(find(plain).map(|other| Contrast::of(one, other, raw)));
            continue;
        }
        let usual = Condition::new(Way::SharedMemory, condition.consumers);
        if condition != usual {
            all.extend(find(usual).map(|other| Contrast::of(one, other, raw)));
        }
        if condition.way == Way::Copied {
            let within = Condition { way: Way::OneProcess, ..condition };
            all.extend(find(within).map(|other| Contrast::of(one, other, raw)));
        }
    }
    all
}

impl Contrast {
    fn of(one: &ConditionFigures, other: &ConditionFigures, raw: &Raw<Plan, Run>) -> Self {
        let of = |figures: &ConditionFigures, pick: &dyn Fn(&Run) -> Option<f64>| -> Vec<f64> {
            let runs = raw.runs.iter().filter(|run| run.condition == figures.condition);
            runs.filter_map(pick).filter(|value| *value > 0.0).collect()
        };
        let both = |pick: &dyn Fn(&Run) -> Option<f64>| (of(one, pick), of(other, pick));
        let ratio = |pick: &dyn Fn(&Run) -> Option<f64>| {
            let (a, b) = both(pick);
            Ratio::of(&a, &b, raw.seed)
        };
        let latency = |run: &Run| late(run, |took| took.latency_ns.clone(), 500);
        let read = |run: &Run| late(run, |took| took.read_ns.clone(), 500);
        let (a, b) = both(&read);
        let shift = Shift::unpaired(&a, &b, ONE_SIDED, ONE_SIDED);
        Self {
            of: one.name.clone(),
            against: other.name.clone(),
            latency: ratio(&latency),
            longer_ns: shift.and_then(|shift| Some((shift.estimate?, shift.lower, shift.upper))),
            cpu: ratio(&cpu),
            read: ratio(&read),
            control: one.condition.control,
        }
    }

    fn is_bounded(&self) -> bool {
        self.latency.is_some_and(|ratio| ratio.at_least.is_some() && ratio.at_most.is_some())
    }
}
