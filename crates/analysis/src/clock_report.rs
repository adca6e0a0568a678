//! The clocks of a run, and how each relates to the gateway's, for the report.

use crate::clocks::Clocks;
use crate::glass::GlassTracker;
use crate::report::Dataset;
use crate::units::maybe;
use hopwatch_clocksync::{Bounds, Timeline};
use hopwatch_model::{Hop, Ns};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A clock that stamps came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ClockReport {
    /// Its name.
    pub id: String,
    /// What was stamped with it.
    pub used_for: String,
    /// How it relates to the gateway's, in a sentence.
    pub relation: String,
    /// It is the gateway's own clock: differences to its stamps are exact.
    pub exact: bool,
    /// θ = this clock − the gateway's (a browser's: − its broadcaster's) at the last exchange, as
    /// an interval in ns; `null` when nothing relates the two, and for the gateway's own.
    pub offset_ns: Option<(Ns, Ns)>,
    /// How fast it gains on the other one, as an interval in ppm; `null` for a run too short.
    pub drift_ppm: Option<(f64, f64)>,
    /// Exchanges that the relation rests on.
    pub exchanges: usize,
    /// Pieces that steps cut the run into: 1 when no clock was set.
    pub epochs: usize,
}

impl ClockReport {
    fn of(id: String, used_for: String) -> Self {
        Self {
            id,
            used_for,
            relation: String::new(),
            exact: false,
            offset_ns: None,
            drift_ppm: None,
            exchanges: 0,
            epochs: 0,
        }
    }

    /// Tells what a timeline knows.
    fn related(self, timeline: &Timeline, latest: Option<Bounds>, to: &str) -> Self {
        let latest = latest.filter(|bounds| bounds.half_width() < ABSURD_NS);
        let offset_ns = latest.map(|bounds| (bounds.lo, bounds.hi));
        let ahead = latest.map_or_else(
            || "no exchange that could be used".to_owned(),
            |bounds| {
                let (middle, half) = (bounds.middle(), bounds.half_width());
                let signed = if middle < 0 { "behind" } else { "ahead of" };
                format!(
                    "{} {signed} {to}, ± {}",
                    maybe(Some(middle.saturating_abs())),
                    maybe(Some(half))
                )
            },
        );
        let drift = match timeline.drift_ppm() {
            // As wide as what is allowed anyway: nothing was learned.
            Some((slow, fast)) if fast - slow > 1.9 * ppm(timeline.rho_ppm()) => String::new(),
            Some((slow, fast)) if slow <= 0.0 && fast >= 0.0 => {
                format!(", no drift beyond {slow:.1} to {fast:.1} ppm")
            }
            Some((slow, fast)) => format!(", drifting by {slow:.1} to {fast:.1} ppm"),
            None => String::new(),
        };
        let steps = match timeline.epochs() {
            0 | 1 => String::new(),
            n => format!(", set {} time(s) during the run", n - 1),
        };
        let exchanges = timeline.exchanges();
        Self {
            relation: format!("{ahead}{drift}{steps}, by {exchanges} exchanges"),
            offset_ns,
            drift_ppm: timeline.drift_ppm(),
            exchanges,
            epochs: timeline.epochs(),
            ..self
        }
    }
}

