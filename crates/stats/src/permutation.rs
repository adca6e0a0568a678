//! Exact tests of whether two conditions differ at all, with runs as units (METHOD 15, 16).

use crate::ranks::{float, midranks};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Up to so many arrangements are all looked at: 10 runs against 10 have 184,756.
const MOST_ARRANGEMENTS: f64 = 200_000.0;

/// So many are drawn where there are more.
const DRAWN: usize = 20_000;

/// What a test by rearrangement found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rearranged {
    /// Two-sided: the part of all arrangements whose difference is as large as the one seen.
    pub p: f64,
    /// The smallest p that so few runs can have: above 0.05 nothing can be shown.
    pub smallest_p: f64,
    /// Whether every arrangement was looked at.
    pub exact: bool,
    /// Infinite values were there, so ranks were compared instead of means.
    pub by_ranks: bool,
}

/// The permutation test of two means: whether which run belongs to which condition matters.
///
/// All C(m+n, m) arrangements up to 200,000; beyond, 20,000 drawn by `seed`, p = (1 + as extreme)
/// / (1 + drawn), which is never too small (B. Phipson, G. K. Smyth, 2010). Assumes exchangeable
/// runs when nothing differs: independent, in random order (R. A. Fisher, 1935; P. Good,
/// *Permutation, Parametric and Bootstrap Tests*, 3rd ed., 3). Infinite values have no mean: then
/// midranks of all values are compared, which is the rank-sum test with ties. `None` when a value
/// is NaN or a side is empty.
pub fn permutation_test(a: &[f64], b: &[f64], seed: u64) -> Option<Rearranged> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    if a.is_empty() || b.is_empty() || all.iter().any(|x| x.is_nan()) {
        return None;
    }
    let by_ranks = all.iter().any(|x| x.is_infinite());
    let values = centered(if by_ranks { midranks(&all) } else { all });
    let m = a.len();
    // With the overall mean taken away, the sum of one side tells the difference of the means.
    let seen = values[..m].iter().sum::<f64>().abs();
    let enough = as_large_as(seen, &values);
    let arrangements = choose(values.len(), m);
    // The mirror image is as extreme where the sides are alike.
    let alike = if m == b.len() { 2.0 } else { 1.0 };
    let smallest_p = alike / arrangements;
    if arrangements <= MOST_ARRANGEMENTS {
        let extreme = subsets(&values, m, 0.0, &|sum: f64| sum.abs() >= enough);
        return Some(Rearranged { p: extreme / arrangements, smallest_p, exact: true, by_ranks });
    }
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut values = values;
    let extreme = (0..DRAWN)
        .filter(|_| {
            let (chosen, _) = values.partial_shuffle(&mut chance, m);
            chosen.iter().sum::<f64>().abs() >= enough
        })
        .count();
    Some(Rearranged { p: drawn_p(extreme), smallest_p, exact: false, by_ranks })
}

