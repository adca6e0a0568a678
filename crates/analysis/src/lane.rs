//! The figures of one lane.

use crate::budget::Budget;
use crate::clocks::Clocks;
use crate::composition::{Composition, Near};
use crate::decompose::{Decomposition, decompose};
use crate::delivery::{DeliveryGap, OverPublished};
use crate::glass::Glass;
use crate::open_loop::OpenLoop;
use crate::rates::Rates;
use crate::s1::S1Table;
use crate::stability::{Stability, stability};
use crate::trouble::{Finding, findings};
use crate::width::Width;
use hopwatch_model::{Census, Class, Hop, Ledger, Leg, Ns, Outcome, Trace};
use hopwatch_stats::{Summary, quantile};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a lane was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneInfo {
    /// Its name.
    pub name: String,
    /// The ROS topic.
    pub topic: String,
    /// As "RELIABLE VOLATILE KEEP_LAST 10".
    pub qos: String,
    /// The link to the services.
    pub transport: String,
    /// How many messages the gateway works on at once.
    pub workers: u32,
    /// The gateway's clock.
    pub clock: String,
}

impl LaneInfo {
    /// The depth of the reader's history, when its QoS says KEEP_LAST.
    pub fn history_depth(&self) -> Option<u32> {
        let (_, depth) = self.qos.split_once("KEEP_LAST ")?;
        depth.split(' ').next()?.parse().ok()
    }

    /// Whether DDS sends lost messages again.
    pub fn is_reliable(&self) -> bool {
        self.qos.split(' ').any(|word| word == "RELIABLE")
    }
}

/// A row of the class table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// The AI service's own time.
    Ai,
    /// Between processes.
    Transport,
    /// Inside our processes.
    Overhead,
    /// transport + overhead of each message: everything but AI.
    Communication,
    /// taken → web_acked.
    Total,
}

impl Row {
    /// All, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::Ai, Self::Transport, Self::Overhead, Self::Communication, Self::Total];

    /// The name in tables and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ai => "ai",
            Self::Transport => "transport",
            Self::Overhead => "overhead",
            Self::Communication => "communication",
            Self::Total => "total",
        }
    }

    /// How far that may be off: by the rates of the clocks that measured the services' own times.
    fn half_of(self, d: &Decomposition) -> Ns {
        match self {
            Self::Ai | Self::Communication => d.ai_half_ns,
            Self::Transport => d.ai_half_ns.saturating_add(d.web_half_ns),
            Self::Overhead => d.web_half_ns,
            Self::Total => 0,
        }
    }

    /// Its time of one message that went the whole way.
    fn of(self, d: &Decomposition, total: Ns) -> Ns {
        match self {
            Self::Ai => d.class_ns(Class::Ai),
            Self::Transport => d.class_ns(Class::Transport),
            Self::Overhead => d.class_ns(Class::Overhead),
            Self::Communication => total - d.class_ns(Class::Ai),
            Self::Total => total,
        }
    }
}

/// The figures of one leg.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LegFigures {
    /// What its time is counted as.
    pub class: Class,
    /// The figures; of the middle of the interval when the leg spans two clocks.
    #[serde(flatten)]
    pub summary: Summary,
    /// What the clocks leave open.
    #[serde(flatten)]
    pub width: Width,
    /// How many were negative by more than their half-width: kept in the figures, and a sign of a
    /// clock that lies.
    pub negative: usize,
}

/// The figures of a longer span.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct SpanFigures {
    /// The figures; of the middle of the interval when the span reaches over two clocks.
    #[serde(flatten)]
    pub summary: Summary,
    /// What the clocks leave open.
    #[serde(flatten)]
    pub width: Width,
}

impl SpanFigures {
    fn of(lengths: &[Length<'_>]) -> Self {
        let summary = Summary::of_series(&series(lengths));
        let width = Width::of(&intervals(lengths), summary.p50_ns);
        Self { summary, width }
    }
}

/// What is known of one lane.
#[derive(Clone, Debug)]
pub struct LaneData<'a> {
    /// How it was measured.
    pub info: LaneInfo,
    /// Messages that were taken, without duplicates.
    pub traces: Vec<&'a Trace>,
    /// The same messages at browsers.
    pub glass: Vec<Glass>,
    /// What the robots say they published, and by which schedule.
    pub census: Vec<&'a Census>,
    /// How the clocks of the run relate.
    pub clocks: &'a Clocks,
}

