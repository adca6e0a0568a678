//! What the clocks leave open of a figure, and how it is said (METHOD 4).

use crate::units::maybe;
use hopwatch_model::Ns;
use hopwatch_stats::quantile;
use serde::Serialize;

/// Below this half-width an interval is taken for a figure, however small the figure.
const TENTH_MS: Ns = 100_000;

/// How much of a leg or span is open because two clocks are involved.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Width {
    /// One clock made it, or two whose difference doesn't matter: no interval.
    pub exact: bool,
    /// The median half-width of the messages' intervals; 0 when exact.
    pub half_width_ns: Ns,
    /// False when the half-width exceeds both 10 % of the P50 and 0.1 ms: read the interval, not
    /// the figure.
    pub resolved: bool,
    /// The true P50 lies in here: the P50 of the lower ends, and of the upper ones; `null` when
    /// exact, unstable or without a message.
    pub p50_within_ns: Option<(Ns, Ns)>,
    /// The same of the P99.
    pub p99_within_ns: Option<(Ns, Ns)>,
}

impl Width {
    /// From (middle, half-width) of each message, and the P50 of the middles.
    pub(crate) fn of(lengths: &[(Ns, Ns)], p50: Option<Ns>) -> Self {
        let exact = lengths.iter().all(|(_, half)| *half == 0);
        let sorted = |of| sorted_by(lengths, of);
        let half_width_ns = quantile(&sorted(|_, half| half), 500).unwrap_or(0);
        let tenth = p50.unwrap_or(0).saturating_abs() / 10;
        let ends = (!exact).then(|| (sorted(Ns::saturating_sub), sorted(Ns::saturating_add)));
        let within = |thousandths| {
            let (lo, hi) = ends.as_ref()?;
            quantile(lo, thousandths).zip(quantile(hi, thousandths))
        };
        Self {
            exact,
            half_width_ns,
            resolved: half_width_ns <= tenth.max(TENTH_MS),
            p50_within_ns: within(500),
            p99_within_ns: within(990),
        }
    }

    /// An unstable lane has no quantiles, so none that lie anywhere.
    pub(crate) fn drop_quantiles(&mut self) {
        (self.p50_within_ns, self.p99_within_ns) = (None, None);
    }

    /// What has to be said beside the figure; nothing when it is exact, or open by so little that
    /// no printed digit is wrong by it.
    pub fn said(&self) -> Option<String> {
        let (lo, hi) = self.p50_within_ns?;
        let at_most = lo <= 0 && hi >= 0;
        match (self.resolved, at_most) {
            (false, true) => Some(format!(
                "not resolved: P50 ≤ {} ({} to {})",
                maybe(Some(hi)),
                maybe(Some(lo)),
                maybe(Some(hi))
            )),
            (false, false) => {
                Some(format!("not resolved: P50 within {} to {}", maybe(Some(lo)), maybe(Some(hi))))
            }
            (true, true) => Some(format!("P50 ≤ {}", maybe(Some(hi)))),
            (true, false) if self.half_width_ns >= SAID => {
                Some(format!("± {}", maybe(Some(self.half_width_ns))))
            }
            (true, false) => None,
        }
    }
}

/// Two readings of two clocks of one host are that close: nothing to speak of.
pub(crate) const SAID: Ns = 1_000;

/// One end of each message's interval, or what else is made of (middle, half-width), sorted.
///
/// Each truth lies between its ends, so each quantile of the truths lies between those of the
/// lower and of the upper ends.
pub(crate) fn sorted_by(lengths: &[(Ns, Ns)], of: fn(Ns, Ns) -> Ns) -> Vec<Ns> {
    let mut values: Vec<Ns> = lengths.iter().map(|(ns, half)| of(*ns, *half)).collect();
    values.sort_unstable();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_stats::Summary;

    fn of(lengths: &[(Ns, Ns)]) -> Width {
        Width::of(lengths, Summary::of(lengths.iter().map(|(ns, _)| *ns).collect()).p50_ns)
    }

    #[test]
    fn what_is_printed_follows_the_interval() {
        for (lengths, said) in [
            (vec![(500_000, 0)], None),
            (vec![(500_000, 40)], None),
            (vec![(5_000_000, 90_000)], Some("± 90.0 µs")),
            (vec![(5_000_000, 600_000)], Some("not resolved: P50 within 4.400 ms to 5.600 ms")),
            (vec![(50_000, 80_000)], Some("P50 ≤ 130 µs")),
            (vec![(-9_000, 8_000)], Some("± 8.0 µs")),
            (vec![(90_000, 200_000)], Some("not resolved: P50 ≤ 290 µs (-110 µs to 290 µs)")),
        ] {
            assert_eq!(of(&lengths).said().as_deref(), said, "{lengths:?}");
        }
        assert!(of(&[]).exact && of(&[]).said().is_none());
    }

    #[test]
    fn quantiles_of_the_truth_lie_within() {
        // Truths 10, 20, …, 1000 behind intervals that are off by as much as they may be.
        let lengths: Vec<(Ns, Ns)> =
            (1..=100).map(|i| (i * 10 + if i % 2 == 0 { 7 } else { -7 }, 7)).collect();
        let width = of(&lengths);
        let (lo, hi) = width.p50_within_ns.unwrap();
        assert!(lo <= 500 && 500 <= hi, "{lo} {hi}");
        let (lo, hi) = width.p99_within_ns.unwrap();
        assert!(lo <= 990 && 990 <= hi, "{lo} {hi}");
    }
}
