//! Intervals of quantile differences by the nested bootstrap: runs, then messages (METHOD 16).

use crate::quantile::nearest_rank;
use crate::ranks::float;
use crate::shift::median;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution};

/// The messages of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunSample<'a> {
    /// The times of the messages that came, in ascending order.
    pub sorted: &'a [i64],
    /// How many there would be, had none been lost: the others took forever.
    pub of: usize,
    /// How many independent messages they are worth, at most `of`.
    pub n_eff: usize,
}

impl RunSample<'_> {
    /// The value at a rank (from 1): +∞ for a lost one.
    #[expect(clippy::cast_precision_loss, reason = "a time in ns is far below 2⁵²")]
    fn at(&self, rank: usize) -> f64 {
        self.sorted.get(rank - 1).map_or(f64::INFINITY, |ns| *ns as f64)
    }

    /// The quantile (in thousandths) over all `of`; +∞ when it was lost, `None` of nothing.
    pub fn quantile(&self, thousandths: u32) -> Option<f64> {
        (self.of > 0).then(|| self.at(nearest_rank(self.of, thousandths)))
    }

    /// The quantile of `n_eff` messages drawn with replacement.
    ///
    /// They need not be drawn one by one: the k-th of m uniform numbers is Beta(k, m + 1 − k).
    fn draw(&self, thousandths: u32, chance: &mut ChaCha8Rng) -> Option<f64> {
        let m = self.n_eff.clamp(1, self.of.max(1));
        let k = nearest_rank(m, thousandths);
        let place = Beta::new(float(k), float(m + 1 - k)).ok()?.sample(chance);
        Some(self.at(rank_of(place, self.of)?))
    }
}

/// The rank (from 1) of the value at this part of `n` values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of n, and clamped to 1..=n"
)]
fn rank_of(place: f64, n: usize) -> Option<usize> {
    (n > 0).then(|| ((place * float(n)).ceil() as usize).clamp(1, n))
}

