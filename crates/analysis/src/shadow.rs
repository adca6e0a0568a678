//! What each link would change on this path, by the shadow probes.

use crate::delivery::Latency;
use crate::units::maybe;
use hopwatch_model::{Ns, Probe, Stage};
use hopwatch_stats::{interval_ranks, nearest_rank};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// The links beside each other: request and reply to the services that are probed.
///
/// A request without a reply took forever, as a lost message does (METHOD 10): a link that loses
/// every tenth looks no better for it.
///
/// An estimate for the eye, from few requests at the probes' own pace: the verdict comes of
/// `hopwatch compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Shadow {
    /// Probes a second, of all links and services together.
    pub rate_hz: f64,
    /// The services that are probed: both, or only the web service where the AI service is somebody
    /// else's.
    #[cfg_attr(feature = "ts", ts(type = "(\"ai\" | \"web\")[]"))]
    pub stages: Vec<Stage>,
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
    /// Rounds that reached for every service, with replies or without.
    pub rounds: usize,
    /// Median of what a round's requests cost together: connection and round trip, without the
    /// services' own time; "lost" when as many rounds miss a reply. `null` without rounds.
    #[cfg_attr(feature = "ts", ts(type = "number | \"lost\" | null"))]
    pub p50_ns: Option<Latency>,
    /// The 95th percentile, likewise.
    #[cfg_attr(feature = "ts", ts(type = "number | \"lost\" | null"))]
    pub p95_ns: Option<Latency>,
    /// Rounds of this link and the current one, but those that both lost: of these nothing can be
    /// said.
    pub pairs: usize,
    /// Median of (this link − the current one) within a round; negative: it saves time.
    #[cfg_attr(feature = "ts", ts(type = "number | \"lost\" | \"current-lost\" | null"))]
    pub change_ns: Option<Change>,
    /// Its 95 % interval by order statistics; `null` for an end that the rounds don't give.
    #[cfg_attr(
        feature = "ts",
        ts(type = "[number | \"lost\" | \"current-lost\" | null, \
                   number | \"lost\" | \"current-lost\" | null]")
    )]
    pub change_ci_ns: (Option<Change>, Option<Change>),
}

/// What a link would change in a round; in the order of its variants the less the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Only the current link missed a reply: it saves all of forever.
    CurrentLost,
    /// So many ns.
    Ns(Ns),
    /// Only this one did.
    Lost,
}

impl Serialize for Change {
    /// A number, or the word "lost" or "current-lost".
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::CurrentLost => serializer.serialize_str("current-lost"),
            Self::Ns(ns) => serializer.serialize_i64(*ns),
            Self::Lost => serializer.serialize_str("lost"),
        }
    }
}

impl std::fmt::Display for Change {
    /// With its sign: a change of nothing has none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CurrentLost => f.write_str("the link in use is lost"),
            Self::Ns(ns) => {
                f.write_str(if *ns > 0 { "+" } else { "" })?;
                f.write_str(&maybe(Some(*ns)))
            }
            Self::Lost => f.write_str("lost"),
        }
    }
}

/// One round of one link: what each service's request cost; `None`: it had no reply.
type Round = BTreeMap<Stage, Option<Ns>>;

impl Shadow {
    /// `None` without probes. The order of the probes makes no difference.
    pub fn of<'a>(probes: impl IntoIterator<Item = &'a Probe>) -> Option<Self> {
        let mut rounds: BTreeMap<&str, BTreeMap<(&str, u64), Round>> = BTreeMap::new();
        let mut counts: BTreeMap<&str, (usize, usize, u64)> = BTreeMap::new();
        let (mut current, mut stages) = (BTreeSet::new(), BTreeSet::new());
        let (mut rate_hz, mut sizes) = (0.0_f64, (u64::MAX, 0));
        for probe in probes {
            let (all, failed, retries) = counts.entry(&probe.link).or_default();
            *all += 1;
            *failed += usize::from(probe.failure.is_some());
            *retries = retries.saturating_add(u64::from(probe.retries));
            let of_link = rounds.entry(&probe.link).or_default();
            of_link
                .entry((&*probe.gateway, probe.round))
                .or_default()
                .insert(probe.stage, probe.cost_ns());
            stages.insert(probe.stage);
            if probe.is_current {
                current.insert(probe.link.as_str());
            }
            rate_hz = rate_hz.max(probe.rate_hz);
            sizes = (sizes.0.min(probe.body_bytes), sizes.1.max(probe.body_bytes));
        }
        let current = *current.first()?;
        // A round counts that reached for every service.
        let whole = |round: &Round| {
            let all = stages.iter().map(|stage| round.get(stage).copied());
            all.collect::<Option<Vec<_>>>().map(sum)
        };
        let wholes = |link: &str| -> BTreeMap<_, Latency> {
            let of_link = rounds.get(link).into_iter().flatten();
            of_link.filter_map(|(key, round)| Some((*key, whole(round)?))).collect()
        };
        let of_current = wholes(current);
        let mut links: Vec<ShadowLink> = counts
            .iter()
            .map(|(link, counts)| ShadowLink::of(link, *counts, &wholes(link), &of_current))
            .collect();
        for link in links.iter_mut().filter(|link| link.link == current) {
            (link.change_ns, link.change_ci_ns) = (None, (None, None));
        }
        links.sort_by_key(|link| (link.link != current, link.link.clone()));
        let current = current.to_owned();
        let stages = stages.into_iter().collect();
        Some(Self { rate_hz, stages, body_bytes: sizes, current, links })
    }

    /// The services that are probed, in words.
    pub fn services(&self) -> &'static str {
        match self.stages.as_slice() {
            [Stage::Ai] => "the AI service alone",
            [Stage::Web] => "the web service alone",
            _ => "both services",
        }
    }

    /// In sentences: what the probes are, then each link.
    pub fn said(&self) -> Vec<String> {
        let (least, most) = self.body_bytes;
        let size = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let head = format!(
            "shadow probes ({} a second, bodies of {size} bytes, {}): what another link than {} \
             would change, as a hint",
            self.rate_hz,
            self.services(),
            self.current
        );
        std::iter::once(head)
            .chain(self.links.iter().map(|link| link.said(&self.current)))
            .collect()
    }
}

