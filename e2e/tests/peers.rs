//! A robot that shares no code with Hopwatch: what the report says against what it logged.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, Row, World, figures_are_of_the_traces, legs_add_up};
use serde_json::Value;

/// Time itself ends the run.
#[test]
fn a_foreign_best_effort_robot_is_reported_as_it_logged() {
    let world = World::new();
    let running = world.hopwatch("run --no-sim --for 8s --ai-ms 10").start();
    let log = world.path("published.jsonl");
    let words = format!("--qos best-effort --count 40 --rate 20 --log {}", log.display());
    world.peer("publisher.py", &words).end().has_code(0);
    let ended = running.end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    assert_eq!(report.run.interrupted, None);
    assert_eq!(report.lane().qos, "BEST_EFFORT VOLATILE KEEP_LAST 1");
    as_logged(&ended, &std::fs::read_to_string(log).unwrap());
}

/// The user ends the run when he has seen enough.
#[test]
fn a_foreign_reliable_robot_is_reported_as_it_logged() {
    let world = World::new();
    let mut running = world.hopwatch("run --no-sim --for 60s --ai-ms 10 --qos reliable").start();
    let log = world.path("published.jsonl");
    let words = format!("--qos reliable --count 60 --rate 30 --log {}", log.display());
    let peer = world.peer("publisher.py", &words).start();
    running.delivered(60);
    running.interrupt();
    let ended = running.end();
    // Its reader is gone, so nobody acknowledges to it any more.
    drop(peer.end());
    world.is_empty_now();
    let report = ended.has_code(0).report();
    assert_eq!(report.run.interrupted.as_deref(), Some("Ctrl-C"));
    assert_eq!(report.lane().qos, "RELIABLE VOLATILE KEEP_LAST 10");
    as_logged(&ended, &std::fs::read_to_string(log).unwrap());
}

/// Count, identities and times of publication.
fn as_logged(ended: &Ended, log: &str) {
    let logged: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = ended.report();
    let ledger = report.ledger();
    ledger.all_delivered(u64::try_from(logged.len()).unwrap());
    // It sends no census: DDS' own numbering tells how many there were, and what can't be known
    // is said.
    assert_eq!(ledger.published_source, "publication_sequence");
    assert!(ledger.notes.iter().any(|note| note.contains("no census")), "{ledger:?}");

    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(report.lane(), &rows);
    assert_eq!(rows.len(), logged.len());
    let mut gaps = Vec::new();
    for (number, (row, line)) in (1..).zip(rows.iter().zip(&logged)) {
        assert_eq!(row.ns("sequence"), line["sequence"].as_i64().unwrap());
        assert_eq!(row.text("message_id"), line["message_id"].as_str().unwrap());
        assert_eq!(row.ns("publication_sequence"), number);
        assert_eq!(row.maybe("intended_ns"), None, "its schedule is not known");
        let mono = line["published_mono_ns"].as_i64().unwrap();
        gaps.push((mono - published(row), row.ns("wall_half_width_ns")));
    }
    // The script read the wall clock, which Hopwatch maps onto the monotonic one, right before
    // it read the monotonic clock itself: never after it, and mostly less than a tick before.
    let rounding = 1_000;
    for (gap, half_width) in &gaps {
        assert!(*gap >= -(half_width + rounding), "published {gap} ns too late: {gaps:?}");
    }
    gaps.sort_unstable();
    let (median, half_width) = gaps[gaps.len() / 2];
    assert!(median <= half_width + 50_000, "published {median} ns too early: {gaps:?}");
}

/// When a message was published, on the monotonic clock: the legs before the take lead back.
fn published(row: &Row) -> i64 {
    row.ns("taken_ns") - row.ns("wake_ns") - row.ns("ros_ns") - row.ns("write_ns")
}
