use super::*;
use crate::lane::tests::{GATEWAY, trace_of};
use hopwatch_model::{ClockId, Failure, PublishedSource, PublisherId, Stage};

pub(super) const MS: Ns = 1_000_000;
pub(super) const S: Ns = 1_000 * MS;

pub(super) fn taken(writer: u8, number: u64, outcome: Outcome) -> Trace {
    Trace {
        publisher: PublisherId([writer; 16]),
        publication_sequence: Some(number),
        robot_id: format!("robot_{writer:03}"),
        message_id: format!("{writer}-{number}"),
        outcome,
        ..trace_of(&[])
    }
}

pub(super) fn census(robot: u8, published: u64, last: bool) -> Census {
    Census {
        robot_id: format!("robot_{robot:03}"),
        instance: "i".into(),
        clock: ClockId::new("c"),
        schedule_start_ns: 0,
        rate_hz: 1.0,
        first_sequence: 0,
        published,
        failed: 0,
        last,
    }
}

pub(super) fn counters(taken: u64) -> GatewayCounters {
    let gateway = "g".to_owned();
    GatewayCounters { gateway, taken, finished: taken, last: true, ..GatewayCounters::default() }
}

/// One that has not told its last.
pub(super) fn told(gateway: &str, started_ms: i64, taken: u64, missed: u64) -> GatewayCounters {
    let gateway = gateway.to_owned();
    GatewayCounters { gateway, started_ms, missed, last: false, ..counters(taken) }
}

/// A message of robot 1 taken by a gateway, published by a 1 Hz schedule that began at 0.
pub(super) fn told_by(gateway: &str, number: u64) -> Trace {
    let at = i64::try_from(number).unwrap() * S;
    Trace { gateway: gateway.into(), ..written(1, number, at, 50_000) }
}

/// A message with DDS' stamps: when it was written, and how long it waited for its take.
pub(super) fn written(writer: u8, number: u64, at: Ns, waited: Ns) -> Trace {
    let way = [
        (Hop::Published, at - 1_000),
        (Hop::Written, at),
        (Hop::Received, at + 10_000),
        (Hop::Taken, at + 10_000 + waited),
    ];
    Trace {
        stamps: trace_of(&way).stamps,
        sequence: i32::try_from(number).unwrap() - 1,
        ..taken(writer, number, Outcome::Delivered)
    }
}

pub(super) fn lane(qos: &str) -> LaneInfo {
    LaneInfo { qos: qos.into(), clock: GATEWAY.into(), ..LaneInfo::default() }
}

#[track_caller]
pub(super) fn adds_up(ledger: &Ledger) {
    assert_eq!(ledger.accounted(), ledger.published, "{ledger:?}");
    assert!(ledger.reconciles, "{:?}", ledger.notes);
    assert!(ledger.dds_lost + ledger.overwritten_in_history <= ledger.lost_in_ros, "{ledger:?}");
}

#[track_caller]
pub(super) fn says(ledger: &Ledger, what: &str) {
    assert!(ledger.notes.iter().any(|note| note.contains(what)), "{what}: {:?}", ledger.notes);
}

#[test]
fn every_fate_is_named_and_the_sum_is_what_was_published() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 12, true));
    // 1 and 2 before discovery; 6 lost; 11 and 12 lost at the tail.
    for (n, outcome) in [
        (3, Outcome::Delivered),
        (4, Outcome::QueueDropped),
        (5, Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut)),
        (7, Outcome::ServiceFailed(Stage::Web, Failure::Broken)),
        (8, Outcome::Delivered),
        (9, Outcome::Abandoned),
        (10, Outcome::Delivered),
    ] {
        assert!(b.observe_trace(&taken(1, n, outcome)));
    }
    assert!(!b.observe_trace(&taken(1, 8, Outcome::Delivered)));
    b.observe_counters(&counters(8));
    let l = b.ledger(true);
    assert_eq!((l.published, l.published_source), (12, PublishedSource::Census));
    assert_eq!((l.lost_before_discovery, l.lost_in_ros, l.in_flight), (2, 3, 0));
    assert_eq!((l.delivered, l.queue_dropped, l.abandoned, l.duplicates), (3, 1, 1, 1));
    assert_eq!(l.ai_failed, BTreeMap::from([(Failure::TimedOut, 1)]));
    assert_eq!(l.web_failed, BTreeMap::from([(Failure::Broken, 1)]));
    assert!(l.reconciles, "{:?}", l.notes);
    assert_eq!(l.accounted(), l.published);
}

