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
    let rank = (n as u128 * u128::from(thousandths)).div_ceil(1000);
    usize::try_from(rank).unwrap_or(n).clamp(1, n.max(1))
}

/// The `p`-quantile (in thousandths) of `sorted`; `None` when there is no sample.
pub fn quantile(sorted: &[i64], thousandths: u32) -> Option<i64> {
    sorted.get(nearest_rank(sorted.len(), thousandths) - 1).copied()
}

/// The ranks (from 1) between which the true `p`-quantile lies with at least `confidence`.
///
/// With B ~ Bin(n, p): P(x₍l₎ ≤ q < x₍u₎) = F(u−1) − F(l−1). Each tail gets half of
/// `1 − confidence`; a rank that does not exist is `None` ("no bound at this n").
///
/// So each end alone is a one-sided bound with (1 + `confidence`) / 2. The price is that both
/// together may cover more than `confidence`: see [`interval_coverage`] and
/// [`shortest_interval_ranks`].
pub fn interval_ranks(n: usize, p: f64, confidence: f64) -> (Option<usize>, Option<usize>) {
    let one_sided = f64::midpoint(1.0, confidence);
    (lower_bound_rank(n, p, one_sided), upper_bound_rank(n, p, one_sided))
}

/// The largest rank l (from 1) with P(x₍l₎ ≤ q) ≥ `confidence`: F(l−1) ≤ 1 − `confidence`.
///
/// `None` where even the minimum is not below the true `p`-quantile with that confidence.
pub fn lower_bound_rank(n: usize, p: f64, confidence: f64) -> Option<usize> {
    let binomial = Binomial::new(p, n as u64).ok()?;
    let rank = partition(n, |l| below(&binomial, l) <= 1.0 - confidence);
    (rank >= 1).then_some(rank)
}

/// The smallest rank u (from 1) with P(q < x₍u₎) ≥ `confidence`: F(u−1) ≥ `confidence`.
///
/// `None` where even the maximum is not above the true `p`-quantile with that confidence. The
/// smallest n that have a bound at 95 %: P90 29, P95 59, P99 299, P99.9 2995 (METHOD 12).
pub fn upper_bound_rank(n: usize, p: f64, confidence: f64) -> Option<usize> {
    let binomial = Binomial::new(p, n as u64).ok()?;
    let rank = partition(n, |u| below(&binomial, u) < confidence) + 1;
    (rank <= n).then_some(rank)
}

/// The probability F(u−1) − F(l−1) with which the values at `ranks` (l, u) really enclose the
/// true `p`-quantile of any continuous distribution; `None` for a `p` that is no probability.
pub fn interval_coverage(n: usize, p: f64, ranks: (usize, usize)) -> Option<f64> {
    let binomial = Binomial::new(p, n as u64).ok()?;
    Some(below(&binomial, ranks.1) - below(&binomial, ranks.0))
}

/// The closest pair of ranks that covers at least `confidence`, tails as even as that allows.
///
/// It covers no more than the ranks' discreteness makes it: P99 of n = 1000 has 983–996 with
/// 95.7 %, where the even tails of [`interval_ranks`] have 983–997 with 97.6 %. Neither end alone
/// is a bound with a known confidence above `confidence`. `None` where [`interval_ranks`] lacks
/// an end: what one tail cannot give is not taken from the other.
pub fn shortest_interval_ranks(n: usize, p: f64, confidence: f64) -> Option<(usize, usize)> {
    let binomial = Binomial::new(p, n as u64).ok()?;
    let (Some(even_lo), Some(even_hi)) = interval_ranks(n, p, confidence) else {
        return None;
    };
    let covered = |l: usize, u: usize| below(&binomial, u) - below(&binomial, l);
    let tilt = |l: usize, u: usize| (below(&binomial, l) - (1.0 - below(&binomial, u))).abs();
    let width = even_hi - even_lo;
    // An upper end below `hi` leaves more than 1 − confidence above it whatever the lower end is,
    // and a lower end more than `width` below is not shorter.
    let mut hi = upper_bound_rank(n, p, confidence)?;
    let mut best = (even_lo, even_hi);
    for lo in hi.saturating_sub(width).max(1)..=lower_bound_rank(n, p, confidence)? {
        while hi <= n && covered(lo, hi) < confidence {
            hi += 1;
        }
        if hi > n {
            break;
        }
        let shorter = hi - lo < best.1 - best.0;
        let as_short = hi - lo == best.1 - best.0;
        if shorter || (as_short && tilt(lo, hi) < tilt(best.0, best.1)) {
            best = (lo, hi);
        }
    }
    Some(best)
}

