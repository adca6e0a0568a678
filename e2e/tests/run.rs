//! `hopwatch run`: a short measurement and everything that it promises to leave.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, World, figures_are_of_the_traces, legs_add_up, table_fits};
use serde_json::Value;

/// The whole of it, which every other run has in common with this one.
#[test]
fn best_effort_run_keeps_the_contract() {
    let world = World::new();
    let ended = world.hopwatch("run --for 5s --rate 4 --ai-ms 100").end();
    world.is_empty_now();
    assert!(world.dds_is_seen(), "DDS had nothing in /dev/shm: is it looked for rightly?");
    ended.has_code(0);

    let report = ended.report();
    let lane = report.lane();
    lane.ledger.all_delivered(20);
    assert_eq!(lane.ledger.published_source, "census");
    assert_eq!((&*lane.name, &*lane.transport), ("best-effort", "http1"));
    assert_eq!(lane.qos, "BEST_EFFORT VOLATILE KEEP_LAST 1");
    assert!(!lane.stability.unstable, "{}", lane.stability.reason);
    assert!(report.budget.passed && report.run.interrupted.is_none());
    assert!(report.events.is_empty(), "{:?}", report.events);
    // The model's time is the AI's, whatever the machine is doing besides.
    assert!(lane.classes["ai"].min_ns.unwrap() >= 100_000_000);

    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(lane, &rows);
    whole_way(&rows, 20);
    table_fits(&ended.stdout);
    assert!(ended.stdout.contains("published 20 (by census) = delivered 20; reconciles"));
    json_has_its_keys(&ended);
    markdown_has_the_figures(&ended);
    assert!(ended.glass().is_empty(), "nobody looked");
}

#[test]
fn reliable_run_delivers_all() {
    let world = World::new();
    let ended = world.hopwatch("run --for 3s --rate 10 --ai-ms 20 --qos reliable").end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(30);
    assert_eq!(report.lane().qos, "RELIABLE VOLATILE KEEP_LAST 10");
    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(report.lane(), &rows);
    whole_way(&rows, 30);
}

#[test]
fn a_connection_for_each_request_is_a_leg_of_its_own() {
    let world = World::new();
    let words = "run --for 3s --rate 10 --ai-ms 5 --link http1-fresh --qos reliable";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(30);
    let lane = report.lane();
    assert_eq!(lane.transport, "http1-fresh");
    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(lane, &rows);
    for leg in ["ai_connect", "web_connect"] {
        assert_eq!(lane.legs[leg].n, 30);
        assert!(rows.iter().all(|row| row.ns(&format!("{leg}_ns")) > 0), "{leg}");
    }
}

/// Defaults < file < environment < flags, for every program of the pipeline.
#[test]
fn the_configuration_is_what_is_run() {
    let world = World::new();
    let text = "[robot_sim]\nrate = 20\n[ai_mock]\nmodel_ms = 1000\n[gateway]\nlane = \"file\"\n";
    let config = world.file("hopwatch.toml", text);
    let words = format!("run --for 2s --ai-ms 10 --qos reliable --config {}", config.display());
    let ended = world.hopwatch(&words).env("HOPWATCH_GATEWAY_LANE", "mine").end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(40);
    let lane = report.lane();
    assert_eq!(lane.name, "mine", "the environment overrules the file");
    let ai = lane.classes["ai"].p50_ns.unwrap();
    assert!((10_000_000..500_000_000).contains(&ai), "the flag overrules the file: {ai}");
}