#[test]
fn before_the_end_the_rest_is_in_flight() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 5, false));
    b.observe_trace(&taken(1, 1, Outcome::Delivered));
    let l = b.ledger(false);
    assert_eq!((l.published, l.delivered, l.in_flight, l.lost_in_ros), (5, 1, 4, 0));
    assert!(l.reconciles && !b.is_over());
    b.observe_census(&census(1, 5, true));
    b.observe_counters(&counters(1));
    assert!(b.is_over());
    assert_eq!(b.ledger(true).lost_in_ros, 4);
}

/// A later message may be finished first: the hole is in flight, not lost, unless the tap says
/// that it was missed.
#[test]
fn a_hole_that_is_worked_on_is_in_flight() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 4, false));
    b.observe_trace(&taken(1, 1, Outcome::Delivered));
    b.observe_trace(&taken(1, 4, Outcome::Delivered));
    let now = GatewayCounters { taken: 3, working: 1, finished: 2, last: false, ..counters(3) };
    b.observe_counters(&now);
    let l = b.ledger(false);
    assert_eq!((l.lost_in_ros, l.in_flight, l.accounted()), (0, 2, 4));
    b.observe_counters(&GatewayCounters { missed: 1, finished: 3, working: 0, ..now });
    let l = b.ledger(false);
    assert_eq!((l.lost_in_ros, l.in_flight, l.accounted()), (1, 1, 4));
}

#[test]
fn a_robot_of_which_nothing_arrived_is_all_lost() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 7, true));
    b.observe_counters(&counters(0));
    let l = b.ledger(true);
    assert_eq!((l.published, l.lost_in_ros, l.accounted()), (7, 7, 7));
}

#[test]
fn a_foreign_robot_has_no_tail_and_says_so() {
    let mut b = LedgerBuilder::new();
    for n in [101, 102, 104] {
        b.observe_trace(&taken(1, n, Outcome::Delivered));
    }
    b.observe_counters(&counters(3));
    let l = b.ledger(true);
    assert_eq!((l.published, l.published_source), (4, PublishedSource::PublicationSequence));
    assert_eq!((l.lost_in_ros, l.lost_before_discovery), (1, 0));
    assert!(l.notes.iter().any(|n| n.contains("100 messages before")), "{:?}", l.notes);
    assert!(l.notes.iter().any(|n| n.contains("can't be known")), "{:?}", l.notes);
}

#[test]
fn outcomes_that_never_arrived_are_missed() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 2, true));
    b.observe_trace(&taken(1, 1, Outcome::Delivered));
    b.observe_counters(&counters(2));
    let l = b.ledger(true);
    assert!(!l.reconciles);
    assert!(l.notes.iter().any(|n| n.contains("took 2")), "{:?}", l.notes);
    assert_eq!((l.outcome_unknown, l.lost_in_ros, l.accounted()), (1, 0, 2));
}

#[test]
fn a_gateway_that_runs_has_not_told_its_last() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 3, true));
    b.observe_trace(&taken(1, 1, Outcome::Delivered));
    b.observe_counters(&GatewayCounters { last: false, ..counters(1) });
    let now = b.ledger_now();
    assert!(b.is_over() && now.reconciles, "{:?}", now.notes);
    assert_eq!((now.lost_in_ros, now.in_flight), (2, 0));
    // Without its last counters, a gateway that ended had been killed.
    let ended = b.ledger(true);
    adds_up(&ended);
    says(&ended, "ended without a word");
    assert_eq!((ended.lost_in_ros, ended.outcome_unknown), (0, 2));
}

