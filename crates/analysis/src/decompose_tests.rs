use super::*;
use crate::lane::tests::{GATEWAY, trace_of};
use hopwatch_model::ClockId;
use proptest::prelude::*;

fn names(legs: &[LegTime]) -> Vec<(&'static str, Ns)> {
    legs.iter().map(|leg| (leg.leg.name(), leg.ns)).collect()
}

#[test]
fn the_whole_way_on_one_host() {
    let trace = trace_of(&[
        (Hop::Published, 1),
        (Hop::Written, 3),
        (Hop::Received, 6),
        (Hop::Taken, 10),
        (Hop::Started, 15),
        (Hop::AiConnecting, 21),
        (Hop::AiSent, 28),
        (Hop::AiReceived, 36),
        (Hop::AiBegun, 45),
        (Hop::AiDone, 55),
        (Hop::AiAnswered, 66),
        (Hop::WebSent, 78),
        (Hop::WebReceived, 91),
        (Hop::WebDone, 105),
        (Hop::WebAcked, 120),
    ]);
    let census = Census {
        robot_id: trace.robot_id.clone(),
        instance: "i".into(),
        clock: ClockId::new(GATEWAY),
        schedule_start_ns: 0,
        rate_hz: 1.0,
        first_sequence: 0,
        published: 1,
        failed: 0,
        last: true,
    };
    let restarted = Census { schedule_start_ns: 3_600_000_000_000, ..census.clone() };
    let foreign =
        Census { robot_id: "robot_009".into(), clock: ClockId::new("far"), ..census.clone() };
    let d = decompose(&trace, &[&census, &restarted, &foreign], &Clocks::default()).unwrap();
    assert_eq!(names(&d.before), [("schedule", 1), ("write", 2), ("ros", 3), ("wake", 4)]);
    let expected = [
        ("queue", 5),
        ("encode", 6),
        ("ai_connect", 7),
        ("ai_request", 8),
        ("ai_wait", 9),
        ("ai_infer", 10),
        ("ai_reply", 11),
        ("handoff", 12),
        ("web_request", 13),
        ("web_handle", 14),
        ("web_reply", 15),
    ];
    assert_eq!(names(&d.pipeline), expected);
    assert_eq!(
        (d.pipeline_ns, d.published, d.intended),
        (Some(110), Some((119, 0)), Some((120, 0)))
    );
    assert_eq!(d.class_ns(Class::Ai), 19);
    assert_eq!(d.class_ns(Class::Transport), 7 + 8 + 11 + 13 + 15);
    assert_eq!(d.class_ns(Class::Overhead), 5 + 6 + 12 + 14);
}

/// A robot at 10 Hz that was set to 4 Hz at 1.25 s, after 13 messages.
#[test]
fn each_message_was_due_by_the_schedule_that_it_is_of() {
    const MS: Ns = 1_000_000;
    let first = Census {
        robot_id: "robot_001".into(),
        instance: "i".into(),
        clock: ClockId::new(GATEWAY),
        schedule_start_ns: 0,
        rate_hz: 10.0,
        first_sequence: 0,
        published: 13,
        failed: 0,
        last: false,
    };
    let start = 1_250 * MS;
    let second = Census {
        schedule_start_ns: start,
        rate_hz: 4.0,
        first_sequence: 13,
        published: 20,
        last: true,
        ..first.clone()
    };
    // Before them, another start of the same robot.
    let before = Census { instance: "h".into(), schedule_start_ns: -60_000 * MS, ..first.clone() };
    let late = |sequence: i32, published: Ns| {
        let mut way = vec![(Hop::Published, published)];
        let rest = [Hop::Written, Hop::Received, Hop::Taken, Hop::Started];
        way.extend(rest.map(|hop| (hop, published + MS)));
        let trace = Trace { sequence, robot_id: "robot_001".into(), ..trace_of(&way) };
        let d = decompose(&trace, &[&second, &before, &first], &Clocks::default()).unwrap();
        d.before.iter().find(|leg| leg.leg == Leg::Schedule).map(|leg| leg.ns)
    };
    assert_eq!(late(0, 0), Some(0));
    assert_eq!(late(12, 1_201 * MS), Some(MS));
    // Late, and published when the next schedule had begun.
    assert_eq!(late(12, 1_300 * MS), Some(100 * MS));
    assert_eq!(late(13, start + 5), Some(5));
    assert_eq!(late(17, start + 1_010 * MS), Some(10 * MS));
    // The wall clock that stamped it isn't known to the nanosecond.
    assert_eq!(late(13, start - 2 * MS), Some(-2 * MS));
}

