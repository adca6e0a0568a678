//! The course of a delay over time, robust against the jitter on top of it.
//!
//! A delay is an offset plus something that is never negative: its lower envelope follows the
//! offset, whatever happens above.

use hopwatch_model::Ns;

/// The bins of the lower envelope.
const BINS: usize = 20;
/// Fewer messages have no slope.
const FEWEST: usize = 60;
/// Messages on either side of a jump.
const SIDE: usize = 5;
/// A clock that is set by less than this may be jitter: 5 ms.
const SMALLEST_JUMP: Ns = 5_000_000;

/// The slope of the lower envelope of (time, delay), in µs a second; `None` when it is flat
/// within its own scatter, or there is too little to tell.
///
/// The smallest value of each of 20 stretches of equally many, and the median of the slopes
/// between all pairs of them (Theil–Sen).
pub(crate) fn lower_slope(points: &[(Ns, Ns)]) -> Option<f64> {
    let size = points.len().div_ceil(BINS).max(3);
    let lowest: Vec<(f64, f64)> = points
        .chunks(size)
        .filter_map(|bin| bin.iter().min_by_key(|(_, delay)| *delay))
        .map(|(at, delay)| (seconds(at.saturating_sub(points[0].0)), micros(*delay)))
        .collect();
    let mut slopes = Vec::new();
    for (i, a) in lowest.iter().enumerate() {
        for b in lowest.iter().skip(i + 1).filter(|b| b.0 > a.0) {
            slopes.push((b.1 - a.1) / (b.0 - a.0));
        }
    }
    let slope = median(&mut slopes)?;
    let mut rest: Vec<f64> = lowest.iter().map(|(x, y)| y - slope * x).collect();
    let middle = median(&mut rest)?;
    let mut scatter: Vec<f64> = rest.iter().map(|y| (y - middle).abs()).collect();
    let scatter = median(&mut scatter)?;
    let span = lowest.last()?.0 - lowest.first()?.0;
    // Six median deviations are four standard ones; and 0.2 ms are within any host's jitter.
    // Fewer points wander by chance: of 20 random delays a tenth seems to have a slope.
    (points.len() >= FEWEST
        && lowest.len() >= 5
        && (slope * span).abs() > (6.0 * scatter).max(200.0))
    .then_some(slope)
}

/// By how much a delay jumped for good; `None` when it didn't, by at least 5 ms.
pub(crate) fn jump(points: &[(Ns, Ns)]) -> Option<Ns> {
    let delays: Vec<Ns> = points.iter().map(|(_, delay)| *delay).collect();
    if delays.len() < 2 * SIDE {
        return None;
    }
    let of = |side: &[Ns]| {
        let mut sorted = side.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let at = (SIDE..=delays.len() - SIDE).max_by_key(|at| {
        of(&delays[*at..at + SIDE]).saturating_sub(of(&delays[at - SIDE..*at])).saturating_abs()
    })?;
    // The medians are the same for two messages around; the jump itself is between two.
    let about =
        (at - SIDE / 2..=at + SIDE / 2).filter(|at| (SIDE..=delays.len() - SIDE).contains(at));
    let at = about.max_by_key(|at| delays[*at].saturating_sub(delays[at - 1]).saturating_abs())?;
    let (before, after) = delays.split_at(at);
    let least = |side: &[Ns]| side.iter().copied().min().unwrap_or(0);
    let shift = least(after).saturating_sub(least(before));
    let near = of(&after[..SIDE]).saturating_sub(of(&before[before.len() - SIDE..]));
    // A queue that fills comes back or goes on; a clock that was set does neither.
    let lasting = shift.saturating_sub(near).saturating_abs() < near.saturating_abs() / 4;
    let sudden = |side: &[Ns]| {
        let middle = of(side);
        let mut off: Vec<Ns> =
            side.iter().map(|d| d.saturating_sub(middle).saturating_abs()).collect();
        off.sort_unstable();
        off[off.len() / 2]
    };
    let scatter = sudden(before).max(sudden(after));
    let large = shift.saturating_abs() > SMALLEST_JUMP.max(scatter.saturating_mul(8));
    (lasting && large).then_some(shift)
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "a slope is a float")]
fn seconds(ns: Ns) -> f64 {
    ns as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a slope is a float")]
fn micros(ns: Ns) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_testkit::chance;
    use rand::Rng;

    const S: Ns = 1_000_000_000;

    /// 100 messages in 100 s: an offset's course with a jitter of up to 2 ms on top.
    fn course(seed: u64, offset: impl Fn(Ns) -> Ns) -> Vec<(Ns, Ns)> {
        let mut chance = chance(seed);
        (0..100).map(|i| (i * S, offset(i) + 500_000 + chance.random_range(0..2_000_000))).collect()
    }

    #[test]
    fn slopes_are_found_and_flat_ones_are_none() {
        for seed in 0..200 {
            assert_eq!(lower_slope(&course(seed, |_| 7_000_000)), None, "seed {seed}");
            let drifting = lower_slope(&course(seed, |i| i * 300_000)).unwrap();
            assert!((drifting - 300.0).abs() < 40.0, "seed {seed}: {drifting}");
            let queue = lower_slope(&course(seed, |i| i * 37_000_000)).unwrap();
            assert!((queue - 37_000.0).abs() < 100.0, "seed {seed}: {queue}");
        }
    }

    /// Exponential delays have no slope, however few or many.
    #[test]
    fn chance_is_no_slope() {
        for n in [13, 15, 20, 30, 60, 120, 1_000] {
            for (period, mean) in [(S / 10, 1e6), (S / 10, 5e6), (S, 1e6), (S, 20e6)] {
                let mut seen = 0;
                for seed in 0..1_000 {
                    let mut chance = chance(seed);
                    #[expect(clippy::cast_possible_truncation, reason = "a delay")]
                    let points: Vec<(Ns, Ns)> = (0..n)
                        .map(|i| {
                            let delay = -(1.0 - chance.random::<f64>()).ln() * mean;
                            (i * period, delay as Ns)
                        })
                        .collect();
                    seen += usize::from(lower_slope(&points).is_some());
                }
                assert!(seen <= 5, "n = {n}, {period} {mean}: {seen} of 1000");
            }
        }
    }

    #[test]
    fn jumps_are_steps_and_nothing_else_is() {
        for seed in 0..200 {
            let set = course(seed, |i| if i < 40 { 0 } else { -250_000_000 });
            let by = jump(&set).unwrap();
            assert!((by + 250_000_000).abs() < 2_000_000, "seed {seed}: {by}");
            for (name, none) in [
                ("flat", course(seed, |_| 3_000_000)),
                ("queue", course(seed, |i| i * 37_000_000)),
                ("burst", course(seed, |i| if (40..60).contains(&i) { 900_000_000 } else { 0 })),
                ("drift", course(seed, |i| i * 300_000)),
            ] {
                assert_eq!(jump(&none), None, "seed {seed}: {name}");
            }
        }
        assert_eq!(jump(&[]), None);
        assert_eq!(lower_slope(&[]), None);
    }
}
