//! The network that a run made between its programs, to lose packets for real.

use crate::units::maybe;
use hopwatch_model::Ns;
use hopwatch_stats::proportion_interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A network of namespaces: what was asked of it, and what it really did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The share of the packets that was to be lost on the chosen legs, 0 to 1.
    pub loss: f64,
    /// By how much each packet was to be late on the chosen legs, one way.
    pub delay_ns: Ns,
    /// How far that was to vary, to either side.
    pub jitter_ns: Ns,
    /// Other shares that were set on the chosen legs while it ran, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LossChange>,
    /// What went over each leg.
    pub legs: Vec<NetworkLeg>,
}

/// Another share of packets to be lost, from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossChange {
    /// When, in ns after the network was made.
    pub after_ns: Ns,
    /// The share from then on, 0 to 1.
    pub loss: f64,
}

impl LossChange {
    /// "to 5 % after 12.3 s"
    pub fn said(&self) -> String {
        format!("to {} after {}", percent(self.loss), maybe(Some(self.after_ns)))
    }
}

/// Changes that are told one by one.
const CHANGES_TOLD: usize = 10;

/// What went over one leg, both ways together, as the receivers' kernels counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkLeg {
    /// Its name: `ros`, `ai` or `web`.
    pub leg: String,
    /// It is one of those that packets were to be lost on.
    pub lossy: bool,
    /// IP packets that arrived, those that were then dropped among them. A message that is longer
    /// than 1.5 kB is several.
    pub packets: u64,
    /// Of these, dropped.
    pub dropped: u64,
}

impl Network {
    /// In a sentence.
    pub fn said(&self) -> String {
        let lossy: Vec<&NetworkLeg> = self.legs.iter().filter(|leg| leg.lossy).collect();
        let names: Vec<&str> = lossy.iter().map(|leg| leg.leg.as_str()).collect();
        let on = if names.is_empty() { "no leg".to_owned() } else { names.join(", ") };
        let mut said = format!("network: {} of the packets to be lost on {on}", percent(self.loss));
        if self.delay_ns > 0 {
            let _infallible = write!(said, ", each late by {}", maybe(Some(self.delay_ns)));
        }
        if self.jitter_ns > 0 {
            let _infallible = write!(said, " ± {}", maybe(Some(self.jitter_ns)));
        }
        if !self.changes.is_empty() {
            let told = self.changes.iter().take(CHANGES_TOLD).map(LossChange::said);
            let told = told.collect::<Vec<_>>().join(", ");
            let _infallible = write!(said, " at first, and changed while it ran: {told}");
            if let Some(more) = self.changes.len().checked_sub(CHANGES_TOLD).filter(|n| *n > 0) {
                let _infallible = write!(said, " and {more} more times");
            }
        }
        if lossy.iter().all(|leg| leg.packets == 0) {
            said.push_str("; what really was lost is not known");
            return said;
        }
        let of = |leg: &&NetworkLeg| format!("{} {} of {}", leg.leg, leg.dropped, leg.packets);
        let legs: Vec<String> = lossy.iter().map(of).collect();
        let _infallible = write!(said, "; really dropped: {}", legs.join(", "));
        said
    }

    /// On which legs the kernel did not drop the share that was planned, over all of these networks:
    /// where the 99.9 % interval of what it did (C. J. Clopper, E. S. Pearson, 1934) leaves that
    /// out, or where nothing passed. In sentences.
    pub fn off_plan(networks: &[Self], loss: f64) -> Vec<String> {
        let mut legs: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for leg in networks.iter().flat_map(|network| &network.legs).filter(|leg| leg.lossy) {
            let (dropped, packets) = legs.entry(leg.leg.as_str()).or_default();
            *dropped = dropped.saturating_add(leg.dropped);
            *packets = packets.saturating_add(leg.packets);
        }
        // As many digits as tell something.
        let percent = |share: f64| percent((share * 1e5).round() / 1e5);
        let off = |(leg, (dropped, packets)): (&str, (u64, u64))| {
            let Some((lo, hi)) = proportion_interval(dropped, packets, 0.999) else {
                return Some(format!("what was lost on {leg} is not known"));
            };
            (!(lo..=hi).contains(&loss)).then(|| {
                format!(
                    "{} of the packets on {leg} were to be lost, and {dropped} of {packets} were \
                     ({} to {} at 99.9 %)",
                    percent(loss),
                    percent(lo),
                    percent(hi)
                )
            })
        };
        legs.into_iter().filter_map(off).collect()
    }

