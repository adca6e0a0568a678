//! What runs come to: rates, spreads, stalls, and whether more threads change any of it.

use super::{Condition, Language, Plan, Run};
use hopwatch_stats::{
    CliffsDelta, Interval, Modes, Moments, Welch, permutation_test, quantile, quantile_interval,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A loop that does so much of its rate in every run holds it.
const HOLDS: f64 = 0.95;
/// One that does less than this in every run doesn't.
const FAILS: f64 = 0.90;
/// Rates that differ by less than this part of the other one are as good as alike.
const ALIKE: f64 = 0.05;
/// Maxima closer than this are no two modes: what a scheduler does by the way, in ns.
const RESOLUTION_NS: i64 = 1_000_000;

/// All figures of the study.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The loop's rate by its period.
    pub target_hz: f64,
    /// Each condition that has runs, in the plan's order.
    pub conditions: Vec<ConditionFigures>,
    /// Each kind of node with its most threads against its fewest.
    pub threads: Vec<Contrast>,
    /// Each other kind of node against Rust's with as many threads.
    pub languages: Vec<Contrast>,
}

/// What a condition's runs come to.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionFigures {
    /// The condition.
    pub condition: Condition,
    /// Its name.
    pub name: String,
    /// Each run.
    pub runs: Vec<RunFigures>,
    /// Mean of the runs' rates.
    pub rate_hz: Option<f64>,
    /// Their standard deviation; `null` of fewer than two runs.
    pub rate_sd_hz: Option<f64>,
    /// The least and the greatest of them.
    pub rate_range_hz: (f64, f64),
    /// Median of the runs' coefficients of variation of the intervals.
    pub cv: Option<f64>,
    /// Whether the loop holds its rate.
    pub pace: Pace,
    /// Two modes of the runs' longest intervals, start-up included: then their mean tells nothing.
    pub stalls: Option<Modes>,
    /// Median of what a heavy callback took, over all runs.
    pub heavy_p50_ns: Option<i64>,
    /// The P50 of all intervals after start-up, of all runs together.
    pub interval_p50_ns: Option<i64>,
    /// The P99 of them, and its interval (95 %).
    pub interval_p99_ns: Option<i64>,
    /// Where the true P99 lies with 95 %.
    pub interval_p99_ci_ns: Interval,
}

/// Whether a loop holds its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// In every run at least 95 % of its rate.
    Holds,
    /// In every run less than 90 % of it.
    Fails,
    /// Neither.
    Between,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures {
    /// Its round.
    pub round: u32,
    /// Turns after start-up.
    pub turns: usize,
    /// Turns a second after start-up.
    pub rate_hz: f64,
    /// Coefficient of variation of the intervals after start-up.
    pub cv: Option<f64>,
    /// The longest interval after start-up.
    pub longest_ns: Option<i64>,
    /// The longest interval of the start-up.
    pub start_up_longest_ns: Option<i64>,
    /// Heavy callbacks that ended.
    pub heavy: usize,
    /// Threads that did anything.
    pub threads_used: usize,
    /// What each thread did, the busiest first.
    pub by_thread: Vec<u64>,
    /// Scans that were published, and taken.
    pub scans: (u64, u64),
}

/// Whether two conditions differ in the loop's rate.
#[derive(Clone, Debug, Serialize)]
pub struct Contrast {
    /// One condition.
    pub of: String,
    /// The other one.
    pub against: String,
    /// Mean rate of the one less that of the other.
    pub difference_hz: f64,
    /// `null` where no run differs from the others on its side.
    pub welch: Option<WelchFigures>,
    /// p of the exact permutation test.
    pub permutation_p: f64,
    /// The smallest p that so few runs can have.
    pub smallest_p: f64,
    /// Cliff's delta: the chance that a run of the one is quicker, less that it is slower.
    pub cliffs_delta: f64,
    /// Whether a difference is shown (permutation test, 5 %).
    pub differs: bool,
    /// Whether it is shown that the one is within 5 % of the other.
    pub alike: bool,
}

