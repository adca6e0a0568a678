//! A snapshot for the live page, by the same code that makes the report.

use crate::course::{course, width_ms};
use crate::gather::{Gathered, GatheredLane, GatheredMessage, SLOWEST};
use crate::samples::{Axis, Sample, Times};
use crate::store::Ack;
use hopwatch_analysis::{
    ClockReport, Clocks, DEFAULT_MARGIN_NS, Dataset, Decomposition, Glass, LaneData, LaneReport,
    Row, Shadow, Wanted, clock_reports, decompose, figures, verdict_of_run,
};
use hopwatch_model::{Census, Ledger, Ns, Outcome, Stage, Trace, TraceId};
use hopwatch_stats::{Summary, quantile};
use hopwatch_wire::feed::{
    CourseView, GlassCounts, GlassView, LaneView, LegView, MessageView, Part, RobotView, Snapshot,
    VERSION, Watch, Window,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Messages that the page lists.
const LATEST: usize = 20;
/// Messages of a lane that the clocks are told by.
const FOR_CLOCKS: usize = 50;
/// An acknowledgement has come by then, in ms: pages and the broadcaster collect a few.
const ACKNOWLEDGED: i64 = 3_000;
type Acks<'a> = HashMap<TraceId, Vec<&'a Ack>>;

impl Gathered {
    /// The snapshot.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let newest = self.lanes.iter().flat_map(|lane| &lane.newest);
        let clocks = Clocks::of(newest.map(|trace| &**trace), &self.peers);
        let mut acks = Acks::new();
        for ack in &self.acks {
            acks.entry(ack.0.id).or_default().push(ack);
        }
        let mut parts = Vec::new();
        let mut reports = Vec::new();
        let mut robots = Vec::new();
        for lane in &self.lanes {
            let in_window = self.in_window(lane);
            let series = Series::of(lane, &in_window);
            let ledger = self.ledger(lane, &in_window);
            let (report, glass) = self.report(lane, ledger, &series, &acks, &clocks);
            let mut view = lane_view(report.clone(), &series, glass, self.settings.newest);
            view.ledger = lane.ledger.clone();
            parts.push(Part::Lane { lane: Box::new(view) });
            parts.extend(self.course(lane, &in_window).into_iter().map(Part::Course));
            robots.extend(self.robots(lane));
            reports.push(report);
        }
        parts.push(Part::Latest { messages: self.latest(&acks, &clocks) });
        parts.push(Part::Slowest { messages: self.slowest(&acks, &clocks) });
        parts.push(Part::Robots { robots });
        parts.push(Part::Clocks { clocks: self.clocks(&clocks) });
        parts.push(Part::Verdict {
            verdict: verdict_of_run(&reports, &self.settings.budget, DEFAULT_MARGIN_NS),
            budget: self.settings.budget.judge(&reports),
        });
        parts.push(Part::Shadow { shadow: Shadow::of(&self.probes) });
        parts.push(Part::Events { events: self.events.clone() });
        parts.push(Part::Measured { runs: self.measured.clone() });
        Snapshot {
            version: VERSION,
            run_id: self.run_id.clone(),
            state: self.state,
            elapsed_ms: u64::try_from(self.now_ms).unwrap_or(0),
            clients: self.clients,
            watch: self.watch.clone(),
            whole: false,
            parts,
        }
    }

    /// The samples of the window, of the robot that is watched.
    fn in_window<'a>(&self, lane: &'a GatheredLane) -> Vec<&'a Sample> {
        let from_ms = self.start_ms();
        let whose = lane.samples.robots.whose(self.watch.robot.as_deref());
        let is_watched = |sample: &&Sample| whose.is(sample) && self.axis.of(sample) >= from_ms;
        let mut found: Vec<&Sample> = lane.samples.iter().filter(is_watched).collect();
        // What a series is worth depends on its order, and records come as messages end.
        found.sort_by_key(|sample| self.axis.ns(sample));
        found
    }

    /// The times, in ms, of messages of which is known whether a page has acknowledged them.
    fn told(&self, lane: &GatheredLane, acks: &Acks<'_>) -> Range<i64> {
        let acked = lane.newest.iter().filter(|trace| acks.contains_key(&trace.id));
        let first = acked.map(|trace| self.axis.at_ms(trace)).min();
        let end = self.now_ms - ACKNOWLEDGED;
        // The oldest one that is kept may be one of several of its message.
        let start = if self.acks_full { first.map_or(end, |first| first + 1) } else { i64::MIN };
        start..end
    }

    /// The account of what is judged: of the run, or of the window alone.
    ///
    /// What of a window is under way, or was lost in ROS without anybody noticing yet, is in no
    /// account; whose message ROS lost isn't known, so that those of one robot have none.
    fn ledger(&self, lane: &GatheredLane, in_window: &[&Sample]) -> Ledger {
        if self.watch == (Watch { window: Window::Run, robot: None }) {
            return lane.ledger.clone();
        }
        let lost_in_ros = match self.watch.robot {
            None => lane.ros_lost.iter().map(|(_, n)| n).sum(),
            Some(_) => 0,
        };
        let mut ledger = Ledger {
            published: 0,
            published_source: lane.ledger.published_source,
            lost_before_discovery: 0,
            lost_in_ros,
            dds_lost: 0,
            overwritten_in_history: 0,
            outcome_unknown: 0,
            queue_dropped: 0,
            undecodable: 0,
            ai_failed: BTreeMap::new(),
            web_failed: BTreeMap::new(),
            abandoned: 0,
            delivered: 0,
            in_flight: 0,
            duplicates: 0,
            duplicate_ids: 0,
            reordered: 0,
            restarts: 0,
            reconciles: lane.ledger.reconciles,
            notes: Vec::new(),
        };
        for sample in in_window {
            let count = match sample.outcome {
                Outcome::Delivered => &mut ledger.delivered,
                Outcome::QueueDropped => &mut ledger.queue_dropped,
                Outcome::Undecodable => &mut ledger.undecodable,
                Outcome::Abandoned => &mut ledger.abandoned,
                Outcome::ServiceFailed(Stage::Ai, why) => ledger.ai_failed.entry(why).or_default(),
                Outcome::ServiceFailed(Stage::Web, why) => {
                    ledger.web_failed.entry(why).or_default()
                }
            };
            *count += 1;
        }
        ledger.published = ledger.accounted();
        ledger
    }

    fn course(&self, lane: &GatheredLane, in_window: &[&Sample]) -> Vec<CourseView> {
        let first = lane.samples.iter().map(|sample| self.axis.of(sample)).min();
        let first = first.into_iter().chain(lane.ros_lost.first().map(|(at, _)| *at)).min();
        let width = width_ms(self.watch.window, self.now_ms - first.unwrap_or(self.now_ms));
        // Whose message it was that is missing, nobody knows.
        let ros_lost = lane.ros_lost.iter().filter(|_| self.watch.robot.is_none()).copied();
        course(&lane.info.name, width, in_window.iter().copied(), &self.axis, ros_lost)
    }

    fn report(
        &self,
        lane: &GatheredLane,
        ledger: Ledger,
        series: &Series<'_>,
        acks: &Acks<'_>,
        clocks: &Clocks,
    ) -> (LaneReport, GlassCounts) {
        let census = lane.census();
        let mut counts = GlassCounts::default();
        let mut glass = Vec::new();
        let told = self.told(lane, acks);
        for trace in &lane.newest {
            let due = told.contains(&self.axis.at_ms(trace));
            let whole = due && trace.outcome == Outcome::Delivered;
            let of_trace = acks.get(&trace.id).map(Vec::as_slice).unwrap_or_default();
            counts.delivered += usize::from(whole);
            counts.received += usize::from(whole && !of_trace.is_empty());
            let painted = of_trace.iter().any(|(ack, _)| ack.painted.is_some());
            counts.painted += usize::from(whole && painted);
            if of_trace.is_empty() {
                continue;
            }
            let parts = decompose(trace, &census, clocks).unwrap_or_default();
            let view = |(ack, push): &&Ack| Glass::of(ack, *push, Some((trace, &parts)), clocks);
            glass.extend(of_trace.iter().map(view));
        }
        let traces = lane.newest.iter().map(|trace| &**trace).collect();
        let data = LaneData { info: lane.info.clone(), traces, glass, census, clocks };
        // Several times a second: no leg is looked at for modes.
        let wanted = Wanted { modes_of_legs: false, limit_ns: self.settings.budget.total_ns };
        let mut report = figures(&data, ledger, &wanted);
        for (row, summary) in &mut report.classes {
            // Modes are looked for among the newest only.
            let modes = summary.modes.take();
            let all = Summary { modes, ..Summary::of_series(&series.row(*row)) };
            *summary = if report.stability.unstable { all.without_quantiles() } else { all };
        }
        (report, counts)
    }

    fn robots(&self, lane: &GatheredLane) -> Vec<RobotView> {
        let from_ms = self.start_ms();
        let mut of_robot: BTreeMap<&str, OfRobot> = BTreeMap::new();
        for sample in lane.samples.iter() {
            let at = self.axis.of(sample);
            let name = lane.samples.robots.name(sample);
            if at < from_ms || name.is_empty() {
                continue;
            }
            of_robot.entry(name).or_default().add(sample, at);
        }
        for (robot, published) in &lane.published {
            of_robot.entry(robot).or_default().published = Some(*published);
        }
        let view = |(robot, of): (&str, OfRobot)| of.view(&lane.info.name, robot);
        of_robot.into_iter().map(view).collect()
    }

    fn latest(&self, acks: &Acks<'_>, clocks: &Clocks) -> Vec<MessageView> {
        let newest = |lane: &GatheredLane| lane.newest.len().min(LATEST);
        let mut latest = self.messages(|lane| &lane.newest[..newest(lane)], acks, clocks);
        latest.sort_by_key(|view| std::cmp::Reverse(view.at_ms));
        latest.truncate(LATEST);
        latest
    }

    fn slowest(&self, acks: &Acks<'_>, clocks: &Clocks) -> Vec<MessageView> {
        let mut slowest = self.messages(|lane| &lane.slowest, acks, clocks);
        slowest.sort_by_key(|view| std::cmp::Reverse(view.total_ns));
        slowest.truncate(SLOWEST);
        slowest
    }

    /// Some messages of each lane.
    fn messages(
        &self,
        some: impl Fn(&GatheredLane) -> &[Arc<Trace>],
        acks: &Acks<'_>,
        clocks: &Clocks,
    ) -> Vec<MessageView> {
        let of_lane = |lane: &GatheredLane| -> Vec<MessageView> {
            let census = lane.census();
            let view = |trace: &Arc<Trace>| message(trace, &census, acks, clocks, &self.axis);
            some(lane).iter().map(view).collect()
        };
        self.lanes.iter().flat_map(of_lane).collect()
    }

    fn clocks(&self, clocks: &Clocks) -> Vec<ClockReport> {
        let few = self.lanes.iter().flat_map(|lane| lane.newest.iter().take(FOR_CLOCKS));
        let census = self.lanes.iter().flat_map(|lane| {
            lane.census.iter().map(|census| (lane.info.name.clone(), census.clone()))
        });
        let lanes = self.lanes.iter().map(|lane| (lane.info.name.clone(), lane.info.clone()));
        let data = Dataset {
            lanes: lanes.collect(),
            traces: few.map(|trace| Trace::clone(trace)).collect(),
            census: census.collect(),
            clients: self.acks.iter().map(|(ack, _)| ack.clone()).collect(),
            peers: self.peers.clone(),
            ..Dataset::default()
        };
        clock_reports(&data, clocks, &self.tracker)
    }
}

