//! What each link would change on this path, by the shadow probes.

use crate::units::maybe;
use hopwatch_model::{Ns, Probe, Stage};
use hopwatch_stats::{Interval, Summary};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The links beside each other: request and reply to both services, of bodies of one size.
///
/// An estimate for the eye, from few requests at the probes' own pace: the verdict comes of
/// `hopwatch compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Shadow {
    /// Probes a second, of all links and services together.
    pub rate_hz: f64,
    /// Size of the bodies, in bytes: the smallest and the largest.
    pub body_bytes: (u64, u64),
    /// The link that messages go over, which the others are compared with.
    pub current: String,
    /// Each link: the current one first, then by name.
    pub links: Vec<ShadowLink>,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ShadowLink {
    /// Its name.
    pub link: String,
    /// Requests.
    pub probes: usize,
    /// Of these, without a reply.
    pub failed: usize,
    /// Times that requests were sent again.
    pub retries: u64,
    /// What both services' requests cost in one round: connection and round trip, without the
    /// services' own time.
    pub cost: Summary,
    /// Rounds in which this link and the current one had replies of both services.
    pub pairs: usize,
    /// Median of (this link − the current one) within a round; negative: it saves time.
    pub change_ns: Option<Ns>,
    /// Its 95 % interval by order statistics; `null` for an end that the rounds don't give.
    #[cfg_attr(feature = "ts", ts(type = "[number | null, number | null]"))]
    pub change_ci_ns: Interval,
}

/// One round of one link: what each service's request cost.
type Round = BTreeMap<Stage, Option<Ns>>;

impl Shadow {
    /// `None` without probes. The order of the probes makes no difference.
    pub fn of<'a>(probes: impl IntoIterator<Item = &'a Probe>) -> Option<Self> {
        let mut rounds: BTreeMap<(&str, u64), Round> = BTreeMap::new();
        let mut counts: BTreeMap<&str, (usize, usize, u64)> = BTreeMap::new();
        let (mut current, mut stages) = (BTreeSet::new(), BTreeSet::new());
        let (mut rate_hz, mut sizes) = (0.0_f64, (u64::MAX, 0));
        for probe in probes {
            let (all, failed, retries) = counts.entry(&probe.link).or_default();
            *all += 1;
            *failed += usize::from(probe.failure.is_some());
            *retries += u64::from(probe.retries);
            let round = rounds.entry((&probe.link, probe.round)).or_default();
            round.insert(probe.stage, probe.cost_ns());
            stages.insert(probe.stage);
            if probe.is_current {
                current.insert(probe.link.as_str());
            }
            rate_hz = rate_hz.max(probe.rate_hz);
            sizes = (sizes.0.min(probe.body_bytes), sizes.1.max(probe.body_bytes));
        }
        let current = *current.first()?;
        // A round counts that reached every service.
        let whole = |link: &str, round: u64| -> Option<Ns> {
            let of = rounds.get(&(link, round))?;
            stages.iter().map(|stage| *of.get(stage)?).sum()
        };
        let mut links: Vec<ShadowLink> = counts
            .iter()
            .map(|(link, (probes, failed, retries))| {
                let of_link = rounds.keys().filter(|(other, _)| other == link);
                let costs = of_link.clone().filter_map(|(_, round)| whole(link, *round));
                let changes = of_link
                    .filter_map(|(_, round)| Some(whole(link, *round)? - whole(current, *round)?));
                let changes = Summary::of(changes.collect());
                let itself = *link == current;
                ShadowLink {
                    link: (*link).to_owned(),
                    probes: *probes,
                    failed: *failed,
                    retries: *retries,
                    cost: Summary::of(costs.collect()),
                    pairs: changes.n,
                    change_ns: changes.p50_ns.filter(|_| !itself),
                    change_ci_ns: if itself {
                        Interval { lo: None, hi: None }
                    } else {
                        changes.p50_ci_ns
                    },
                }
            })
            .collect();
        links.sort_by_key(|link| (link.link != current, link.link.clone()));
        Some(Self { rate_hz, body_bytes: sizes, current: current.to_owned(), links })
    }

    /// In sentences: what the probes are, then each link.
    pub fn said(&self) -> Vec<String> {
        let (least, most) = self.body_bytes;
        let size = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let head = format!(
            "shadow probes ({} a second, bodies of {size} bytes, both services): what another link \
             than {} would change, as a hint",
            self.rate_hz, self.current
        );
        std::iter::once(head)
            .chain(self.links.iter().map(|link| link.said(&self.current)))
            .collect()
    }
}

