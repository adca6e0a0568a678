//! How many independent values a series is worth (METHOD 12).

use crate::quantile::{Interval, interval_ranks};
use std::collections::BTreeMap;

/// The fewest values of which [`Autocorrelation::of`] says something.
///
/// The standard error of r₁ is about 1/√n: at 10 values it is 0.3.
pub const MIN_AUTOCORRELATION_VALUES: usize = 10;

/// How much a series of values depends on itself, from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autocorrelation {
    /// r₁ = Σ (xᵢ − x̄)(xᵢ₊₁ − x̄) / Σ (xᵢ − x̄)², between −1 and 1.
    pub r1: f64,
    /// The effective sample size n (1 − r₁) / (1 + r₁), rounded down, from 1 to n.
    ///
    /// It is n for r₁ ≤ 0: a series that alternates is not credited with more values than it has.
    pub n_eff: usize,
}

impl Autocorrelation {
    /// Of a series in the order in which its values came.
    ///
    /// `None` for fewer than [`MIN_AUTOCORRELATION_VALUES`] values, or when all are the same.
    ///
    /// n_eff is that of the mean of an AR(1) process (G. E. P. Box, G. M. Jenkins, G. C. Reinsel,
    /// *Time Series Analysis*, 4th ed., 2.1.3; F. W. Zwiers, H. von Storch, J. Climate 8, 1995). A
    /// series that remembers longer than r₁ tells, such as one with a trend, is worth less. Of
    /// independent values r₁ is about ± 1/√n, so that n_eff may come out a little below n.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a correlation is a float; i128 deviations keep the inputs exact"
    )]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded down on purpose, and clamped to 1..=n"
    )]
    pub fn of(series: &[i64]) -> Option<Self> {
        let n = series.len();
        if n < MIN_AUTOCORRELATION_VALUES {
            return None;
        }
        let sum: i128 = series.iter().map(|v| i128::from(*v)).sum();
        // n times the deviation from the mean is a whole number; the factor cancels out.
        let deviations: Vec<f64> =
            series.iter().map(|v| (i128::from(*v) * n as i128 - sum) as f64).collect();
        let variance: f64 = deviations.iter().map(|d| d * d).sum();
        if variance == 0.0 {
            return None;
        }
        let r1 = deviations.windows(2).map(|d| d[0] * d[1]).sum::<f64>() / variance;
        let worth = n as f64 * (1.0 - r1) / (1.0 + r1);
        let n_eff = if r1 > 0.0 { (worth as usize).clamp(1, n) } else { n };
        Some(Self { r1, n_eff })
    }
}

/// What a series is worth that several sources make together, each value with its source.
///
/// Two robots that take turns, each with messages that depend on that robot's last one, look
/// independent from one message to the next. So each source is a series of its own, and they are
/// worth the sum; but no more than the series as a whole, where they share what makes them depend
/// on each other, such as a queue. From 1 to n; sources that [`Autocorrelation::of`] says nothing
/// of count in full.
pub fn effective_size<S: Ord>(series: &[(S, i64)]) -> usize {
    let worth = |values: &[i64]| Autocorrelation::of(values).map_or(values.len(), |a| a.n_eff);
    let mut sources: BTreeMap<&S, Vec<i64>> = BTreeMap::new();
    for (source, value) in series {
        sources.entry(source).or_default().push(*value);
    }
    let whole: Vec<i64> = series.iter().map(|(_, value)| *value).collect();
    let apart: usize = sources.values().map(|values| worth(values)).sum();
    apart.min(worth(&whole))
}

