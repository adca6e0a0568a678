//! Packets lost for real, by `hopwatch run --loss`: what is lost where, and what is left behind.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, Hosts, Pid, World, legs_add_up, wait_until};
use std::collections::BTreeSet;
use std::time::Duration;

/// Whether network namespaces can be had here; says why not.
fn namespaces() -> bool {
    Hosts::new().is_some()
}

/// The network namespaces that a run made.
fn namespaces_of(pid: Pid) -> BTreeSet<String> {
    let prefix = format!("hopwatch-{}-", pid.0);
    let entries = std::fs::read_dir("/var/run/netns").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&prefix)).collect()
}

#[track_caller]
fn none_is_left(pid: Pid) {
    assert_eq!(namespaces_of(pid), BTreeSet::new());
}

/// (packets, dropped) of a leg, by the report.
#[track_caller]
fn counted(ended: &Ended, name: &str) -> (u64, u64) {
    let network = &ended.json()["run"]["network"];
    let legs = network["legs"].as_array().unwrap_or_else(|| panic!("no legs: {network}"));
    let leg = legs.iter().find(|leg| leg["leg"] == name).unwrap();
    let count = |key: &str| leg[key].as_u64().unwrap();
    (count("packets"), count("dropped"))
}

/// Three in ten packets between robot and gateway: what nobody sends again is lost, with a name.
#[test]
fn best_effort_loses_what_reliable_delivers() {
    if !namespaces() {
        return;
    }
    let mut lost = Vec::new();
    for qos in ["best-effort", "reliable"] {
        let world = World::new();
        let words = "run --for 8s --rate 10 --ai-ms 5 --loss 30% --loss-legs ros --qos";
        let running = world.hopwatch(&format!("{words} {qos}")).start();
        let pid = running.pid();
        let ended = running.end();
        none_is_left(pid);
        world.is_empty_now();
        if qos == "best-effort" {
            // Lost messages take forever: so does the P99.
            ended.has_code(1);
        }
        let report = ended.report();
        let ledger = report.ledger().adds_up();
        assert_eq!((ledger.published, ledger.in_flight), (80, 0), "{ledger:?}");
        // What has reached the gateway goes on without loss.
        assert!(ledger.ai_failed.is_empty() && ledger.web_failed.is_empty(), "{ledger:?}");
        legs_add_up(&ended.traces());
        let (packets, dropped) = counted(&ended, "ros");
        let share = 100 * dropped / packets;
        assert!(packets > 80 && (15..=45).contains(&share), "{dropped} of {packets}");
        for leg in ["ai", "web"] {
            let (packets, dropped) = counted(&ended, leg);
            assert!(packets > 80 && dropped == 0, "{leg}: {dropped} of {packets}");
        }
        let network = &ended.json()["run"]["network"];
        assert_eq!(network["loss"], 0.3, "{network}");
        let said =
            format!("30 % of the packets to be lost on ros; really dropped: ros {dropped} of");
        assert!(ended.stdout.replace("\n  ", " ").contains(&said), "{}", ended.stdout);
        assert!(ended.markdown().contains(&said), "{}", ended.markdown());
        lost.push(ledger.lost_in_ros);
    }
    // 24 of 80 are due, less those before discovery; RELIABLE sends again, while it has them.
    assert!(lost[0] >= 8 && lost[1] * 2 < lost[0], "BEST_EFFORT, RELIABLE: {lost:?}");
}

/// TCP sends again: hardly any message is lost (a call gives up after its deadline), and some take
/// 200 ms more.
#[test]
fn lost_packets_of_http_are_late_messages() {
    if !namespaces() {
        return;
    }
    let world = World::new();
    let words = "run --for 6s --rate 20 --ai-ms 5 --qos reliable --loss 10% --loss-legs ai,web";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.report();
    let ledger = report.ledger().adds_up();
    assert_eq!((ledger.published, ledger.lost_in_ros), (120, 0), "{ledger:?}");
    assert!(ledger.delivered >= 100, "{ledger:?}");
    assert_eq!(counted(&ended, "ros").1, 0);
    let dropped = counted(&ended, "ai").1 + counted(&ended, "web").1;
    assert!(dropped >= 20, "{dropped}");
    let slowest = report.lane().classes["transport"].max_ns.unwrap();
    assert!(slowest > 150_000_000, "a retransmission takes 200 ms at least: {slowest} ns");
}