/// Two robots with one id, of which one is elsewhere: whose message it is, nobody knows.
#[test]
fn an_id_on_two_hosts_places_nothing() {
    let mut way = minimal();
    way.extend([(Hop::Published, -9), (Hop::Written, -8), (Hop::Received, -5)]);
    let trace = trace_of(&way);
    let here = Census {
        robot_id: trace.robot_id.clone(),
        instance: "i".into(),
        clock: ClockId::new(GATEWAY),
        schedule_start_ns: -9,
        rate_hz: 1.0,
        first_sequence: 0,
        published: 1,
        failed: 0,
        last: true,
    };
    let far = Census { instance: "j".into(), clock: ClockId::new("far"), ..here.clone() };
    let alone = decompose(&trace, &[&here], &Clocks::default()).unwrap();
    assert_eq!(alone.published, Some((169, 0)));
    let both = decompose(&trace, &[&here, &far], &Clocks::default()).unwrap();
    assert_eq!((names(&both.before), both.published), (vec![("wake", 5)], None));
}

/// A service on another clock that says it worked for longer than the gateway waited.
#[test]
fn impossible_stamps_of_another_clock_are_not_used() {
    let mut trace = trace_of(&minimal());
    let far = ClockId::new("far");
    for (hop, ns) in [(Hop::AiReceived, 0), (Hop::AiBegun, 5), (Hop::AiDone, 1_000_000_000)] {
        trace.stamps.set(hop, &far, ns);
    }
    let d = decompose(&trace, &[], &Clocks::default()).unwrap();
    assert!(names(&d.pipeline).contains(&("ai_round_trip", 100)), "{:?}", d.pipeline);
    assert_eq!((d.pipeline_ns, d.class_ns(Class::Ai), d.ai_transport), (Some(160), 100, None));
    assert!(names(&d.pipeline).contains(&("web_round_trip", 30)));
}

fn minimal() -> Vec<(Hop, Ns)> {
    vec![
        (Hop::Taken, 0),
        (Hop::Started, 10),
        (Hop::AiSent, 20),
        (Hop::AiAnswered, 120),
        (Hop::WebSent, 130),
        (Hop::WebAcked, 160),
    ]
}

/// A request that was lost once and a reply that was lost once are legs of their own, on one clock
/// as on two.
#[test]
fn what_was_lost_on_the_way_is_told_apart() {
    let mut way = minimal();
    way.extend([(Hop::AiFirstSent, 12), (Hop::WebReceived, 131), (Hop::WebDone, 133)]);
    way.extend([(Hop::WebResent, 150)]);
    let mut trace = trace_of(&way);
    let d = decompose(&trace, &[], &Clocks::default()).unwrap();
    let ai = [("encode", 2), ("ai_retry", 8), ("ai_round_trip", 100)];
    assert_eq!(names(&d.pipeline)[1..4], ai);
    let web = [("web_request", 1), ("web_handle", 2), ("web_resend", 17), ("web_reply", 10)];
    assert_eq!(names(&d.pipeline)[5..], web);
    assert_eq!((d.pipeline_ns, d.web_transport), (Some(160), Some((28, 0))));
    assert_eq!(d.class_ns(Class::Transport), 8 + 1 + 17 + 10);
    let far = ClockId::new("far");
    for (hop, ns) in [(Hop::AiReceived, 7), (Hop::AiDone, 67), (Hop::AiResent, 87)] {
        trace.stamps.set(hop, &far, ns);
    }
    let d = decompose(&trace, &[], &Clocks::default()).unwrap();
    let ai = [("ai_transport", 20), ("ai_wait", 0), ("ai_infer", 60), ("ai_resend", 20)];
    assert_eq!(names(&d.pipeline)[3..7], ai);
    assert_eq!((d.pipeline_ns, d.ai_transport.map(|(ns, _)| ns)), (Some(160), Some(40)));
}

#[test]
fn a_service_that_tells_nothing_is_ai_with_its_transport() {
    let d = decompose(&trace_of(&minimal()), &[], &Clocks::default()).unwrap();
    assert_eq!(d.class_ns(Class::Ai), 100);
    assert!(names(&d.pipeline).contains(&("ai_round_trip", 100)));
    assert!(names(&d.pipeline).contains(&("web_round_trip", 30)));
}

#[test]
fn durations_split_the_round_trip_without_a_clock() {
    let mut trace = trace_of(&minimal());
    trace.ai_served_ns = Some((15, 60));
    trace.web_served_ns = Some(7);
    let d = decompose(&trace, &[], &Clocks::default()).unwrap();
    let ai = [("ai_transport", 25), ("ai_wait", 15), ("ai_infer", 60)];
    assert_eq!(names(&d.pipeline)[2..5], ai);
    assert_eq!(names(&d.pipeline)[6..], [("web_transport", 23), ("web_handle", 7)]);
    assert_eq!(d.pipeline_ns, Some(160));
}