/// Which figures are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The limit that messages are delivered within, or not.
    pub limit_ns: Ns,
    /// Whether legs and all classes are looked at for two modes, and not only total and
    /// communication. It takes about 0.5 ms for 1000 messages of a leg, more than all else.
    pub modes_of_legs: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { limit_ns: Budget::default().total_ns, modes_of_legs: true }
    }
}

/// The figures of one lane, as in report.json.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneReport {
    /// Its name.
    pub name: String,
    /// The ROS topic.
    pub topic: String,
    /// Its QoS.
    pub qos: String,
    /// Its link.
    pub transport: String,
    /// What became of every message.
    pub ledger: Ledger,
    /// Whether percentiles mean anything.
    pub stability: Stability,
    /// The pipeline span (taken → web_acked) by class.
    pub classes: BTreeMap<Row, Summary>,
    /// What the clocks leave open of each class: nothing on one clock. A service's clock runs at a
    /// rate of its own, so its own time may be off by 50 ppm, and what is left of the total, too.
    pub class_widths: BTreeMap<Row, Width>,
    /// Spans that are no class and no leg: pipeline (the total again, exact), published →
    /// web_acked, intended → web_acked (open loop), glass (published → painted), and the
    /// transport of each service, request and reply in one.
    pub spans: BTreeMap<&'static str, SpanFigures>,
    /// Every leg that occurred, in the order of the way.
    pub legs: BTreeMap<Leg, LegFigures>,
    /// What the messages near P50, P95 and P99 of the total are made of; empty when unstable.
    pub breakdown: Vec<Near>,
    /// The part of each leg in the variance of the total, Cov(leg, total) ÷ Var(total). They sum
    /// to 1; one that is short when the others are long is negative. `null`: it doesn't vary.
    pub variance_shares: Option<BTreeMap<Leg, f64>>,
    /// From the schedule against from publication; `null` without a schedule, or when unstable.
    pub open_loop: Option<OpenLoop>,
    /// Over what was published, a lost message taking forever; `null` when it can't be told.
    pub over_published: Option<OverPublished>,
    /// Messages a second.
    pub rates: Rates,
    /// The longest time without a delivery; `null` for fewer than two.
    pub delivery_gap: Option<DeliveryGap>,
    /// Why messages failed, the commonest first, at most [`FAILURES`] of them.
    pub failures: Vec<FailureShown>,
    /// S1's own table.
    pub s1: S1Table,
    /// What the clocks of its robots and services do.
    pub findings: Vec<Finding>,
    /// How often each oddity occurred.
    pub oddities: BTreeMap<&'static str, u64>,
    /// Traces that could not be split: in the ledger, not in the figures.
    pub defects: Vec<String>,
}

/// Failures that a report shows of a lane; each message's own is in traces.csv.
pub const FAILURES: usize = 3;

/// Why some messages failed, in the words of their traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureShown {
    /// What became of them.
    pub outcome: String,
    /// Why, in a sentence.
    pub detail: String,
    /// How many.
    pub n: usize,
}

impl FailureShown {
    fn commonest(traces: &[&Trace]) -> Vec<Self> {
        let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
        for trace in traces.iter().filter(|trace| trace.outcome != Outcome::Delivered) {
            if let Some(detail) = &trace.detail {
                *counts.entry((trace.outcome.to_string(), detail)).or_default() += 1;
            }
        }
        let mut all: Vec<Self> = counts
            .into_iter()
            .map(|((outcome, detail), n)| Self { outcome, detail: detail.to_owned(), n })
            .collect();
        all.sort_by_key(|failure| std::cmp::Reverse(failure.n));
        all.truncate(FAILURES);
        all
    }

    /// In a sentence.
    pub(crate) fn said(&self) -> String {
        format!("{} × {}: {}", self.n, self.outcome, self.detail)
    }
}

fn exact(ns: Option<Ns>) -> Option<(Ns, Ns)> {
    ns.map(|ns| (ns, 0))
}