/// F(rank − 1): the probability that fewer than `rank` values lie at or below the quantile.
fn below(binomial: &Binomial, rank: usize) -> f64 {
    binomial.cdf((rank - 1) as u64)
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

/// The one-sided lower bound at `confidence` of the `p`-quantile (in thousandths) of `sorted`.
///
/// `None`: no bound at this n. Assumes independent samples.
pub fn quantile_lower_bound(sorted: &[i64], thousandths: u32, confidence: f64) -> Option<i64> {
    let rank = lower_bound_rank(sorted.len(), f64::from(thousandths) / 1000.0, confidence)?;
    sorted.get(rank - 1).copied()
}

/// The one-sided upper bound at `confidence` of the `p`-quantile (in thousandths) of `sorted`.
///
/// `None`: no bound at this n. Assumes independent samples.
pub fn quantile_upper_bound(sorted: &[i64], thousandths: u32, confidence: f64) -> Option<i64> {
    let rank = upper_bound_rank(sorted.len(), f64::from(thousandths) / 1000.0, confidence)?;
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_the_published_ones() {
        assert_eq!(interval_ranks(1000, 0.99, 0.95), (Some(983), Some(997)));
    }

    /// METHOD 12: the smallest n with a 95 % bound, and none at one less.
    #[test]
    fn smallest_samples_with_an_upper_end() {
        for (p, smallest) in [(0.95, 72), (0.99, 368), (0.999, 3688)] {
            // At the smallest n the upper end is the maximum.
            assert_eq!(interval_ranks(smallest, p, 0.95).1, Some(smallest), "{p}");
            assert_eq!(interval_ranks(smallest - 1, p, 0.95).1, None, "{p}");
            assert!(interval_ranks(smallest - 1, p, 0.95).0.is_some(), "{p}");
            assert!(shortest_interval_ranks(smallest, p, 0.95).is_some(), "{p}");
            assert_eq!(shortest_interval_ranks(smallest - 1, p, 0.95), None, "{p}");
        }
        for (p, smallest) in [(0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)] {
            assert_eq!(upper_bound_rank(smallest, p, 0.95), Some(smallest), "{p}");
            assert_eq!(upper_bound_rank(smallest - 1, p, 0.95), None, "{p}");
            // The lower bound of the mirrored quantile is the mirror image.
            assert_eq!(lower_bound_rank(smallest, 1.0 - p, 0.95), Some(1), "{p}");
            assert_eq!(lower_bound_rank(smallest - 1, 1.0 - p, 0.95), None, "{p}");
        }
    }

    #[test]
    fn bounds_are_values_of_the_sample() {
        let sorted: Vec<i64> = (1..=1000).map(|i| i * 10).collect();
        // F(994) = 0.9341 and F(995) = 0.9713; F(983) = 0.0266 and F(984) = 0.0481.
        assert_eq!(quantile_upper_bound(&sorted, 990, 0.95), Some(9960));
        assert_eq!(quantile_lower_bound(&sorted, 990, 0.95), Some(9850));
        assert_eq!(quantile_upper_bound(&sorted[..298], 990, 0.95), None);
        assert_eq!(quantile_upper_bound(&sorted[..299], 990, 0.95), Some(2990));
        assert_eq!(quantile_upper_bound(&[], 500, 0.95), None);
        assert_eq!(quantile_lower_bound(&[], 500, 0.95), None);
    }

    /// The published ranks of n = 1000, P99 cover 97.6 %; one rank less at the top still 95.7 %.
    #[test]
    fn shortest_ranks_cover_little_more_than_asked_for() {
        let covered = |n, p, ranks| interval_coverage(n, p, ranks).unwrap();
        assert!((covered(1000, 0.99, (983, 997)) - 0.976_095).abs() < 1e-6);
        assert_eq!(shortest_interval_ranks(1000, 0.99, 0.95), Some((983, 996)));
        assert!((covered(1000, 0.99, (983, 996)) - 0.957_481).abs() < 1e-6);
        assert_eq!(shortest_interval_ranks(1000, 0.95, 0.95), Some((937, 964)));
    }

    #[test]
    fn p99_of_58_values_is_the_maximum_and_has_no_upper_end() {
        let sorted: Vec<i64> = (1..=58).collect();
        assert_eq!(quantile(&sorted, 990), Some(58));
        assert_eq!(quantile_interval(&sorted, 990, 0.95).hi, None);
        assert_eq!(quantile_upper_bound(&sorted, 990, 0.95), None);
        assert!(quantile_interval(&sorted, 990, 0.95).lo.is_some());
        assert!(quantile_lower_bound(&sorted, 990, 0.95).is_some());
    }

    #[test]
    fn nearest_rank_has_no_rounding_of_its_own() {
        assert_eq!(nearest_rank(20, 950), 19);
        assert_eq!(nearest_rank(100, 990), 99);
        assert_eq!(nearest_rank(101, 990), 100);
        assert_eq!(nearest_rank(1, 500), 1);
        assert_eq!(nearest_rank(usize::MAX, 1000), usize::MAX);
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

        /// Against every pair of ranks: none that covers enough is shorter, and this one does.
        #[test]
        fn no_shorter_pair_covers_enough(n in 1usize..120, p in 0.05f64..0.95) {
            let (lo, hi) = interval_ranks(n, p, 0.95);
            let shortest = shortest_interval_ranks(n, p, 0.95);
            prop_assert_eq!(shortest.is_some(), lo.is_some() && hi.is_some());
            if let Some((l, u)) = shortest {
                prop_assert!(interval_coverage(n, p, (l, u)).unwrap() >= 0.95);
                for other in 1..=n {
                    let end = other + (u - l) - 1;
                    if end > other && end <= n {
                        prop_assert!(interval_coverage(n, p, (other, end)).unwrap() < 0.95);
                    }
                }
            }
        }
    }
}