/// The interval of the `p`-quantile (in thousandths) of `sorted`, as if it had only `n_eff` values.
///
/// The ranks l and u are those of `n_eff` independent values. The n values are then taken for
/// `n_eff` blocks of like values, n / n_eff in each: the lower end is the first of the l-th block,
/// ⌊(l − 1) n / n_eff⌋ + 1, and the upper end the last of the u-th, ⌈u n / n_eff⌉. With
/// n_eff = n that is [`quantile_interval`](crate::quantile_interval). An end that `n_eff` values
/// do not have does not exist.
///
/// An approximation on the safe side for series like AR(1): r₁ is that of the values, and whether
/// a value lies below a quantile depends less on its neighbour than the values do (for Gaussian
/// ones (2/π) arcsin r₁ at the median, and less in the tails), and the outermost value of each
/// block is taken. It is not on the safe side for series that remember longer than r₁ tells.
pub fn quantile_interval_effective(
    sorted: &[i64],
    thousandths: u32,
    n_eff: usize,
    confidence: f64,
) -> Interval {
    let n = sorted.len();
    let blocks = n_eff.min(n);
    let (lo, hi) = interval_ranks(blocks, f64::from(thousandths) / 1000.0, confidence);
    Interval {
        lo: lo.map(|l| sorted[(l - 1) * n / blocks]),
        hi: hi.map(|u| sorted[(u * n).div_ceil(blocks) - 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::quantile_interval;
    use proptest::prelude::*;

    #[test]
    fn a_series_worked_out_by_hand() {
        // Deviations −4.5 … 4.5: Σ d² = 82.5, Σ d d' = 57.75.
        let ramp: Vec<i64> = (0..10).collect();
        let found = Autocorrelation::of(&ramp).unwrap();
        assert!((found.r1 - 0.7).abs() < 1e-12, "{}", found.r1);
        assert_eq!(found.n_eff, 1); // 10 · 0.3 / 1.7 = 1.76
        let alternating: Vec<i64> = (0..10).map(|i| i % 2).collect();
        let found = Autocorrelation::of(&alternating).unwrap();
        assert!((found.r1 + 0.9).abs() < 1e-12, "{}", found.r1);
        assert_eq!(found.n_eff, 10);
    }

    #[test]
    fn too_little_to_tell() {
        assert_eq!(Autocorrelation::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), None);
        assert_eq!(Autocorrelation::of(&[i64::MAX; 100]), None);
    }

    #[test]
    fn blocks_end_at_their_outermost_values() {
        let sorted: Vec<i64> = (1..=2000).collect();
        // 1000 values have 983 and 997; blocks of two are (1965, 1966) and (1993, 1994).
        let interval = quantile_interval_effective(&sorted, 990, 1000, 0.95);
        assert_eq!(interval, Interval { lo: Some(1965), hi: Some(1994) });
        // 367 have no upper end, however many values there are.
        let few = quantile_interval_effective(&sorted, 990, 367, 0.95);
        assert_eq!(few.hi, None);
        assert!(few.lo.is_some());
        let none = quantile_interval_effective(&[], 990, 0, 0.95);
        assert_eq!(none, Interval { lo: None, hi: None });
    }

    proptest! {
        #[test]
        fn independent_values_have_the_ordinary_interval(
            mut values in prop::collection::vec(any::<i64>(), 0..500),
            p in 1u32..1000,
        ) {
            values.sort_unstable();
            let effective = quantile_interval_effective(&values, p, values.len(), 0.95);
            prop_assert_eq!(effective, quantile_interval(&values, p, 0.95));
        }

        #[test]
        fn always_within_its_limits(values in prop::collection::vec(any::<i64>(), 10..200)) {
            if let Some(found) = Autocorrelation::of(&values) {
                prop_assert!((-1.0..=1.0).contains(&found.r1));
                prop_assert!((1..=values.len()).contains(&found.n_eff));
            }
        }

        /// What no constant in the clock may change.
        #[test]
        fn an_offset_changes_nothing(values in prop::collection::vec(0i64..1000, 10..50)) {
            let far: Vec<i64> = values.iter().map(|v| v + (1 << 62)).collect();
            prop_assert_eq!(Autocorrelation::of(&values), Autocorrelation::of(&far));
        }
    }
}
