use super::*;
use crate::lane::LaneInfo;
use crate::lane::tests::{GATEWAY, trace_of};
use crate::ledger::LedgerBuilder;
use crate::stability::stability;
use hopwatch_model::{Census, PeerExchange};
use hopwatch_testkit::chance;
use rand::Rng;

const MS: Ns = 1_000_000;
const S: Ns = 1_000_000_000;
const UNIX: Ns = 1_700_000_000 * S;

/// What a robot writes at a time: (header seconds, header nanoseconds, the DDS writer's stamp).
type Writes = dyn Fn(Ns) -> (i64, i64, Ns);

/// A minute of a robot that publishes twice a second; the gateway's wall clock shows UNIX above
/// its monotonic one, and DDS takes 0.3 to 1.3 ms.
fn minute(writes: &Writes) -> Vec<Trace> {
    let mut chance = chance(11);
    (0..120_u64)
        .map(|i| {
            // Not on whole seconds: digits must come out as they are.
            let at = 5_000 * S + Ns::try_from(i).unwrap() * (S / 2 + 1_234_567);
            let (sec, nsec, written) = writes(at);
            let received = at + 300_000 + chance.random_range(0..MS);
            let mut trace = trace_of(&[
                (Hop::Received, received),
                (Hop::Taken, received + 30_000),
                (Hop::Started, received + 40_000),
                (Hop::AiSent, received + 50_000),
                (Hop::AiAnswered, received + 10 * MS),
                (Hop::WebSent, received + 11 * MS),
                (Hop::WebAcked, received + 12 * MS),
            ]);
            trace.id.0[..8].copy_from_slice(&i.to_be_bytes());
            trace.wall_offset_ns = Some(UNIX);
            trace.stamps.set(Hop::Written, &ClockId::wall(), written);
            match sec.checked_mul(S).and_then(|ns| ns.checked_add(nsec)) {
                Some(ns) if ns >= S * 1_000_000_000 && (0..S).contains(&nsec) => {
                    trace.stamps.set(Hop::Published, &ClockId::wall(), ns);
                }
                _ => trace.header_time = Some((sec, nsec)),
            }
            trace
        })
        .collect()
}

/// Unix time as seconds and nanoseconds.
fn split(ns: Ns) -> (i64, i64) {
    (ns.div_euclid(S), ns.rem_euclid(S))
}

fn of(traces: &[Trace], clocks: &Clocks, census: Vec<&Census>) -> Vec<Finding> {
    let info = LaneInfo { workers: 64, ..LaneInfo::default() };
    let lane = LaneData { info, traces: traces.iter().collect(), glass: vec![], census, clocks };
    let ledger = LedgerBuilder::new().ledger(true);
    findings(&lane, &stability(&lane.traces, 64), &ledger)
}

fn kinds(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|f| f.kind.as_str()).collect()
}

/// A healthy robot on this host.
fn healthy(at: Ns) -> (i64, i64, Ns) {
    let (sec, nsec) = split(UNIX + at - 20_000);
    (sec, nsec, UNIX + at)
}

#[test]
fn a_healthy_robot_gives_no_finding() {
    assert_eq!(of(&minute(&healthy), &Clocks::default(), vec![]), []);
    // Right behind each full second: few digits, and all of them right.
    let punctual = |at: Ns| {
        let nsec = 60_000 + at % 700_000;
        (UNIX / S + at / S, nsec, (UNIX / S + at / S) * S + nsec + 20_000)
    };
    let found = of(&minute(&punctual), &Clocks::default(), vec![]);
    assert!(!kinds(&found).contains(&"wrong_clock_domain"), "{found:?}");
}

#[test]
fn wrong_domains_are_named() {
    let cases: [(&Writes, &str); 11] = [
        (&|at| (0, 0, UNIX + at), "never set"),
        (&|at| (at / S, at % S, UNIX + at), "since the host was started"),
        (
            &|at| ((at - 4_990 * S) * 3 / S, (at - 4_990 * S) * 3 % S, UNIX + at),
            "simulation time, which ran at 3.0",
        ),
        (&|at| (at / S - 4_000, at % S, UNIX + at), "seconds from some start"),
        (&|at| (0, UNIX + at, UNIX + at), "nanoseconds in the place of nanoseconds"),
        (&|at| (UNIX / S + at / S, (at % S) / MS, UNIX + at), "milliseconds in the field of nano"),
        (&|at| (UNIX / S + at / S, (at % S) / 1_000, UNIX + at), "microseconds in the field of n"),
        (&|at| (UNIX / S + at / S, 0, UNIX + at), "whole seconds only"),
        (&|at| ((UNIX + at) / MS, 0, UNIX + at), "milliseconds in the place of seconds"),
        (
            &|at| ((UNIX + at) / MS / S, (UNIX + at) / MS % S, UNIX + at),
            "milliseconds in the place",
        ),
        (&|at| (UNIX / S + at / S + 9 * 3_600, at % S, UNIX + at), "9 h ahead of"),
    ];
    for (writes, part) in cases {
        let found = of(&minute(writes), &Clocks::default(), vec![]);
        assert_eq!(kinds(&found), ["wrong_clock_domain"], "{part}: {found:?}");
        assert!(found[0].text.contains(part), "{part}: {}", found[0].text);
    }
}

