//! Clock trouble, named for what it is (METHOD 3 to 5): a clock that was set, is off, drifts or
//! counts from something else, and a queue that looks like one of these.
//!
//! Three pairs of stamps tell them apart. A robot's header and its DDS writer stamp within
//! microseconds of each other on one host: what lies between them is the header's own fault.
//! The writer and our reader stamp on two hosts: what lies between them is the offset of two
//! wall clocks and a delay, and only their slope and their smallest value tell which. And what
//! happens behind the take is on one clock: whatever grows there is a queue.

use crate::clocks::{Clocks, RobotHost};
use crate::domain::{Domain, Header};
use crate::lane::{LaneData, taken_ns};
use crate::series::{jump, lower_slope};
use crate::stability::Stability;
use crate::units::maybe;
use hopwatch_clocksync::Timeline;
use hopwatch_model::{ClockId, Hop, Ledger, Ns, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// Something about the clocks that a user should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Finding {
    /// A word: "clock_step", "delay_jumped", "constant_offset", "drift", "delay_drifts",
    /// "wrong_clock_domain", "unsynchronised_robot", "ambiguous_host", "queueing_not_clock".
    pub kind: String,
    /// Whose: a robot, a service, the gateway.
    pub subject: String,
    /// What it is, by how much, and what to do.
    pub text: String,
}

/// No computer's clock drifts faster than this; what grows faster is a queue. In µs a second.
const FASTEST_CLOCK: f64 = 1_000.0;
/// Fewer messages show no course.
const FEWEST: usize = 10;
/// Offsets below this are no trouble: 1 ms.
const SMALL: Ns = 1_000_000;
/// A delay beyond this from a robot nearby is suspicious: 50 ms.
const SUSPICIOUS: Ns = 50_000_000;

/// What the stamps of a lane tell about clocks, sorted.
pub(crate) fn findings(
    lane: &LaneData<'_>,
    stability: &Stability,
    ledger: &Ledger,
) -> Vec<Finding> {
    let mut traces = lane.traces.clone();
    traces.sort_by_key(|trace| (taken_ns(trace), trace.id));
    let mut found = Vec::new();
    found.extend(gateway_steps(&traces));
    services(lane.clocks, &mut found);
    let mut robots: BTreeMap<&str, Vec<&Trace>> = BTreeMap::new();
    for trace in &traces {
        robots.entry(&trace.robot_id).or_default().push(trace);
    }
    for (robot, of_robot) in robots {
        if let Some(domain) = header_domain(&of_robot) {
            found.push(finding("wrong_clock_domain", robot, domain.said()));
        }
        robot_host(robot, &of_robot, lane, &mut found);
    }
    found.extend(queueing(&traces, lane, stability, ledger));
    found.sort();
    found
}

fn finding(kind: &str, subject: &str, text: String) -> Finding {
    Finding { kind: kind.to_owned(), subject: subject.to_owned(), text }
}

/// The gateway's own wall clock against its monotonic one, from take to take.
fn gateway_steps(traces: &[&Trace]) -> Vec<Finding> {
    const SLEW_PPM: i64 = 550;
    let offsets: Vec<(Ns, Ns, Ns)> = traces
        .iter()
        .filter_map(|t| Some((taken_ns(t), t.wall_offset_ns?, t.wall_half_width_ns)))
        .collect();
    let steps = offsets.windows(2).filter_map(|pair| {
        let ((at, before, half), (then, after, other)) = (pair[0], pair[1]);
        let by = after.saturating_sub(before);
        let slewed = (then.saturating_sub(at) / 1_000_000 + 1).saturating_mul(SLEW_PPM);
        let allowed = slewed.saturating_add(half).saturating_add(other);
        (by.saturating_abs() > allowed).then_some(by)
    });
    let all: Vec<Ns> = steps.collect();
    let Some(largest) = all.iter().copied().max_by_key(|by| by.saturating_abs()) else {
        return Vec::new();
    };
    let text = format!(
        "this host's wall clock was set {} time(s) during the run, by up to {}: legs before taken \
         of messages that were on their way are off by as much; nothing behind the take is",
        all.len(),
        maybe(Some(largest))
    );
    vec![finding("clock_step", "gateway", text)]
}

/// Clocks of services, by their requests' own exchanges.
fn services(clocks: &Clocks, found: &mut Vec<Finding>) {
    for (_, far, timeline) in clocks.monotonic() {
        of_timeline(&format!("clock {far}"), "it", timeline, found);
    }
}