/// Every message has every leg of one host, and stands for itself.
fn whole_way(rows: &[hopwatch_e2e::Row], count: i64) {
    let sequences: Vec<i64> = rows.iter().map(|row| row.ns("sequence")).collect();
    assert_eq!(sequences, (0..count).collect::<Vec<_>>());
    for (number, row) in (1..).zip(rows) {
        assert_eq!(row.ns("publication_sequence"), number);
        assert_eq!(row.text("robot_id"), "robot_001");
        for leg in [
            "schedule",
            "write",
            "ros",
            "wake",
            "queue",
            "encode",
            "ai_request",
            "ai_wait",
            "ai_infer",
            "ai_reply",
            "handoff",
            "web_request",
            "web_handle",
            "web_reply",
        ] {
            let ns = row.ns(&format!("{leg}_ns"));
            // Where the wall clock's stamp meets the monotonic one, the bracket is left open.
            let open = row.ns("wall_half_width_ns") + 1_000;
            let least = if ["schedule", "wake"].contains(&leg) { -open } else { 0 };
            assert!(ns >= least, "{leg} of {ns} ns: {row:?}");
        }
        for none in ["ai_transport_ns", "ai_round_trip_ns", "web_transport_ns"] {
            assert_eq!(row.maybe(none), None, "one clock needs no {none}");
        }
    }
    for identity in ["trace_id", "message_id"] {
        let mut ids: Vec<&str> = rows.iter().map(|row| row.text(identity)).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rows.len(), "{identity}");
    }
}

/// The keys of the contract, and figures where there must be figures.
fn json_has_its_keys(ended: &Ended) {
    let json = ended.json();
    let has = |value: &Value, keys: &[&str]| {
        let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
        for key in keys {
            assert!(object.contains_key(*key), "no {key} in {value}");
        }
    };
    has(&json, &["schema", "run", "lanes", "clocks", "environment", "verdict", "budget", "events"]);
    assert_eq!(json["schema"], "hopwatch.report/1");
    let lane = &json["lanes"][0];
    has(
        lane,
        &["name", "qos", "transport", "ledger", "stability", "classes", "legs", "s1", "oddities"],
    );
    has(lane, &["breakdown", "variance_shares", "over_published", "rates", "delivery_gap"]);
    has(&lane["classes"], &["ai", "transport", "overhead", "communication", "total"]);
    has(&lane["s1"], &["ai", "web", "overhead", "total"]);
    let rows = ["classes", "s1", "legs"].iter().flat_map(|of| lane[of].as_object().unwrap());
    for (name, figures) in rows {
        has(
            figures,
            &[
                "n",
                "n_eff",
                "modes",
                "p50_ci_ns",
                "p95_ci_ns",
                "mean_ns",
                "sd_ns",
                "min_ns",
                "max_ns",
                "p50_ns",
                "p75_ns",
                "p90_ns",
                "p95_ns",
                "p99_ns",
                "p99_ci_ns",
            ],
        );
        assert_eq!(figures["n"], 20, "{name}");
        let interval = figures["p99_ci_ns"].as_array().unwrap();
        assert!(interval.len() == 2 && interval[0].is_i64() && interval[1].is_null(), "{figures}");
    }
    has(&json["verdict"], &["decision", "reason"]);
    // One run compares nothing.
    assert_eq!(json["verdict"]["decision"], "INCONCLUSIVE");
    has(&json["budget"], &["checks", "passed"]);
    let environment = &json["environment"];
    has(environment, &["hopwatch", "kernel", "cores", "cpu", "governor", "RMW_IMPLEMENTATION"]);
    assert_eq!(environment["ROS_AUTOMATIC_DISCOVERY_RANGE"], "LOCALHOST");
    let clocks = json["clocks"].as_array().unwrap();
    let own = clocks.iter().find(|clock| clock["relation"] == "the gateway's own: exact");
    let used_for = own.and_then(|clock| clock["used_for"].as_str()).unwrap_or_default();
    for process in ["gateway", "AI service", "broadcaster", "robot"] {
        assert!(used_for.contains(process), "one host, one clock: {clocks:?}");
    }
    assert!(clocks.iter().any(|clock| clock["id"] == "CLOCK_REALTIME"), "{clocks:?}");
}

/// report.md tells the same.
fn markdown_has_the_figures(ended: &Ended) {
    let markdown = ended.markdown();
    for text in [
        "# Hopwatch run ",
        "published 20 (by census) = delivered 20; reconciles",
        "no upper bound at n = 20",
        "## Budget: kept",
        "| total | 20 |",
        "| ai_infer (ai) | 20 |",
        "| AI | ",
        "## Clocks",
        "## Environment",
    ] {
        assert!(markdown.contains(text), "no {text:?} in report.md:\n{markdown}");
    }
}
