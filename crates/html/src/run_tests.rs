use super::*;
use crate::samples::{HOSTILE, MS, add_lane, sound};
use hopwatch_analysis::{Budget, Event, RunInfo, report};
use hopwatch_model::{ClockId, Failure, Hop, Outcome, Probe, Stage};
use hopwatch_testkit::chance;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;

/// Two lanes: one with every kind of loss, one without.
fn dataset() -> Dataset {
    let mut data = Dataset::default();
    add_lane(&mut data, "best-effort", 200, 50 * MS, 64);
    for i in [20, 21, 90] {
        data.traces[i].outcome = Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut);
    }
    data.traces[150].outcome = Outcome::ServiceFailed(Stage::Web, Failure::Refused);
    data.traces[151].outcome = Outcome::QueueDropped;
    // Lost in ROS: never taken.
    data.traces.retain(|trace| !matches!(trace.sequence, 60..=63 | 120));
    data.counters[0].taken = 195;
    data.counters[0].finished = 194;
    data.counters[0].queue_dropped = 1;
    data.counters[0].missed = 5;
    add_lane(&mut data, "reliable", 150, 50 * MS, 64);
    data.events.push(Event { kind: "message_lost".into(), text: "5 were lost".into() });
    data
}

fn made(data: &Dataset) -> String {
    let run = RunInfo {
        id: "r".into(),
        started: "2026-11-30T00:00:00Z".into(),
        duration_s: 10.0,
        command: vec!["run".into(), "--for".into(), "10s".into()],
        ..RunInfo::default()
    };
    let environment = BTreeMap::from([("cores".to_owned(), "2".to_owned())]);
    report_html(&report(data, run, environment, &Budget::default()), data)
}

#[test]
fn the_page_is_as_reviewed() {
    let html = made(&dataset());
    let text = sound(&html);
    assert!(html.contains("default-src 'none'; style-src 'unsafe-inline'"));
    for part in ["lost in ROS: 5 (2.5 %)", "AI timed out 3", "web refused 1", "queue dropped 1"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    // Without the style sheet, which no figure depends on.
    let (head, body) = (html.find("<style>").unwrap(), html.find("</style>").unwrap());
    insta::assert_snapshot!("page", format!("{}{}", &html[..head], &html[body..]));
}

/// METHOD's invariant: same records → byte-identical report, shuffled too.
#[test]
fn order_makes_no_difference() {
    let straight = made(&dataset());
    for seed in 0..5 {
        let mut data = dataset();
        let mut chance = chance(seed);
        data.traces.shuffle(&mut chance);
        data.census.shuffle(&mut chance);
        data.counters.shuffle(&mut chance);
        assert_eq!(made(&data), straight, "seed {seed}");
    }
}

/// Whoever names topics, robots and errors writes no markup.
#[test]
fn texts_from_outside_stay_texts() {
    let mut data = dataset();
    add_lane(&mut data, HOSTILE, 40, 50 * MS, 64);
    let info = data.lanes.get_mut(HOSTILE).unwrap();
    info.topic = HOSTILE.into();
    info.qos = HOSTILE.into();
    info.transport = HOSTILE.into();
    for trace in data.traces.iter_mut().filter(|trace| trace.lane == HOSTILE) {
        trace.robot_id = HOSTILE.into();
        trace.message_id = HOSTILE.into();
        trace.stamps.set(Hop::Received, &ClockId::new(HOSTILE), 1);
    }
    data.events.push(Event { kind: HOSTILE.into(), text: HOSTILE.into() });
    let run = RunInfo {
        id: HOSTILE.into(),
        started: HOSTILE.into(),
        command: vec![HOSTILE.into()],
        interrupted: Some(HOSTILE.into()),
        messages_not_kept: 3,
        ..RunInfo::default()
    };
    let environment = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    let html = report_html(&report(&data, run, environment, &Budget::default()), &data);
    let text = sound(&html);
    assert!(text.contains("<script>alert('x')</script>"), "{text}");
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains('\u{202e}'));
    assert_eq!(html.matches("<style>").count(), 1);
}

/// Probes of three links: one as fast as the one in use, one slower, one without any reply.
#[test]
fn other_links_are_shown_with_their_intervals() {
    let mut data = dataset();
    for round in 1..=30u64 {
        for (link, cost) in [("http1", 400), ("udp", 250), ("http1-fresh", 900), ("quic", 0)] {
            for stage in [Stage::Ai, Stage::Web] {
                data.probes.push(Probe {
                    gateway: String::new(),
                    round,
                    stage,
                    link: link.into(),
                    is_current: link == "http1",
                    rate_hz: 2.0,
                    body_bytes: 300,
                    connect_ns: 0,
                    round_trip_ns: (cost + i64::try_from(round * 7 % 11).unwrap()) * 1_000,
                    served_ns: 0,
                    retries: 0,
                    failure: (link == "quic").then_some(Failure::Unreachable),
                });
            }
        }
    }
    let html = made(&data);
    let text = sound(&html);
    assert!(html.contains("id=\"changes\"") && text.contains("-300 µs of P50 510 µs"), "{text}");
    assert!(text.contains("quic: lost (lost to lost)"), "{text}");
    data.probes.reverse();
    assert_eq!(made(&data), html);
    data.probes.retain(|probe| probe.is_current);
    assert!(!made(&data).contains("id=\"changes\""));
}