/// Steps and drift that a relation proves.
fn of_timeline(subject: &str, clock: &str, timeline: &Timeline, found: &mut Vec<Finding>) {
    let steps: Vec<_> = timeline.steps().collect();
    if let Some(largest) = steps.iter().max_by_key(|step| step.by.middle().saturating_abs()) {
        let text = format!(
            "{clock} was set {} time(s) during the run, by up to {} ± {}; each piece between two \
             steps is related for itself",
            steps.len(),
            maybe(Some(largest.by.middle())),
            maybe(Some(largest.by.half_width()))
        );
        found.push(finding("clock_step", subject, text));
    }
    if timeline.impossible() > 0 {
        let text = format!(
            "{} exchanges contradict themselves: it says that it worked for longer than the \
             gateway waited, so its clock was set meanwhile, or lies",
            timeline.impossible()
        );
        found.push(finding("clock_step", subject, text));
    }
    if let Some((slow, fast)) = timeline.drift_ppm().filter(|(slow, fast)| {
        // Quartz is within ± 50 ppm of another quartz; only what surely is beyond is trouble.
        *slow > 50.0 || *fast < -50.0
    }) {
        let text = format!(
            "{clock} drifts by {slow:.0} to {fast:.0} µs a second against the gateway's: more \
             than two healthy clocks do; intervals allow for {} ppm",
            timeline.rho_ppm()
        );
        found.push(finding("drift", subject, text));
    }
}

/// What the headers of a robot count, when it isn't the time of day; the most common answer.
fn header_domain(traces: &[&Trace]) -> Option<Domain> {
    let headers: Vec<Header> = traces.iter().filter_map(|trace| Header::of(trace)).collect();
    Domain::of(&headers)
}

/// A robot's host: its wall clock against ours.
fn robot_host(robot: &str, traces: &[&Trace], lane: &LaneData<'_>, found: &mut Vec<Finding>) {
    let Some(first) = traces.first() else { return };
    let host = lane.clocks.host_of(first, &lane.census);
    let near = first.stamps.get(Hop::Taken).map(|stamp| stamp.clock.clone());
    let told = lane.census.iter().any(|census| census.robot_id == robot);
    match host {
        RobotHost::Elsewhere(far) => {
            match near.and_then(|near| lane.clocks.wall_between(&near, &far)) {
                Some(timeline) => related_host(robot, &far, timeline, traces, found),
                None => unrelated_host(robot, traces, found),
            }
        }
        RobotHost::Here if !told => unrelated_host(robot, traces, found),
        RobotHost::Here => {}
        RobotHost::Unclear => found.push(finding(
            "ambiguous_host",
            robot,
            "robots of this id run on several hosts at once: whose clock stamped a message isn't \
             known, so nothing is said of what came before received; give each robot its own id"
                .to_owned(),
        )),
    }
}

/// A host whose responder answers: everything is known within an interval.
fn related_host(
    robot: &str,
    far: &ClockId,
    timeline: &Timeline,
    traces: &[&Trace],
    found: &mut Vec<Finding>,
) {
    of_timeline(robot, &format!("the wall clock of its host ({far})"), timeline, found);
    let offset = traces.iter().rev().find_map(|trace| trace.wall_offset_ns);
    let Some((bounds, ours)) = timeline.latest().zip(offset) else { return };
    let (ahead, half) = (bounds.middle().saturating_sub(ours), bounds.half_width());
    if ahead.saturating_abs() > half.saturating_add(SMALL) {
        let text = format!(
            "its wall clock is {} {} this host's, ± {}; the report allows for it, other tools \
             that subtract the two clocks don't: synchronise them (chrony, PTP)",
            maybe(Some(ahead.saturating_abs())),
            if ahead > 0 { "ahead of" } else { "behind" },
            maybe(Some(half)),
        );
        found.push(finding("constant_offset", robot, text));
    }
}

