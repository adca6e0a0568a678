//! What runs come to: rates, spreads, stalls, and whether more threads change any of it.

use super::{Condition, Plan, Run};
use crate::Language;
use hopwatch_stats::{CliffsDelta, Modes, Moments, Welch, median, permutation_test, quantile};
use serde::Serialize;
use std::collections::BTreeMap;

/// A loop that does so much of its rate in every run holds it.
const HOLDS: f64 = 0.95;
/// One that does less than this in every run doesn't.
const FAILS: f64 = 0.90;
/// Fewer runs show nothing (METHOD 16).
pub(super) const FEWEST_RUNS: usize = 4;
/// Rates closer than this are no two modes, in turns in a million seconds.
const RATE_RESOLUTION: i64 = 1_000_000;
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
    pub rate_hz: f64,
    /// Their standard deviation; `null` of fewer than five runs, and of two modes: then it tells nothing.
    pub rate_sd_hz: Option<f64>,
    /// Two modes of the rates.
    pub rate_modes: bool,
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
    /// The P99 of them.
    pub interval_p99_ns: Option<i64>,
    /// The least and the greatest P99 of a run: intervals of one run depend on each other, so their
    /// number gives no interval of confidence.
    pub interval_p99_range_ns: Option<(i64, i64)>,
    /// How long something waits for the loop's next turn that comes at any moment after start-up.
    pub wait: Option<Wait>,
}

/// How long something waits for a turn that comes at any moment, whatever the loop does then: a long
/// interval is met more often than a short one (the residual time of a renewal process; W. Feller, *An
/// Introduction to Probability Theory and Its Applications*, vol. 2, XI.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// E\[L²\] ÷ 2 E\[L\], in ns. Of a loop that holds its rate, half its period.
    pub mean_ns: f64,
    /// Its median.
    pub p50_ns: i64,
    /// Its 99th percentile.
    pub p99_ns: i64,
}

