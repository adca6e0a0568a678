use super::*;
use crate::lane::tests::trace_of;
use hopwatch_model::ClockId;
use proptest::prelude::*;

fn taken(writer: u8, number: u64, outcome: Outcome) -> Trace {
    Trace {
        publisher: PublisherId([writer; 16]),
        publication_sequence: Some(number),
        robot_id: format!("robot_{writer:03}"),
        outcome,
        ..trace_of(&[])
    }
}

fn census(robot: u8, published: u64, last: bool) -> Census {
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

fn counters(taken: u64) -> GatewayCounters {
    GatewayCounters { taken, finished: taken, last: true, ..GatewayCounters::default() }
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
    let mut now = GatewayCounters { taken: 3, working: 1, finished: 2, ..counters(3) };
    now.last = false;
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
    let ended = b.ledger(true);
    assert!(!ended.reconciles && ended.notes[0].contains("last counters"), "{:?}", ended.notes);
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
    let l = b.ledger(true);
    assert_eq!((l.published, l.lost_in_ros, l.delivered), (5, 0, 5));
    assert_eq!((l.reordered, l.duplicates), (1, 1));
}

proptest! {
    /// published = lost + dropped + failed + delivered + in flight, at every moment, whatever
    /// is lost, doubled and reordered, in whatever order it becomes known.
    #[test]
    fn conservation_at_every_moment(
        published in 1u64..60,
        fates in prop::collection::vec((0u8..8, any::<u16>()), 60),
        doubled in any::<u8>(),
    ) {
        let mut events: Vec<(u16, Trace)> = Vec::new();
        for n in 1..=published {
            let (fate, order) = fates[usize::try_from(n - 1).unwrap()];
            let outcome = match fate {
                0 | 1 => continue, // lost in ROS
                2 => Outcome::QueueDropped,
                3 => Outcome::ServiceFailed(Stage::Ai, Failure::Failed),
                4 => Outcome::ServiceFailed(Stage::Web, Failure::TimedOut),
                _ => Outcome::Delivered,
            };
            events.push((order, taken(1, n, outcome)));
            if n == u64::from(doubled) {
                events.push((order.wrapping_add(1), taken(1, n, outcome)));
            }
        }
        events.sort_by_key(|(order, _)| *order);
        let mut b = LedgerBuilder::new();
        b.observe_census(&census(1, published, true));
        for (_, trace) in &events {
            b.observe_trace(trace);
            let l = b.ledger(false);
            prop_assert_eq!(l.accounted(), l.published);
            prop_assert!(l.reconciles, "{:?}", l.notes);
        }
        b.observe_counters(&counters(events.len() as u64));
        let l = b.ledger(true);
        prop_assert_eq!((l.accounted(), l.published), (published, published));
        prop_assert!(l.reconciles, "{:?}", l.notes);
    }
}