/// A host that nothing relates to ours: only what messages themselves prove can be said.
fn unrelated_host(robot: &str, traces: &[&Trace], found: &mut Vec<Finding>) {
    const ASK: &str = "run `hopwatch respond` on the robot's host to know";
    let Some(base) = traces.iter().find_map(|trace| trace.wall_offset_ns) else { return };
    // received − written in the two wall clocks: with steps of our own, and free of them.
    let delays_by = |offset: &dyn Fn(&Trace) -> Option<Ns>| -> Vec<(Ns, Ns)> {
        let of = |trace: &&Trace| {
            let written = trace.stamps.get(Hop::Written).filter(|s| s.clock == ClockId::wall())?;
            let received = trace.stamps.get(Hop::Received)?.ns.checked_add(offset(trace)?)?;
            Some((taken_ns(trace), received.checked_sub(written.ns)?))
        };
        traces.iter().filter_map(of).collect()
    };
    let delays = delays_by(&|_| Some(base));
    let as_shown = delays_by(&|trace| trace.wall_offset_ns);
    let Some(least) = delays.iter().map(|(_, delay)| *delay).min() else { return };
    // One that is only in one of them is of our own clock, if the robot is here or elsewhere.
    if let Some((by, _)) = jump(&delays).zip(jump(&as_shown)) {
        if least < 0 {
            let text = format!(
                "its wall clock was set by {} during the run, by the course of its messages' \
                 timestamps; {ASK} more",
                maybe(Some(by.saturating_neg()))
            );
            found.push(finding("clock_step", robot, text));
        } else {
            let text = format!(
                "the delay from its DDS writer to our reader changed by {} for good: its wall \
                 clock was set, or the way changed; one way alone can't tell, {ASK}",
                maybe(Some(by))
            );
            found.push(finding("delay_jumped", robot, text));
        }
        return;
    }
    if let Some(slope) = lower_slope(&delays) {
        if slope < -FASTEST_CLOCK {
            let text = format!(
                "the delay from its DDS writer to our reader shrinks by {:.0} µs a second: no \
                 clock drifts that fast (below 50 µs a second), so a backlog drains on the way",
                -slope
            );
            found.push(finding("queueing_not_clock", robot, text));
        } else if slope > FASTEST_CLOCK {
            let text = format!(
                "the delay from its DDS writer to our reader grows by {slope:.0} µs a second: no \
                 clock drifts that fast (below 50 µs a second), so messages queue up on the way"
            );
            found.push(finding("queueing_not_clock", robot, text));
        } else {
            let text = format!(
                "the delay from its DDS writer to our reader changes by about {slope:.0} µs a \
                 second: its wall clock drifts by {:.0}, or the way changes; one way alone can't \
                 tell, {ASK}",
                -slope
            );
            found.push(finding("delay_drifts", robot, text));
        }
    }
    if least < 0 {
        let text = format!(
            "its messages arrive up to {} before they were written: its wall clock is ahead by at \
             least that much, or this host's is behind; {ASK} by how much. Legs before received \
             are kept as they are, negative ones too",
            maybe(Some(least.saturating_abs()))
        );
        found.push(finding("unsynchronised_robot", robot, text));
    } else if least > SUSPICIOUS && delays.len() >= FEWEST {
        let text = format!(
            "no message of it took less than {} from its DDS writer to our reader: its wall clock \
             is behind by up to that much, or the way is that slow; one way alone can't tell, \
             {ASK}",
            maybe(Some(least))
        );
        found.push(finding("unsynchronised_robot", robot, text));
    }
}

/// A receiver that compares a robot's stamp with its own clock when it begins to work sees the
/// queue in between, and takes it for a clock that is off (SEEDS S1: 1.684 s).
fn queueing(
    traces: &[&Trace],
    lane: &LaneData<'_>,
    stability: &Stability,
    ledger: &Ledger,
) -> Option<Finding> {
    if !stability.unstable {
        return None;
    }
    let between = |trace: &Trace, from, to| -> Option<Ns> {
        trace.stamps.get(to)?.since(trace.stamps.get(from)?).ok()
    };
    let longest_of = |from, to| traces.iter().filter_map(|t| between(t, from, to)).max();
    let in_queue = longest_of(Hop::Taken, Hop::Started)?;
    let in_line = longest_of(Hop::AiReceived, Hop::AiBegun).unwrap_or(0);
    // Two queues, two remedies: what waits in the AI service's line is not helped by more workers.
    let (subject, longest, place, remedy) = if in_line > in_queue {
        (
            "AI service",
            in_line,
            "in the AI service's waiting line",
            "Let the AI service work on more requests at once, make it faster, or ask it less",
        )
    } else {
        (
            "gateway",
            in_queue,
            "for a worker of the gateway",
            "Work on more messages at once, or take fewer",
        )
    };
    let utilisation = stability.utilisation.map_or("unknown".to_owned(), |u| format!("{u:.3}"));
    let grows = stability
        .waiting_slope_us_per_s
        .map(|slope| format!(", growing by {slope:.0} µs a second over the run"))
        .unwrap_or_default();
    let dropped = ledger.queue_dropped.saturating_add(ledger.overwritten_in_history);
    let text = format!(
        "messages waited up to {} {place}{grows}, at a utilisation of {utilisation} of the \
         gateway's {} worker(s), and {dropped} were dropped or overwritten. A receiver that subtracts the \
         robot's stamp from its own clock when it begins would see all of that and take it for a \
         clock that is off; clocks drift by less than 50 µs a second and drop nothing: it is the \
         queue. {remedy}",
        maybe(Some(longest)),
        lane.info.workers,
    );
    Some(finding("queueing_not_clock", subject, text))
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