/// What RELIABLE has not brought yet may still come, in order and to the gateway that is there.
#[test]
fn a_reliable_lane_is_not_over_before_its_last_message() {
    for (qos, over, lost) in [("RELIABLE", false, 0), ("BEST_EFFORT", true, 3)] {
        let mut b = LedgerBuilder::new();
        b.set_lane(&lane(&format!("{qos} VOLATILE KEEP_LAST 10")));
        b.observe_census(&census(1, 4, true));
        b.observe_trace(&told_by("a", 1));
        b.observe_counters(&told("a", 1, 1, 0));
        assert_eq!((b.is_over(), b.ledger_now().lost_in_ros), (over, lost), "{qos}");
        let mut next = b.clone();
        next.observe_counters(&told("b", 13_500, 0, 0));
        assert!(next.is_over(), "{qos}");
        b.observe_trace(&told_by("a", 4));
        b.observe_counters(&told("a", 1, 2, 2));
        assert_eq!((b.is_over(), b.ledger_now().lost_in_ros), (true, 2), "{qos}");
    }
}

/// Records come in the order in which messages were finished; only the gateway saw the order in
/// which they were taken.
#[test]
fn late_records_close_their_gap_and_only_the_gateway_tells_of_order() {
    let mut b = LedgerBuilder::new();
    for n in [1, 5, 3, 4, 2, 2] {
        let mut trace = taken(1, n, Outcome::Delivered);
        trace.oddities = if n == 3 { vec![REORDERED] } else { vec![] };
        b.observe_trace(&trace);
    }
    b.observe_counters(&counters(6));
    let l = b.ledger(true);
    assert_eq!((l.published, l.lost_in_ros, l.delivered), (5, 0, 5));
    assert_eq!((l.reordered, l.duplicates), (1, 1));
}