/// Welch's comparison.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WelchFigures {
    /// t.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided.
    pub p: f64,
    /// 95 % interval of the difference.
    pub ci_hz: (f64, f64),
}

impl Figures {
    /// The figures of a plan's runs. `seed` draws arrangements where there are too many to look at all.
    pub fn of(plan: &Plan, runs: &[Run], seed: u64) -> Self {
        let target_hz = 1000.0 / f64::from(plan.period_ms);
        let conditions: Vec<ConditionFigures> = plan
            .conditions
            .iter()
            .filter_map(|condition| of_condition(plan, *condition, runs, target_hz))
            .collect();
        let contrast = |of: &ConditionFigures, against: &ConditionFigures| {
            let rates = (of.rates(), against.rates());
            Contrast::of((&of.name, &rates.0), (&against.name, &rates.1), seed)
        };
        let threads =
            by_kind(&conditions).into_values().filter_map(|(few, many)| contrast(many, few));
        let languages = conditions.iter().filter_map(|one| {
            let other = |rust: &&ConditionFigures| {
                rust.condition.language == Language::Rust
                    && one.condition.language != Language::Rust
                    && rust.condition.threads == one.condition.threads
            };
            contrast(one, conditions.iter().find(other)?)
        });
        let (threads, languages) = (threads.collect(), languages.collect());
        Self { target_hz, conditions, threads, languages }
    }
}

/// Of each kind with several numbers of threads: the one with the fewest, and the one with the most.
fn by_kind(
    all: &[ConditionFigures],
) -> BTreeMap<&'static str, (&ConditionFigures, &ConditionFigures)> {
    let mut kinds = BTreeMap::new();
    for one in all {
        let (few, many) = kinds.entry(one.condition.kind()).or_insert((one, one));
        if one.condition.threads < few.condition.threads {
            *few = one;
        }
        if one.condition.threads > many.condition.threads {
            *many = one;
        }
    }
    kinds.retain(|_, (few, many)| few.condition.threads < many.condition.threads);
    kinds
}

impl ConditionFigures {
    /// The runs' rates.
    pub fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.rate_hz).collect()
    }

    /// The runs' longest intervals, start-up included.
    pub fn longest(&self) -> Vec<i64> {
        let of = |run: &RunFigures| run.longest_ns.max(run.start_up_longest_ns);
        self.runs.iter().filter_map(of).collect()
    }
}

fn of_condition(
    plan: &Plan,
    condition: Condition,
    runs: &[Run],
    target_hz: f64,
) -> Option<ConditionFigures> {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.condition == condition).collect();
    let start_up = i64::from(plan.start_up_ms) * 1_000_000;
    let figures: Vec<RunFigures> = runs.iter().map(|run| of_run(run, start_up)).collect();
    let rates: Vec<f64> = figures.iter().map(|run| run.rate_hz).collect();
    let lowest = rates.iter().copied().reduce(f64::min)?;
    let highest = rates.iter().copied().reduce(f64::max)?;
    // A loop that had nothing beside it shows nothing.
    let idle = runs.iter().any(|run| run.node.taken == 0);
    let pace = if idle {
        Pace::Between
    } else if lowest >= HOLDS * target_hz {
        Pace::Holds
    } else if highest < FAILS * target_hz {
        Pace::Fails
    } else {
        Pace::Between
    };
    let mut steady: Vec<i64> = runs.iter().flat_map(|run| intervals(run, start_up).1).collect();
    steady.sort_unstable();
    let mut heavy: Vec<i64> = runs.iter().flat_map(|run| run.node.heavy_ns.clone()).collect();
    heavy.sort_unstable();
    let mut cvs: Vec<f64> = figures.iter().filter_map(|run| run.cv).collect();
    cvs.sort_by(f64::total_cmp);
    let moments = Moments::of(&rates);
    let mut all = ConditionFigures {
        condition,
        name: condition.name(),
        runs: figures,
        rate_hz: moments.map(|m| m.mean).or(Some(lowest)),
        rate_sd_hz: moments.map(|m| m.sd),
        rate_range_hz: (lowest, highest),
        cv: cvs.get(cvs.len() / 2).copied(),
        pace,
        stalls: None,
        heavy_p50_ns: quantile(&heavy, 500),
        interval_p50_ns: quantile(&steady, 500),
        interval_p99_ns: quantile(&steady, 990),
        interval_p99_ci_ns: quantile_interval(&steady, 990, 0.95),
    };
    let mut longest = all.longest();
    longest.sort_unstable();
    all.stalls = Modes::find(&longest, RESOLUTION_NS);
    Some(all)
}

