use super::*;
use crate::config::DropPolicy;
use crate::contents::Contents;
use crate::intake::Intake;
use crate::pipeline::UnderWay;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::SystemClock;
use hopwatch_link::{Call, CallError, Link, LinkKind, Request};
use hopwatch_tap::WallBracket;
use std::time::Duration;

/// A service that never answers.
struct Silent;

impl Link for Silent {
    fn call(&self, _: Request) -> BoxFuture<'_, Call> {
        std::future::pending().boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        std::future::pending().boxed()
    }
}

fn lane(name: &str, topic: &str, qos: Qos) -> (Lane, Arc<Pipeline>) {
    let pipeline = Pipeline {
        lane: name.to_owned(),
        contents: Contents::of_robots(),
        clock: Arc::new(SystemClock::default()),
        intake: Arc::new(Intake::new(1, 9, DropPolicy::Oldest)),
        ai: Arc::new(Silent),
        web: Arc::new(Silent),
        ai_timeout: Duration::from_secs(1),
        web_timeout: Duration::from_secs(1),
        drain: Duration::from_secs(1),
        record: Box::new(|_| {}),
        bodies: None,
        under_way: UnderWay::default(),
    };
    let (name, topic, link) = (name.to_owned(), topic.to_owned(), LinkKind::Http1);
    let message_type = ROBOT_MESSAGE.to_owned();
    (Lane { name, topic, message_type, qos, link }, Arc::new(pipeline))
}

fn taken(number: u64, taken_mono_ns: Ns) -> Taken {
    Taken {
        bytes: Bytes::new(),
        source_wall_ns: 0,
        received_wall_ns: 0,
        publication_sequence: Some(number),
        publisher: PublisherId([1; 16]),
        taken_mono_ns,
        bracket: WallBracket { mono_before: 0, wall: 0, mono_after: 0 },
    }
}

fn topics() -> Vec<Topic> {
    let lanes = [
        lane("a", "/t", Qos::BEST_EFFORT),
        lane("b", "/t", Qos::RELIABLE),
        lane("c", "/t", Qos::BEST_EFFORT),
        lane("d", "/u", Qos::BEST_EFFORT),
    ];
    Topic::all(&lanes, 5000, "here").unwrap()
}

#[test]
fn lanes_of_one_topic_and_qos_share_a_subscription() {
    let topics = topics();
    let words: Vec<String> = topics.iter().map(Topic::in_words).collect();
    assert_eq!(words, ["/t (lanes a, c)", "/t (lane b)", "/u (lane d)"]);
    let subscription = topics[1].subscription();
    assert_eq!((&*subscription.topic, subscription.qos), ("/t", Qos::RELIABLE));
}

#[tokio::test]
async fn each_lane_of_a_topic_gets_every_message_and_its_losses() {
    let topics = topics();
    let (topic, mut seen) = (&topics[0], Seen::default());
    assert!(topic.is_mute());
    for number in [1, 4, 3] {
        let news = topic.message(taken(number, 0), &mut seen, &Handle::current());
        assert!(news.is_empty());
    }
    assert!(!topic.is_mute() && topics[1].is_mute());
    topic.message_lost.store(7, Ordering::Relaxed);
    let counters: Vec<_> = topic.counters().collect();
    assert_eq!(counters.iter().map(|c| c.lane.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    for c in counters {
        assert_eq!((c.taken, c.queued, c.missed, c.message_lost), (3, 3, 1, 7));
    }
}

/// The runtime has one thread, which is this one: what is begun at once was begun here.
#[tokio::test]
async fn after_a_pause_each_lane_is_begun_here_and_another_one_first_each_time() {
    let topics = topics();
    let (topic, mut seen) = (&topics[0], Seen::default());
    let first = |seen: &Seen| topic.in_turn(seen).next().map(|lane| lane.lane.clone());
    let mut firsts = Vec::new();
    for number in 1..=4 {
        let at = i64::try_from(number).unwrap() * 1_000_000_000;
        let _ = topic.message(taken(number, at), &mut seen, &Handle::current());
        firsts.push(first(&seen).unwrap());
        topic.idle(&seen, &Handle::current());
    }
    assert_eq!(firsts, ["c", "a", "c", "a"]);
    // Undecodable, so each ended where it was begun.
    for c in topic.counters() {
        assert_eq!((c.taken, c.finished, c.queued), (4, 4, 0));
    }
}
