//! Quantiles and their order-statistic intervals (METHOD 12).

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

/// A two-sided interval for a quantile; an end is `None` where the sample is too small for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The lower end: a value of the sample.
    pub lo: Option<i64>,
    /// The upper end: a value of the sample.
    pub hi: Option<i64>,
}

impl Serialize for Interval {
    /// As a pair `[lo, hi]` with `null` for an end that does not exist.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.lo, self.hi).serialize(serializer)
    }
}

/// The rank (from 1) of the `p`-quantile among `n` sorted values: ⌈n·p⌉, at least 1.
///
/// `p` is in thousandths, so that ⌈n·p⌉ is integer arithmetic and no rounding of `0.95 × 20`
/// can move a rank.
pub fn nearest_rank(n: usize, thousandths: u32) -> usize {
    (n * thousandths as usize).div_ceil(1000).clamp(1, n.max(1))
}

/// The `p`-quantile (in thousandths) of `sorted`; `None` when there is no sample.
pub fn quantile(sorted: &[i64], thousandths: u32) -> Option<i64> {
    sorted.get(nearest_rank(sorted.len(), thousandths) - 1).copied()
}

/// The ranks (from 1) between which the true `p`-quantile lies with at least `confidence`.
///
/// With B ~ Bin(n, p): P(x₍l₎ ≤ q < x₍u₎) = F(u−1) − F(l−1). Each tail gets half of
/// `1 − confidence`; a rank that does not exist is `None` ("no bound at this n").
pub fn interval_ranks(n: usize, p: f64, confidence: f64) -> (Option<usize>, Option<usize>) {
    let tail = (1.0 - confidence) / 2.0;
    let Ok(binomial) = Binomial::new(p, n as u64) else {
        return (None, None);
    };
    // lower: the largest l with F(l−1) ≤ tail; upper: the smallest u with F(u−1) ≥ 1 − tail.
    let below = |l: usize| binomial.cdf((l - 1) as u64);
    let lower = partition(n, |l| below(l) <= tail);
    let upper = partition(n, |u| below(u) < 1.0 - tail) + 1;
    ((lower >= 1).then_some(lower), (upper <= n).then_some(upper))
}

/// How many of the ranks 1..=n, from the front, satisfy a predicate that is true up to some rank.
fn partition(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut yes, mut no) = (0, n + 1);
    while no - yes > 1 {
        let middle = usize::midpoint(yes, no);
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

/// The interval of the `p`-quantile (in thousandths) of `sorted` at `confidence`.
///
/// Assumes independent samples; autocorrelated series have fewer effective ones.
pub fn quantile_interval(sorted: &[i64], thousandths: u32, confidence: f64) -> Interval {
    let (lo, hi) = interval_ranks(sorted.len(), f64::from(thousandths) / 1000.0, confidence);
    let at = |rank: usize| sorted[rank - 1];
    Interval { lo: lo.map(at), hi: hi.map(at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_the_published_ones() {
        assert_eq!(interval_ranks(1000, 0.99, 0.95), (Some(983), Some(997)));
    }

    /// METHOD 12: the smallest n that has a two-sided 95 % interval with an upper end.
    #[test]
    fn smallest_samples_with_an_upper_end() {
        for (p, smallest) in [(0.95, 72), (0.99, 368), (0.999, 3688)] {
            assert!(interval_ranks(smallest, p, 0.95).1.is_some(), "{p}");
            assert_eq!(interval_ranks(smallest - 1, p, 0.95).1, None, "{p}");
        }
        // One-sided 95 % is two-sided 90 %.
        for (p, smallest) in [(0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)] {
            assert!(interval_ranks(smallest, p, 0.9).1.is_some(), "{p}");
            assert_eq!(interval_ranks(smallest - 1, p, 0.9).1, None, "{p}");
        }
    }

    #[test]
    fn p99_of_58_values_is_the_maximum_and_has_no_upper_end() {
        let sorted: Vec<i64> = (1..=58).collect();
        assert_eq!(quantile(&sorted, 990), Some(58));
        assert_eq!(quantile_interval(&sorted, 990, 0.95).hi, None);
        assert!(quantile_interval(&sorted, 990, 0.95).lo.is_some());
    }

    #[test]
    fn nearest_rank_has_no_rounding_of_its_own() {
        assert_eq!(nearest_rank(20, 950), 19);
        assert_eq!(nearest_rank(100, 990), 99);
        assert_eq!(nearest_rank(101, 990), 100);
        assert_eq!(nearest_rank(1, 500), 1);
        assert_eq!(quantile(&[], 500), None);
    }

    proptest! {
        #[test]
        fn quantile_is_the_smallest_value_that_covers(mut v in prop::collection::vec(any::<i32>(), 1..200), p in 1u32..1000) {
            v.sort_unstable();
            let sorted: Vec<i64> = v.iter().map(|x| i64::from(*x)).collect();
            let q = quantile(&sorted, p).unwrap();
            let at_most = |x: i64| sorted.iter().filter(|y| **y <= x).count() * 1000;
            prop_assert!(at_most(q) >= sorted.len() * p as usize);
            prop_assert!(sorted.iter().filter(|y| **y < q).count() * 1000 < sorted.len() * p as usize);
        }
    }
}
