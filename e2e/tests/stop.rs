//! Ends: by Ctrl-C, by SIGTERM, by force, and those of single programs.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{World, legs_add_up, table_fits, within};
use std::time::Duration;

/// Ctrl-C ends everything within this.
const FIVE_SECONDS: Duration = Duration::from_secs(5);
/// A program of the pipeline is there within this; nothing is said about how fast.
const START: Duration = Duration::from_secs(30);

#[test]
fn ctrl_c_ends_up_in_time_with_the_summary() {
    let world = World::new();
    // A second of AI, twenty messages a second: plenty is under way.
    let mut running = world.hopwatch("up --any-ports --page-port 0 --rate 20").start();
    let page = running.page();
    assert!(page.starts_with("http://127.0.0.1:"), "{page}");
    running.delivered(20);
    let mut children = world.processes();
    children.retain(|pid| *pid != running.pid());
    for child in &children {
        // A terminal's Ctrl-C reaches `hopwatch` alone, which ends them in order.
        assert_eq!(child.parent_and_group(), Some((running.pid(), *child)));
    }
    let mut programs: Vec<String> =
        children.into_iter().filter_map(hopwatch_e2e::Pid::program).collect();
    programs.sort();
    assert_eq!(
        programs,
        [
            "hopwatch-ai-mock",
            "hopwatch-broadcaster",
            "hopwatch-collector",
            "hopwatch-gateway",
            "hopwatch-robot-sim",
            "hopwatch-web-ui",
        ]
    );
    assert!(world.dds_is_seen());
    running.interrupt();
    let ended = running.end_within(FIVE_SECONDS);
    // Whoever gets the prompt back finds nothing running.
    assert_eq!(world.processes(), []);
    world.is_empty_now();
    let report = ended.has_code(0).report();
    assert_eq!(report.run.interrupted.as_deref(), Some("Ctrl-C"));
    for lane in &report.lanes {
        let ledger = lane.ledger.adds_up();
        assert!(ledger.delivered >= 10, "{}: {ledger:?}", lane.name);
        let summary = format!("published {} (by census)", ledger.published);
        assert!(ended.stdout.contains(&summary), "{}", ended.stdout);
    }
    assert!(report.lanes[0].ledger.delivered >= 20, "{:?}", report.lanes[0].ledger);
    table_fits(&ended.stdout);
    legs_add_up(&ended.traces());
}

/// What can't end in time is abandoned, by name.
#[test]
fn sigterm_ends_a_run_that_waits_for_a_slow_ai() {
    let world = World::new();
    let mut running = world.hopwatch("run --for 60s --rate 10 --ai-ms 4900").start();
    running.delivered(5);
    running.terminate();
    let ended = running.end_within(FIVE_SECONDS);
    assert_eq!(world.processes(), []);
    world.is_empty_now();
    // The budget is 2 s, and the AI alone takes 4.9.
    let report = ended.has_code(1).report();
    assert_eq!(report.run.interrupted.as_deref(), Some("SIGTERM"));
    let ledger = report.ledger().adds_up();
    assert!(ledger.abandoned >= 5 && ledger.delivered >= 5, "{ledger:?}");
    assert!(ended.stdout.contains(&format!("abandoned {}", ledger.abandoned)), "{}", ended.stdout);
    legs_add_up(&ended.traces());
}

/// What has begun is ended in order, DDS' files included.
#[test]
fn ctrl_c_while_it_starts_leaves_nothing() {
    for program in ["hopwatch-collector", "hopwatch-gateway"] {
        let world = World::new();
        let running = world.hopwatch("run --for 60s").start();
        within(START, program, || {
            let there = world.processes();
            let found = there.iter().find(|pid| pid.program().as_deref() == Some(program));
            let ready = program != "hopwatch-gateway" || world.dds_is_seen();
            if found.is_some() && ready { Ok(()) } else { Err(format!("{there:?}")) }
        });
        running.interrupt();
        let ended = running.end_within(FIVE_SECONDS);
        assert_eq!(world.processes(), []);
        world.is_empty_now();
        ended.has_code(4);
    }
}

/// Nobody is left to stop them: they notice.
#[test]
fn programs_end_by_themselves_when_hopwatch_is_killed() {
    let world = World::new();
    let mut running = world.hopwatch("up --any-ports --page-port 0 --rate 10 --ai-ms 10").start();
    running.delivered(5);
    assert_eq!(world.processes().len(), 7);
    assert!(world.dds_is_seen());
    running.pid().kill();
    drop(running.end());
    world.is_empty_within(Duration::from_secs(10));
}

#[test]
fn a_dead_ai_service_is_named_and_what_was_measured_is_reported() {
    let world = World::new();
    let mut running = world.hopwatch("run --for 60s --rate 20 --ai-ms 10").start();
    running.delivered(20);
    world.child_of(running.pid(), "hopwatch-ai-mock").kill();
    let ended = running.end_within(FIVE_SECONDS);
    world.is_empty_now();
    ended.has_code(4).says(&["ai-mock ended", "SIGKILL"]);
    let report = ended.report();
    let why = report.run.interrupted.as_deref().unwrap();
    assert!(why.contains("ai-mock ended") && !why.contains('{'), "{why}");
    let ledger = report.ledger().adds_up();
    assert!(ledger.delivered >= 20, "{ledger:?}");
    let rows = ended.traces();
    legs_add_up(&rows);
    assert!(rows.len() >= 20);
    assert!(ended.markdown().contains("ai-mock ended"));
}

/// The end is in time for all the others, and what was measured is reported.
#[test]
fn a_hanging_ai_service_does_not_hold_up_the_end() {
    let world = World::new();
    let mut running = world
        .hopwatch("up --any-ports --page-port 0 --rate 10 --ai-ms 10 --qos best-effort")
        .start();
    running.delivered(5);
    world.child_of(running.pid(), "hopwatch-ai-mock").hang();
    running.wait_for("message that hangs", |running| {
        let account = running.account()?;
        let hangs = account["in_flight"].as_u64().is_some_and(|n| n >= 3);
        if hangs { Ok(()) } else { Err(account.to_string()) }
    });
    running.interrupt();
    // 5 s are promised, on a machine that isn't busy with other tests.
    let ended = running.end_within(Duration::from_secs(15));
    assert_eq!(world.processes(), []);
    world.is_empty_now();
    ended.says(&["ai-mock", "did not end in time and was killed"]);
    let report = ended.report();
    assert_eq!(report.run.interrupted.as_deref(), Some("Ctrl-C"));
    let ledger = report.ledger().adds_up();
    assert!(ledger.delivered >= 5 && ledger.abandoned >= 1, "{ledger:?}");
}

/// What it had acknowledged is in the file.
#[test]
fn a_dead_collector_is_named_and_what_it_had_stored_is_reported() {
    let world = World::new();
    let mut running = world.hopwatch("run --for 60s --rate 20 --ai-ms 10").start();
    running.delivered(20);
    world.child_of(running.pid(), "hopwatch-collector").kill();
    let ended = running.end_within(Duration::from_secs(15));
    world.is_empty_now();
    ended.has_code(4).says(&["collector ended", "SIGKILL"]);
    let report = ended.report();
    let why = report.run.interrupted.as_deref().unwrap();
    assert!(why.contains("collector ended"), "{why}");
    assert!(report.ledger().delivered >= 20, "{:?}", report.ledger());
}
