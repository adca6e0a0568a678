//! Nothing comes, and the report says why: each cause for real.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Event, Running, Start, World, get, peer, python, skip, wait_until};
use std::path::Path;

/// `hopwatch run` without robots of its own, which tells of silence after so long.
fn listening(world: &World, silence_ms: u32) -> Running {
    let mut run = world.hopwatch("run --no-sim --qos reliable --for 120s");
    let mut running = run.env("HOPWATCH_GATEWAY_SILENCE_MS", &silence_ms.to_string()).start();
    running.address("gateway");
    running
}

/// Waits until the collector has an event of this kind.
fn wait_for(running: &mut Running, kind: &str) {
    running.wait_for(kind, |running| {
        let collector = running.address("collector");
        let (_, records) = get(collector, "/v1/dataset")?;
        if records.contains(&format!(r#""event":"{kind}""#)) { Ok(()) } else { Err(records) }
    });
}

/// Waits for the event, ends everything, and gives the report's events.
fn events(world: &World, mut running: Running, peers: Vec<Running>, kind: &str) -> Vec<Event> {
    wait_for(&mut running, kind);
    running.interrupt();
    let ended = running.end();
    for peer in peers {
        peer.interrupt();
        peer.end().has_code(130);
    }
    world.is_empty_now();
    // Nothing was delivered: the pipeline failed.
    let report = ended.has_code(4).report();
    assert!(ended.stdout.contains(&format!("! {kind}: /robot_messages")), "{}", ended.stdout);
    report.events
}

/// One event of this kind, and its words.
#[track_caller]
fn says(events: &[Event], kind: &str, words: &[&str]) {
    let of: Vec<&Event> = events.iter().filter(|event| event.kind == kind).collect();
    let [event] = of.as_slice() else { panic!("not one {kind}: {events:?}") };
    for word in words {
        assert!(event.text.contains(word), "no {word:?} in {:?}", event.text);
    }
}

#[test]
fn a_wrong_topic_is_told_with_the_right_one_and_when_it_is_over() {
    let world = World::new();
    let log = world.path("wrong.jsonl");
    let elsewhere = "--topic /robots/robot_messages --no-wait --rate 10 --count 100000 --log";
    let wrong = world.peer("publisher.py", elsewhere).arg(log.to_str().unwrap()).start();
    wait_until("robot elsewhere", || match std::fs::metadata(&log) {
        Ok(log) if log.len() > 0 => Ok(()),
        other => Err(format!("{other:?}")),
    });
    // Time enough for discovery.
    let mut running = listening(&world, 3000);
    wait_for(&mut running, "no_publisher");
    let right = world.peer("publisher.py", "--qos reliable --count 20 --rate 20").start();
    running.delivered(20);
    running.interrupt();
    let ended = running.end();
    drop(right.end());
    wrong.interrupt();
    wrong.end().has_code(130);
    world.is_empty_now();
    let events = ended.has_code(0).report().events;
    let domain = format!("ROS domain {}, discovery range LOCALHOST", world.domain());
    let words = [
        "/robot_messages: nobody publishes hopwatch_msgs/msg/RobotMessage",
        &domain,
        "the same type is published on /robots/robot_messages: choose it with --topic",
    ];
    // On a busy machine the other topic may be discovered only when nobody was told of already;
    // then it is told once more.
    let told: Vec<&str> =
        events.iter().filter(|e| e.kind == "no_publisher").map(|e| &*e.text).collect();
    let named = |text: &&&str| words.iter().all(|word| text.contains(word));
    assert!(told.len() <= 2 && told.iter().any(|text| named(&text)), "{events:?}");
    says(&events, "silence_over", &["is there now"]);
    assert_eq!(events.len(), told.len() + 1, "{events:?}");
}

#[test]
fn another_type_on_the_topic_is_named() {
    let world = World::new();
    let running = listening(&world, 1000);
    let stranger = world.peer("stranger.py", "").start();
    let events = events(&world, running, vec![stranger], "incompatible_type");
    let words = [
        "peer_stranger publishes std_msgs/msg/String",
        "takes hopwatch_msgs/msg/RobotMessage",
        "--topic",
    ];
    says(&events, "incompatible_type", &words);
}

#[test]
fn a_publisher_that_publishes_nothing_is_told() {
    let world = World::new();
    let running = listening(&world, 1000);
    let mute = world.peer("stranger.py", "--mute").start();
    let events = events(&world, running, vec![mute], "matched_no_samples");
    says(&events, "matched_no_samples", &["publisher /peer_stranger", "it publishes nothing"]);
}

#[test]
fn a_robot_that_hangs_is_told_and_when_it_comes_again() {
    let world = World::new();
    let mut running = listening(&world, 1000);
    let robot = world.robots("--rate 20 --count 100000 --qos reliable").start();
    running.delivered(20);
    robot.pid().hang();
    wait_for(&mut running, "went_silent");
    robot.pid().resume();
    wait_for(&mut running, "silence_over");
    robot.interrupt();
    drop(robot.end());
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    let events = ended.report().events;
    says(&events, "went_silent", &["/robot_messages: publisher /", "its process counts"]);
    says(&events, "silence_over", &["come again, after"]);
}

/// As in a container without the host's IPC: discovery goes by UDP, data by a shared memory that
/// isn't shared.
#[test]
fn a_publisher_with_another_shared_memory_is_told_with_the_evidence() {
    let world = World::new();
    let mount = "mount -t tmpfs tmpfs /dev/shm";
    let apart = |script: &str| -> Start {
        let mut start = world.program(Path::new("unshare"), "--mount --propagation private sh -c");
        start.arg(script);
        start
    };
    let tried = apart(mount).end();
    if !tried.succeeded() {
        skip(&format!("no /dev/shm of its own for a process here: {}", tried.stderr));
        return;
    }
    let running = listening(&world, 1000);
    let mut robot = apart(&format!("{mount} && exec \"$0\" \"$@\""));
    robot.arg(&python());
    robot.arg(peer("publisher.py").to_str().unwrap());
    let robot = robot.args("--qos reliable --count 100000 --rate 20 --match-timeout 60").start();
    let events = events(&world, running, vec![robot], "matched_no_samples");
    let words = [
        "nothing came within",
        "has another /dev/shm than this one",
        "not even the name of its node came",
        "--ipc=host",
        "FASTDDS_BUILTIN_TRANSPORTS=UDPv4",
    ];
    says(&events, "matched_no_samples", &words);
}
