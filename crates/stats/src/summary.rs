//! The summary of a sample: what a report prints of a class or a leg.

use crate::quantile::{Interval, quantile, quantile_interval};
use serde::Serialize;

/// Count, moments and quantiles of a sample of durations in nanoseconds.
///
/// Every field but `n` is `None` when there is no sample: nothing is not zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Summary {
    /// How many values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Sample standard deviation (n − 1); `None` for fewer than two values.
    pub sd_ns: Option<f64>,
    /// The smallest value.
    pub min_ns: Option<i64>,
    /// The largest value.
    pub max_ns: Option<i64>,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 75th percentile.
    pub p75_ns: Option<i64>,
    /// 90th percentile.
    pub p90_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Two-sided 95 % order-statistic interval of the 99th percentile.
    #[cfg_attr(feature = "ts", ts(type = "[number | null, number | null]"))]
    pub p99_ci_ns: Interval,
}

impl Summary {
    /// The same without quantiles: those of a queue without a steady state mean nothing.
    #[must_use]
    pub fn without_quantiles(self) -> Self {
        let none = None;
        Self {
            p50_ns: none,
            p75_ns: none,
            p90_ns: none,
            p95_ns: none,
            p99_ns: none,
            p99_ci_ns: Interval { lo: None, hi: None },
            ..self
        }
    }

    /// Summarises `values`; the order in which they come makes no difference to any digit.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean of durations is meant to be a float; i128 sums keep the inputs exact"
    )]
    pub fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let sorted = values.as_slice();
        let n = sorted.len();
        let mean = (n > 0).then(|| {
            let sum: i128 = sorted.iter().map(|v| i128::from(*v)).sum();
            sum as f64 / n as f64
        });
        let sd = mean.filter(|_| n > 1).map(|mean| {
            let squares: f64 = sorted.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        let p = |thousandths| quantile(sorted, thousandths);
        Self {
            n,
            mean_ns: mean,
            sd_ns: sd,
            min_ns: sorted.first().copied(),
            max_ns: sorted.last().copied(),
            p50_ns: p(500),
            p75_ns: p(750),
            p90_ns: p(900),
            p95_ns: p(950),
            p99_ns: p(990),
            p99_ci_ns: quantile_interval(sorted, 990, 0.95),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample() {
        let s = Summary::of(vec![5, 1, 3, 2, 4]);
        assert_eq!((s.n, s.min_ns, s.max_ns, s.p50_ns), (5, Some(1), Some(5), Some(3)));
        assert_eq!(s.mean_ns, Some(3.0));
        assert!((s.sd_ns.unwrap() - 2.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(s.p99_ci_ns.hi, None);
    }

    #[test]
    fn nothing_is_not_zero() {
        let s = Summary::of(vec![]);
        assert_eq!((s.n, s.mean_ns, s.p50_ns), (0, None, None));
        assert_eq!(Summary::of(vec![7]).sd_ns, None);
    }

    #[test]
    fn order_changes_no_digit() {
        let forward: Vec<i64> = (0..1000).map(|i| i * i * 7 % 1_000_003).collect();
        let mut backward = forward.clone();
        backward.reverse();
        assert_eq!(Summary::of(forward), Summary::of(backward));
    }

    #[test]
    fn json_has_null_where_no_bound_exists() {
        let json = serde_json::to_value(Summary::of(vec![1, 2])).unwrap();
        assert!(json["p99_ci_ns"][1].is_null());
    }
}