/// What a gateway told of messages 1 … 20: ranges of outcomes, taken, missed, whether it said that
/// these are its last counters.
type Gateways = (&'static [(u64, u64)], u64, u64, bool);

/// Two gateways, one after another, under a robot that goes on publishing, and what is to be
/// found: (before discovery, lost in ROS, unknown).
type Restart = (&'static str, Gateways, Gateways, (u64, u64, u64));

const RESTARTS: [Restart; 11] = [
    ("killed", (&[(1, 8)], 8, 0, false), (&[(14, 20)], 7, 0, true), (0, 0, 5)),
    ("a hole in work", (&[(1, 5), (7, 8)], 8, 0, false), (&[(14, 20)], 7, 0, true), (0, 0, 6)),
    ("a hole missed", (&[(1, 5), (7, 8)], 7, 1, false), (&[(14, 20)], 7, 0, true), (0, 1, 5)),
    ("ended in order", (&[(1, 8)], 8, 0, true), (&[(14, 20)], 7, 0, true), (5, 0, 0)),
    ("in order, a hole", (&[(1, 5), (7, 8)], 7, 1, true), (&[(14, 20)], 7, 0, true), (5, 1, 0)),
    ("1 and 2 in work", (&[(3, 8)], 13, 0, false), (&[(14, 20)], 7, 0, true), (0, 0, 7)),
    ("matched at 3", (&[(3, 8)], 6, 0, false), (&[(14, 20)], 7, 0, true), (2, 0, 5)),
    ("told nothing", (&[], 0, 0, false), (&[(14, 20)], 7, 0, true), (0, 0, 13)),
    ("both killed", (&[(1, 8)], 8, 0, false), (&[(14, 18)], 5, 0, false), (0, 0, 7)),
    ("the second took none", (&[(1, 8)], 8, 0, false), (&[], 0, 0, true), (0, 0, 12)),
    (
        "the second lost some",
        (&[(1, 8)], 8, 0, false),
        (&[(14, 15), (18, 19)], 4, 2, true),
        (0, 3, 5),
    ),
];

#[test]
fn what_a_gateway_took_with_it_is_unknown() {
    for (name, first, second, expected) in RESTARTS {
        let mut b = LedgerBuilder::new();
        b.set_lane(&lane("RELIABLE VOLATILE KEEP_LAST 10"));
        let clock = ClockId::new(GATEWAY);
        b.observe_census(&Census { clock, schedule_start_ns: S, ..census(1, 20, true) });
        let mut known = 0;
        for (gateway, started_ms, (ranges, taken, missed, last)) in
            [("a", 1, first), ("b", 13_500, second)]
        {
            let counters = told(gateway, started_ms, taken, missed);
            b.observe_counters(&GatewayCounters { last, ..counters });
            for n in ranges.iter().flat_map(|(from, to)| *from..=*to) {
                assert!(b.observe_trace(&told_by(gateway, n)));
                adds_up(&b.ledger(false));
                known += 1;
            }
        }
        let l = b.ledger(true);
        adds_up(&l);
        let found = (l.lost_before_discovery, l.lost_in_ros, l.outcome_unknown);
        assert_eq!(found, expected, "{name}");
        assert_eq!((l.published, l.delivered), (20, known), "{name}");
    }
}

/// While the second gateway runs, what the first one left is unknown and what is behind the last
/// message is in flight.
#[test]
fn a_dead_gateway_is_known_by_its_successor() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 20, false));
    b.observe_counters(&told("a", 1, 8, 0));
    for n in 1..=8 {
        b.observe_trace(&told_by("a", n));
    }
    assert_eq!((b.ledger_now().in_flight, b.ledger_now().outcome_unknown), (12, 0));
    b.observe_counters(&told("b", 13_500, 1, 0));
    b.observe_trace(&told_by("b", 14));
    let l = b.ledger_now();
    adds_up(&l);
    says(&l, "gateway a ended without a word");
    assert_eq!((l.outcome_unknown, l.in_flight), (5, 6));
    b.observe_census(&census(1, 14, true));
    assert!(!b.is_over(), "the largest census counts");
    for n in 15..=20 {
        b.observe_trace(&told_by("b", n));
    }
    b.observe_census(&census(1, 20, true));
    b.observe_counters(&told("b", 13_500, 7, 0));
    assert!(b.is_over());
    adds_up(&b.ledger_now());
    assert_eq!((b.ledger_now().outcome_unknown, b.ledger_now().in_flight), (5, 0));
}

/// Nothing tells how many a dead gateway took with it, when the robot sends no census: only that
/// it had taken some is known from its counters.
#[test]
fn without_a_census_only_what_was_taken_is_known() {
    let mut b = LedgerBuilder::new();
    for n in [5, 6, 7] {
        b.observe_trace(&told_by("a", n));
    }
    b.observe_counters(&told("a", 1, 5, 0));
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.published, l.outcome_unknown, l.delivered), (5, 2, 3));
    says(&l, "can't be known");
}

/// KEEP_LAST 1 at 500 Hz: the take is late, and the message that is left has waited. A loss on the
/// way has no such neighbour.
#[test]
fn overwritten_in_the_history_is_told_by_the_wait() {
    for (qos, waited, expected) in [
        ("BEST_EFFORT VOLATILE KEEP_LAST 1", 50_000, 0),
        ("BEST_EFFORT VOLATILE KEEP_LAST 1", MS, 3),
        ("BEST_EFFORT VOLATILE KEEP_LAST 5", MS, 0),
        ("BEST_EFFORT VOLATILE KEEP_LAST 5", 9 * MS, 3),
        ("BEST_EFFORT VOLATILE KEEP_ALL", 9 * MS, 0),
    ] {
        let mut b = LedgerBuilder::new();
        b.set_lane(&lane(qos));
        b.observe_census(&census(1, 20, true));
        for n in (1..=20).filter(|n| !(10..13).contains(n)) {
            let waited = if n == 13 { waited } else { 50_000 };
            b.observe_trace(&written(1, n, 2 * MS * i64::try_from(n).unwrap(), waited));
        }
        b.observe_counters(&GatewayCounters { missed: 3, ..counters(17) });
        let l = b.ledger(true);
        adds_up(&l);
        assert_eq!((l.lost_in_ros, l.overwritten_in_history), (3, expected), "{qos} {waited}");
        // DDS' own word stands above.
        b.observe_counters(&GatewayCounters { missed: 3, message_lost: 2, ..counters(17) });
        let l = b.ledger(true);
        adds_up(&l);
        assert_eq!((l.dds_lost, l.overwritten_in_history), (2, expected.min(1)));
    }
}