#[test]
fn another_clock_is_never_subtracted_from_ours() {
    let mut trace = trace_of(&minimal());
    let far = ClockId::new("far");
    for (hop, ns) in
        [(Hop::AiReceived, 9_000_000), (Hop::AiBegun, 9_000_015), (Hop::AiDone, 9_000_075)]
    {
        trace.stamps.set(hop, &far, ns);
    }
    let d = decompose(&trace, &[], &Clocks::default()).unwrap();
    assert_eq!(names(&d.pipeline)[2..5], [("ai_transport", 25), ("ai_wait", 15), ("ai_infer", 60)]);
    trace.stamps.set(Hop::Published, &far, 1);
    trace.stamps.set(Hop::Written, &far, 2);
    let d = decompose(&trace, &[], &Clocks::default()).unwrap();
    assert_eq!((d.before.len(), d.published), (0, None));
}

#[test]
fn negative_legs_are_kept() {
    let mut way = minimal();
    way.extend([(Hop::AiReceived, 15), (Hop::AiDone, 125)]);
    let d = decompose(&trace_of(&way), &[], &Clocks::default()).unwrap();
    assert!(names(&d.pipeline).contains(&("ai_request", -5)));
    assert!(names(&d.pipeline).contains(&("ai_reply", -5)));
    assert_eq!(d.pipeline_ns, Some(160));
}

#[test]
fn a_failed_message_has_the_legs_it_went() {
    let d = decompose(&trace_of(&minimal()[..3]), &[], &Clocks::default()).unwrap();
    assert_eq!(names(&d.pipeline), [("queue", 10), ("encode", 10)]);
    assert_eq!(d.pipeline_ns, None);
    assert_eq!(
        decompose(&trace_of(&[]), &[], &Clocks::default()),
        Err(Defect::Missing(Hop::Taken))
    );
}

#[test]
fn absurd_stamps_are_a_defect_and_no_panic() {
    let way = [(Hop::Taken, i64::MIN), (Hop::Started, i64::MAX)];
    assert!(matches!(decompose(&trace_of(&way), &[], &Clocks::default()), Err(Defect::Absurd(..))));
}

proptest! {
    /// Whatever stamps exist, in whatever order in time: Σ legs = total, to the nanosecond.
    #[test]
    fn legs_sum_to_the_total(
        ns in prop::collection::vec(-1_000_000_000_000i64..1_000_000_000_000, Hop::ALL.len()),
        present in prop::collection::vec(any::<bool>(), Hop::ALL.len()),
        far in prop::collection::vec(any::<bool>(), Hop::ALL.len()),
        served in prop::option::of((0i64..1_000_000, 0i64..1_000_000)),
    ) {
        let mut trace = trace_of(&[]);
        trace.ai_served_ns = served;
        trace.web_served_ns = served.map(|s| s.0);
        let services = [
            Hop::AiReceived, Hop::AiBegun, Hop::AiDone, Hop::AiResent,
            Hop::WebReceived, Hop::WebDone, Hop::WebResent,
        ];
        let needed = [Hop::Taken, Hop::Started, Hop::AiSent, Hop::AiAnswered, Hop::WebSent, Hop::WebAcked];
        for (i, hop) in Hop::ALL.iter().enumerate() {
            if !present[i] && !needed.contains(hop) { continue }
            let clock = if far[i] && services.contains(hop) { "far" } else { GATEWAY };
            trace.stamps.set(*hop, &ClockId::new(clock), ns[i]);
        }
        match decompose(&trace, &[], &Clocks::default()) {
            Ok(d) => {
                let total = d.pipeline_ns.unwrap();
                prop_assert_eq!(d.pipeline.iter().map(|leg| leg.ns).sum::<Ns>(), total);
                let classes: Ns = Class::ALL.iter().map(|class| d.class_ns(*class)).sum();
                prop_assert_eq!(classes, total);
                if let Some((published, 0)) = d.published {
                    let start = trace.stamps.get(Hop::Published).unwrap().ns;
                    let end = trace.stamps.get(Hop::WebAcked).unwrap().ns;
                    prop_assert_eq!(published, end - start);
                }
            }
            // A service that mixes two clocks in one reply.
            Err(defect) => prop_assert!(matches!(defect, Defect::Clocks(..)), "{}", defect),
        }
    }
}
