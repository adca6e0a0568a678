//! Runs beside runs: the run is the unit (METHOD 15).

use hopwatch_stats::{Shift, median, permutation_test, quantile};
use serde::Serialize;

/// Confidence of each end of an interval: 95 % for both.
pub(crate) const ONE_SIDED: f64 = 0.975;

/// Of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one.
    pub middle: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// `None` of no values.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Self { middle: median(&values), least, most })
    }
}

/// How many times as much one costs as the other, of the runs' medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The Hodges-Lehmann estimate of the ratio.
    pub times: f64,
    /// At least this, with 97.5 %; none: too few runs.
    pub at_least: Option<f64>,
    /// At most this, with 97.5 %.
    pub at_most: Option<f64>,
    /// Exact permutation test of no difference.
    pub p: Option<f64>,
}

impl Ratio {
    /// Of two sets of positive values; none when one of them is empty. On logarithms a ratio is a
    /// shift.
    pub(crate) fn of(a: &[f64], b: &[f64], seed: u64) -> Option<Self> {
        let logs = |values: &[f64]| values.iter().map(|x| x.ln()).collect::<Vec<_>>();
        let (a, b) = (logs(a), logs(b));
        let shift = Shift::unpaired(&a, &b, ONE_SIDED, ONE_SIDED)?;
        Some(Self {
            times: shift.estimate?.exp(),
            at_least: shift.lower.map(f64::exp),
            at_most: shift.upper.map(f64::exp),
            p: permutation_test(&a, &b, seed).map(|test| test.p),
        })
    }
}

/// "2.05 times [1.85, 2.17]"
pub(crate) fn times(ratio: &Ratio) -> String {
    let end = |bound: Option<f64>| bound.map_or("?".to_owned(), digits);
    format!("{} times [{}, {}]", digits(ratio.times), end(ratio.at_least), end(ratio.at_most))
}

/// Three digits that mean something.
fn digits(x: f64) -> String {
    match x {
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.1}"),
        x if x >= 0.1 => format!("{x:.2}"),
        x if x >= 0.01 => format!("{x:.3}"),
        _ => format!("{x:.4}"),
    }
}

/// The quantile of values in any order.
pub(crate) fn at(samples: &[i64], thousandths: u32) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    quantile(&sorted, thousandths).map(float)
}

pub(crate) fn middle(samples: &[i64]) -> Option<f64> {
    at(samples, 500)
}

#[expect(clippy::cast_precision_loss, reason = "durations of runs are far below 2^53 ns")]
pub(crate) fn float(ns: i64) -> f64 {
    ns as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2^53")]
pub(crate) fn count(n: u64) -> f64 {
    n as f64
}