/// What a round cost: one reply that is missing is missed forever.
fn sum(requests: Vec<Option<Ns>>) -> Latency {
    let all: Option<Vec<Ns>> = requests.into_iter().collect();
    all.map_or(Latency::Lost, |all| Latency::Ns(all.into_iter().fold(0, Ns::saturating_add)))
}

impl ShadowLink {
    fn of<K: Ord>(
        link: &str,
        (probes, failed, retries): (usize, usize, u64),
        rounds: &BTreeMap<K, Latency>,
        current: &BTreeMap<K, Latency>,
    ) -> Self {
        let mut costs: Vec<Latency> = rounds.values().copied().collect();
        costs.sort_unstable_by_key(|cost| match cost {
            Latency::Ns(ns) => (false, *ns),
            Latency::Lost => (true, 0),
        });
        let cost = |thousandths| costs.get(nearest_rank(costs.len(), thousandths) - 1).copied();
        let mut changes: Vec<Change> = rounds
            .iter()
            .filter_map(|(round, cost)| match (cost, current.get(round)?) {
                (Latency::Ns(this), Latency::Ns(other)) => {
                    Some(Change::Ns(this.saturating_sub(*other)))
                }
                (Latency::Ns(_), Latency::Lost) => Some(Change::CurrentLost),
                (Latency::Lost, Latency::Ns(_)) => Some(Change::Lost),
                (Latency::Lost, Latency::Lost) => None,
            })
            .collect();
        changes.sort_unstable();
        let change = |rank: usize| changes.get(rank - 1).copied();
        let (lo, hi) = interval_ranks(changes.len(), 0.5, 0.95);
        Self {
            link: link.to_owned(),
            probes,
            failed,
            retries,
            rounds: costs.len(),
            p50_ns: cost(500),
            p95_ns: cost(950),
            pairs: changes.len(),
            change_ns: change(nearest_rank(changes.len(), 500)),
            change_ci_ns: (lo.and_then(change), hi.and_then(change)),
        }
    }