    /// Packets that were dropped on all legs.
    pub fn dropped(&self) -> u64 {
        self.legs.iter().map(|leg| leg.dropped).sum()
    }
}

/// A share in percent, with as many digits as it has.
fn percent(share: f64) -> String {
    // 0.07 × 100 is 7.000000000000001.
    let rounded = (share * 1e8).round() / 1e6;
    format!("{rounded} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(name: &str, lossy: bool, packets: u64, dropped: u64) -> NetworkLeg {
        NetworkLeg { leg: name.to_owned(), lossy, packets, dropped }
    }

    #[test]
    fn what_was_asked_and_what_was_done_are_said_apart() {
        let network = Network {
            loss: 0.07,
            legs: vec![leg("ros", true, 400, 31), leg("ai", true, 90, 5), leg("web", false, 80, 0)],
            ..Network::default()
        };
        assert_eq!(
            network.said(),
            "network: 7 % of the packets to be lost on ros, ai; really dropped: ros 31 of 400, \
             ai 5 of 90"
        );
        assert_eq!(network.dropped(), 36);
    }

    #[test]
    fn a_loss_that_was_changed_while_it_ran_is_told() {
        let change = |seconds: i64, loss| LossChange { after_ns: seconds * 1_000_000_000, loss };
        let mut network = Network {
            loss: 0.0,
            changes: vec![change(12, 0.3), change(20, 0.0)],
            legs: vec![leg("ros", true, 400, 31)],
            ..Network::default()
        };
        assert_eq!(
            network.said(),
            "network: 0 % of the packets to be lost on ros at first, and changed while it ran: to \
             30 % after 12.000 s, to 0 % after 20.000 s; really dropped: ros 31 of 400"
        );
        network.changes = (0..12).map(|n| change(n, 0.1)).collect();
        assert!(network.said().contains(" and 2 more times; really"), "{}", network.said());
    }

    #[test]
    fn what_was_lost_is_held_against_the_plan() {
        let network = |dropped| Network {
            legs: vec![leg("ros", true, 2_000, dropped), leg("web", false, 80, 80)],
            ..Network::default()
        };
        let of = |dropped: &[u64], loss| {
            let all: Vec<Network> = dropped.iter().map(|n| network(*n)).collect();
            Network::off_plan(&all, loss)
        };
        // 40 of 4000 are due, with a standard deviation of 6.3.
        assert_eq!(of(&[15, 25], 0.01), Vec::<String>::new());
        assert_eq!(of(&[25, 34], 0.01), Vec::<String>::new());
        for dropped in [[0, 0], [10, 8], [40, 40]] {
            let off = of(&dropped, 0.01);
            assert!(off[0].starts_with("1 % of the packets on ros were to be lost"), "{off:?}");
        }
        assert_eq!(of(&[1, 0], 0.0).len(), 1, "none were to be lost");
        let none = Network { legs: vec![leg("ai", true, 0, 0)], ..Network::default() };
        assert_eq!(Network::off_plan(&[none], 0.01), ["what was lost on ai is not known"]);
    }

    #[test]
    fn nothing_is_claimed_without_counters() {
        let network = Network {
            loss: 0.005,
            delay_ns: 2_000_000,
            jitter_ns: 500_000,
            legs: vec![leg("ros", true, 0, 0)],
            ..Network::default()
        };
        let said = network.said();
        assert!(said.contains("0.5 %") && said.contains("not known"), "{said}");
        assert!(said.contains("late by 2.000 ms ± 500 µs"), "{said}");
    }
}
