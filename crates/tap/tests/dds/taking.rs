//! Messages come whole, in order, with their stamps and counts.

use super::peer::{self, Peer, Plan, RobotMessage, message};
use super::{Listening, PATIENCE};
use hopwatch_tap::{Durability, Qos, Taken, TapEvent};
use r2r::WrappedTypesupport;
use std::thread;
use std::time::{Duration, Instant};

fn take(listening: &mut Listening, count: usize) -> Vec<Taken> {
    (0..count)
        .map(|at| {
            listening.next(&format!("message {at}"), |event| match event {
                TapEvent::Taken { subscription: 0, message } => Some(message),
                TapEvent::MessageLost { .. } | TapEvent::TakeFailed { .. } => panic!("{event:?}"),
                _ => None,
            })
        })
        .collect()
}

/// The published messages' indices, checked against what was published.
fn indices(taken: &[Taken]) -> Vec<i32> {
    taken
        .iter()
        .map(|taken| {
            let decoded = RobotMessage::from_serialized_bytes(&taken.bytes).unwrap();
            assert_eq!(decoded, message(decoded.header.sequence));
            decoded.header.sequence
        })
        .collect()
}

#[test]
fn a_message_comes_with_its_stamps_and_counts() {
    let topic = "/robot_messages";
    // Deep enough for all of them: a busy machine must not make the test lose any.
    let qos = Qos { depth: 200, ..Qos::RELIABLE };
    let mut listening = Listening::to(60, topic, qos);
    let _peer = Peer::start(Plan {
        domain: 60,
        topic,
        qos,
        count: 200,
        period: Duration::from_millis(2),
        wait: true,
    });
    let taken = take(&mut listening, 200);

    assert_eq!(indices(&taken), (0..200).collect::<Vec<_>>());
    let sequences: Vec<_> = taken.iter().filter_map(|taken| taken.publication_sequence).collect();
    assert_eq!(sequences, (1..=200).collect::<Vec<_>>());
    assert!(taken.iter().all(|taken| taken.publisher == taken_from(&listening, topic)));
    for pair in taken.windows(2) {
        assert!(pair[0].taken_mono_ns < pair[1].taken_mono_ns);
        assert!(pair[0].source_wall_ns < pair[1].source_wall_ns);
    }
    for taken in &taken {
        // One host, one wall clock: the stamps are in the order of the way.
        let bracket = taken.bracket;
        assert!(taken.taken_mono_ns <= bracket.mono_before, "{taken:?}");
        assert!(bracket.mono_before <= bracket.mono_after, "{taken:?}");
        assert!(taken.source_wall_ns <= taken.received_wall_ns, "{taken:?}");
        // The bracket's wall reading isn't before mono_before, so this maps the take not too late.
        let taken_wall_at_most = bracket.wall - (bracket.mono_before - taken.taken_mono_ns);
        assert!(taken.received_wall_ns <= taken_wall_at_most, "{taken:?}");
    }
}

/// The graph's one publisher of the topic, when it is what it should be.
fn taken_from(listening: &Listening, topic: &str) -> hopwatch_model::PublisherId {
    let publishers = listening.tap.publishers(topic).unwrap();
    let [publisher] = publishers.as_slice() else { panic!("one publisher: {publishers:?}") };
    assert_eq!(publisher.topic_type, "hopwatch_msgs/msg/RobotMessage");
    assert_eq!(publisher.offer(), "RELIABLE VOLATILE");
    publisher.id
}

#[test]
fn a_burst_is_taken_whole() {
    let topic = "/burst";
    let qos = Qos { depth: 1_000, ..Qos::RELIABLE };
    let mut listening = Listening::to(61, topic, qos);
    let plan = Plan { domain: 61, topic, qos, count: 1_000, period: Duration::ZERO, wait: true };
    let _peer = Peer::start(plan);
    let taken = take(&mut listening, 1_000);
    assert_eq!(indices(&taken), (0..1_000).collect::<Vec<_>>());
    let sequences: Vec<_> = taken.iter().filter_map(|taken| taken.publication_sequence).collect();
    assert_eq!(sequences, (1..=1_000).collect::<Vec<_>>());
}

#[test]
fn a_late_tap_gets_the_last_message_of_a_transient_local_publisher() {
    let topic = "/latched";
    let qos = Qos { durability: Durability::TransientLocal, depth: 1, ..Qos::RELIABLE };
    let plan = Plan { domain: 66, topic, qos, count: 5, period: Duration::ZERO, wait: false };
    let _peer = Peer::start(plan);
    // A first tap knows when all is published, a second one comes late for sure.
    let mut first = Listening::to(66, topic, qos);
    first.next("the last message", |event| match event {
        TapEvent::Taken { message, .. } => (message.publication_sequence == Some(5)).then_some(()),
        _ => None,
    });
    let mut late = Listening::to(66, topic, qos);
    let taken = take(&mut late, 1);
    assert_eq!(indices(&taken), [4]);
    assert_eq!(taken[0].publication_sequence, Some(5));
}

#[test]
fn publishers_come_and_go() {
    let topic = "/coming";
    let plan = Plan {
        domain: 67,
        topic,
        qos: Qos::BEST_EFFORT,
        count: 0,
        period: Duration::ZERO,
        wait: false,
    };
    let mut listening = Listening::to(67, topic, Qos::BEST_EFFORT);
    assert_eq!(listening.tap.publishers(topic).unwrap(), []);
    let peer = Peer::start(plan);
    let matched = |event| match event {
        TapEvent::Matched { subscription: 0, current, change } => Some((current, change)),
        _ => None,
    };
    assert_eq!(listening.next("a match", matched), (1, 1));
    // A relative name is resolved in the tap's namespace.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let publishers = listening.tap.publishers("coming").unwrap();
        if let [publisher] = publishers.as_slice()
            && let Some(node) = &publisher.node
        {
            assert_eq!(*node, format!("/{}", peer::NODE));
            assert_eq!(publisher.offer(), "BEST_EFFORT VOLATILE");
            break;
        }
        assert!(Instant::now() < deadline, "no publisher with a node: {publishers:?}");
        thread::sleep(Duration::from_millis(5));
    }
    drop(peer);
    assert_eq!(listening.next("its end", matched), (0, -1));
}