/// Users' case: 10 Hz into a reader that takes twice a second with KEEP_LAST 1, then 100 messages
/// at 1 kHz while HTTP stalls and the queue of 4 drops its oldest.
#[test]
fn newest_wins_and_every_drop_is_counted() {
    let mut b = LedgerBuilder::new();
    b.set_lane(&lane("BEST_EFFORT VOLATILE KEEP_LAST 1"));
    b.observe_census(&census(1, 150, true));
    let mut takes = 0;
    // Takes at 460 ms, 960 ms, …: the newest has waited 60 ms, the four before are overwritten.
    for n in (4..50).step_by(5) {
        let at = 100 * MS * i64::from(n);
        b.observe_trace(&written(1, u64::try_from(n + 1).unwrap(), at, 60 * MS));
        takes += 1;
    }
    // The burst: the reader keeps up, the queue does not.
    for n in 51..=150 {
        let at = 5 * S + MS * (n - 50);
        let mut trace = written(1, u64::try_from(n).unwrap(), at, 40_000);
        trace.outcome = match n {
            51..=146 => Outcome::QueueDropped,
            _ => Outcome::Delivered,
        };
        b.observe_trace(&trace);
        takes += 1;
    }
    b.observe_counters(&GatewayCounters { missed: 36, queue_dropped: 96, ..counters(takes) });
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.published, l.delivered, l.queue_dropped), (150, 14, 96));
    // The four before the first take are before the first number known.
    assert_eq!((l.lost_before_discovery, l.lost_in_ros, l.overwritten_in_history), (4, 36, 36));
}

/// Of a part of a run only its own messages count, and those of others are no holes in it.
#[test]
fn a_part_of_a_run_counts_its_own_messages() {
    let mut others = LedgerBuilder::new();
    // 12 was taken before its time, 18 after the part had ended; 5 was lost before.
    for number in (1..=10).filter(|n| *n != 5).chain([12, 18, 22]) {
        assert!(others.observe_trace(&told_by("g", number)));
    }
    let mut part = LedgerBuilder::new();
    part.observe_elsewhere(&others.account());
    // 15 is nowhere, and 9 comes a second time.
    for number in [11, 13, 14, 16, 17, 19, 20] {
        assert!(part.observe_trace(&told_by("g", number)), "{number}");
    }
    assert!(!part.observe_trace(&told_by("g", 9)));
    part.observe_counters(&counters(8));
    let ledger = part.ledger(true);
    assert_eq!((ledger.published, ledger.delivered, ledger.lost_in_ros), (8, 7, 1));
    assert_eq!(
        (ledger.duplicates, ledger.published_source),
        (1, PublishedSource::PublicationSequence)
    );
    assert!(ledger.reconciles && ledger.accounted() == ledger.published, "{ledger:?}");
    assert!(ledger.notes.iter().any(|note| note.contains("a part of a run")), "{ledger:?}");
    assert!(!ledger.notes.iter().any(|note| note.contains("census")), "{ledger:?}");

    // One that was taken, and of which nobody told what became of it, is not lost in ROS.
    part.observe_counters(&counters(9));
    let ledger = part.ledger(true);
    assert_eq!((ledger.lost_in_ros, ledger.outcome_unknown, ledger.reconciles), (0, 1, false));
}