impl ShadowLink {
    fn said(&self, current: &str) -> String {
        let mut said = vec![format!("{}: P50 {}", self.link, maybe(self.cost.p50_ns))];
        if self.link == current {
            said.push("the link in use".to_owned());
        } else if let Some(change) = self.change_ns {
            let Interval { lo, hi } = self.change_ci_ns;
            let interval = match (lo, hi) {
                (Some(lo), Some(hi)) => format!("{} to {}", signed(lo), signed(hi)),
                _ => format!("no interval at n = {}", self.pairs),
            };
            said.push(format!("change {} ({interval})", signed(change)));
        }
        if self.failed > 0 {
            said.push(format!("{} of {} without a reply", self.failed, self.probes));
        }
        if self.retries > 0 {
            said.push(format!("{} sent again", self.retries));
        }
        said.join(", ")
    }
}

/// With its sign: a change of nothing has none.
fn signed(ns: Ns) -> String {
    let sign = if ns > 0 { "+" } else { "" };
    format!("{sign}{}", maybe(Some(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_model::Failure;

    fn probe(round: u64, stage: Stage, link: &str, ns: Ns) -> Probe {
        Probe {
            round,
            stage,
            link: link.to_owned(),
            is_current: link == "http1",
            rate_hz: 2.0,
            body_bytes: 300,
            connect_ns: 0,
            round_trip_ns: ns + 1000,
            served_ns: 1000,
            retries: 0,
            failure: None,
        }
    }

    /// `http1` takes 100 µs and more to each service, `udp` 40 µs less.
    fn rounds(n: u64) -> Vec<Probe> {
        let of = |round: u64| {
            let slow = 100_000 + i64::try_from(round * 7919 % 101).unwrap() * 1000;
            [Stage::Ai, Stage::Web].into_iter().flat_map(move |stage| {
                [probe(round, stage, "http1", slow), probe(round, stage, "udp", slow - 40_000)]
            })
        };
        (1..=n).flat_map(of).collect()
    }

    #[test]
    fn the_change_is_taken_within_rounds() {
        let mut probes = rounds(20);
        let shadow = Shadow::of(&probes).unwrap();
        assert_eq!((shadow.current.as_str(), shadow.body_bytes), ("http1", (300, 300)));
        let [http1, udp] = shadow.links.as_slice() else { panic!("{shadow:?}") };
        assert_eq!((http1.link.as_str(), http1.change_ns, http1.pairs), ("http1", None, 20));
        // Both services' requests, each 40 µs shorter: exact, though rounds differ by more.
        assert_eq!((udp.change_ns, udp.pairs, udp.probes), (Some(-80_000), 20, 40));
        assert_eq!(udp.change_ci_ns, Interval { lo: Some(-80_000), hi: Some(-80_000) });
        probes.reverse();
        assert_eq!(Shadow::of(&probes), Some(shadow));
        assert_eq!(Shadow::of(&[]), None);
    }

    #[test]
    fn what_failed_is_counted_and_in_no_figure() {
        let mut probes = rounds(3);
        let lost = Probe {
            failure: Some(Failure::TimedOut),
            round_trip_ns: 2_000_000_000,
            retries: 3,
            ..probe(4, Stage::Ai, "udp", 0)
        };
        probes.extend([
            lost,
            probe(4, Stage::Web, "udp", 5000),
            probe(4, Stage::Ai, "http1", 5000),
        ]);
        let shadow = Shadow::of(&probes).unwrap();
        let udp = &shadow.links[1];
        assert_eq!((udp.failed, udp.retries, udp.pairs, udp.cost.n), (1, 3, 3, 3));
        // The half round of http1 counts neither.
        assert_eq!(shadow.links[0].cost.n, 3);
        let said = shadow.said().join("\n");
        assert!(said.contains("1 of 8 without a reply, 3 sent again"), "{said}");
        assert!(said.contains("no interval at n = 3"), "{said}");
    }

    #[test]
    fn a_connection_is_part_of_the_cost() {
        let fresh = Probe { connect_ns: 70, ..probe(1, Stage::Ai, "http1", 30) };
        assert_eq!(fresh.cost_ns(), Some(100));
        assert_eq!(Probe { failure: Some(Failure::Broken), ..fresh }.cost_ns(), None);
    }
}
