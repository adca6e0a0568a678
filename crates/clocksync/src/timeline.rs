//! All that the exchanges of two clocks prove about their offset, over a whole run (METHOD 3).
//!
//! [`Offset`](crate::Offset) goes along with time and knows the past only. A [`Timeline`] is made
//! when the exchanges are there: it uses those before and those after a moment, finds steps, and
//! tells a step from a drift that is faster than was allowed.

use crate::exchange::{Exchange, Offset, RHO_PPM};
use hopwatch_model::Ns;

/// Beyond this age of the nearest exchange a relation has expired: at ρ = 50 ppm its interval has
/// grown by 3 ms on either side, and nobody has seen since whether a clock was set.
pub const EXPIRY_NS: Ns = 60_000_000_000;

/// What a wall clock may do beyond ρ: the kernel slews it by up to 500 ppm (`adjtimex(2)`).
pub const WALL_RHO_PPM: i64 = RHO_PPM + 500;

/// Allowances that are tried when the first one leaves a run in pieces: under the right one, a clock
/// that really drifts that fast is in one piece between two steps.
const WIDER: [i64; 2] = [WALL_RHO_PPM, 5_000];

/// An offset θ = far − near, as an interval in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest that it can be.
    pub lo: Ns,
    /// The largest.
    pub hi: Ns,
}

impl Bounds {
    /// The middle, rounded down.
    pub fn middle(self) -> Ns {
        // The half of the difference: the sum of two ends may not fit.
        self.lo.saturating_add(self.hi.saturating_sub(self.lo) / 2)
    }

    /// How far the truth may lie from [`Bounds::middle`].
    pub fn half_width(self) -> Ns {
        self.hi.saturating_sub(self.middle())
    }

    fn wider(self, by: Ns) -> Self {
        Self { lo: self.lo.saturating_sub(by), hi: self.hi.saturating_add(by) }
    }

    fn and(self, other: Self) -> Self {
        Self { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }
}

/// Why nothing is known of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrelated {
    /// The two clocks exchanged nothing.
    #[error("no exchange between the clocks")]
    Never,
    /// The nearest exchange is more than [`EXPIRY_NS`] away.
    #[error("the relation has expired: the nearest exchange is {} s away", .0 / 1_000_000_000)]
    Expired(Ns),
    /// Between these two exchanges one of the clocks was set, nobody knows when.
    #[error("one of the clocks was set about then")]
    Stepped,
}

/// One of the clocks was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Near clock: the last exchange before.
    pub after: Ns,
    /// Near clock: the first exchange behind it.
    pub before: Ns,
    /// By how much the far clock jumped ahead of the near one.
    pub by: Bounds,
}

/// What an exchange left of the offset, at its own time.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: Ns,
    bounds: Bounds,
}

/// The relation of a far clock to a near one, over time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    rho_ppm: i64,
    /// Exchanges between two steps; none is empty.
    epochs: Vec<Vec<Point>>,
    /// Exchanges that contradict themselves: a reply that left before its request arrived.
    impossible: usize,
    drift_ppm: Option<(f64, f64)>,
}

impl Timeline {
    /// From all exchanges of two monotonic clocks, in any order.
    pub fn of(exchanges: Vec<Exchange>) -> Self {
        Self::with(exchanges, RHO_PPM)
    }

    /// The same with another allowance for drift, in ppm ([`WALL_RHO_PPM`] for wall clocks).
    ///
    /// An allowance under which a run falls into three or more pieces, of which a larger one
    /// leaves a third or less, was too small: the clocks drift, and no one set them so often. Then
    /// the larger one counts, and [`Timeline::rho_ppm`] tells it.
    pub fn with(mut exchanges: Vec<Exchange>, rho_ppm: i64) -> Self {
        exchanges.sort_unstable_by_key(|x| (x.near_received, x.near_sent, x.far_received));
        let of = |rho_ppm| (rho_ppm, epochs_of(&exchanges, rho_ppm));
        let mut chosen = of(rho_ppm);
        let pieces = chosen.1.0.len();
        if pieces >= 3 {
            let mut wider = WIDER.into_iter().filter(|wider| *wider > rho_ppm).map(of);
            if let Some(better) = wider.find(|(_, (epochs, _))| epochs.len() * 3 <= pieces) {
                chosen = better;
            }
        }
        let (rho_ppm, (epochs, impossible)) = chosen;
        let longest = epochs.iter().max_by_key(|epoch| epoch.len());
        let drift_ppm = longest.and_then(|epoch| drift(epoch, rho_ppm));
        Self { rho_ppm, epochs, impossible, drift_ppm }
    }

