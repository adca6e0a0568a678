//! More messages at once: nothing is lost, or every loss has a name.

use hopwatch_e2e::{World, figures_are_of_the_traces, legs_add_up, table_fits};
use std::collections::BTreeMap;

/// The published stack processed 166 of 300 at this rate.
#[test]
fn at_20_hz_best_effort_delivers_all() {
    let world = World::new();
    // A history of 10 instead of 1: the machine may stop for longer than a period.
    let mut run = world.hopwatch("run --for 5s --rate 20 --ai-ms 10");
    let ended = run.env("HOPWATCH_GATEWAY_DEPTH", "10").end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(100);
    legs_add_up(&ended.traces());
    figures_are_of_the_traces(report.lane(), &ended.traces());
    // METHOD 12: a P99 of 100 messages has no upper end.
    assert_eq!(report.lane().classes["total"].p99_ci_ns.1, None);
}

#[test]
fn at_500_hz_every_loss_has_a_name() {
    let world = World::new();
    let ended = world.hopwatch("run --for 5s --rate 500 --ai-ms 0").end();
    world.is_empty_now();
    let report = ended.report();
    let ledger = report.ledger();
    assert_eq!((ledger.published, &*ledger.published_source), (2_500, "census"));
    // More than 1 % lost: no P99 over what was published.
    ended.has_code(i32::from(ledger.delivered < 2_475));
    ledger.adds_up();
    assert_eq!(ledger.in_flight + ledger.duplicates, 0, "{ledger:?}");
    // A machine that is busy may lose some, never most.
    assert!(ledger.delivered > 2_000, "{ledger:?}");
    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(report.lane(), &rows);
    // METHOD 12: 368 independent messages have an upper end; a burst of slow ones is worth less.
    let total = &report.lane().classes["total"];
    assert_eq!(total.p99_ci_ns.1.is_some(), total.n_eff >= 368, "{total:?}");
    table_fits(&ended.stdout);
}

#[test]
fn three_robots_are_told_apart() {
    let world = World::new();
    let words = "run --for 3s --rate 20 --ai-ms 10 --robots 3 --qos reliable --payload-bytes 2000";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(180);
    let rows = ended.traces();
    legs_add_up(&rows);
    let mut sequences: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    let mut writers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in &rows {
        let robot = row.text("robot_id");
        sequences.entry(robot).or_default().push(row.ns("sequence"));
        writers.entry(robot).or_default().push(row.text("publisher"));
        assert!(row.maybe("intended_ns").is_some(), "each robot has its schedule: {row:?}");
    }
    assert_eq!(
        sequences.keys().copied().collect::<Vec<_>>(),
        ["robot_001", "robot_002", "robot_003"]
    );
    for (robot, mut numbers) in sequences {
        numbers.sort_unstable();
        assert_eq!(numbers, (0..60).collect::<Vec<_>>(), "{robot}");
    }
    for (robot, mut ids) in writers {
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{robot} is one DDS writer");
    }
}