/// Whether a loop holds its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// In every run at least 95 % of its rate.
    Holds,
    /// In every run less than 90 % of it.
    Fails,
    /// Neither, or of fewer than four runs.
    Between,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures {
    /// Its round.
    pub round: u32,
    /// Intervals that end after the start-up.
    pub turns: usize,
    /// Turns after the start-up ÷ the time from its end to the last turn; an interval that reaches into
    /// that time counts with its part of it.
    pub rate_hz: f64,
    /// Coefficient of variation of the intervals after start-up.
    pub cv: Option<f64>,
    /// The longest interval after start-up.
    pub longest_ns: Option<i64>,
    /// The longest interval that ends within the start-up.
    pub start_up_longest_ns: Option<i64>,
    /// The P99 of the intervals after it.
    pub p99_ns: Option<i64>,
    /// Heavy callbacks that ended.
    pub heavy: usize,
    /// Threads that did anything.
    pub threads_used: usize,
    /// What each thread did, the busiest first.
    pub by_thread: Vec<u64>,
    /// Scans that were published from the laser's start on, and taken.
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
    /// The same, for as many contrasts as are asked beside it (S. Holm, 1979).
    pub holm_p: f64,
    /// The smallest p that so few runs can have.
    pub smallest_p: f64,
    /// Cliff's delta: the chance that a run of the one is quicker, less that it is slower.
    pub cliffs_delta: f64,
    /// Whether a difference is shown (permutation test, Holm's p ≤ 5 %).
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
        let threads = by_kind(&conditions)
            .into_values()
            .filter_map(|(few, many)| contrast(many, few))
            .collect();
        let languages = conditions.iter().filter_map(|one| {
            let other = |rust: &&ConditionFigures| {
                rust.condition.language == Language::Rust
                    && one.condition.language != Language::Rust
                    && rust.condition.threads == one.condition.threads
            };
            contrast(one, conditions.iter().find(other)?)
        });
        let languages = languages.collect();
        let (threads, languages) = (together(threads), together(languages));
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
    let pace = if idle || runs.len() < FEWEST_RUNS {
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
    let moments = Moments::of(&rates);
    let rate_modes = modes_of_rates(&rates);
    let mut cvs: Vec<f64> = figures.iter().filter_map(|run| run.cv).collect();
    cvs.sort_by(f64::total_cmp);
    let p99s: Vec<i64> = figures.iter().filter_map(|run| run.p99_ns).collect();
    let mut all = ConditionFigures {
        condition,
        name: condition.name(),
        cv: (!cvs.is_empty()).then(|| median(&cvs)),
        runs: figures,
        rate_hz: mean(&rates),
        rate_sd_hz: moments.filter(|m| m.n > FEWEST_RUNS && !rate_modes).map(|m| m.sd),
        rate_modes,
        rate_range_hz: (lowest, highest),
        pace,
        stalls: None,
        heavy_p50_ns: quantile(&heavy, 500),
        interval_p50_ns: quantile(&steady, 500),
        interval_p99_ns: quantile(&steady, 990),
        interval_p99_range_ns: p99s.iter().min().copied().zip(p99s.iter().max().copied()),
        wait: Wait::of(&steady),
    };
    let mut longest = all.longest();
    longest.sort_unstable();
    all.stalls = Modes::find(&longest, RESOLUTION_NS);
    Some(all)
}

/// The intervals that end within the start-up, and those that end after it: a stall that reaches beyond
/// the start-up is one of the loop.
pub(super) fn intervals(run: &Run, start_up_ns: i64) -> (Vec<i64>, Vec<i64>) {
    let turns = &run.node.turns_ns;
    let pairs = turns.iter().zip(turns.iter().skip(1));
    let (early, steady): (Vec<_>, Vec<_>) = pairs.partition(|(_, to)| **to <= start_up_ns);
    let of = |pairs: Vec<(&i64, &i64)>| pairs.iter().map(|(from, to)| *to - *from).collect();
    (of(early), of(steady))
}

#[expect(clippy::cast_precision_loss, reason = "ns of minutes are far below 2^53")]
fn of_run(run: &Run, start_up_ns: i64) -> RunFigures {
    let (early, mut steady) = intervals(run, start_up_ns);
    let floats: Vec<f64> = steady.iter().map(|ns| *ns as f64).collect();
    // Of the window, not of the intervals: one that reaches into it counts with its part of it.
    let window = run.node.turns_ns.last().map_or(0, |last| last - start_up_ns);
    let first = run.node.turns_ns.iter().find(|at| **at > start_up_ns);
    let before = steady.first().zip(first).map_or(0.0, |(interval, at)| {
        1.0 - (at - start_up_ns).min(*interval) as f64 / (*interval).max(1) as f64
    });
    let turns = floats.len() as f64 - before;
    let rate_hz = if window > 0 { turns * 1e9 / window as f64 } else { 0.0 };
    let mut by_thread: Vec<u64> =
        run.node.callbacks.iter().map(|[turns, heavy]| turns + heavy).collect();
    by_thread.sort_unstable_by(|a, b| b.cmp(a));
    steady.sort_unstable();
    RunFigures {
        round: run.round,
        turns: steady.len(),
        rate_hz,
        cv: Moments::of(&floats).map(|m| m.sd / m.mean),
        longest_ns: steady.last().copied(),
        start_up_longest_ns: early.iter().max().copied(),
        p99_ns: quantile(&steady, 990),
        heavy: run.node.heavy_ns.len(),
        threads_used: by_thread.iter().filter(|count| **count > 0).count(),
        by_thread,
        scans: (run.scans, run.node.taken),
    }
}

impl Wait {
    /// Of the intervals between turns; `None` without any.
    #[expect(clippy::cast_precision_loss, reason = "ns of hours are below 2^53")]
    pub fn of(sorted: &[i64]) -> Option<Self> {
        let whole: f64 = sorted.iter().map(|l| *l as f64).sum();
        let squares: f64 = sorted.iter().map(|l| (*l as f64).powi(2)).sum();
        let longest = *sorted.last().filter(|longest| **longest > 0)?;
        // The part of all time from which it is longer than `ns` to the next turn.
        let beyond = |ns: i64| sorted.iter().map(|l| (l - ns).max(0) as f64).sum::<f64>() / whole;
        let at = |part: f64| {
            let (mut low, mut high) = (0, longest);
            while high - low > 1 {
                let middle = i64::midpoint(low, high);
                if beyond(middle) > part { low = middle } else { high = middle }
            }
            high
        };
        Some(Self { mean_ns: squares / (2.0 * whole), p50_ns: at(0.5), p99_ns: at(0.01) })
    }
}

fn modes_of_rates(rates: &[f64]) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "rates are far below 2^63")]
    let mut scaled: Vec<i64> = rates.iter().map(|rate| (rate * 1e6).round() as i64).collect();
    scaled.sort_unstable();
    Modes::find(&scaled, RATE_RESOLUTION).is_some()
}

/// Contrasts that are asked together: so many chances to find something by chance.
fn together(mut all: Vec<Contrast>) -> Vec<Contrast> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| all[*a].permutation_p.total_cmp(&all[*b].permutation_p));
    let (mut most, mut left) = (0.0_f64, u32::try_from(all.len()).unwrap_or(u32::MAX));
    for at in order {
        most = most.max((all[at].permutation_p * f64::from(left)).min(1.0));
        left -= 1;
        all[at].holm_p = most;
        all[at].differs = most <= 0.05;
    }
    all
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
        let margin = ALIKE * mean(others);
        let alike = match welch {
            Some(welch) => welch.equivalence_p(margin).is_some_and(|p| p <= 0.05),
            // Nothing varies on either side: what was seen is what there is.
            None => rates.len().min(others.len()) >= FEWEST_RUNS && same(rates, others, margin),
        };
        Some(Self {
            of: of.to_owned(),
            against: against.to_owned(),
            difference_hz: mean(rates) - mean(others),
            welch: welch.map(|w| WelchFigures { t: w.t, df: w.df, p: w.p, ci_hz: w.ci }),
            permutation_p: rearranged.p,
            holm_p: rearranged.p,
            smallest_p: rearranged.smallest_p,
            cliffs_delta: cliff.delta,
            differs: rearranged.p <= 0.05,
            alike,
        })
    }
}

/// Whether no value of the one is further than a margin from any of the other.
fn same(a: &[f64], b: &[f64], margin: f64) -> bool {
    a.iter().all(|x| b.iter().all(|y| (x - y).abs() <= margin))
}

fn mean(values: &[f64]) -> f64 {
    // At most a hundred runs.
    let n = u32::try_from(values.len()).map_or(f64::NAN, f64::from);
    values.iter().sum::<f64>() / n
}