    /// θ = far − near at `near`.
    pub fn at(&self, near: Ns) -> Result<Bounds, Unrelated> {
        let next_epoch = self.epochs.partition_point(|epoch| epoch[0].at <= near);
        let Some(epoch) = self.epochs.get(next_epoch.saturating_sub(1)) else {
            return Err(Unrelated::Never);
        };
        let next = epoch.partition_point(|point| point.at <= near);
        let (before, after) = (next.checked_sub(1).map(|i| epoch[i]), epoch.get(next).copied());
        if after.is_none() && next_epoch < self.epochs.len() {
            // Behind the last exchange of an epoch and before the first one of the next.
            let exactly = before.filter(|point| point.at == near);
            return exactly.map(|point| point.bounds).ok_or(Unrelated::Stepped);
        }
        let away = |point: Point| near.saturating_sub(point.at).saturating_abs();
        let nearest = before.into_iter().chain(after).map(away).min().unwrap_or(Ns::MAX);
        if nearest > EXPIRY_NS {
            return Err(Unrelated::Expired(nearest));
        }
        let widened = |point: Point| point.bounds.wider(drift_in(away(point), self.rho_ppm));
        before.into_iter().chain(after).map(widened).reduce(Bounds::and).ok_or(Unrelated::Never)
    }

    /// A reading of the far clock on the near one: the middle, and how far it may be off.
    ///
    /// `about` is a near-clock time at or behind the reading, such as the arrival of what was
    /// stamped. Where one of the clocks was set in between, nothing is said.
    pub fn to_near(&self, far: Ns, about: Ns) -> Result<(Ns, Ns), Unrelated> {
        let near = far.saturating_sub(self.at(about)?.middle());
        // The offset as of the reading itself.
        let theta = self.at(near)?;
        // A reading from before a step, taken by the offset behind it, would lie anywhere: in
        // another epoch, or behind what it came before.
        if self.epochs.len() > 1 && (self.epoch_at(near) != self.epoch_at(about) || near > about) {
            return Err(Unrelated::Stepped);
        }
        Ok((far.saturating_sub(theta.hi).saturating_add(theta.half_width()), theta.half_width()))
    }

    /// The number of the epoch that has begun at `near`, from 1.
    fn epoch_at(&self, near: Ns) -> usize {
        self.epochs.partition_point(|epoch| epoch[0].at <= near).max(1)
    }

    /// How many exchanges there were.
    pub fn exchanges(&self) -> usize {
        self.epochs.iter().map(Vec::len).sum()
    }

    /// How many pieces steps cut the run into: 1 when no clock was set, 0 without an exchange.
    pub fn epochs(&self) -> usize {
        self.epochs.len()
    }

    /// The steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        self.epochs.windows(2).filter_map(|pair| {
            let (last, first) = (pair[0].last()?, pair[1].first()?);
            let grown = last.bounds.wider(drift_in(first.at.saturating_sub(last.at), self.rho_ppm));
            let by = Bounds {
                lo: first.bounds.lo.saturating_sub(grown.hi),
                hi: first.bounds.hi.saturating_sub(grown.lo),
            };
            Some(Step { after: last.at, before: first.at, by })
        })
    }

    /// Exchanges that contradict themselves and were left out.
    pub fn impossible(&self) -> usize {
        self.impossible
    }

    /// The allowance for drift that the intervals are widened by.
    pub fn rho_ppm(&self) -> i64 {
        self.rho_ppm
    }

    /// How fast the far clock gains on the near one, as an interval in ppm: what no steady rate
    /// outside of it could do. `None` for a run too short to tell.
    pub fn drift_ppm(&self) -> Option<(f64, f64)> {
        self.drift_ppm
    }

    /// The offset at the last exchange.
    pub fn latest(&self) -> Option<Bounds> {
        self.epochs.last()?.last().map(|point| point.bounds)
    }
}