/// The sign-flip test of pairs: whether which of two runs of a block was which condition matters.
///
/// All 2ⁿ signs up to 17 pairs; beyond, drawn as in [`permutation_test`]. Assumes that within a
/// block the two runs are exchangeable when nothing differs, as their random order makes them;
/// blocks may differ (R. A. Fisher, 1935). An infinite difference has no mean: then the signed
/// midranks of the absolute differences are summed up; a pair of infinite values differs by 0.
/// `None` when a value is NaN, the sides have different lengths, or there is no pair.
pub fn sign_flip_test(a: &[f64], b: &[f64], seed: u64) -> Option<Rearranged> {
    if a.len() != b.len() || a.is_empty() || a.iter().chain(b).any(|x| x.is_nan()) {
        return None;
    }
    let same = |x: f64, y: f64| x.total_cmp(&y).is_eq();
    let differences = a.iter().zip(b).map(|(x, y)| if same(*x, *y) { 0.0 } else { x - y });
    let mut values: Vec<f64> = differences.collect();
    let by_ranks = values.iter().any(|x| x.is_infinite());
    if by_ranks {
        let sizes: Vec<f64> = values.iter().map(|d| d.abs()).collect();
        let signed = |(d, rank): (&f64, f64)| if *d == 0.0 { 0.0 } else { rank.copysign(*d) };
        values = values.iter().zip(midranks(&sizes)).map(signed).collect();
    }
    let n = values.len();
    let enough = as_large_as(values.iter().sum::<f64>().abs(), &values);
    let arrangements = (0..n).fold(1.0, |all, _| all * 2.0);
    let smallest_p = 2.0 / arrangements;
    if arrangements <= MOST_ARRANGEMENTS {
        let extreme = signs(&values, 0.0, enough);
        return Some(Rearranged { p: extreme / arrangements, smallest_p, exact: true, by_ranks });
    }
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let extreme = (0..DRAWN)
        .filter(|_| {
            let flipped = values.iter().map(|d| if chance.random::<bool>() { *d } else { -d });
            flipped.sum::<f64>().abs() >= enough
        })
        .count();
    Some(Rearranged { p: drawn_p(extreme), smallest_p, exact: false, by_ranks })
}

/// The smallest two-sided p of `runs` runs on either side: 2 / C(2R, R).
pub fn smallest_p(runs: usize) -> f64 {
    if runs == 0 { 1.0 } else { 2.0 / choose(2 * runs, runs) }
}

fn drawn_p(extreme: usize) -> f64 {
    float(1 + extreme) / float(1 + DRAWN)
}

/// What counts as as large: a sum in another order differs in its last digits.
fn as_large_as(seen: f64, values: &[f64]) -> f64 {
    seen - 1e-9 * values.iter().map(|x| x.abs()).sum::<f64>()
}

fn centered(mut values: Vec<f64>) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / float(values.len());
    for x in &mut values {
        *x -= mean;
    }
    values
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |all, i| all * float(n - i) / float(i + 1)).round()
}

/// How many choices of `left` among `values` give a sum that counts.
fn subsets(values: &[f64], left: usize, sum: f64, counts: &impl Fn(f64) -> bool) -> f64 {
    if left == 0 {
        return if counts(sum) { 1.0 } else { 0.0 };
    }
    if values.len() < left {
        return 0.0;
    }
    let (first, rest) = (values[0], &values[1..]);
    subsets(rest, left - 1, sum + first, counts) + subsets(rest, left, sum, counts)
}