/// All clocks of the run, in the order of their names.
pub fn clock_reports(data: &Dataset, clocks: &Clocks, tracker: &GlassTracker) -> Vec<ClockReport> {
    let mut reports = monotonic(data, clocks);
    reports.extend(walls(data, clocks));
    let last = data.clients.iter().map(|ack| ack.ack_received.ns).max().unwrap_or(0);
    let bounds: BTreeMap<&str, (Ns, Ns)> = tracker.bounds(last).collect();
    for (client, epochs) in tracker.epochs() {
        let offset_ns = bounds.get(client).copied();
        let half = offset_ns.map_or(0, |(lo, hi)| hi.saturating_sub(lo) / 2);
        reports.push(ClockReport {
            relation: format!(
                "offset to the broadcaster's known to ± {}, {epochs} epoch(s)",
                maybe(Some(half))
            ),
            offset_ns,
            exchanges: data.clients.iter().filter(|ack| ack.client == client).count(),
            epochs: usize::try_from(epochs).unwrap_or(usize::MAX),
            ..ClockReport::of(format!("browser:{client}"), "browser_received, painted".to_owned())
        });
    }
    reports.sort_by(|a, b| (&a.id, &a.used_for).cmp(&(&b.id, &b.used_for)));
    reports
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
fn ppm(rho: i64) -> f64 {
    rho as f64
}

/// An interval as wide as that relates nothing: an hour.
const ABSURD_NS: Ns = 3_600_000_000_000;

fn monotonic(data: &Dataset, clocks: &Clocks) -> Vec<ClockReport> {
    let gateways: BTreeSet<&str> = data.lanes.values().map(|lane| lane.clock.as_str()).collect();
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for trace in &data.traces {
        for (hop, stamp) in trace.stamps.iter().filter(|(_, s)| s.clock.as_str() != "wall") {
            all.entry(stamp.clock.as_str()).or_default().insert(process(hop));
        }
    }
    for (_, census) in &data.census {
        all.entry(census.clock.as_str()).or_default().insert("robot (schedule)");
    }
    for peer in &data.peers {
        all.entry(peer.far.as_str()).or_default().insert("responder");
    }
    all.into_iter()
        .map(|(clock, used_for)| {
            let used_for: Vec<&str> = used_for.into_iter().collect();
            let report = ClockReport::of(clock.to_owned(), used_for.join(", "));
            if gateways.contains(clock) {
                let relation = "the gateway's own: exact".to_owned();
                return ClockReport { relation, exact: true, ..report };
            }
            let mut known = clocks
                .monotonic()
                .filter(|(near, far, _)| far.as_str() == clock && gateways.contains(near.as_str()));
            match known.next() {
                Some((_, _, timeline)) => {
                    report.related(timeline, timeline.latest(), "the gateway's")
                }
                None => ClockReport {
                    relation: "no relation to the gateway's is known: only durations of it are \
                               used (`hopwatch respond` on that host gives one)"
                        .to_owned(),
                    ..report
                },
            }
        })
        .collect()
}

fn walls(data: &Dataset, clocks: &Clocks) -> Vec<ClockReport> {
    let mut reports = Vec::new();
    if let Some(half) = data.traces.iter().map(|trace| trace.wall_half_width_ns).max() {
        let counted: BTreeSet<&str> =
            data.census.iter().map(|(_, census)| census.robot_id.as_str()).collect();
        let known = |robot: &str| {
            counted.contains(robot)
                || data.peers.iter().any(|peer| peer.robots.iter().any(|other| other == robot))
        };
        let foreign: BTreeSet<&str> = data
            .traces
            .iter()
            .map(|trace| trace.robot_id.as_str())
            .filter(|robot| !robot.is_empty() && !known(robot))
            .collect();
        let assumed = if foreign.is_empty() {
            String::new()
        } else {
            // Ten names tell enough.
            let names: Vec<&str> = foreign.iter().take(10).copied().collect();
            let more = if foreign.len() > 10 { ", …" } else { "" };
            format!(
                "; {}{more}: no census, taken to be on this host (if it isn't, `ros` and the span \
                 published hold the difference of two wall clocks)",
                names.join(", ")
            )
        };
        reports.push(ClockReport {
            relation: format!(
                "mapped to the gateway's clock at each take, ± {}{assumed}",
                maybe(Some(half))
            ),
            ..ClockReport::of(
                "CLOCK_REALTIME".to_owned(),
                "DDS reader; header and DDS writer of robots on this host".to_owned(),
            )
        });
    }
    // Two wall clocks are compared by what they show, not by when their hosts were started.
    let here = data.traces.iter().filter_map(|trace| {
        let taken = trace.stamps.get(Hop::Taken)?;
        Some((taken.ns, trace.wall_offset_ns?, trace.wall_half_width_ns))
    });
    let Some((_, offset, half)) = here.max() else { return reports };
    for (_, far, timeline) in clocks.walls() {
        let report = ClockReport::of(
            format!("CLOCK_REALTIME of {far}"),
            "header and DDS writer of robots on that host".to_owned(),
        );
        let to_ours = |bounds: Bounds| Bounds {
            lo: bounds.lo.saturating_sub(offset).saturating_sub(half),
            hi: bounds.hi.saturating_sub(offset).saturating_add(half),
        };
        let latest = timeline.latest().map(to_ours);
        reports.push(report.related(timeline, latest, "the gateway's wall clock"));
    }
    reports
}

fn process(hop: Hop) -> &'static str {
    match hop {
        Hop::Intended | Hop::Published | Hop::Written => "robot",
        Hop::AiReceived | Hop::AiBegun | Hop::AiDone => "AI service",
        Hop::WebReceived | Hop::WebDone | Hop::FrameSent => "broadcaster",
        Hop::BrowserReceived | Hop::Painted => "browser",
        _ => "gateway",
    }
}