/// The messages of the window that went the whole way, in the order of their takes.
struct Series<'a> {
    of: Vec<(&'a str, Times)>,
}

/// Shares at which a distribution is told, in thousandths, beside every fiftieth: its tail.
const TAIL: [u32; 5] = [950, 990, 995, 998, 999];

impl<'a> Series<'a> {
    fn of(lane: &'a GatheredLane, in_window: &[&Sample]) -> Self {
        let robots = &lane.samples.robots;
        let of = in_window.iter().filter_map(|sample| Some((robots.name(sample), sample.times?)));
        Self { of: of.collect() }
    }

    fn row(&self, row: Row) -> Vec<(&'a str, Ns)> {
        let time = |times: &Times| match row {
            Row::Ai => times.ai,
            Row::Transport => times.transport,
            Row::Overhead => times.overhead,
            Row::Communication => times.total - times.ai,
            Row::Total => times.total,
        };
        self.of.iter().map(|(robot, times)| (*robot, time(times))).collect()
    }

    /// The distribution of a row: (share, at most so long). Each share is one that so many
    /// messages can tell.
    #[expect(clippy::cast_precision_loss, reason = "a share is a float")]
    fn distribution(&self, row: Row) -> Vec<(f64, Ns)> {
        let mut sorted: Vec<Ns> = self.row(row).into_iter().map(|(_, ns)| ns).collect();
        sorted.sort_unstable();
        let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return Vec::new() };
        let n = sorted.len();
        let told = |thousandths: &u32| u64::from(*thousandths) * n as u64 >= 1000;
        let shares: BTreeSet<u32> = (1..50).map(|share| 20 * share).chain(TAIL).collect();
        let mut points = vec![(1.0 / n as f64, *least)];
        for thousandths in shares.into_iter().filter(told) {
            let is_told = u64::from(1000 - thousandths) * n as u64 >= 1000;
            if let Some(ns) = quantile(&sorted, thousandths).filter(|_| is_told) {
                points.push((f64::from(thousandths) / 1000.0, ns));
            }
        }
        points.push((1.0, *most));
        points.dedup_by(|b, a| b.0 <= a.0);
        points
    }
}