/// How many choices of signs give a sum of at least `enough`, either way.
fn signs(values: &[f64], sum: f64, enough: f64) -> f64 {
    let Some((first, rest)) = values.split_first() else {
        return if sum.abs() >= enough { 1.0 } else { 0.0 };
    };
    signs(rest, sum + first, enough) + signs(rest, sum - first, enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, LogNormal};

    const INF: f64 = f64::INFINITY;

    #[test]
    fn worked_out_by_hand() {
        // Apart: only the arrangement itself and its mirror image.
        let test = permutation_test(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 0).unwrap();
        assert!((test.p - 2.0 / 70.0).abs() < 1e-12 && test.exact && !test.by_ranks, "{test:?}");
        // 1, 2 against 3: as far apart as 2, 3 against 1, of three arrangements.
        let test = permutation_test(&[1.0, 2.0], &[3.0], 0).unwrap();
        assert!((test.p - 2.0 / 3.0).abs() < 1e-12, "{test:?}");
        let test = sign_flip_test(&[2.0, 3.0, 4.0], &[1.0, 1.0, 1.0], 0).unwrap();
        assert!((test.p - 0.25).abs() < 1e-12, "{test:?}");
        assert!((permutation_test(&[7.0; 4], &[7.0; 4], 0).unwrap().p - 1.0).abs() < 1e-12);
        assert_eq!(permutation_test(&[], &[1.0], 0), None);
        assert_eq!(permutation_test(&[f64::NAN], &[1.0], 0), None);
        assert_eq!(sign_flip_test(&[1.0], &[], 0), None);
    }

    /// METHOD 16: 4 a side, 6 pairs.
    #[test]
    fn the_fewest_runs_that_can_show_anything() {
        for (runs, unpaired, paired) in [(3, false, false), (4, true, false), (6, true, true)] {
            let a = vec![0.0; runs];
            let b: Vec<f64> = (1..=runs).map(float).collect();
            assert_eq!(permutation_test(&a, &b, 0).unwrap().smallest_p <= 0.05, unpaired);
            assert_eq!(smallest_p(runs) <= 0.05, unpaired, "{runs}");
            let flipped = sign_flip_test(&b, &a, 0).unwrap();
            assert_eq!(flipped.smallest_p <= 0.05, paired, "{runs}");
            assert_eq!(flipped.p <= 0.05, paired, "{runs}");
        }
    }

    #[test]
    fn lost_runs_are_compared_by_rank() {
        let lost = permutation_test(&[INF; 4], &[1.0, 2.0, 3.0, 4.0], 0).unwrap();
        assert!((lost.p - 2.0 / 70.0).abs() < 1e-12 && lost.by_ranks, "{lost:?}");
        assert!((permutation_test(&[INF; 4], &[INF; 4], 0).unwrap().p - 1.0).abs() < 1e-12);
        let pairs = sign_flip_test(&[INF; 6], &[1.0, INF, 3.0, 4.0, 5.0, 6.0], 0).unwrap();
        assert!((pairs.p - 4.0 / 64.0).abs() < 1e-12 && pairs.by_ranks, "{pairs:?}");
    }

    #[test]
    fn many_runs_are_drawn_and_agree_with_all_of_them() {
        let mut chance = ChaCha8Rng::seed_from_u64(3);
        let log = LogNormal::new(0.0, 1.0).unwrap();
        let a: Vec<f64> = (0..10).map(|_| log.sample(&mut chance)).collect();
        let b: Vec<f64> = (0..10).map(|_| log.sample(&mut chance) + 0.8).collect();
        let exact = permutation_test(&a, &b, 1).unwrap();
        // The same values and some that belong to neither: 11 against 11 are drawn.
        let wider = |side: &[f64]| side.iter().copied().chain([1.5]).collect::<Vec<_>>();
        let drawn = permutation_test(&wider(&a), &wider(&b), 1).unwrap();
        assert!(exact.exact && !drawn.exact);
        assert!((exact.p - drawn.p).abs() < 0.05, "{exact:?} {drawn:?}");
        assert_eq!(drawn, permutation_test(&wider(&a), &wider(&b), 1).unwrap());
        let pairs = sign_flip_test(&[1.0; 20], &[0.0; 20], 1).unwrap();
        assert!(!pairs.exact && (pairs.p - 1.0 / 20_001.0).abs() < 1e-9, "{pairs:?}");
    }

    /// Two alike conditions are called different in at most 5 % of experiments.
    #[test]
    fn false_alarms_are_as_seldom_as_they_should_be() {
        let mut chance = ChaCha8Rng::seed_from_u64(7);
        let log = LogNormal::new(0.0, 1.5).unwrap();
        let (mut free, mut pairs) = (0, 0);
        for seed in 0..2_000 {
            let mut run = || log.sample(&mut chance);
            // Blocks that differ by much more than runs do.
            let (mut a, mut b) = (vec![], vec![]);
            for block in 0..6 {
                a.push(f64::from(block) * 30.0 + run());
                b.push(f64::from(block) * 30.0 + run());
            }
            pairs += usize::from(sign_flip_test(&a, &b, seed).unwrap().p <= 0.05);
            let a: Vec<f64> = (0..6).map(|_| run()).collect();
            let b: Vec<f64> = (0..6).map(|_| run()).collect();
            free += usize::from(permutation_test(&a, &b, seed).unwrap().p <= 0.05);
        }
        // 5 % and three standard errors.
        assert!(free <= 130 && pairs <= 130, "{free} {pairs} of 2000");
        assert!(free >= 50, "{free}: a test that never says anything is none");
    }
}
