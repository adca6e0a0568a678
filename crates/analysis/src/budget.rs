//! Budgets: what must hold for the run to pass. The defaults are S1's requirements.

use crate::delivery::Latency;
use crate::lane::{LaneReport, Row};
use crate::remarks::no_upper_bound;
use crate::units::duration;
use hopwatch_model::{Ledger, Ns};
use serde::Serialize;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Mean pipeline total.
    pub total_ns: Ns,
    /// Mean communication: everything but AI.
    pub communication_ns: Ns,
    /// 99th percentile of the pipeline total over what was published: a lost message takes
    /// forever, so more than one lost in a hundred misses it (METHOD 10).
    pub p99_total_ns: Ns,
    /// Delivered ÷ published, at least; `None`: not judged.
    pub min_delivered: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        const MS: Ns = 1_000_000;
        Self {
            total_ns: 2_000 * MS,
            communication_ns: 100 * MS,
            p99_total_ns: 2_000 * MS,
            min_delivered: None,
        }
    }
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The mean pipeline total, in ns; at most.
    MeanTotal,
    /// The mean of all but the AI, in ns; at most.
    MeanCommunication,
    /// The 99th percentile of the total, in ns; at most.
    P99Total,
    /// Delivered ÷ published; at least.
    Delivered,
}

/// One limit and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Check {
    /// The lane.
    pub lane: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The limit, in the quantity's unit.
    pub limit_value: f64,
    /// What was measured; `null` when that is no number: nothing, unstable, lost.
    pub measured_value: Option<f64>,
    /// Lane and quantity.
    pub name: String,
    /// The limit, in words.
    pub limit: String,
    /// What was measured, in words.
    pub measured: String,
    /// Whether it holds. Nothing measured does not.
    pub passed: bool,
}

/// All checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct BudgetReport {
    /// Each limit.
    pub checks: Vec<Check>,
    /// Whether all hold.
    pub passed: bool,
}

impl Budget {
    /// A limit that somebody gave in ms; `None` for what is no limit: it must be a number above 0,
    /// and below 11 days.
    pub fn limit_ns(ms: f64) -> Option<Ns> {
        #[expect(clippy::cast_possible_truncation, reason = "it is bounded here")]
        (ms > 0.0 && ms < 1e9).then(|| (ms * 1e6).round() as Ns)
    }

    /// Judges the lanes.
    pub fn judge(&self, lanes: &[LaneReport]) -> BudgetReport {
        let checks: Vec<Check> = lanes.iter().flat_map(|lane| self.of_lane(lane)).collect();
        let passed = !checks.is_empty() && checks.iter().all(|check| check.passed);
        BudgetReport { checks, passed }
    }

    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53 ns")]
    fn of_lane(&self, lane: &LaneReport) -> Vec<Check> {
        let total = &lane.classes[&Row::Total];
        let below = |quantity, what: &str, limit: Ns, measured: Option<f64>| Check {
            lane: lane.name.clone(),
            quantity,
            limit_value: limit as f64,
            measured_value: measured,
            name: format!("{}: {what}", lane.name),
            limit: format!("< {}", duration(limit as f64)),
            measured: match measured {
                Some(ns) => duration(ns),
                None if lane.stability.unstable => "unstable".to_owned(),
                None => "nothing".to_owned(),
            },
            passed: measured.is_some_and(|ns| ns < limit as f64),
        };
        let mut checks = vec![
            below(Quantity::MeanTotal, "mean total", self.total_ns, total.mean_ns),
            below(
                Quantity::MeanCommunication,
                "mean communication",
                self.communication_ns,
                lane.classes[&Row::Communication].mean_ns,
            ),
            self.p99(lane),
        ];
        if let Some(least) = self.min_delivered {
            let ledger = &lane.ledger;
            let ratio = ledger.delivered as f64 / ledger.published as f64;
            checks.push(Check {
                lane: lane.name.clone(),
                quantity: Quantity::Delivered,
                limit_value: least,
                // 0 of 0 is no number.
                measured_value: Some(ratio).filter(|ratio| ratio.is_finite()),
                name: format!("{}: delivered", lane.name),
                limit: format!("≥ {:.3} %", least * 100.0),
                measured: format!(
                    "{:.3} % ({} of {})",
                    ratio * 100.0,
                    ledger.delivered,
                    ledger.published
                ),
                // 0 of 0 is no number, and not ≥ anything.
                passed: ratio >= least,
            });
        }
        checks
    }

    /// Over what was published. Where messages are no longer kept: over what was delivered, and
    /// lost all the same when the ledger says that too many were.
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53 ns")]
    fn p99(&self, lane: &LaneReport) -> Check {
        let delivered = lane.classes[&Row::Total].p99_ns.map(Latency::Ns);
        let p99 = match &lane.over_published {
            Some(over) => over.pipeline.p99_ns,
            None if lost_above_a_hundredth(&lane.ledger) => Some(Latency::Lost),
            None => delivered,
        };
        let of = if lane.over_published.is_some() { "" } else { " of those delivered" };
        // Of few messages the P99 is their greatest, and says little of the next one.
        let total = &lane.classes[&Row::Total];
        let unbounded = match total.p99_upper_ns {
            None if total.n > 0 => format!(", {}", no_upper_bound(total, 0.99)),
            _ => String::new(),
        };
        let measured = match p99 {
            Some(Latency::Lost) => "lost: more than 1 % of the messages were".to_owned(),
            Some(ns) => format!("{ns}{of}{unbounded}"),
            None if lane.stability.unstable => "unstable".to_owned(),
            None => "nothing".to_owned(),
        };
        Check {
            lane: lane.name.clone(),
            quantity: Quantity::P99Total,
            limit_value: self.p99_total_ns as f64,
            measured_value: match p99 {
                Some(Latency::Ns(ns)) => Some(ns as f64),
                Some(Latency::Lost) | None => None,
            },
            name: format!("{}: P99 total", lane.name),
            limit: format!("< {}", duration(self.p99_total_ns as f64)),
            measured,
            passed: matches!(p99, Some(Latency::Ns(ns)) if ns < self.p99_total_ns),
        }
    }
}