/// The 95 % percentile interval of the difference a − b of what a quantile of the messages is in
/// the middle run of each side (the median over its runs), from `draws` draws by `seed`.
///
/// Both levels are drawn anew, runs first, so that it is as wide as runs differ (A. C. Davison,
/// D. V. Hinkley, *Bootstrap Methods and their Application*, 1997, 3.8; T. Kalibera, R. Jones,
/// *Rigorous Benchmarking in Reasonable Time*, ISMM 2013). A message series that depends on itself
/// is drawn as so many messages as it is worth. Few runs make it too narrow: below about ten it is
/// shown beside the exact interval, and decides nothing. An end may be ±∞; `None` when a side has
/// no run or no message, or when infinite values leave an end open.
pub fn nested_bootstrap(
    a: &[RunSample<'_>],
    b: &[RunSample<'_>],
    thousandths: u32,
    draws: usize,
    seed: u64,
) -> Option<(f64, f64)> {
    let empty = |side: &[RunSample<'_>]| side.is_empty() || side.iter().any(|run| run.of == 0);
    if empty(a) || empty(b) || draws == 0 {
        return None;
    }
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut middle = |side: &[RunSample<'_>]| -> Option<f64> {
        let mut runs = Vec::with_capacity(side.len());
        for _ in 0..side.len() {
            let run = &side[chance.random_range(0..side.len())];
            runs.push(run.draw(thousandths, &mut chance)?);
        }
        runs.sort_by(f64::total_cmp);
        Some(median(&runs))
    };
    let (mut least, mut most) = (Vec::with_capacity(draws), Vec::with_capacity(draws));
    for _ in 0..draws {
        let d = middle(a)? - middle(b)?;
        // Two infinite ones differ by anything.
        least.push(if d.is_nan() { f64::NEG_INFINITY } else { d });
        most.push(if d.is_nan() { f64::INFINITY } else { d });
    }
    least.sort_by(f64::total_cmp);
    most.sort_by(f64::total_cmp);
    let lo = least[nearest_rank(draws, 25) - 1];
    let hi = most[nearest_rank(draws, 975) - 1];
    Some((lo, hi))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::LogNormal;

    fn run(sorted: &[i64]) -> RunSample<'_> {
        RunSample { sorted, of: sorted.len(), n_eff: sorted.len() }
    }

    #[test]
    fn a_shift_is_found_and_the_seed_decides() {
        let slow: Vec<i64> = (1_000..2_000).collect();
        let fast: Vec<i64> = (0..1_000).collect();
        let (a, b) = ([run(&slow); 5], [run(&fast); 5]);
        let (lo, hi) = nested_bootstrap(&a, &b, 990, 1_000, 1).unwrap();
        assert!(lo > 980.0 && lo < 1_000.0 && hi > 1_000.0 && hi < 1_020.0, "{lo} {hi}");
        assert_eq!(nested_bootstrap(&a, &b, 990, 1_000, 1), Some((lo, hi)));
        let other = |seed| nested_bootstrap(&a, &b, 990, 50, seed);
        assert!((2..10).any(|seed| other(seed) != other(1)));
        assert_eq!(nested_bootstrap(&a, &[], 990, 1_000, 1), None);
        assert_eq!(nested_bootstrap(&a, &[run(&[])], 990, 1_000, 1), None);
    }

    #[test]
    fn lost_messages_are_infinite() {
        let came: Vec<i64> = (0..950).collect();
        let lossy = RunSample { sorted: &came, of: 1_000, n_eff: 1_000 };
        assert_eq!(lossy.quantile(990), Some(f64::INFINITY));
        assert_eq!(lossy.quantile(500), Some(499.0));
        let whole = [run(&came); 4];
        let (lo, hi) = nested_bootstrap(&[lossy; 4], &whole, 990, 500, 1).unwrap();
        assert!(lo.is_infinite() && lo > 0.0 && hi.is_infinite(), "{lo} {hi}");
        let (lo, hi) = nested_bootstrap(&[lossy; 4], &[lossy; 4], 990, 500, 1).unwrap();
        assert!(lo.is_infinite() && lo < 0.0 && hi.is_infinite(), "{lo} {hi}");
    }

    /// Drawing the k-th value at once is drawing all: the same distribution.
    #[test]
    fn order_statistics_are_drawn_as_messages_would_be() {
        let values: Vec<i64> = (0..200).map(|i| i * i).collect();
        let one = run(&values);
        let mut chance = ChaCha8Rng::seed_from_u64(4);
        let mut quick: Vec<f64> = (0..4_000).map(|_| one.draw(900, &mut chance).unwrap()).collect();
        let mut slow: Vec<f64> = (0..4_000)
            .map(|_| {
                let draw = |_| values[chance.random_range(0..values.len())];
                let mut drawn: Vec<i64> = (0..200).map(draw).collect();
                drawn.sort_unstable();
                run(&drawn).quantile(900).unwrap()
            })
            .collect();
        quick.sort_by(f64::total_cmp);
        slow.sort_by(f64::total_cmp);
        for place in [100, 1_000, 2_000, 3_000, 3_900] {
            let (a, b) = (quick[place], slow[place]);
            assert!((a - b).abs() < 0.03 * b, "{place}: {a} {b}");
        }
    }

    /// Runs that differ from each other make it wide, however many messages they have.
    #[test]
    fn runs_are_the_unit() {
        let mut chance = ChaCha8Rng::seed_from_u64(5);
        let of_run = LogNormal::new(0.0, 0.3).unwrap();
        let mut covered = 0;
        for seed in 0..300 {
            let mut side = || -> Vec<Vec<i64>> {
                (0..12)
                    .map(|_| {
                        let scale: f64 = of_run.sample(&mut chance) * 1e3;
                        #[expect(clippy::cast_possible_truncation, reason = "a time")]
                        let run = (1..=300).map(|i| (f64::from(i) * scale) as i64).collect();
                        run
                    })
                    .collect()
            };
            let (a, b) = (side(), side());
            let a: Vec<RunSample<'_>> = a.iter().map(|run_of| run(run_of)).collect();
            let b: Vec<RunSample<'_>> = b.iter().map(|run_of| run(run_of)).collect();
            let (lo, hi) = nested_bootstrap(&a, &b, 990, 300, seed).unwrap();
            covered += usize::from(lo <= 0.0 && 0.0 <= hi);
        }
        assert!(covered >= 270, "{covered} of 300");
    }
}