/// What is told of a robot.
#[derive(Default)]
struct OfRobot {
    published: Option<u64>,
    taken: usize,
    totals: Vec<Ns>,
    span_ms: Option<(i64, i64)>,
}

impl OfRobot {
    fn add(&mut self, sample: &Sample, at_ms: i64) {
        self.taken += 1;
        self.totals.extend(sample.times.map(|times| times.total));
        let (first, last) = self.span_ms.unwrap_or((at_ms, at_ms));
        self.span_ms = Some((first.min(at_ms), last.max(at_ms)));
    }

    /// Nothing is told of one that has neither published nor been heard of in the window.
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    fn view(mut self, lane: &str, robot: &str) -> RobotView {
        self.totals.sort_unstable();
        let span = self.span_ms.map(|(first, last)| last - first).filter(|span| *span > 0);
        RobotView {
            lane: lane.to_owned(),
            robot_id: robot.to_owned(),
            published: self.published,
            taken: self.taken,
            delivered: self.totals.len(),
            rate_hz: span.map(|span| (self.taken - 1) as f64 * 1000.0 / span as f64),
            p50_ns: quantile(&self.totals, 500),
            p99_ns: quantile(&self.totals, 990),
            last_ms: self.span_ms.map(|(_, last)| last),
        }
    }
}

