//! The program against real DDS, with the tap as its reader.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use hopwatch_model::Ns;
use hopwatch_model::census::due_ns;
use hopwatch_tap::{Durability, Qos, Subscription, Taken, Tap, TapConfig, TapEvent, TypeSupport};
use r2r::WrappedTypesupport;
use r2r::hopwatch_msgs::msg::{Census, RobotMessage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longer than any of this takes, by far.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize, PartialEq)]
struct Summary {
    robots: u32,
    published: u64,
    failed: u64,
    late_over_1ms: u64,
    max_late_ns: Ns,
}

/// Each robot's censuses in the order in which they were told.
type Censuses = BTreeMap<String, Vec<Census>>;

struct Reader {
    _tap: Tap,
    events: Receiver<TapEvent>,
}

impl Reader {
    /// Subscription 0 takes messages, 1 the censuses.
    fn start(domain: usize, qos: Qos) -> Self {
        assert_eq!(
            std::env::var("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref(),
            Ok("LOCALHOST"),
            "these tests talk DDS: run them with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST"
        );
        let census_qos =
            Qos { durability: Durability::TransientLocal, depth: 100, ..Qos::RELIABLE };
        let config = TapConfig {
            node_name: "reader".into(),
            namespace: String::new(),
            domain_id: Some(domain),
            subscriptions: vec![
                Subscription {
                    topic: "/robot_messages".into(),
                    type_support: TypeSupport::of::<RobotMessage>(),
                    qos,
                },
                Subscription {
                    topic: "/hopwatch/census".into(),
                    type_support: TypeSupport::of::<Census>(),
                    qos: census_qos,
                },
            ],
        };
        let (sink, events) = channel();
        let tap = Tap::start(config, move |event| {
            let _ = sink.send(event);
        })
        .unwrap();
        Self { _tap: tap, events }
    }

    /// All that is taken until every robot has told its last census.
    fn read(&self, robots: usize) -> (Vec<(RobotMessage, Taken)>, Censuses) {
        let deadline = Instant::now() + PATIENCE;
        let mut messages = Vec::new();
        let mut censuses = Censuses::new();
        let done = |censuses: &Censuses| {
            censuses.len() == robots
                && censuses.values().all(|told| told.last().is_some_and(|last| last.final_))
        };
        while !done(&censuses) {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(TapEvent::Taken { subscription: 0, message }) => {
                    let decoded = RobotMessage::from_serialized_bytes(&message.bytes).unwrap();
                    messages.push((decoded, message));
                }
                Ok(TapEvent::Taken { message, .. }) => {
                    let census = Census::from_serialized_bytes(&message.bytes).unwrap();
                    censuses.entry(census.robot_id.clone()).or_default().push(census);
                }
                Ok(_) => {}
                Err(error @ (RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) => {
                    panic!("{error}: {} messages, {censuses:?}", messages.len())
                }
            }
        }
        // The last census can overtake the last messages: they are other writers.
        while let Ok(event) = self.events.recv_timeout(Duration::from_millis(200)) {
            if let TapEvent::Taken { subscription: 0, message } = event {
                let decoded = RobotMessage::from_serialized_bytes(&message.bytes).unwrap();
                messages.push((decoded, message));
            }
        }
        (messages, censuses)
    }
}

fn start(flags: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hopwatch-robot-sim"))
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Its summary and what it said, when it ended well.
fn finish(child: Child) -> (Summary, String) {
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{:?}: {log}", output.status);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    (serde_json::from_str(&stdout).unwrap(), log)
}

#[test]
fn what_two_robots_publish_arrives_and_their_censuses_tell_of_it() {
    let reader = Reader::start(70, Qos { depth: 200, ..Qos::RELIABLE });
    let robots = start(&[
        "--domain=70",
        "--qos=reliable",
        "--robots=2",
        "--rate=50",
        "--count=100",
        "--payload-bytes=600",
    ]);
    let (messages, censuses) = reader.read(2);
    let (summary, _) = finish(robots);

    assert_eq!((summary.robots, summary.published, summary.failed), (2, 200, 0));
    assert_eq!(messages.len(), 200);
    let clock = hopwatch_kit::clock::clock_id();
    for (id, told) in &censuses {
        let (first, last) = (told.first().unwrap(), told.last().unwrap());
        assert_eq!((first.published, first.final_), (0, false), "told before the first message");
        assert_eq!((last.published, last.failed, last.final_), (100, 0, true));
        assert_eq!((last.first_sequence, last.rate_hz), (0, 50.0));
        assert_eq!(last.clock_id, clock.as_str());
        assert!(told.iter().all(|census| census.instance_id == last.instance_id));
        assert!(told.iter().all(|census| census.topic == "/robot_messages"));
        assert!(told.is_sorted_by_key(|census| census.published));

        let of_robot: Vec<_> = messages.iter().filter(|(m, _)| m.header.robot_id == *id).collect();
        assert_eq!(of_robot.len(), 100);
        for (index, (message, taken)) in (0..).zip(&of_robot) {
            assert_eq!(message.header.sequence, i32::try_from(index).unwrap());
            assert_eq!(taken.publication_sequence, Some(index + 1));
            assert!(taken.bytes.len() >= 600);
            // Never before it was due, and in the order of the way; how late is no test's matter.
            let header =
                message.header.timestamp_sec * 1_000_000_000 + message.header.timestamp_nsec;
            assert!(header <= taken.source_wall_ns, "{message:?} {taken:?}");
            let published = taken.bracket.mono_after - (taken.bracket.wall - header);
            let due = due_ns(last.schedule_start_mono_ns, last.rate_hz, index);
            assert!(published >= due, "published {} ns before it was due", due - published);
            assert!(published <= taken.bracket.mono_after);
        }
    }
    // The robots' schedules are half a period apart.
    let starts: Vec<_> = censuses.values().map(|told| told[0].schedule_start_mono_ns).collect();
    assert_eq!(starts[1] - starts[0], 10_000_000);
}

/// The last census of each robot and topic.
type LastCensuses = BTreeMap<(String, String), Census>;

/// A tap of two topics and the censuses: what was taken of each, and the last censuses.
fn read_two(
    domain: usize,
    topics: [(&str, Qos); 2],
    flags: &[&str],
) -> ([Vec<(RobotMessage, Taken)>; 2], LastCensuses) {
    let census = Qos { durability: Durability::TransientLocal, depth: 100, ..Qos::RELIABLE };
    let mut subscriptions = topics
        .map(|(topic, qos)| Subscription {
            topic: topic.into(),
            type_support: TypeSupport::of::<RobotMessage>(),
            qos,
        })
        .to_vec();
    subscriptions.push(Subscription {
        topic: "/hopwatch/census".into(),
        type_support: TypeSupport::of::<Census>(),
        qos: census,
    });
    let config = TapConfig {
        node_name: "reader".into(),
        namespace: String::new(),
        domain_id: Some(domain),
        subscriptions,
    };
    let (sink, events) = channel();
    let tap = Tap::start(config, move |event| drop(sink.send(event))).unwrap();
    let robots = start(flags);
    let mut taken = [Vec::new(), Vec::new()];
    let mut censuses = BTreeMap::new();
    let (_, _log) = finish(robots);
    // It has lingered: what it sent has been taken.
    tap.stop().unwrap();
    for event in events {
        let TapEvent::Taken { subscription, message } = event else { continue };
        if let Some(of_topic) = taken.get_mut(subscription) {
            let decoded = RobotMessage::from_serialized_bytes(&message.bytes).unwrap();
            of_topic.push((decoded, message));
        } else {
            let census = Census::from_serialized_bytes(&message.bytes).unwrap();
            censuses.insert((census.robot_id.clone(), census.topic.clone()), census);
        }
    }
    (taken, censuses)
}

#[test]
fn each_message_is_published_on_every_topic_in_alternating_order() {
    let topics = ["/robot_messages", "/robot_messages/reliable_payload_900"];
    let deep = |qos| Qos { depth: 200, ..qos };
    let (taken, censuses) = read_two(
        76,
        [(topics[0], deep(Qos::BEST_EFFORT)), (topics[1], deep(Qos::RELIABLE))],
        &[
            "--domain=76",
            "--lanes=best-effort,payload=600;reliable,payload=900",
            "--robots=2",
            "--rate=50",
            "--count=50",
        ],
    );
    assert_eq!((taken[0].len(), taken[1].len(), censuses.len()), (100, 100, 4));
    for ((robot, topic), census) in &censuses {
        assert_eq!((census.published, census.failed, census.final_), (50, 0, true), "{topic}");
        assert!(topics.contains(&topic.as_str()));
        let other = topics.iter().find(|other| *other != topic).unwrap();
        let other = &censuses[&(robot.clone(), (*other).to_owned())];
        assert_eq!(census.instance_id, other.instance_id, "one start of one robot");
        assert_eq!(census.schedule_start_mono_ns, other.schedule_start_mono_ns);
    }
    let known = |of: &[(RobotMessage, Taken)]| -> BTreeMap<_, _> {
        let key = |m: &RobotMessage| (m.header.robot_id.clone(), m.header.sequence);
        of.iter().map(|(m, taken)| (key(m), (m.clone(), taken.clone()))).collect()
    };
    let [first, second] = [known(&taken[0]), known(&taken[1])];
    assert_eq!(first.len(), 100);
    for (key, (message, taken)) in &first {
        let (other, other_taken) = &second[key];
        assert_eq!((taken.bytes.len(), other_taken.bytes.len()), (600, 900));
        assert_eq!(message.header.message_id, other.header.message_id);
        assert_eq!(message.battery.to_bits(), other.battery.to_bits());
        assert!(other.error_message.starts_with(message.error_message.trim_end_matches('.')));
        // Each is stamped by itself, right before it is published.
        let ns =
            |m: &RobotMessage| m.header.timestamp_sec * 1_000_000_000 + m.header.timestamp_nsec;
        let is_first = ns(message) < ns(other);
        assert_eq!(is_first, key.1 % 2 == 0, "{key:?}: {} {}", ns(message), ns(other));
        let written = [taken.source_wall_ns, other_taken.source_wall_ns];
        assert!(if is_first { written[0] < ns(other) } else { written[1] < ns(message) });
    }
}

#[test]
fn a_late_reader_learns_the_last_counts() {
    let robots = start(&[
        "--domain=71",
        "--rate=1000",
        "--count=20",
        "--no-wait",
        "--linger=1h",
        "--end-with-parent",
    ]);
    // Not before it has ended publishing: then the newest census is the last one.
    let first = Reader::start(71, Qos::BEST_EFFORT);
    first.read(1);
    let late = Reader::start(71, Qos::BEST_EFFORT);
    let (messages, censuses) = late.read(1);
    assert_eq!(messages.len(), 0);
    let told = &censuses["robot_001"];
    assert_eq!((told.len(), told[0].published, told[0].final_), (1, 20, true));
    // Its standard input ends with this handle, and it with that.
    assert_eq!(finish(robots).0.published, 20);
}

#[test]
fn a_signal_ends_it_in_order() {
    let reader = Reader::start(72, Qos::RELIABLE);
    let robots = start(&["--domain=72", "--qos=reliable", "--rate=100", "--linger=100ms"]);
    let taken =
        reader.events.iter().find(|event| matches!(event, TapEvent::Taken { subscription: 0, .. }));
    assert!(taken.is_some());
    let pid = rustix::process::Pid::from_child(&robots);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (messages, censuses) = reader.read(1);
    let (summary, log) = finish(robots);
    let last = censuses["robot_001"].last().unwrap();
    assert_eq!(last.published.unsigned_abs(), summary.published);
    // One was taken out above.
    assert_eq!(messages.len() as u64 + 1, summary.published);
    assert!(log.contains("SIGINT"), "{log}");
}

#[test]
fn a_missing_subscriber_is_a_clear_error() {
    let output = start(&["--domain=73", "--qos=reliable", "--count=1", "--wait-timeout=300ms"])
        .wait_with_output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{log}");
    for part in ["no subscriber of /robot_messages", "domain 73", "RELIABLE"] {
        assert!(log.contains(part), "{part:?} is missing in: {log}");
    }
}

#[test]
fn wrong_flags_are_wrong_usage() {
    for (flags, part) in [
        (["--rate=0", "--count=1"], "rate"),
        (["--for=60", "--count=1"], "60s"),
        (["--robots=0", "--count=1"], "robots"),
        (["--domain=233", "--count=1"], "0 to 232"),
        (["--qos=sometimes", "--count=1"], "best-effort"),
        (["--topic=/bad topic!", "--count=1"], "/bad topic!"),
        (["--lanes=reliable;reliable", "--count=1"], "give one a name="),
        (["--lanes=topic=/a;reliable,topic=/a", "--count=1"], "in one way"),
        (["--lanes=reliable", "--depth=3"], "depth and lanes exclude each other"),
    ] {
        let output = start(&flags).wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{log}");
        assert!(log.contains(part), "{part:?} is missing in: {log}");
    }
}

#[test]
fn a_variable_that_names_no_domain_is_wrong_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_hopwatch-robot-sim"))
        .args(["--count=1"])
        .env("ROS_DOMAIN_ID", "lab")
        .output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{log}");
    assert!(log.contains("ROS_DOMAIN_ID") && log.contains("lab"), "{log}");
}

/// As `hopwatch` and the control port have it.
#[test]
fn messages_larger_than_dds_fragments_are_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopwatch-robot-sim"));
    let output = command.args(["--payload-bytes=4000001", "--for=0s"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("at most 4000000, not 4000001"), "{said}");
}