/// A robot elsewhere that nothing relates to us.
#[test]
fn an_unsynchronised_robot_is_told_by_its_messages() {
    let shifted = |by: Ns| {
        move |at: Ns| {
            let (sec, nsec) = split(UNIX + at + by - 20_000);
            (sec, nsec, UNIX + at + by)
        }
    };
    let ahead = of(&minute(&shifted(40 * MS)), &Clocks::default(), vec![]);
    assert_eq!(kinds(&ahead), ["unsynchronised_robot"]);
    assert!(ahead[0].text.contains("ahead by at least"), "{}", ahead[0].text);
    let behind = of(&minute(&shifted(-1_684 * MS)), &Clocks::default(), vec![]);
    assert_eq!(kinds(&behind), ["unsynchronised_robot"]);
    assert!(behind[0].text.contains("one way alone can't tell"), "{}", behind[0].text);
}

#[test]
fn steps_drift_and_queues_are_told_apart_by_their_course() {
    let course = |offset: fn(Ns) -> Ns| {
        let writes = move |at: Ns| {
            let wall = UNIX + at + offset(at - 5_000 * S);
            let (sec, nsec) = split(wall - 20_000);
            (sec, nsec, wall)
        };
        of(&minute(&writes), &Clocks::default(), vec![])
    };
    let step = course(|t| if t > 30 * S { 700 * MS } else { -10 * MS });
    assert_eq!(kinds(&step), ["clock_step"], "it arrives before it was written: {step:?}");
    assert!(step[0].text.contains("710"), "{}", step[0].text);
    let drift = course(|t| -5 * MS - t / 1_000_000 * 300);
    assert_eq!(kinds(&drift), ["delay_drifts"], "{drift:?}");
    assert!(drift[0].text.contains("drifts by -30"), "{}", drift[0].text);
    assert!(drift[0].text.contains("one way alone can't tell"), "{}", drift[0].text);
    // The way became longer for good, or the clock was set back: nobody can tell.
    let longer = course(|t| if t > 30 * S { -20 * MS } else { 0 });
    assert_eq!(kinds(&longer), ["delay_jumped"], "{longer:?}");
    // A backlog that drains.
    let draining = course(|t| -(60 * S - t) / 1_000 * 3);
    assert_eq!(kinds(&draining)[0], "queueing_not_clock", "{draining:?}");
    assert!(draining[0].text.contains("drains"), "{}", draining[0].text);
    // DDS' reader gets each message 37 ms a second later than the one before: no clock does that.
    let queue = course(|t| -t / 1_000 * 37);
    assert_eq!(kinds(&queue)[0], "queueing_not_clock", "{queue:?}");
    assert!(queue[0].text.contains("no clock drifts that fast"), "{}", queue[0].text);
}

#[test]
fn our_own_wall_clock_that_is_set_is_a_step_of_the_gateway() {
    let mut traces = minute(&healthy);
    for (i, trace) in traces.iter_mut().enumerate().skip(60) {
        trace.wall_offset_ns = Some(UNIX - 3 * S);
        let wall = trace.stamps.get(Hop::Written).unwrap().ns - 3 * S;
        trace.stamps.set(Hop::Written, &ClockId::wall(), wall);
        let published = trace.stamps.get(Hop::Published).unwrap().ns - 3 * S;
        trace.stamps.set(Hop::Published, &ClockId::wall(), published);
        assert!(i >= 60);
    }
    let census = census(GATEWAY);
    // With the robot's word for it that it is here, or without.
    for census in [vec![&census], vec![]] {
        let found = of(&traces, &Clocks::default(), census);
        assert_eq!(kinds(&found), ["clock_step"], "{found:?}");
        assert_eq!(found[0].subject, "gateway");
    }
}

fn census(clock: &str) -> Census {
    Census {
        robot_id: "robot_001".into(),
        instance: "i".into(),
        clock: ClockId::new(clock),
        schedule_start_ns: 5_000 * S,
        rate_hz: 2.0,
        first_sequence: 0,
        published: 120,
        failed: 0,
        last: true,
    }
}