impl GatheredMessage {
    /// The message, by the clocks of its neighbours.
    pub(crate) fn view(&self) -> MessageView {
        let clocks = Clocks::of(self.around.iter().map(|trace| &**trace), &self.peers);
        let mut acks = Acks::new();
        acks.insert(self.trace.id, self.acks.iter().collect());
        let census: Vec<&Census> = self.census.iter().collect();
        message(&self.trace, &census, &acks, &clocks, &self.axis)
    }
}

fn lane_view(
    report: LaneReport,
    series: &Series<'_>,
    glass: GlassCounts,
    newest: usize,
) -> LaneView {
    let name_of = |row: Row| row.name().to_owned();
    LaneView {
        name: report.name,
        qos: report.qos,
        transport: report.transport,
        ledger: report.ledger,
        classes: report.classes.into_iter().map(|(row, of)| (name_of(row), of)).collect(),
        distribution: Row::ALL.map(|row| (name_of(row), series.distribution(row))).into(),
        newest,
        glass,
        spans: report.spans.into_iter().map(|(span, of)| (span.to_owned(), of)).collect(),
        legs: report.legs.into_iter().map(|(leg, of)| (leg.name().to_owned(), of)).collect(),
        stability: report.stability,
        breakdown: report.breakdown,
        variance_shares: report.variance_shares,
        open_loop: report.open_loop,
        over_published: report.over_published,
        rates: report.rates,
        delivery_gap: report.delivery_gap,
        findings: report.findings,
    }
}

fn message(
    trace: &Trace,
    census: &[&Census],
    acks: &Acks<'_>,
    clocks: &Clocks,
    axis: &Axis,
) -> MessageView {
    let (parts, defect) = match decompose(trace, census, clocks) {
        Ok(parts) => (parts, None),
        Err(defect) => (Decomposition::default(), Some(defect.to_string())),
    };
    let glass = acks.get(&trace.id).into_iter().flatten().map(|(ack, push)| {
        let glass = Glass::of(ack, *push, Some((trace, &parts)), clocks);
        GlassView {
            client: glass.client,
            push_ns: glass.push_ns,
            fanout_ns: glass.fanout_ns,
            paint_ns: glass.paint_ns,
        }
    });
    MessageView {
        trace_id: trace.id.to_string(),
        lane: trace.lane.clone(),
        robot_id: trace.robot_id.clone(),
        sequence: trace.sequence,
        at_ms: axis.at_ms(trace),
        outcome: trace.outcome.to_string(),
        detail: trace.detail.clone().or(defect),
        total_ns: parts.pipeline_ns,
        legs: parts
            .legs()
            .map(|leg| LegView {
                leg: leg.leg,
                class: leg.leg.class(),
                ns: leg.ns,
                half_ns: leg.half_ns,
            })
            .collect(),
        glass: glass.collect(),
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
