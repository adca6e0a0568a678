use super::tests::{MS, S, adds_up, census, counters, lane, says, taken, written};
use super::*;
use crate::lane::tests::GATEWAY;
use hopwatch_model::{ClockId, Failure, PublishedSource, PublisherId, Stage};
use proptest::prelude::*;

/// An instance and its writer: `messages` of them by a 1 Hz schedule from `start`.
fn life(b: &mut LedgerBuilder, instance: &str, writer: u8, start: Ns, messages: u64, lost: u64) {
    b.observe_census(&Census {
        robot_id: "robot_001".into(),
        instance: instance.into(),
        clock: ClockId::new(GATEWAY),
        schedule_start_ns: start,
        ..census(1, messages, true)
    });
    for n in (1..=messages).filter(|n| *n != lost) {
        let at = start + S * (i64::try_from(n).unwrap() - 1);
        let trace = written(writer, n, at + 20_000, 50_000);
        assert!(b.observe_trace(&Trace { robot_id: "robot_001".into(), ..trace }));
    }
}

#[test]
fn a_restart_is_no_duplicate_and_no_loss() {
    let mut b = LedgerBuilder::new();
    life(&mut b, "one", 1, 0, 10, 5);
    life(&mut b, "two", 2, 60 * S, 7, 0);
    life(&mut b, "three", 3, 100 * S, 3, 3);
    b.observe_counters(&counters(18));
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.published, l.delivered, l.lost_in_ros), (20, 18, 2));
    assert_eq!((l.restarts, l.duplicates, l.duplicate_ids), (2, 0, 0));
    says(&l, "robot_001 restarted 2 times");
}

/// Its counts go on, its messages are of one writer: it is the same start of the robot, in whatever
/// order the words come, and when the first one never came.
#[test]
fn a_robot_whose_rate_was_changed_is_counted_once() {
    let told = |start: Ns, rate_hz: f64, first_sequence: i32, published: u64, last: bool| Census {
        clock: ClockId::new(GATEWAY),
        schedule_start_ns: start,
        rate_hz,
        first_sequence,
        ..census(1, published, last)
    };
    let words = [
        told(0, 1.0, 0, 0, false),
        told(0, 1.0, 0, 9, false),
        told(10 * S, 4.0, 10, 9, false),
        told(10 * S, 4.0, 10, 20, false),
        told(20 * S, 2.0, 50, 60, true),
    ];
    for order in [vec![0, 1, 2, 3, 4], vec![4, 2, 0, 3, 1], vec![4], vec![3, 2, 4]] {
        let mut b = LedgerBuilder::new();
        for word in &order {
            b.observe_census(&words[*word]);
        }
        for number in (1..=60).filter(|n| *n != 30 && *n != 60) {
            b.observe_trace(&taken(1, number, Outcome::Delivered));
        }
        b.observe_counters(&counters(58));
        let l = b.ledger(true);
        adds_up(&l);
        assert_eq!((l.published, l.delivered, l.lost_in_ros), (60, 58, 2), "{order:?}");
        assert_eq!((l.restarts, &l.notes, b.is_over()), (0, &vec![], true), "{order:?}");
        let instances: Vec<_> = b.instances().collect();
        assert_eq!((instances.len(), instances[0].published, instances[0].last), (1, 60, true));
        let schedules = b.census().map(|census| census.schedule_start_ns).collect::<Vec<_>>();
        let mut expected = order.iter().map(|n| words[*n].schedule_start_ns).collect::<Vec<_>>();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(schedules, expected);
    }
}

#[test]
fn two_robots_with_one_id_are_named_and_counted_apart() {
    let mut b = LedgerBuilder::new();
    life(&mut b, "one", 1, 0, 30, 4);
    // A census that lags behind shows that they are not thrown together.
    life(&mut b, "two", 2, 10 * S, 10, 0);
    b.observe_trace(&Trace {
        robot_id: "robot_001".into(),
        ..written(2, 12, 21 * S + 20_000, 50_000)
    });
    b.observe_counters(&counters(40));
    let l = b.ledger(true);
    assert_eq!((l.published, l.delivered, l.lost_in_ros, l.accounted()), (42, 40, 2, 42));
    assert_eq!((l.restarts, l.duplicates), (0, 0));
    says(
        &l,
        "two robots call themselves robot_001 at the same time, instance one and instance two",
    );
}

#[test]
fn two_foreign_writers_with_one_id_are_named() {
    let mut b = LedgerBuilder::new();
    for n in 1..=5 {
        for writer in [1, 2] {
            let at = S * i64::try_from(n).unwrap() + i64::from(writer);
            let trace = written(writer, n, at, 50_000);
            b.observe_trace(&Trace { robot_id: "x".into(), ..trace });
        }
    }
    b.observe_counters(&counters(10));
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.published, l.delivered, l.restarts), (10, 10, 0));
    says(&l, "x is heard from writer 0101");
}

