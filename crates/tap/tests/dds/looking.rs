//! What the graph tells of a subscription that gets nothing.

use super::peer::{Peer, Plan};
use super::{Listening, PATIENCE};
use hopwatch_tap::{
    Durability, Elsewhere, Period, Picture, Policy, Qos, TapError, TapEvent, TypeSupport, misfits,
};
use r2r::hopwatch_msgs::msg::Census;
use std::thread;
use std::time::{Duration, Instant};

const OURS: &str = "hopwatch_msgs/msg/RobotMessage";

/// A publisher that publishes a hundred times a second.
fn busy(domain: usize, topic: &str, qos: Qos) -> Plan<'_> {
    let period = Duration::from_millis(10);
    Plan { domain, topic, qos, count: 10_000, period, wait: false }
}

/// Looks until the picture is as `wanted`.
fn look(listening: &Listening, what: &str, wanted: impl Fn(&Picture) -> bool) -> Picture {
    let graph = listening.tap.graph();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let picture = graph.look(0).unwrap();
        if wanted(&picture) {
            return picture;
        }
        assert!(Instant::now() < deadline, "no {what}: {picture:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The publisher is there by name.
fn named(picture: &Picture) -> bool {
    picture.publishers.first().is_some_and(|publisher| publisher.node.is_some())
}

/// The event on settings that don't fit, of which nothing may come.
fn misfit(listening: &mut Listening) -> (Policy, String) {
    listening.next("word of the misfit", |event| match event {
        TapEvent::IncompatibleQos { policy, advice, .. } => Some((policy, advice)),
        TapEvent::Taken { .. } => panic!("a message came through: {event:?}"),
        _ => None,
    })
}

#[test]
fn a_volatile_publisher_is_too_weak_for_transient_local() {
    let topic = "/volatile";
    let asked = Qos { durability: Durability::TransientLocal, ..Qos::RELIABLE };
    let mut listening = Listening::to(90, topic, asked);
    let _peer = Peer::start(busy(90, topic, Qos::RELIABLE));
    let (policy, advice) = misfit(&mut listening);
    assert_eq!(policy, Policy::Durability);
    for part in ["publisher /peer offers RELIABLE VOLATILE", "TRANSIENT_LOCAL KEEP_LAST 10"] {
        assert!(advice.contains(part), "{part:?} is missing in: {advice}");
    }
    let picture = look(&listening, "publisher", named);
    assert_eq!(picture.matched, 0);
}

#[test]
fn a_longer_deadline_is_too_weak_for_a_shorter_one() {
    let topic = "/deadline";
    let asked = Qos { deadline: Period::Of(Duration::from_millis(500)), ..Qos::RELIABLE };
    let mut listening = Listening::to(91, topic, asked);
    let plan = busy(91, topic, Qos::RELIABLE);
    let _peer = Peer::start_with(plan, &[("PEER_DEADLINE_MS", "2000")]);
    let (policy, advice) = misfit(&mut listening);
    assert_eq!(policy, Policy::Deadline);
    for part in ["offers RELIABLE VOLATILE DEADLINE 2s", "KEEP_LAST 10 DEADLINE 500ms"] {
        assert!(advice.contains(part), "{part:?} is missing in: {advice}");
    }
    // The graph tells the same without an event.
    let picture = look(&listening, "publisher", named);
    let found = misfits(asked, &picture.publishers[0]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, Policy::Deadline);
}

#[test]
fn a_publisher_of_another_type_is_seen_with_it() {
    let topic = "/typed";
    let mut listening = Listening::to(92, topic, Qos::RELIABLE);
    let plan = busy(92, topic, Qos::RELIABLE);
    let _peer = Peer::start_with(plan, &[("PEER_OTHER_TYPE", "1")]);
    listening.next("a change of the graph", |event| {
        matches!(event, TapEvent::GraphChanged).then_some(())
    });
    let picture = look(&listening, "publisher", named);
    let publisher = &picture.publishers[0];
    assert_eq!(publisher.topic_type, "hopwatch_msgs/msg/Census");
    assert_eq!(publisher.type_hash, TypeSupport::of::<Census>().hash());
    assert_eq!((picture.matched, picture.topic.as_str()), (0, topic));
}

#[test]
fn topics_that_could_have_been_meant_are_found() {
    let listening = Listening::to(93, "/robot_messages", Qos::RELIABLE);
    assert_eq!(listening.tap.graph().look(0).unwrap().elsewhere, []);
    let _right_type = Peer::start(busy(93, "/robot_msgs", Qos::RELIABLE));
    let other = [("PEER_OTHER_TYPE", "1")];
    let _right_name = Peer::start_with(busy(93, "/ns/robot_messages", Qos::RELIABLE), &other);
    let _neither = Peer::start_with(busy(93, "/neither", Qos::RELIABLE), &other);
    // Somebody else who only listens is nowhere to go.
    let _listener = Listening::to(93, "/listened_to", Qos::RELIABLE);
    let picture = look(&listening, "topics", |picture| picture.elsewhere.len() >= 2);
    let of = |topic: &str, of: &str| Elsewhere { topic: topic.into(), types: vec![of.into()] };
    let mut found = picture.elsewhere;
    found.sort_by(|a, b| a.topic.cmp(&b.topic));
    assert_eq!(
        found,
        [of("/ns/robot_messages", "hopwatch_msgs/msg/Census"), of("/robot_msgs", OURS)]
    );
    assert_eq!((picture.publishers, picture.matched), (vec![], 0));
}

/// Discovery goes by UDP and finds both; data would go by a shared memory that they don't share.
#[test]
fn matched_and_nothing_comes_is_seen_for_real() {
    let topic = "/apart";
    let mut listening = Listening::to(94, topic, Qos::RELIABLE);
    let _peer = match Peer::start_apart(busy(94, topic, Qos::RELIABLE)) {
        Ok(peer) => peer,
        Err(why) => {
            // `./hopwatch test` sets it where there must be one.
            let required =
                std::env::var_os("HOPWATCH_REQUIRE_NAMESPACES").is_some_and(|value| value == "1");
            assert!(!required, "no /dev/shm of its own for a process here: {why}");
            eprintln!("skipped: no /dev/shm of its own for a process here: {why}");
            return;
        }
    };
    listening.next("a match", |event| match event {
        TapEvent::Matched { current: 1, .. } => Some(()),
        _ => None,
    });
    let picture = look(&listening, "publisher", |picture| picture.matched == 1);
    assert_eq!(picture.publishers.len(), 1, "{picture:?}");
    assert_eq!(misfits(Qos::RELIABLE, &picture.publishers[0]), []);
    // A hundred a second would have come by now, many times over; one that does come is a failure.
    let until = Instant::now() + Duration::from_secs(2);
    while let Ok(event) =
        listening.events.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        assert!(!matches!(event, TapEvent::Taken { .. }), "it came through: {event:?}");
    }
    // Its node's name would have come in the same way as data does.
    assert_eq!(look(&listening, "publisher", |_| true).publishers[0].node, None);
}

#[test]
fn a_tap_that_has_ended_answers_nobody() {
    let listening = Listening::to(95, "/over", Qos::RELIABLE);
    let graph = listening.tap.graph();
    assert!(matches!(graph.look(1), Err(TapError::NoSuchSubscription { subscription: 1 })));
    listening.tap.stop().unwrap();
    assert!(matches!(graph.look(0), Err(TapError::Ended)));
}
