//! The summary of a sample: what a report prints of a class or a leg.

use crate::autocorrelation::{effective_size, quantile_interval_effective};
use crate::bimodality::Modes;
use crate::quantile::{Interval, quantile};
use serde::Serialize;

/// Fewer values are not looked at for modes: of them only the shape could be told.
const MIN_MODES_VALUES: usize = 30;

/// Count, moments and quantiles of a sample of durations in nanoseconds.
///
/// Every field but `n` is `None` when there is no sample: nothing is not zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Summary {
    /// How many values.
    pub n: usize,
    /// How many independent values they are worth: `n`, or less where each depends on the one
    /// before (METHOD 12). Intervals and bounds are those of so many.
    pub n_eff: usize,
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
    /// Two-sided 95 % order-statistic interval of the median.
    #[cfg_attr(feature = "ts", ts(type = "[number | null, number | null]"))]
    pub p50_ci_ns: Interval,
    /// The same of the 95th percentile.
    #[cfg_attr(feature = "ts", ts(type = "[number | null, number | null]"))]
    pub p95_ci_ns: Interval,
    /// The same of the 99th percentile.
    #[cfg_attr(feature = "ts", ts(type = "[number | null, number | null]"))]
    pub p99_ci_ns: Interval,
    /// One-sided 95 % upper bound of the 95th percentile; needs 59 independent values.
    pub p95_upper_ns: Option<i64>,
    /// The same of the 99th percentile; needs 299.
    pub p99_upper_ns: Option<i64>,
    /// Two modes: then the mean and the standard deviation describe no value (METHOD 18). `null`
    /// where none were found, or not looked for, as in fewer than 30 values.
    pub modes: Option<Modes>,
}

impl Summary {
    /// The same without quantiles: those of a queue without a steady state mean nothing.
    #[must_use]
    pub fn without_quantiles(self) -> Self {
        let none = None;
        let open = Interval { lo: None, hi: None };
        Self {
            p50_ns: none,
            p75_ns: none,
            p90_ns: none,
            p95_ns: none,
            p99_ns: none,
            p50_ci_ns: open,
            p95_ci_ns: open,
            p99_ci_ns: open,
            p95_upper_ns: none,
            p99_upper_ns: none,
            modes: None,
            ..self
        }
    }

    /// Summarises values that come in no order; it makes no difference to any digit.
    pub fn of(values: Vec<i64>) -> Self {
        let n = values.len();
        Self::of_effective(values, n, None)
    }

    /// Summarises a series in the order in which its values came, which tells what they are worth
    /// together: their [`n_eff`](Self::n_eff). Each value comes with its source, as a robot: of
    /// several, each is a series of its own ([`effective_size`]).
    pub fn of_series<S: Ord>(series: &[(S, i64)]) -> Self {
        Self::of_effective(values(series), effective_size(series), None)
    }

    /// The same, and looks for two modes; the clock behind the values has this resolution.
    pub fn of_series_with_modes<S: Ord>(series: &[(S, i64)], resolution_ns: i64) -> Self {
        Self::of_effective(values(series), effective_size(series), Some(resolution_ns))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean of durations is meant to be a float; i128 sums keep the inputs exact"
    )]
    fn of_effective(mut values: Vec<i64>, n_eff: usize, resolution_ns: Option<i64>) -> Self {
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
        let within = |thousandths| quantile_interval_effective(sorted, thousandths, n_eff, 0.95);
        // A two-sided interval leaves half of the rest on either side: 5 % above one with 90 %.
        let below = |thousandths| quantile_interval_effective(sorted, thousandths, n_eff, 0.9).hi;
        Self {
            n,
            n_eff,
            mean_ns: mean,
            sd_ns: sd,
            min_ns: sorted.first().copied(),
            max_ns: sorted.last().copied(),
            p50_ns: p(500),
            p75_ns: p(750),
            p90_ns: p(900),
            p95_ns: p(950),
            p99_ns: p(990),
            p50_ci_ns: within(500),
            p95_ci_ns: within(950),
            p99_ci_ns: within(990),
            p95_upper_ns: below(950),
            p99_upper_ns: below(990),
            modes: resolution_ns
                .filter(|_| n >= MIN_MODES_VALUES)
                .and_then(|resolution| Modes::find(sorted, resolution)),
        }
    }
}

fn values<S>(series: &[(S, i64)]) -> Vec<i64> {
    series.iter().map(|(_, value)| *value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::quantile_interval;

    /// Of one source.
    fn alone(values: impl IntoIterator<Item = i64>) -> Vec<((), i64)> {
        values.into_iter().map(|value| ((), value)).collect()
    }

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

    /// METHOD 12: what 58, 59, 299 and 368 values allow to be said.
    #[test]
    fn bounds_come_with_enough_values() {
        let upper = |n: i64| {
            let s = Summary::of((1..=n).collect());
            (s.p95_upper_ns, s.p99_upper_ns, s.p95_ci_ns.hi, s.p99_ci_ns.hi)
        };
        assert_eq!(upper(58), (None, None, None, None));
        assert_eq!(upper(59), (Some(59), None, None, None));
        assert_eq!(upper(72), (Some(72), None, Some(72), None));
        assert_eq!(upper(298), (Some(290), None, Some(291), None));
        assert_eq!(upper(299), (Some(291), Some(299), Some(292), None));
        assert_eq!(upper(368).3, Some(368));
        assert_eq!(
            Summary::of((1..=100).collect()).p50_ci_ns,
            quantile_interval(&(1..=100).collect::<Vec<_>>(), 500, 0.95)
        );
    }

    /// Each value ten times in a row: r₁ is near 0.9, and 1000 values are worth some 50.
    #[test]
    fn a_series_that_repeats_itself_is_worth_less() {
        let series: Vec<i64> = (0..1000).map(|i| (i / 10) * 7919 % 101).collect();
        let (independent, s) = (Summary::of(series.clone()), Summary::of_series(&alone(series)));
        assert_eq!(independent.n_eff, 1000);
        assert!((40..=80).contains(&s.n_eff), "{}", s.n_eff);
        assert_eq!((s.p50_ns, s.p99_ns), (independent.p50_ns, independent.p99_ns));
        let width = |i: Interval| i.hi.unwrap() - i.lo.unwrap();
        assert!(width(s.p50_ci_ns) > 2 * width(independent.p50_ci_ns), "{s:?}");
        assert!(independent.p99_ci_ns.hi.is_some() && s.p99_ci_ns.hi.is_none());
    }

    #[test]
    fn modes_are_found_where_they_are_looked_for() {
        let values = |n: i64| (0..n).map(|i| if i % 5 == 0 { 40_000 + i } else { 200 + i % 90 });
        let modes = Summary::of_series_with_modes(&alone(values(100)), 1).modes.unwrap();
        assert_eq!((modes.low.n, modes.high.n), (80, 20));
        assert_eq!(Summary::of_series_with_modes(&alone(values(29)), 1).modes, None);
        assert_eq!(Summary::of_series(&alone(values(100))).modes, None);
    }

    #[test]
    fn json_has_null_where_no_bound_exists() {
        let json = serde_json::to_value(Summary::of(vec![1, 2])).unwrap();
        assert!(json["p99_ci_ns"][1].is_null());
    }
}