/// Computes the figures of a lane. Only messages that went the whole way are in the figures;
/// the others stand in the ledger, which is given.
pub fn figures<'a>(lane: &LaneData<'a>, ledger: Ledger, wanted: &Wanted) -> LaneReport {
    let mut defects = Vec::new();
    let mut whole = Vec::new();
    let delivered = |trace: &&&Trace| trace.outcome == Outcome::Delivered;
    // What a series is worth depends on its order.
    let mut in_order: Vec<&Trace> = lane.traces.iter().filter(delivered).copied().collect();
    in_order.sort_by_key(|trace| (taken_ns(trace), trace.id));
    for trace in &in_order {
        match decompose(trace, &lane.census, lane.clocks) {
            Ok(d) => match d.pipeline_ns {
                Some(total) => whole.push((*trace, d, total)),
                None => defects.push(format!("{}: it ends before web_acked", trace.id)),
            },
            Err(defect) => defects.push(format!("{}: {defect}", trace.id)),
        }
    }
    defects.sort();
    let classes = Row::ALL.map(|row| {
        let of = |(trace, d, total): &(&'a Trace, Decomposition, Ns)| {
            (trace.robot_id.as_str(), row.of(d, *total))
        };
        let series: Vec<(&str, Ns)> = whole.iter().map(of).collect();
        let headline = matches!(row, Row::Total | Row::Communication);
        (row, summary(&series, (wanted.modes_of_legs || headline).then_some(1)))
    });
    let class_widths = Row::ALL.map(|row| {
        let lengths: Vec<(Ns, Ns)> =
            whole.iter().map(|(_, d, total)| (row.of(d, *total), row.half_of(d))).collect();
        let p50 = classes.iter().find(|(other, _)| *other == row).and_then(|(_, s)| s.p50_ns);
        (row, Width::of(&lengths, p50))
    });
    let span = |of: fn(&Decomposition) -> Option<(Ns, Ns)>| {
        let length = |(trace, d, _): &(&'a Trace, Decomposition, Ns)| {
            Some((trace.robot_id.as_str(), of(d)?))
        };
        SpanFigures::of(&whole.iter().filter_map(length).collect::<Vec<_>>())
    };
    let glass: Vec<Length<'_>> =
        lane.glass.iter().filter_map(|g| Some((g.client.as_str(), g.whole()?))).collect();
    let stability = stability(&lane.traces, lane.info.workers);
    let findings = findings(lane, &stability, &ledger);
    let parts: Vec<&Decomposition> = whole.iter().map(|(_, d, _)| d).collect();
    let made_of = Composition::of(whole.iter().map(|(_, d, total)| (*total, d)));
    let mut report = LaneReport {
        name: lane.info.name.clone(),
        topic: lane.info.topic.clone(),
        qos: lane.info.qos.clone(),
        transport: lane.info.transport.clone(),
        over_published: OverPublished::of(&parts, in_order.len(), &ledger, wanted.limit_ns),
        open_loop: OpenLoop::of(parts.iter().copied()),
        breakdown: made_of.near,
        variance_shares: made_of.shares,
        rates: Rates::of(lane),
        delivery_gap: DeliveryGap::of(&in_order),
        failures: FailureShown::commonest(&lane.traces),
        ledger,
        stability,
        findings,
        classes: BTreeMap::from(classes),
        class_widths: BTreeMap::from(class_widths),
        spans: BTreeMap::from([
            ("pipeline", span(|d| exact(d.pipeline_ns))),
            ("published", span(|d| d.published)),
            ("intended", span(|d| d.intended)),
            ("ai_transport", span(|d| d.ai_transport)),
            ("web_transport", span(|d| d.web_transport)),
            ("glass", SpanFigures::of(&glass)),
        ]),
        legs: legs(&whole, &lane.glass, wanted),
        s1: S1Table::of(
            whole.iter().map(|(trace, _, total)| (trace.robot_id.as_str(), &trace.stamps, *total)),
        ),
        oddities: oddities(&lane.traces),
        defects,
    };
    if report.stability.unstable {
        report.drop_quantiles();
    }
    report
}

impl LaneReport {
    /// Unstable means no percentile (METHOD 11): they tell how long the run was.
    fn drop_quantiles(&mut self) {
        let s1 = &mut self.s1;
        let of_s1 = [&mut s1.ai, &mut s1.web, &mut s1.overhead, &mut s1.total];
        let all = self
            .classes
            .values_mut()
            .chain(self.spans.values_mut().map(|span| &mut span.summary))
            .chain(self.legs.values_mut().map(|leg| &mut leg.summary))
            .chain(of_s1.map(|row| &mut row.summary));
        for summary in all {
            *summary = summary.clone().without_quantiles();
        }
        let legs = self.legs.values_mut().map(|leg| &mut leg.width);
        let legs = legs.chain(self.class_widths.values_mut());
        legs.chain(self.spans.values_mut().map(|span| &mut span.width))
            .for_each(Width::drop_quantiles);
        self.breakdown.clear();
        self.open_loop = None;
        self.over_published.iter_mut().for_each(OverPublished::drop_quantiles);
    }
}