/// One writer that speaks for two robots of the census, and one robot with two writers.
#[test]
fn robots_and_writers_that_belong_together_are_counted_once() {
    for writers in [[1, 1], [1, 2]] {
        let mut b = LedgerBuilder::new();
        b.observe_census(&census(1, 5, true));
        if writers[0] == writers[1] {
            b.observe_census(&census(2, 5, true));
        }
        let mut number = [0, 0, 0];
        for n in 0..10 {
            let writer = writers[n % 2];
            number[usize::from(writer)] += 1;
            let robot = if writers[0] == writers[1] { n % 2 + 1 } else { 1 };
            let trace = taken(writer, number[usize::from(writer)], Outcome::Delivered);
            // The last one is lost.
            if n < 9 {
                b.observe_trace(&Trace { robot_id: format!("robot_{robot:03}"), ..trace });
            }
        }
        let published = if writers[0] == writers[1] { 10 } else { 9 };
        b.observe_counters(&counters(9));
        let l = b.ledger(true);
        adds_up(&l);
        assert_eq!((l.published, l.delivered), (published, 9), "{writers:?}");
        assert_eq!((l.restarts, l.published_source), (0, PublishedSource::Census));
    }
}

/// A writer of one robot with a census and one without: its numbers tell more than the census.
#[test]
fn a_writer_that_is_half_counted_goes_by_its_numbers() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 3, true));
    for n in 1..=6 {
        let robot = if n % 2 == 0 { "robot_001" } else { "stranger" };
        let trace = taken(1, n, Outcome::Delivered);
        b.observe_trace(&Trace { robot_id: robot.into(), ..trace });
    }
    b.observe_counters(&counters(6));
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.published, l.published_source), (6, PublishedSource::PublicationSequence));
    says(&l, "stranger sends no census");
}

/// Where DDS numbers nothing, the header's sequence does: it begins anew after 2^31 − 1, at 0 or
/// at −2^31, and with each start of the robot.
#[test]
fn a_header_sequence_that_wraps_loses_nothing() {
    const END: i32 = i32::MAX;
    for sequences in [
        [END - 2, END - 1, END, 0, 1, 3],
        [END - 2, END - 1, END, i32::MIN, i32::MIN + 1, i32::MIN + 3],
        [0, 1, 3, END, END - 1, END - 2],
    ] {
        for counted in [true, false] {
            let mut b = LedgerBuilder::new();
            for sequence in sequences {
                let trace = taken(1, 1, Outcome::Delivered);
                assert!(b.observe_trace(&Trace { publication_sequence: None, sequence, ..trace }));
            }
            if counted {
                b.observe_census(&Census { first_sequence: END - 4, ..census(1, 10, true) });
            }
            b.observe_counters(&counters(6));
            let l = b.ledger(true);
            adds_up(&l);
            let expected = if counted { (10, 2, 2) } else { (7, 0, 1) };
            assert_eq!((l.published, l.lost_before_discovery, l.lost_in_ros), expected);
        }
    }
}

#[test]
fn a_restart_is_none_of_the_header_either() {
    let mut b = LedgerBuilder::new();
    for (writer, start) in [(1, 0), (2, 50 * S)] {
        for n in 1..=4 {
            let trace = written(writer, n, start + S * i64::try_from(n).unwrap(), 50_000);
            let robot_id = "robot_001".to_owned();
            assert!(b.observe_trace(&Trace { publication_sequence: None, robot_id, ..trace }));
        }
    }
    b.observe_counters(&counters(8));
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.published, l.delivered, l.duplicates, l.restarts), (8, 8, 0, 1));
}

#[test]
fn an_id_used_again_is_counted_beside() {
    let mut b = LedgerBuilder::new();
    b.observe_census(&census(1, 4, true));
    for (n, id) in [(1, "a"), (2, "b"), (3, "a"), (4, "")] {
        let trace = Trace { message_id: id.into(), ..taken(1, n, Outcome::Delivered) };
        assert!(b.observe_trace(&trace));
    }
    // The same message again is a duplicate, and no second use of its id.
    b.observe_trace(&Trace { message_id: "b".into(), ..taken(1, 2, Outcome::Delivered) });
    b.observe_counters(&counters(5));
    let l = b.ledger(true);
    adds_up(&l);
    assert_eq!((l.delivered, l.duplicates, l.duplicate_ids), (4, 1, 1));
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

#[path = "ledger_world_tests.rs"]
mod world;

/// Records may say anything; sums of it end at the largest number there is.
#[test]
fn numbers_that_nobody_counts_to_overflow_nothing() {
    for dead in [false, true] {
        let mut ledger = LedgerBuilder::new();
        for writer in 1..=20 {
            for number in [1, 1 << 62, (1 << 63) - 1, u64::MAX] {
                ledger.observe_trace(&taken(writer, number, Outcome::Delivered));
            }
            let instance = format!("i{writer}");
            ledger.observe_census(&Census { instance, ..census(writer, u64::MAX, true) });
        }
        let crafted = GatewayCounters {
            taken: u64::MAX,
            queued: u64::MAX,
            working: u64::MAX,
            missed: u64::MAX,
            message_lost: u64::MAX,
            last: !dead,
            ..counters(u64::MAX)
        };
        ledger.observe_counters(&crafted);
        ledger.observe_counters(&GatewayCounters { gateway: "h".into(), ..crafted });
        let account = ledger.account();
        for _ in 0..3 {
            ledger.observe_account(&account);
        }
        for ended in [false, true] {
            assert_eq!(ledger.ledger(ended).published, u64::MAX);
        }
        assert_eq!(ledger.ledger_now().published, u64::MAX);
    }
}