/// Namespaces alone lose nothing.
#[test]
fn a_loss_of_nothing_loses_nothing() {
    if !namespaces() {
        return;
    }
    let world = World::new();
    let ended = world.hopwatch("run --for 3s --rate 20 --ai-ms 5 --qos reliable --loss 0").end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(60);
    for leg in ["ros", "ai", "web"] {
        let (packets, dropped) = counted(&ended, leg);
        assert!(packets > 60 && dropped == 0, "{leg}: {dropped} of {packets}");
    }
    assert_eq!(report.environment["FASTDDS_BUILTIN_TRANSPORTS"], "UDPv4");
    assert!(!ended.text("run.json").contains("HOPWATCH_TOKEN"));
}

#[test]
fn ctrl_c_takes_the_namespaces_down() {
    if !namespaces() {
        return;
    }
    let world = World::new();
    let running = world.hopwatch("run --for 60s --rate 20 --ai-ms 5 --loss 1%").start();
    let pid = running.pid();
    wait_until("namespaces", || match namespaces_of(pid) {
        all if all.len() == 3 => Ok(()),
        some => Err(format!("{some:?}")),
    });
    wait_until("a robot in its namespace", || {
        let there = world.processes();
        let robot = |pid: &Pid| pid.program().as_deref() == Some("hopwatch-robot-sim");
        if there.iter().any(robot) { Ok(()) } else { Err(format!("{there:?}")) }
    });
    running.interrupt();
    let ended = running.end_within(Duration::from_secs(8));
    none_is_left(pid);
    world.is_empty_now();
    assert_eq!(ended.report().run.interrupted.as_deref(), Some("Ctrl-C"));
}

/// Whoever was killed takes nothing down: the next one does.
#[test]
fn what_a_killed_run_left_is_taken_away_at_the_next_start() {
    if !namespaces() {
        return;
    }
    let world = World::new();
    let running = world.hopwatch("run --for 60s --rate 20 --ai-ms 5 --loss 1%").start();
    let pid = running.pid();
    wait_until("a robot in its namespace", || {
        let there = world.processes();
        let robot = |pid: &Pid| pid.program().as_deref() == Some("hopwatch-robot-sim");
        if there.iter().any(robot) { Ok(()) } else { Err(format!("{there:?}")) }
    });
    pid.kill();
    drop(running.end());
    assert_eq!(namespaces_of(pid).len(), 3, "nobody was left to take them down");
    // At once: the next one waits for the programs that are still ending.
    let out = world.path("next");
    let next = world.bare(&format!("run --for 1s --ai-ms 5 --out {}", out.display())).end();
    next.has_code(0).says(&["took away 3 network namespaces"]);
    none_is_left(pid);
    world.clear_after_the_killed();
    world.is_empty_within(Duration::from_secs(10));
}

#[test]
fn loss_where_there_can_be_none_is_refused_with_a_word() {
    let world = World::new();
    let empty = world.path("nothing");
    std::fs::create_dir(&empty).unwrap();
    for (words, said) in [
        ("up --loss 1% --no-sim", ["--no-sim", "--loss"]),
        ("run --loss 1% --no-sim", ["--no-sim", "--loss"]),
        ("run --loss 1% --page-port 0", ["--page-port", "--loss"]),
        ("run --delay 1ms --ai-url http://127.0.0.1:1/", ["--ai-url", "--delay"]),
        ("run --loss 101%", ["101%", "below 100%"]),
        ("run --jitter 1ms", ["--jitter", "--delay"]),
    ] {
        let ended = world.hopwatch(words).end();
        ended.has_code(2).says(&said);
        assert!(!ended.out.join("run.json").exists(), "{words}");
    }
    // As root, without the programs that it takes; else for want of root.
    let path = empty.to_str().unwrap();
    let ended = world.hopwatch("run --loss 1%").env("PATH", path).end();
    let root = ended.stderr.contains("iproute2");
    assert!(root || ended.stderr.contains("need root"), "{}", ended.stderr);
    ended.has_code(2);
    assert!(!ended.out.join("run.json").exists());
    world.is_empty_now();
}

/// The kernel has netem, or a word says that it has not.
#[test]
fn delay_is_real_or_refused() {
    if !namespaces() {
        return;
    }
    let world = World::new();
    let words = "run --for 3s --rate 20 --ai-ms 5 --qos reliable --delay 20ms --loss-legs ai";
    let running = world.hopwatch(words).start();
    let pid = running.pid();
    let ended = running.end();
    none_is_left(pid);
    world.is_empty_now();
    if ended.stderr.contains("netem") {
        ended.has_code(2).says(&["--delay", "leave them out"]);
        return;
    }
    let report = ended.has_code(0).report();
    let fastest = report.lane().legs["ai_request"].min_ns.unwrap();
    assert!(fastest > 15_000_000, "{fastest}");
}
