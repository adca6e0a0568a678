//! Exchanges between two clocks, and the interval that holds their offset (METHOD 3).

use crate::timeline::drift_in;
use hopwatch_model::Ns;

/// How fast two clocks may drift apart, in parts per million. Quartz oscillators stay within
/// this; a host disciplined by NTP does too.
pub const RHO_PPM: i64 = 50;

/// One request and its reply: two readings of the near clock around two of the far clock.
///
/// The only assumption is that neither way takes negative time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Near clock: the request leaves.
    pub near_sent: Ns,
    /// Far clock: the request arrives.
    pub far_received: Ns,
    /// Far clock: the reply leaves.
    pub far_sent: Ns,
    /// Near clock: the reply arrives.
    pub near_received: Ns,
}

impl Exchange {
    /// The interval of θ = far − near that this exchange alone proves:
    /// T3 − T4 ≤ θ ≤ T2 − T1.
    pub fn bounds(&self) -> (Ns, Ns) {
        (
            self.far_sent.saturating_sub(self.near_received),
            self.far_received.saturating_sub(self.near_sent),
        )
    }

    /// The same as of the reply's arrival: within the exchange, the clocks drift as well. The far
    /// clock answered right before, on the network's time; it was asked a whole round trip before.
    ///
    /// `lo` above `hi` proves that a clock was set meanwhile, or lies.
    pub(crate) fn bounds_at_end(&self, rho_ppm: i64) -> (Ns, Ns) {
        let whole = self.near_received.saturating_sub(self.near_sent);
        let worked = self.far_sent.saturating_sub(self.far_received);
        let network = whole.saturating_sub(worked).clamp(0, whole.max(0));
        let (lo, hi) = self.bounds();
        (
            lo.saturating_sub(drift_in(network, rho_ppm).max(rho_ppm)),
            hi.saturating_add(drift_in(whole, rho_ppm).max(rho_ppm)),
        )
    }
}

/// The interval of the offset θ = far − near, as all exchanges so far prove it.
///
/// Each observation is widened by ρ × its age before it is intersected with a new one, in both
/// directions of time. An empty intersection means that a clock stepped (or ρ is broken): a new
/// epoch begins and the old interval is forgotten.
#[derive(Clone, Debug)]
pub struct Offset {
    rho_ppm: i64,
    /// (lo, hi, near-clock time at which they hold)
    interval: Option<(Ns, Ns, Ns)>,
    epochs: u32,
    impossible: usize,
}

impl Default for Offset {
    fn default() -> Self {
        Self::new(RHO_PPM)
    }
}

impl Offset {
    /// No exchange yet; the clocks drift by at most `rho_ppm` against each other.
    pub fn new(rho_ppm: i64) -> Self {
        Self { rho_ppm, interval: None, epochs: 0, impossible: 0 }
    }

    /// Takes one exchange in. Exchanges come in the order of `near_received`.
    /// Returns true when it began a new epoch (the first exchange begins the first one).
    ///
    /// One that contradicts itself is counted and passed over: a round trip that took less time
    /// than the far side worked, by more than drift explains, proves nothing but that a clock was
    /// set meanwhile, or lies.
    pub fn observe(&mut self, exchange: &Exchange) -> bool {
        let at = exchange.near_received;
        let (lo, hi) = exchange.bounds_at_end(self.rho_ppm);
        if lo > hi || at < exchange.near_sent {
            self.impossible += 1;
            return false;
        }
        if let Some((old_lo, old_hi)) = self.at(at) {
            let both = (old_lo.max(lo), old_hi.min(hi));
            if both.0 <= both.1 {
                self.interval = Some((both.0, both.1, at));
                return false;
            }
        }
        self.interval = Some((lo, hi, at));
        self.epochs += 1;
        true
    }

    /// The interval of θ at `near` (near-clock time, before or after the last exchange).
    /// `None` before the first exchange.
    pub fn at(&self, near: Ns) -> Option<(Ns, Ns)> {
        self.interval.map(|(lo, hi, at)| {
            let wider = self.drift(near.saturating_sub(at));
            (lo.saturating_sub(wider), hi.saturating_add(wider))
        })
    }

    /// How many epochs there have been: 1 when no step was seen.
    pub fn epochs(&self) -> u32 {
        self.epochs
    }

    /// How many exchanges contradicted themselves.
    pub fn impossible(&self) -> usize {
        self.impossible
    }

    fn drift(&self, age: Ns) -> Ns {
        drift_in(age, self.rho_ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A far clock that runs `skew_ppm` fast and is `theta` ahead at near time 0.
    fn far(near: Ns, theta: Ns, skew_ppm: i64) -> Ns {
        near + theta + near / 1_000_000 * skew_ppm
    }

    proptest! {
        /// METHOD's invariant: the interval holds the truth for any asymmetric non-negative
        /// delays and |skew| ≤ ρ.
        #[test]
        fn interval_holds_the_truth(
            theta in -1_000_000_000i64..1_000_000_000,
            skew in -50i64..=50,
            delays in prop::collection::vec((0i64..50_000_000, 0i64..50_000_000, 0i64..1_000_000), 1..50),
        ) {
            let mut offset = Offset::default();
            let mut near = 0;
            for (i, (out, back, work)) in delays.iter().enumerate() {
                let far_in = near + out;
                let far_out = far_in + work;
                let exchange = Exchange {
                    near_sent: near,
                    far_received: far(far_in, theta, skew),
                    far_sent: far(far_out, theta, skew),
                    near_received: far_out + back,
                };
                let fresh = offset.observe(&exchange);
                prop_assert_eq!(fresh, i == 0, "no step was made");
                let now = exchange.near_received;
                let (lo, hi) = offset.at(now).unwrap();
                let truth = far(now, theta, skew) - now;
                prop_assert!(lo <= truth && truth <= hi, "{} not in [{}, {}]", truth, lo, hi);
                near = now + 10_000_000;
            }
        }
    }

    #[test]
    fn an_exchange_that_contradicts_itself_changes_nothing() {
        let mut offset = Offset::default();
        // It says that it worked for a second within 300 ns.
        let broken = Exchange {
            near_sent: 0,
            far_received: 100,
            far_sent: 1_000_000_100,
            near_received: 300,
        };
        assert!(!offset.observe(&broken) && offset.at(300).is_none());
        let sound = Exchange { far_sent: 200, ..broken };
        assert!(offset.observe(&sound));
        let before = offset.at(300);
        assert!(!offset.observe(&broken));
        assert_eq!((offset.at(300), offset.epochs(), offset.impossible()), (before, 1, 2));
    }

    #[test]
    fn a_step_begins_a_new_epoch_at_the_next_exchange() {
        let mut offset = Offset::default();
        let exchange = |near: Ns, theta: Ns| Exchange {
            near_sent: near,
            far_received: near + 100 + theta,
            far_sent: near + 200 + theta,
            near_received: near + 300,
        };
        assert!(offset.observe(&exchange(0, 0)));
        assert!(!offset.observe(&exchange(1_000, 0)));
        assert!(offset.observe(&exchange(2_000, 5_000_000)));
        assert_eq!(offset.epochs(), 2);
        let (lo, hi) = offset.at(2_300).unwrap();
        assert!(lo <= 5_000_000 && 5_000_000 <= hi && hi - lo < 1_000);
    }
}