/// Exchanges, sorted, into epochs; each point holds what all exchanges of its epoch leave of the
/// offset at its time. Beside them, how many contradict themselves.
fn epochs_of(exchanges: &[Exchange], rho_ppm: i64) -> (Vec<Vec<Point>>, usize) {
    let mut epochs: Vec<Vec<Point>> = Vec::new();
    let mut offset = Offset::new(rho_ppm);
    for exchange in exchanges {
        let impossible = offset.impossible();
        let fresh = offset.observe(exchange);
        if offset.impossible() > impossible {
            continue;
        }
        let Some((lo, hi)) = offset.at(exchange.near_received) else { continue };
        let point = Point { at: exchange.near_received, bounds: Bounds { lo, hi } };
        match epochs.last_mut() {
            Some(epoch) if !fresh => epoch.push(point),
            _ => epochs.push(vec![point]),
        }
    }
    for epoch in &mut epochs {
        // Backwards, so that each point knows of those behind it, too. Forward each interval
        // meets the widened one before it; on a line that is enough for all to meet (Helly).
        for at in (1..epoch.len()).rev() {
            let later = epoch[at];
            let point = &mut epoch[at - 1];
            let age = later.at.saturating_sub(point.at);
            point.bounds = point.bounds.and(later.bounds.wider(drift_in(age, rho_ppm)));
        }
    }
    (epochs, offset.impossible())
}

/// How far two clocks may come apart within `age`, rounded up, at a drift of at most `rho_ppm`.
pub fn drift_in(age: Ns, rho_ppm: i64) -> Ns {
    let age = age.saturating_abs();
    if age == 0 {
        return 0;
    }
    (age / 1_000_000).saturating_add(1).saturating_mul(rho_ppm)
}

/// The steady rates that fit: the steepest and the flattest line between the intervals of the
/// first and of the last third of an epoch.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn drift(epoch: &[Point], rho_ppm: i64) -> Option<(f64, f64)> {
    let (first, last) = (epoch.first()?, epoch.last()?);
    let span = last.at.checked_sub(first.at).filter(|span| *span >= 1_000_000_000)?;
    let (early, late) = (first.at + span / 3, last.at - span / 3);
    let ends = |points: &mut dyn Iterator<Item = &Point>| {
        // The tightest of each end; they needn't be of one exchange.
        let (mut lo, mut hi) = (None::<Point>, None::<Point>);
        for point in points {
            if lo.is_none_or(|best| point.bounds.lo > best.bounds.lo) {
                lo = Some(*point);
            }
            if hi.is_none_or(|best| point.bounds.hi < best.bounds.hi) {
                hi = Some(*point);
            }
        }
        lo.zip(hi)
    };
    let (lo_a, hi_a) = ends(&mut epoch.iter().filter(|p| p.at <= early))?;
    let (lo_b, hi_b) = ends(&mut epoch.iter().filter(|p| p.at >= late))?;
    let rate = |from: (Ns, Ns), to: (Ns, Ns)| {
        to.1.saturating_sub(from.1) as f64 * 1e6 / (to.0.saturating_sub(from.0)).max(1) as f64
    };
    let slowest = rate((hi_a.at, hi_a.bounds.hi), (lo_b.at, lo_b.bounds.lo));
    let fastest = rate((lo_a.at, lo_a.bounds.lo), (hi_b.at, hi_b.bounds.hi));
    let rho = rho_ppm as f64;
    Some((slowest.max(-rho), fastest.min(rho)))
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