/// The intervals of the start-up, and those after it.
pub(super) fn intervals(run: &Run, start_up_ns: i64) -> (Vec<i64>, Vec<i64>) {
    let turns = &run.node.turns_ns;
    let pairs = turns.iter().zip(turns.iter().skip(1));
    let (early, steady): (Vec<_>, Vec<_>) = pairs.partition(|(from, _)| **from < start_up_ns);
    let of = |pairs: Vec<(&i64, &i64)>| pairs.iter().map(|(from, to)| *to - *from).collect();
    (of(early), of(steady))
}

#[expect(clippy::cast_precision_loss, reason = "ns of minutes are far below 2^53")]
fn of_run(run: &Run, start_up_ns: i64) -> RunFigures {
    let (early, steady) = intervals(run, start_up_ns);
    let floats: Vec<f64> = steady.iter().map(|ns| *ns as f64).collect();
    let whole: f64 = floats.iter().sum();
    let rate_hz = if whole > 0.0 { floats.len() as f64 * 1e9 / whole } else { 0.0 };
    let mut by_thread: Vec<u64> =
        run.node.callbacks.iter().map(|[turns, heavy]| turns + heavy).collect();
    by_thread.sort_unstable_by(|a, b| b.cmp(a));
    RunFigures {
        round: run.round,
        turns: steady.len(),
        rate_hz,
        cv: Moments::of(&floats).map(|m| m.sd / m.mean),
        longest_ns: steady.iter().max().copied(),
        start_up_longest_ns: early.iter().max().copied(),
        heavy: run.node.heavy_ns.len(),
        threads_used: by_thread.iter().filter(|count| **count > 0).count(),
        by_thread,
        scans: (run.scans, run.node.taken),
    }
}

impl Contrast {
    /// Of the rates of two conditions' runs: the run is the unit (METHOD 15). `None` without any.
    pub fn of(
        (of, rates): (&str, &[f64]),
        (against, others): (&str, &[f64]),
        seed: u64,
    ) -> Option<Self> {
        let rearranged = permutation_test(rates, others, seed)?;
        let cliff = CliffsDelta::of(rates, others)?;
        let welch =
            Moments::of(rates).zip(Moments::of(others)).and_then(|(a, b)| Welch::of(&a, &b));
        let alike = welch.and_then(|welch| welch.equivalence_p(ALIKE * mean(others)));
        Some(Self {
            of: of.to_owned(),
            against: against.to_owned(),
            difference_hz: mean(rates) - mean(others),
            welch: welch.map(|w| WelchFigures { t: w.t, df: w.df, p: w.p, ci_hz: w.ci }),
            permutation_p: rearranged.p,
            smallest_p: rearranged.smallest_p,
            cliffs_delta: cliff.delta,
            differs: rearranged.p <= 0.05,
            alike: alike.is_some_and(|p| p <= 0.05),
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    // At most a hundred runs.
    let n = u32::try_from(values.len()).map_or(f64::NAN, f64::from);
    values.iter().sum::<f64>() / n
}
