//! By how much two conditions differ, without a distribution: the Hodges–Lehmann shift with the
//! exact intervals that inverting the rank tests gives (METHOD 18).

use crate::ranks::{lower_rank, rank_sum_bound, signed_rank_distribution};

/// The shift a − b of two conditions, with two one-sided bounds.
///
/// Values may be +∞ (a run whose quantile was lost) and −∞. The difference of two infinite values
/// of one sign is anything: for the lower bound it counts as −∞, for the upper one as +∞.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences; `None` when infinite values leave it open. It may be ±∞.
    pub estimate: Option<f64>,
    /// The shift is at least this, with the confidence asked for; `None`: so few values have no
    /// such bound. It may be −∞.
    pub lower: Option<f64>,
    /// The shift is at most this, likewise. It may be +∞.
    pub upper: Option<f64>,
}

impl Shift {
    /// Of independent values: the median of the differences aᵢ − bⱼ (J. L. Hodges, E. L. Lehmann,
    /// Ann. Math. Statist. 34, 1963), and their order statistics by the rank-sum test (M.
    /// Hollander, D. A. Wolfe, E. Chicken, *Nonparametric Statistical Methods*, 3rd ed., 4.3).
    ///
    /// Assumes independent values, and that the conditions differ by a shift. Exact for
    /// distributions without ties; ties make the bounds safer (G. E. Noether, 1967). `None` when a
    /// value is NaN or a side is empty.
    pub fn unpaired(a: &[f64], b: &[f64], lower: f64, upper: f64) -> Option<Self> {
        let pairs = || a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)));
        if a.is_empty() || b.is_empty() || pairs().any(|(x, y)| x.is_nan() || y.is_nan()) {
            return None;
        }
        let least = sorted(pairs().map(|(x, y)| difference(x, y, f64::NEG_INFINITY)));
        let most = sorted(pairs().map(|(x, y)| difference(x, y, f64::INFINITY)));
        let rank = |confidence: f64| rank_sum_bound(a.len(), b.len(), 1.0 - confidence);
        Some(Self::of(&least, &most, rank(lower), rank(upper)))
    }

    /// Of pairs, as of runs in one block: the median of the Walsh averages (dᵢ + dⱼ) / 2, i ≤ j,
    /// and their order statistics by the signed-rank test (J. W. Tukey, 1949; Hollander, Wolfe,
    /// Chicken, 3.3).
    ///
    /// Assumes that each difference lies symmetrically about the shift, as it does when the order
    /// in a block is random and the conditions differ by a shift. `None` when a value is NaN, the
    /// sides have different lengths, or there is no pair.
    pub fn paired(a: &[f64], b: &[f64], lower: f64, upper: f64) -> Option<Self> {
        if a.len() != b.len() || a.is_empty() || a.iter().chain(b).any(|x| x.is_nan()) {
            return None;
        }
        let walsh = |open: f64| {
            let d: Vec<f64> = a.iter().zip(b).map(|(x, y)| difference(*x, *y, open)).collect();
            let means = |i: usize| (i..d.len()).map(move |j| (i, j)).collect::<Vec<_>>();
            let pairs = (0..d.len()).flat_map(means);
            sorted(pairs.map(|(i, j)| mean(d[i], d[j], open)))
        };
        let (least, most) = (walsh(f64::NEG_INFINITY), walsh(f64::INFINITY));
        let chances = signed_rank_distribution(a.len());
        let rank = |confidence: f64| lower_rank(&chances, 1.0 - confidence);
        Some(Self::of(&least, &most, rank(lower), rank(upper)))
    }

    /// `least` and `most` are the sorted differences with what is open at either end; the bounds
    /// are those of these ranks from 1, 0: none.
    fn of(least: &[f64], most: &[f64], lower: usize, upper: usize) -> Self {
        let (lowest, highest) = (median(least), median(most));
        let same = lowest.total_cmp(&highest).is_eq();
        Self {
            estimate: same.then_some(lowest),
            lower: lower.checked_sub(1).and_then(|k| least.get(k).copied()),
            upper: upper.checked_sub(1).and_then(|k| most.iter().rev().nth(k).copied()),
        }
    }

    /// Whether the shift lies within ±`margin`: both one-sided bounds do, which is the test of
    /// equivalence by two one-sided tests (D. J. Schuirmann, 1987) in its rank form.
    pub fn is_within(&self, margin: f64) -> bool {
        self.lower.is_some_and(|lo| lo > -margin) && self.upper.is_some_and(|hi| hi < margin)
    }
}

/// x − y; `open` when both are infinite on one side.
fn difference(x: f64, y: f64, open: f64) -> f64 {
    let d = x - y;
    if d.is_nan() { open } else { d }
}

fn mean(x: f64, y: f64, open: f64) -> f64 {
    let sum = x + y;
    if sum.is_nan() { open } else { sum / 2.0 }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The median of sorted values, of which there must be one; the mean of the middle two when both are
/// finite, else the lower of them.
pub fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let (low, high) = (sorted[(n - 1) / 2], sorted[n / 2]);
    if low.total_cmp(&high).is_eq() { low } else { mean(low, high, low) }
}

#[cfg(test)]
#[path = "shift_tests.rs"]
mod tests;
