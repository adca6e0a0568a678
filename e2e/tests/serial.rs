//! Exit codes that judge: a queue without a steady state, a budget that is missed.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{World, legs_add_up, table_fits};

/// One message after the other, 150 ms each, ten a second: what a callback that blocks does.
#[test]
fn an_overloaded_serial_gateway_is_unstable_and_its_losses_are_named() {
    let world = World::new();
    let ended = world.hopwatch("run --serial --rate 10 --ai-ms 150 --for 6s").end();
    world.is_empty_now();
    let report = ended.has_code(3).report();
    let lane = report.lane();
    let ledger = lane.ledger.adds_up();
    assert_eq!(ledger.published, 60);
    // Two of three find the worker free in time, at most.
    assert!(ledger.queue_dropped >= 10 && ledger.delivered >= 10, "{ledger:?}");
    assert!(ledger.delivered <= 45, "150 ms each within 6 s and a drain: {ledger:?}");
    let dropped = format!("queue dropped {}", ledger.queue_dropped);
    assert!(ended.stdout.contains(&dropped), "{}", ended.stdout);

    assert!(lane.stability.unstable);
    assert!(lane.stability.reason.starts_with("UNSTABLE"), "{}", lane.stability.reason);
    assert!(report.verdict.reason.contains("unstable"), "{}", report.verdict.reason);
    assert_eq!(report.verdict.decision, "INCONCLUSIVE");
    // METHOD 11: percentiles of such a run mean nothing, so none is printed.
    for text in [&ended.stdout, &ended.markdown()] {
        assert!(text.contains("UNSTABLE"), "{text}");
        assert!(!text.contains("P50"), "{text}");
    }
    table_fits(&ended.stdout);

    let rows = ended.traces();
    legs_add_up(&rows);
    let named = rows.iter().filter(|row| row.text("outcome") == "queue_dropped").count();
    assert_eq!(u64::try_from(named).unwrap(), ledger.queue_dropped);
}

#[test]
fn a_missed_budget_is_exit_code_1() {
    let world = World::new();
    let words = "run --for 2s --rate 10 --ai-ms 50 --budget-total-ms 20 --budget-delivered 1";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(1).report();
    report.ledger().all_delivered(20);
    assert!(!report.budget.passed);
    let checks = ended.json()["budget"]["checks"].clone();
    let passed = |name: &str| {
        let all = checks.as_array().unwrap();
        let check = all.iter().find(|check| check["name"].as_str().unwrap().ends_with(name));
        check.unwrap_or_else(|| panic!("no {name}: {checks}"))["passed"].as_bool().unwrap()
    };
    assert!(!passed(": mean total"), "50 ms of AI are more than 20");
    assert!(passed(": delivered") && passed(": P99 total"), "{checks}");
    assert!(ended.stdout.contains("MISSED  best-effort: mean total"), "{}", ended.stdout);
    assert!(ended.markdown().contains("## Budget: MISSED"));
}