/// A user's case: one host 5 ms behind with 300 ppm of drift, and a responder on it.
#[test]
fn a_related_host_has_an_offset_with_its_error() {
    let wall = |at: Ns| UNIX + at - 5 * MS - (at - 5_000 * S) / 1_000_000 * 300;
    let writes = move |at: Ns| {
        let (sec, nsec) = split(wall(at) - 20_000);
        (sec, nsec, wall(at))
    };
    let traces = minute(&writes);
    let peers: Vec<PeerExchange> = (0..600)
        .map(|i| {
            let at = 5_000 * S + i * 100 * MS;
            PeerExchange {
                peer: "p".into(),
                robots: vec![],
                near: ClockId::new(GATEWAY),
                far: ClockId::new("robot"),
                near_sent: at,
                far_received: (at + 60_000, wall(at + 60_000)),
                far_sent: (at + 70_000, wall(at + 70_000)),
                near_received: at + 150_000,
            }
        })
        .collect();
    let clocks = Clocks::of(&traces, &peers);
    let census = census("robot");
    let found = of(&traces, &clocks, vec![&census]);
    assert_eq!(kinds(&found), ["constant_offset", "drift"], "{found:?}");
    assert!(found[0].text.contains("behind this host's, ±"), "{}", found[0].text);
    assert!(found[1].text.contains("-30"), "{}", found[1].text);
}

/// SEEDS S1: 1 Hz × 1.037 s in one worker. The growing wait is a queue and no clock fault.
#[test]
fn the_published_pipeline_queues_and_no_clock_is_blamed() {
    let mut free = 0;
    let traces: Vec<Trace> = (0..60_u64)
        .map(|i| {
            let taken = Ns::try_from(i).unwrap() * S;
            let started = taken.max(free);
            free = started + 1_037 * MS;
            let mut trace = trace_of(&[
                (Hop::Received, taken),
                (Hop::Taken, taken),
                (Hop::Started, started),
                (Hop::AiSent, started),
                (Hop::AiAnswered, free),
                (Hop::WebSent, free),
                (Hop::WebAcked, free),
            ]);
            trace.id.0[..8].copy_from_slice(&i.to_be_bytes());
            trace.wall_offset_ns = Some(UNIX);
            trace.stamps.set(Hop::Written, &ClockId::wall(), UNIX + taken - 300_000);
            trace.stamps.set(Hop::Published, &ClockId::wall(), UNIX + taken - 320_000);
            trace
        })
        .collect();
    let clocks = Clocks::default();
    let info = LaneInfo { workers: 1, ..LaneInfo::default() };
    let lane = LaneData {
        info,
        traces: traces.iter().collect(),
        glass: vec![],
        census: vec![],
        clocks: &clocks,
    };
    let stability = stability(&lane.traces, 1);
    let found = findings(&lane, &stability, &LedgerBuilder::new().ledger(true));
    assert_eq!(kinds(&found), ["queueing_not_clock"], "{found:?}");
    let text = &found[0].text;
    assert!(text.contains("2.183 s") && text.contains("37000 µs a second"), "{text}");
    assert!(text.contains("1.037 of the gateway's 1 worker"), "{text}");
}

/// The line before the AI service is another queue, with another remedy.
#[test]
fn the_ai_services_line_is_named_when_it_is_what_grows() {
    let mut free = 0;
    let traces: Vec<Trace> = (0..100_u64)
        .map(|i| {
            let taken = Ns::try_from(i).unwrap() * 50 * MS;
            let (received, begun) = (taken + MS, (taken + MS).max(free));
            free = begun + 80 * MS;
            let mut trace = trace_of(&[
                (Hop::Taken, taken),
                (Hop::Started, taken + 50_000),
                (Hop::AiSent, taken + 100_000),
                (Hop::AiReceived, received),
                (Hop::AiBegun, begun),
                (Hop::AiDone, free),
                (Hop::AiAnswered, free + 100_000),
                (Hop::WebSent, free + 200_000),
                (Hop::WebAcked, free + 300_000),
            ]);
            trace.id.0[..8].copy_from_slice(&i.to_be_bytes());
            trace
        })
        .collect();
    let found = of(&traces, &Clocks::default(), vec![]);
    assert_eq!(kinds(&found), ["queueing_not_clock"], "{found:?}");
    assert_eq!(found[0].subject, "AI service");
    let text = &found[0].text;
    assert!(text.contains("AI service's waiting line") && text.contains("ask it less"), "{text}");
}
