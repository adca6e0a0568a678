//! How many runs a side it takes to decide.

use crate::permutation::smallest_p;
use crate::ranks::float;
use crate::welch::Moments;
use statrs::distribution::{ContinuousCDF, Normal};

/// The power that is planned for.
pub const PLANNED_POWER: f64 = 0.8;

/// Of the rank-sum test against the t-test, with normal values: 3/π.
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// More runs than this are "no number of runs".
const MOST: usize = 1_000;

/// The fewest runs a side whose permutation test can say anything at `alpha` (METHOD 16): 4 at 5 %.
pub fn fewest_runs(alpha: f64) -> usize {
    (1..=MOST).find(|runs| smallest_p(*runs) <= alpha).unwrap_or(MOST)
}

/// How many runs a side it takes until a one-sided bound, of this confidence, of the difference of
/// `a` and `b` lies beyond `margin`, on the side on which the difference is now, with a chance of
/// [`PLANNED_POWER`].
///
/// n = (z + z₀.₈)² (s_a² + s_b²) / gap² ÷ (3/π), gap = |difference − margin|: the size of a
/// comparison of two means by run-level variances (T. Kalibera, R. Jones, ISMM 2013, which also
/// says why only more *runs* help when runs differ), and the rank test's efficiency (E. J. G.
/// Pitman, 1948); never below the exact test's fewest at 1 − confidence. z is the standard normal's quantile of
/// the confidence. As good as the variances of the few runs
/// it is made of. `None` when a thousand would not do: the difference is about the margin.
pub fn runs_needed(a: &Moments, b: &Moments, margin: f64, confidence: f64) -> Option<usize> {
    let normal = Normal::standard();
    let z = normal.inverse_cdf(confidence) + normal.inverse_cdf(PLANNED_POWER);
    let gap = (a.mean - b.mean - margin).abs();
    let variance = a.sd * a.sd + b.sd * b.sd;
    let needed = z * z * variance / (gap * gap) / EFFICIENCY;
    let fewest = fewest_runs(0.05);
    (fewest..=MOST).find(|runs| float(*runs) >= needed)
}

#[cfg(test)]
mod tests {
    use super::{Moments, fewest_runs, runs_needed};
    use crate::shift::Shift;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    #[test]
    fn the_fewest() {
        assert_eq!(fewest_runs(0.05), 4);
        assert_eq!(fewest_runs(0.01), 5);
        let calm = Moments { n: 2, mean: 0.0, sd: 0.0 };
        assert_eq!(runs_needed(&calm, &calm, 10.0, 0.95), Some(4));
        let at_margin = Moments { n: 4, mean: 10.0, sd: 1.0 };
        assert_eq!(runs_needed(&at_margin, &calm, 10.0, 0.95), None);
    }

    /// With so many runs it is decided about as often as planned.
    #[test]
    fn so_many_runs_do() {
        for (gain, sd, confidence) in
            [(20.0, 8.0, 0.95), (0.0, 8.0, 0.95), (16.0, 4.0, 0.95), (20.0, 8.0, 0.9875)]
        {
            let (a, b) = (Moments { n: 6, mean: gain, sd }, Moments { n: 6, mean: 0.0, sd });
            let runs = runs_needed(&a, &b, 10.0, confidence).unwrap();
            let mut chance = ChaCha8Rng::seed_from_u64(8);
            let (slow, fast) = (Normal::new(gain, sd).unwrap(), Normal::new(0.0, sd).unwrap());
            let decided = (0..500)
                .filter(|_| {
                    let a: Vec<f64> = (0..runs).map(|_| slow.sample(&mut chance)).collect();
                    let b: Vec<f64> = (0..runs).map(|_| fast.sample(&mut chance)).collect();
                    let shift = Shift::unpaired(&a, &b, confidence, 0.95).unwrap();
                    let beyond = if gain > 10.0 { shift.lower } else { shift.upper };
                    beyond.is_some_and(|end| if gain > 10.0 { end > 10.0 } else { end < 10.0 })
                })
                .count();
            assert!((350..=470).contains(&decided), "{gain} {sd}, {runs} runs: {decided} of 500");
        }
    }
}