#[test]
fn nothing_and_next_to_nothing_give_sound_pages() {
    assert!(sound(&made(&Dataset::default())).contains("Nothing was delivered"));
    let mut silent = Dataset::default();
    add_lane(&mut silent, "lane", 0, 50 * MS, 1);
    assert!(sound(&made(&silent)).contains("nothing was published"));
    let mut one = Dataset::default();
    add_lane(&mut one, "lane", 1, 50 * MS, 1);
    let text = sound(&made(&one));
    assert!(text.contains("1 of 1 published messages delivered"), "{text}");
}

#[test]
fn a_run_that_lost_all_has_no_curve_but_all_losses() {
    let mut data = Dataset::default();
    add_lane(&mut data, "lane", 100, 50 * MS, 64);
    for trace in &mut data.traces {
        trace.outcome = Outcome::ServiceFailed(Stage::Ai, Failure::Unreachable);
    }
    let html = made(&data);
    let text = sound(&html);
    assert!(
        text.contains("Nothing was delivered") && text.contains("AI unreachable 100"),
        "{text}"
    );
    assert!(text.contains("100 (100 %)") && !html.contains("id=\"ecdf\""), "{text}");
}

/// 5 messages a second, 300 ms each, one at a time.
#[test]
fn an_unstable_lane_has_no_percentiles_and_says_so() {
    let mut data = Dataset::default();
    add_lane(&mut data, "lane", 100, 5 * MS, 1);
    for (trace, i) in data.traces.iter_mut().zip(1..) {
        let clock = ClockId::new("gateway");
        let at = 300 * MS * i;
        trace.stamps.set(Hop::Taken, &clock, 200 * MS * i);
        trace.stamps.set(Hop::Started, &clock, at);
        for (hop, after) in [
            (Hop::AiSent, 1),
            (Hop::AiReceived, 2),
            (Hop::AiBegun, 3),
            (Hop::AiDone, 290),
            (Hop::AiAnswered, 291),
            (Hop::WebSent, 292),
            (Hop::WebReceived, 293),
            (Hop::WebDone, 294),
            (Hop::WebAcked, 299),
        ] {
            trace.stamps.set(hop, &clock, at + after * MS);
        }
    }
    let html = made(&data);
    let text = sound(&html);
    assert!(text.contains("Unstable: lane. Nothing can be concluded"), "{text}");
    assert!(!html.contains("id=\"ecdf\"") && !html.contains("id=\"lane-1-legs\""));
    assert!(html.contains("id=\"lane-1-time\""));
}

#[test]
fn a_page_of_50_000_messages_is_small_and_keeps_its_extremes() {
    let mut data = Dataset::default();
    add_lane(&mut data, "lane", 50_000, 10 * MS, 64);
    let clock = ClockId::new("gateway");
    let late = data.traces[31_000].stamps.get(Hop::WebAcked).unwrap().ns + 900 * MS;
    data.traces[31_000].stamps.set(Hop::WebAcked, &clock, late);
    for i in [77, 40_000] {
        data.traces[i].outcome = Outcome::Abandoned;
    }
    let html = made(&data);
    let text = sound(&html);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert!(text.contains("Thinned out") && text.contains("abandoned 2"), "{text}");
    let marks = html.lines().find(|line| line.contains("class=\"loss-marks\"")).unwrap();
    assert_eq!(marks.matches('M').count(), 2, "{marks}");
    // The latest one stands alone at the top of its panel.
    let dots: Vec<&str> =
        html.lines().filter(|line| line.contains("class=\"dots-over-time\"")).collect();
    let top = |d: &str| {
        let y = |dot: &str| dot.split(' ').nth(1)?.split('h').next()?.parse::<f64>().ok();
        let mut all: Vec<f64> = d.split('M').filter_map(y).collect();
        all.sort_by(f64::total_cmp);
        (all[0], all[1])
    };
    let (first, second) = top(dots[0]);
    assert!(second - first > 50.0, "{first} {second}");
}

/// Stamps of a service whose clock can't be related closely: the interval, and no figure.
#[test]
fn what_is_not_resolved_is_said_so() {
    let mut data = dataset();
    let far = ClockId::new("far");
    for trace in data.traces.iter_mut().filter(|trace| trace.lane == "reliable") {
        for hop in [Hop::AiReceived, Hop::AiBegun, Hop::AiDone] {
            let ns = trace.stamps.get(hop).unwrap().ns;
            // Both ways are wide: nothing is known of the split.
            let slow = if hop == Hop::AiReceived { 0 } else { 2 * MS };
            trace.stamps.set(hop, &far, ns + 5_000 * MS + slow);
        }
        for hop in [Hop::AiAnswered, Hop::WebSent, Hop::WebReceived, Hop::WebDone, Hop::WebAcked] {
            let stamp = trace.stamps.get(hop).unwrap().clone();
            trace.stamps.set(hop, &stamp.clock, stamp.ns + 9 * MS);
        }
    }
    let text = sound(&made(&data));
    assert!(text.contains("not resolved"), "{text}");
}