    fn said(&self, current: &str) -> String {
        let p50 = self.p50_ns.map_or_else(|| maybe(None), |p50| p50.to_string());
        let mut said = vec![format!("{}: P50 {p50}", self.link)];
        if self.link == current {
            said.push("the link in use".to_owned());
        } else if let Some(change) = self.change_ns {
            let interval = match self.change_ci_ns {
                (Some(lo), Some(hi)) => format!("{lo} to {hi}"),
                _ => format!("no interval at n = {}", self.pairs),
            };
            said.push(format!("change {change} ({interval})"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_model::Failure;

    fn probe(round: u64, stage: Stage, link: &str, ns: Ns) -> Probe {
        Probe {
            gateway: "g".to_owned(),
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
        assert_eq!((udp.change_ns, udp.pairs, udp.probes), (Some(Change::Ns(-80_000)), 20, 40));
        assert_eq!(udp.change_ci_ns, (Some(Change::Ns(-80_000)), Some(Change::Ns(-80_000))));
        probes.reverse();
        assert_eq!(Shadow::of(&probes), Some(shadow));
        assert_eq!(Shadow::of(&[]), None);
    }

    #[test]
    fn rounds_of_two_gateways_are_not_mixed() {
        // The second one counts from 1, too, and its requests take ten times as long.
        let again = rounds(20).into_iter().map(|probe| Probe {
            gateway: "h".to_owned(),
            round_trip_ns: probe.round_trip_ns + 9 * (probe.round_trip_ns - 1000),
            ..probe
        });
        let probes: Vec<Probe> = rounds(20).into_iter().chain(again).collect();
        let shadow = Shadow::of(&probes).unwrap();
        assert_eq!((shadow.links[1].rounds, shadow.links[1].pairs), (40, 40));
        assert_eq!(shadow.links[1].change_ns, Some(Change::Ns(-800_000)));
    }

    #[test]
    fn the_services_that_are_probed_are_said() {
        let probes = rounds(3);
        assert_eq!(Shadow::of(&probes).unwrap().services(), "both services");
        let web: Vec<_> = probes.into_iter().filter(|p| p.stage == Stage::Web).collect();
        let shadow = Shadow::of(&web).unwrap();
        assert_eq!((shadow.links[1].rounds, &*shadow.stages), (3, &[Stage::Web][..]));
        let said = shadow.said().join("\n");
        assert!(said.contains("300 bytes, the web service alone)"), "{said}");
    }

    fn lost(probe: Probe) -> Probe {
        let (failure, retries) = (Some(Failure::TimedOut), 3);
        Probe { failure, round_trip_ns: 2_000_000_000, retries, ..probe }
    }

    #[test]
    fn a_request_without_a_reply_took_forever() {
        let mut probes = rounds(20);
        // Every fifth round of udp misses a reply: no figure may be that of the other ones alone.
        for probe in &mut probes {
            if probe.link == "udp" && probe.stage == Stage::Ai && probe.round % 5 == 0 {
                *probe = lost(probe.clone());
            }
        }
        // The half round of http1 counts neither.
        probes.push(probe(21, Stage::Ai, "http1", 5000));
        let shadow = Shadow::of(&probes).unwrap();
        let [http1, udp] = shadow.links.as_slice() else { panic!("{shadow:?}") };
        assert_eq!((http1.rounds, http1.probes), (20, 41));
        assert_eq!((udp.failed, udp.retries, udp.pairs, udp.rounds), (4, 12, 20, 20));
        assert_eq!(udp.p95_ns, Some(Latency::Lost));
        assert_eq!(udp.change_ns, Some(Change::Ns(-80_000)));
        // Ranks 6 and 15 of 20, of which the last 4 are lost.
        assert_eq!(udp.change_ci_ns, (Some(Change::Ns(-80_000)), Some(Change::Ns(-80_000))));
        let said = shadow.said().join("\n");
        assert!(said.contains("4 of 40 without a reply, 12 sent again"), "{said}");
    }

    #[test]
    fn a_link_that_loses_half_is_lost() {
        let losing = |link: &str, of: fn(u64) -> bool| {
            let mut probes = rounds(20);
            for probe in probes.iter_mut().filter(|probe| probe.link == link) {
                if of(probe.round) {
                    *probe = lost(probe.clone());
                }
            }
            Shadow::of(&probes).unwrap()
        };
        let shadow = losing("udp", |round| round > 8);
        let udp = &shadow.links[1];
        assert_eq!((udp.p50_ns, udp.change_ns), (Some(Latency::Lost), Some(Change::Lost)));
        assert_eq!(udp.change_ci_ns, (Some(Change::Ns(-80_000)), Some(Change::Lost)));
        let said = shadow.said().join("\n");
        assert!(said.contains("udp: P50 lost, change lost (-80.0 µs to lost)"), "{said}");
        // The link in use is the one that loses: the other one is better by all of forever.
        let udp = &losing("http1", |round| round > 8).links[1];
        assert_eq!(udp.change_ns, Some(Change::CurrentLost));
        assert!(matches!(udp.p95_ns, Some(Latency::Ns(_))), "{udp:?}");
        // Both lost the same rounds: of these nothing can be said.
        let mut probes = rounds(3);
        probes.iter_mut().filter(|probe| probe.round == 2).for_each(|p| *p = lost(p.clone()));
        let shadow = Shadow::of(&probes).unwrap();
        assert_eq!((shadow.links[1].rounds, shadow.links[1].pairs), (3, 2));
        assert!(shadow.said()[2].contains("no interval at n = 2"), "{:?}", shadow.said());
    }

    #[test]
    fn a_connection_is_part_of_the_cost() {
        let fresh = Probe { connect_ns: 70, ..probe(1, Stage::Ai, "http1", 30) };
        assert_eq!(fresh.cost_ns(), Some(100));
        assert_eq!(Probe { failure: Some(Failure::Broken), ..fresh }.cost_ns(), None);
    }
}