/// Of one message: its robot, or the page that it came to, and (length, half-width of its
/// interval).
type Length<'a> = (&'a str, (Ns, Ns));

/// The middles, each with its source.
fn series<'a>(lengths: &[Length<'a>]) -> Vec<(&'a str, Ns)> {
    lengths.iter().map(|(source, (ns, _))| (*source, *ns)).collect()
}

/// Without the sources.
fn intervals(lengths: &[Length<'_>]) -> Vec<(Ns, Ns)> {
    lengths.iter().map(|(_, interval)| *interval).collect()
}

/// Of a series whose clock has this resolution, when its modes are wanted.
fn summary(series: &[(&str, Ns)], modes: Option<Ns>) -> Summary {
    match modes {
        Some(resolution) => Summary::of_series_with_modes(series, resolution),
        None => Summary::of_series(series),
    }
}

fn legs(
    whole: &[(&Trace, Decomposition, Ns)],
    glass: &[Glass],
    wanted: &Wanted,
) -> BTreeMap<Leg, LegFigures> {
    let mut lengths: BTreeMap<Leg, Vec<Length<'_>>> = BTreeMap::new();
    for (trace, d, _) in whole {
        for leg in d.legs() {
            let of = lengths.entry(leg.leg).or_default();
            of.push((&trace.robot_id, (leg.ns, leg.half_ns)));
        }
    }
    for g in glass {
        lengths.entry(Leg::Push).or_default().push((&g.client, g.push()));
        if let Some(ns) = g.fanout_ns {
            lengths.entry(Leg::Fanout).or_default().push((&g.client, (ns, 0)));
        }
        if let Some(ns) = g.paint_ns {
            lengths.entry(Leg::Paint).or_default().push((&g.client, (ns, g.resolution_ns)));
        }
    }
    lengths.into_iter().map(|(leg, of_leg)| (leg, leg_figures(leg, &of_leg, wanted))).collect()
}

fn leg_figures(leg: Leg, lengths: &[Length<'_>], wanted: &Wanted) -> LegFigures {
    let mut sorted: Vec<Ns> = lengths.iter().map(|(_, (ns, _))| *ns).collect();
    sorted.sort_unstable();
    let width = Width::of(&intervals(lengths), quantile(&sorted, 500));
    // Two values may lie nearer to each other, or farther, by what either may be off.
    let resolution = width.half_width_ns.saturating_mul(2).max(1);
    let summary = summary(&series(lengths), wanted.modes_of_legs.then_some(resolution));
    LegFigures {
        class: leg.class(),
        width,
        negative: lengths.iter().filter(|(_, (ns, half))| *ns < half.saturating_neg()).count(),
        summary,
    }
}

fn oddities(traces: &[&Trace]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for odd in traces.iter().flat_map(|trace| &trace.oddities) {
        *counts.entry(*odd).or_default() += 1;
    }
    counts
}

/// The time of the take, for ordering; traces without one come first.
pub(crate) fn taken_ns(trace: &Trace) -> Ns {
    trace.stamps.get(Hop::Taken).map_or(Ns::MIN, |stamp| stamp.ns)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ledger::LedgerBuilder;
    use hopwatch_model::{ClockId, PublisherId, Stamps, TraceId};

    pub(crate) const GATEWAY: &str = "gateway";

    /// A delivered trace with stamps of the gateway's clock.
    pub(crate) fn trace_of(way: &[(Hop, Ns)]) -> Trace {
        let clock = ClockId::new(GATEWAY);
        let mut stamps = Stamps::new();
        for (hop, ns) in way {
            stamps.set(*hop, &clock, *ns);
        }
        Trace {
            lane: "lane".into(),
            gateway: "g".into(),
            id: TraceId([1; 16]),
            robot_id: "robot_001".into(),
            sequence: 0,
            message_id: "m".into(),
            publisher: PublisherId([1; 16]),
            publication_sequence: Some(1),
            outcome: Outcome::Delivered,
            detail: None,
            stamps,
            ai_served_ns: None,
            web_served_ns: None,
            ai_retries: 0,
            web_retries: 0,
            wall_offset_ns: None,
            header_time: None,
            wall_half_width_ns: 0,
            oddities: vec![],
        }
    }

    /// A lane of nothing but traces.
    pub(crate) fn lane_of<'a>(traces: &'a [Trace], clocks: &'a Clocks) -> LaneData<'a> {
        let info = LaneInfo::default();
        LaneData { info, traces: traces.iter().collect(), glass: vec![], census: vec![], clocks }
    }

    /// The whole way of one message taken at `at`, with an AI time and 1 µs for each other leg.
    pub(crate) fn delivered(at: Ns, number: u64, ai: Ns) -> Trace {
        const US: Ns = 1_000;
        let mut t = at;
        let mut way = vec![
            (Hop::Published, at - 3 * US),
            (Hop::Written, at - 2 * US),
            (Hop::Received, at - US),
            (Hop::Taken, at),
        ];
        for (hop, leg) in [
            (Hop::Started, US),
            (Hop::AiSent, US),
            (Hop::AiReceived, US),
            (Hop::AiBegun, 0),
            (Hop::AiDone, ai),
            (Hop::AiAnswered, US),
            (Hop::WebSent, US),
            (Hop::WebReceived, US),
            (Hop::WebDone, US),
            (Hop::WebAcked, US),
        ] {
            t += leg;
            way.push((hop, t));
        }
        let mut trace = trace_of(&way);
        trace.publication_sequence = Some(number);
        trace.id = TraceId(u128::from(number).to_be_bytes());
        trace.message_id = format!("m{number}");
        trace.sequence = i32::try_from(number).unwrap() - 1;
        trace
    }

    #[test]
    fn classes_are_of_each_message_and_not_of_percentiles() {
        let traces: Vec<Trace> = (1..=10)
            .map(|n| delivered(i64::try_from(n).unwrap() * 1_000_000_000, n, 5_000_000))
            .collect();
        let mut ledger = LedgerBuilder::new();
        for trace in &traces {
            assert!(ledger.observe_trace(trace));
        }
        let clocks = Clocks::default();
        let data = lane_of(&traces, &clocks);
        let report = figures(&data, ledger.ledger(true), &Wanted::default());
        let p50 = |row| report.classes[&row].p50_ns.unwrap();
        assert_eq!(p50(Row::Ai), 5_000_000);
        assert_eq!(p50(Row::Transport), 4_000);
        assert_eq!(p50(Row::Overhead), 4_000);
        assert_eq!(p50(Row::Communication), 8_000);
        assert_eq!(p50(Row::Total), 5_008_000);
        assert_eq!(report.spans["published"].summary.p50_ns, Some(5_011_000));
        assert_eq!(report.spans["intended"].summary.n, 0);
        assert!(report.defects.is_empty() && report.legs[&Leg::AiInfer].width.resolved);
    }

    #[test]
    fn robots_that_take_turns_are_series_of_their_own() {
        // Ten messages of a robot alike, then ten others: two such robots, turn by turn.
        let robots = ["robot_001", "robot_002"];
        let traces: Vec<Trace> = (0..1_000)
            .map(|i| {
                let block = i / 20 + 31 * (i % 2);
                let ai = 1_000_000 + block * 7_919 % 101 * 10_000;
                let mut trace = delivered(i * 100_000_000, u64::try_from(i + 1).unwrap(), ai);
                trace.robot_id = robots[usize::try_from(i % 2).unwrap()].into();
                trace
            })
            .collect();
        let clocks = Clocks::default();
        let data = lane_of(&traces, &clocks);
        let report = figures(&data, LedgerBuilder::new().ledger(true), &Wanted::default());
        let worth = [
            report.classes[&Row::Total].n_eff,
            report.spans["published"].summary.n_eff,
            report.legs[&Leg::AiInfer].summary.n_eff,
            report.s1.total.summary.n_eff,
        ];
        assert!(worth.iter().all(|n_eff| (30..150).contains(n_eff)), "{worth:?}");
    }

    #[test]
    fn a_wide_interval_is_not_resolved() {
        let of = |leg, lengths: &[(Ns, Ns)]| {
            let lengths: Vec<Length<'_>> = lengths.iter().map(|of| ("robot", *of)).collect();
            leg_figures(leg, &lengths, &Wanted::default())
        };
        assert!(!of(Leg::Push, &[(300_000, 250_000)]).width.resolved);
        assert!(of(Leg::Push, &[(300_000, 90_000)]).width.resolved);
        assert!(of(Leg::Push, &[(30_000_000, 2_000_000)]).width.resolved);
        assert_eq!(of(Leg::Wake, &[(-1, 0), (5, 0)]).negative, 1);
    }
}
