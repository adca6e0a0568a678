//! Ranks, and the exact distributions of rank statistics when nothing differs.

use statrs::distribution::{ContinuousCDF, Normal};

/// Midranks from 1: ties share the mean of their ranks.
pub(crate) fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let same = |i: &usize| values[*i].total_cmp(&values[order[from]]).is_eq();
        let n = order[from..].iter().take_while(|i| same(i)).count();
        let mean = float(from) + f64::midpoint(1.0, float(n));
        for i in &order[from..from + n] {
            ranks[*i] = mean;
        }
        from += n;
    }
    ranks
}

/// More pairs than this are left to the normal approximation: 100 runs against 100.
const MOST_PAIRS: usize = 10_000;

/// P(U = u) of the rank-sum statistic of `m` and `n` values, u from 0 to m·n (H. B. Mann,
/// D. R. Whitney, 1947), by counting the choices of m of m + n ranks by their sum.
pub(crate) fn rank_sum_distribution(m: usize, n: usize) -> Vec<f64> {
    let top = m * n;
    // ways[j][u]: so many choices of j ranks have U = u. Nothing is subtracted, so nothing cancels.
    let mut ways = vec![vec![0.0; top + 1]; m + 1];
    ways[0][0] = 1.0;
    for rank in 0..m + n {
        for j in (1..=m.min(rank + 1)).rev() {
            // As the j-th chosen, this one has rank + 1 − j that aren't chosen below it.
            let above = rank + 1 - j;
            let (fewer, more) = ways.split_at_mut(j);
            for u in above..=top {
                more[0][u] += fewer[j - 1][u - above];
            }
        }
    }
    let all: f64 = ways[m].iter().sum();
    ways[m].iter().map(|ways| ways / all).collect()
}

/// The rank of the ordered differences of `m` and `n` values that is a one-sided bound at
/// 1 − `alpha`; 0: there is none.
pub(crate) fn rank_sum_bound(m: usize, n: usize, alpha: f64) -> usize {
    if m * n <= MOST_PAIRS {
        return lower_rank(&rank_sum_distribution(m, n), alpha);
    }
    let (pairs, all) = (float(m * n), float(m + n));
    let z = Normal::standard().inverse_cdf(1.0 - alpha);
    rounded_down(pairs / 2.0 - z * (pairs * (all + 1.0) / 12.0).sqrt())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank, rounded down to the safe side"
)]
fn rounded_down(rank: f64) -> usize {
    rank.max(0.0) as usize
}

/// P(W = w) of the signed-rank statistic of `n` differences, w from 0 to n(n+1)/2 (F. Wilcoxon,
/// 1945).
pub(crate) fn signed_rank_distribution(n: usize) -> Vec<f64> {
    let top = n * (n + 1) / 2;
    let mut chance = vec![0.0; top + 1];
    chance[0] = 1.0;
    for rank in 1..=n {
        for w in (0..=top).rev() {
            let with = if w >= rank { chance[w - rank] } else { 0.0 };
            chance[w] = f64::midpoint(chance[w], with);
        }
    }
    chance
}

/// The largest k with P(S ≤ k − 1) ≤ `alpha`; 0 where even the smallest value is too likely.
pub(crate) fn lower_rank(distribution: &[f64], alpha: f64) -> usize {
    let mut below = 0.0;
    // A probability that is α but for rounding is α.
    let alpha = alpha * (1.0 + 1e-9);
    distribution
        .iter()
        .take_while(|chance| {
            below += **chance;
            below <= alpha
        })
        .count()
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "counts of runs and messages are far below 2⁵²")]
pub(crate) fn float(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(midranks(&[3.0, 1.0, 3.0, f64::INFINITY]), [2.5, 1.0, 2.5, 4.0]);
        assert!(midranks(&[]).is_empty());
    }

    /// The published tables: U ≤ 1 of 4 and 4 has 2 of 70; W ≤ 2 of 6 has 3 of 64.
    #[test]
    fn distributions_are_the_published_ones() {
        let u = rank_sum_distribution(4, 4);
        assert!((u[0] + u[1] - 2.0 / 70.0).abs() < 1e-12, "{u:?}");
        let w = signed_rank_distribution(6);
        assert!((w[..3].iter().sum::<f64>() - 3.0 / 64.0).abs() < 1e-12, "{w:?}");
        // 5 % one-sided: D(8) of 6 and 6 (U ≤ 7: 43 of 924), W(3) of 6.
        assert_eq!(lower_rank(&rank_sum_distribution(6, 6), 0.05), 8);
        assert_eq!(lower_rank(&w, 0.05), 3);
        // 1 of 20 is 5 %, and not more.
        assert_eq!(lower_rank(&rank_sum_distribution(3, 3), 0.05), 1);
        assert_eq!(lower_rank(&rank_sum_distribution(2, 2), 0.05), 0);
    }

    proptest! {
        /// Against every arrangement.
        #[test]
        fn every_arrangement_is_counted(m in 1usize..6, n in 1usize..6) {
            let mut ways = vec![0.0; m * n + 1];
            let mut all = 0.0;
            for mask in 0u32..1 << (m + n) {
                if mask.count_ones() as usize == m {
                    let one = |i: &usize| mask >> i & 1 == 1;
                    let u: usize = (0..m + n).filter(one)
                        .map(|i| (0..i).filter(|j| !one(j)).count()).sum();
                    ways[u] += 1.0;
                    all += 1.0;
                }
            }
            for (chance, ways) in rank_sum_distribution(m, n).iter().zip(&ways) {
                prop_assert!((chance - ways / all).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn large_ones_are_still_distributions() {
        for (m, n) in [(50, 50), (100, 60)] {
            let u = rank_sum_distribution(m, n);
            let sum: f64 = u.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{m} {n}: {sum}");
            assert!(u.iter().all(|chance| *chance >= 0.0), "{m} {n}");
        }
        // The approximation takes over where it is as good.
        let (exact, next) = (rank_sum_bound(100, 100, 0.05), rank_sum_bound(101, 100, 0.05));
        assert!((30..90).contains(&(next - exact)), "{exact} {next}");
    }
}
