//! A tap with nothing to do does nothing, and when it ends it leaves nothing behind.
//!
//! One test and a program of its own: it looks at the threads and files of the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use hopwatch_tap::{Qos, Subscription, Tap, TapConfig, TapEvent, TypeSupport};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything here takes, by far.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fast DDS' files in /dev/shm that a process has mapped.
fn shared_memory(process: &str) -> BTreeSet<String> {
    std::fs::read_to_string(format!("/proc/{process}/maps"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.find("/dev/shm/").map(|at| line[at..].to_owned()))
        .filter(|path| path.contains("fastrtps"))
        .collect()
}

/// Those of `files` that are there but that no process has mapped any more. (Participants of one
/// host share some, whatever their domains.)
fn orphans(files: &BTreeSet<String>) -> Vec<&String> {
    let mapped: BTreeSet<_> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .flat_map(|entry| shared_memory(&entry.file_name().to_string_lossy()))
        .collect();
    files.iter().filter(|path| Path::new(path).exists() && !mapped.contains(*path)).collect()
}

/// How often the tap's thread of this process went to sleep.
fn sleeps() -> u64 {
    let mut threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let task = threads
        .find(|task| {
            let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            name.trim() == "hopwatch-tap"
        })
        .expect("the tap's thread");
    let status = std::fs::read_to_string(task.path().join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn silence_costs_nothing_and_ends_at_once_leaving_nothing() {
    assert_eq!(
        std::env::var("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref(),
        Ok("LOCALHOST"),
        "this test talks DDS: run it with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST"
    );
    let subscription = Subscription {
        topic: "/silent".into(),
        type_support: TypeSupport::of::<r2r::hopwatch_msgs::msg::RobotMessage>(),
        qos: Qos::RELIABLE,
    };
    let config = TapConfig {
        node_name: "tap_test".into(),
        namespace: String::new(),
        domain_id: Some(63),
        subscriptions: vec![subscription],
    };
    let (sink, events) = channel();
    let tap = Tap::start(config, move |event| {
        let _ = sink.send(event);
    })
    .unwrap();
    // Let it come to rest.
    let deadline = Instant::now() + PATIENCE;
    let mut before = sleeps();
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = sleeps();
        if now == before {
            break;
        }
        assert!(Instant::now() < deadline, "the tap's thread never rests: {now} sleeps");
        before = now;
    }
    let files = shared_memory("self");
    assert!(!files.is_empty(), "Fast DDS uses shared memory here; without it this proves nothing");
    let asked_to_stop = Instant::now();
    tap.stop().unwrap();
    let took = asked_to_stop.elapsed();
    assert!(took < Duration::from_secs(5), "stopping took {took:?}");
    let left = orphans(&files);
    assert!(left.is_empty(), "left behind: {left:?}");
    assert_eq!(shared_memory("self"), BTreeSet::new());
    // Its own coming is a change of the graph; nothing else happened.
    let ended = loop {
        match events.recv_timeout(Duration::ZERO) {
            Ok(event) => assert!(matches!(event, TapEvent::GraphChanged), "{event:?}"),
            Err(ended) => break ended,
        }
    };
    assert_eq!(ended, RecvTimeoutError::Disconnected);
}