/// Whether more than one in a hundred was lost, by the counts alone: then no message stands at the
/// 99th percentile of those that [`OverPublished`](crate::OverPublished) counts.
fn lost_above_a_hundredth(ledger: &Ledger) -> bool {
    let left_out = ledger.in_flight.saturating_add(ledger.lost_before_discovery);
    let of = ledger.published.saturating_sub(left_out);
    of.saturating_sub(ledger.delivered).saturating_mul(100) > of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Clocks;
    use crate::lane::tests::{delivered, lane_of};
    use crate::lane::{Wanted, figures};
    use crate::ledger::LedgerBuilder;

    fn lane(ai: Ns) -> LaneReport {
        let traces: Vec<_> = (1..=5).map(|n| delivered(0, n, ai)).collect();
        let mut ledger = LedgerBuilder::new();
        for trace in &traces {
            assert!(ledger.observe_trace(trace));
        }
        let clocks = Clocks::default();
        let data = lane_of(&traces, &clocks);
        figures(&data, ledger.ledger(true), &Wanted::default())
    }

    #[test]
    fn within_and_beyond() {
        let budget = Budget { min_delivered: Some(1.0), ..Budget::default() };
        assert!(budget.judge(&[lane(1_000_000_000)]).passed);
        let missed = budget.judge(&[lane(2_000_000_000)]);
        assert!(!missed.passed);
        assert_eq!(missed.checks.iter().filter(|c| !c.passed).count(), 2);
    }

    /// Whoever delivers one message of two is not within a budget of latencies.
    #[test]
    fn a_lost_message_takes_forever() {
        let traces: Vec<_> = (1..=200).map(|n| delivered(0, n, 1_000_000)).collect();
        let judged = |keep: fn(usize) -> bool| {
            let mut ledger = LedgerBuilder::new();
            let kept: Vec<_> = traces.iter().enumerate().filter(|(n, _)| keep(*n)).collect();
            let kept: Vec<_> = kept.into_iter().map(|(_, trace)| trace.clone()).collect();
            for trace in &kept {
                assert!(ledger.observe_trace(trace));
            }
            let clocks = Clocks::default();
            let data = lane_of(&kept, &clocks);
            let lane = figures(&data, ledger.ledger(true), &Wanted::default());
            Budget::default().judge(&[lane])
        };
        // Two of 200 are 1 %: the 198th of the sorted is still one that came.
        let kept = judged(|n| n != 50 && n != 100);
        assert!(kept.passed);
        // One-sided, 299 are the fewest that have an upper bound (METHOD 12).
        assert_eq!(kept.checks[2].measured, "1.008 ms, no upper bound at n = 198");
        let missed = judged(|n| n % 20 != 10);
        assert!(!missed.passed, "{missed:?}");
        assert!(missed.checks[2].measured.starts_with("lost"), "{missed:?}");
        assert_eq!(missed.checks.iter().filter(|check| !check.passed).count(), 1);
    }

    /// The counts remain when the messages are gone.
    #[test]
    fn what_is_no_longer_kept_was_lost_all_the_same() {
        let traces: Vec<_> = (1..=200).map(|n| delivered(0, n, 1_000_000)).collect();
        let judged = |lost: u64| {
            let mut ledger = LedgerBuilder::new();
            for trace in &traces {
                assert!(ledger.observe_trace(trace));
            }
            let clocks = Clocks::default();
            // Of 200 only the newest 20 are kept.
            let data = lane_of(&traces[180..], &clocks);
            let mut counts = ledger.ledger(true);
            counts.published += lost;
            let lane = figures(&data, counts, &Wanted::default());
            assert_eq!(lane.over_published, None);
            Budget::default().judge(&[lane]).checks.swap_remove(2)
        };
        let kept = judged(2);
        let said = " of those delivered, no upper bound at n = 20";
        assert!(kept.passed && kept.measured.ends_with(said), "{kept:?}");
        let missed = judged(3);
        assert!(!missed.passed && missed.measured.starts_with("lost"), "{missed:?}");
    }

    #[test]
    fn nothing_measured_is_no_pass() {
        assert!(!Budget::default().judge(&[]).passed);
        let clocks = Clocks::default();
        let nothing = LedgerBuilder::new().ledger(true);
        let empty = figures(&lane_of(&[], &clocks), nothing, &Wanted::default());
        let judged = Budget { min_delivered: Some(0.0), ..Budget::default() }.judge(&[empty]);
        assert!(judged.checks.iter().all(|check| !check.passed), "{judged:?}");
    }
}
