//! The live page in a real browser shows what the collector knows.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Browser, World, browser_folder, legs_add_up};
use serde_json::{Value, json};

#[test]
fn the_page_shows_what_the_collector_knows() {
    let Some(Browser { node, chromium }) = Browser::or_skip() else { return };
    let world = World::new();
    let mut running =
        world.hopwatch("up --any-ports --page-port 0 --no-sim --ai-ms 20 --qos reliable").start();
    let url = running.page();
    let script = browser_folder().join("page.mjs");
    let looking = world
        .program(&node, "")
        .arg(script.to_str().unwrap())
        .arg("--url")
        .arg(&url)
        .args("--seconds 30 --until ended")
        .env("CHROMIUM", chromium.to_str().unwrap())
        .start();
    // The page is there before the first message.
    running.wait_for("page", |running| {
        let broadcaster = running.address("broadcaster");
        let clients = hopwatch_e2e::get_json(broadcaster, "/healthz")?["detail"]["clients"].take();
        if clients == 1 { Ok(()) } else { Err(clients.to_string()) }
    });
    world.robots("--rate 10 --for 4s --qos reliable").end().has_code(0);
    let shown: Value = serde_json::from_str(&looking.end().has_code(0).stdout).unwrap();
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    ended.has_code(0);

    assert_eq!(shown["state"], "ended", "{shown}");
    assert_eq!(shown["connection"], json!({"broadcaster": "live", "collector": "live"}));
    for fault in ["csp_violations", "console_errors", "page_errors", "foreign_requests"] {
        assert_eq!(shown[fault], json!([]), "{fault}");
    }
    let report = ended.json();
    assert_eq!(shown["run_id"], report["run"]["id"]);
    same_figures(&shown["lanes"][0], &report["lanes"][0]);
    browser_hops(&shown, &ended);
}

/// The page's account and figures are those of the report, to the nanosecond.
fn same_figures(shown: &Value, lane: &Value) {
    assert_eq!(shown["name"], lane["name"]);
    let ledger = &lane["ledger"];
    assert_eq!((&ledger["published"], &ledger["delivered"]), (&json!(40), &json!(40)));
    assert_eq!(shown["ledger"]["reconciles"], true, "{shown}");
    for fate in ["published", "delivered"] {
        assert_eq!(shown["ledger"][fate], ledger[fate], "{shown}");
    }
    for class in ["ai", "transport", "overhead", "communication", "total"] {
        let (shown, figures) = (&shown["classes"][class], &lane["classes"][class]);
        assert_eq!(shown["n"], figures["n"], "{class}: {shown}");
        for figure in ["p50", "p99", "max"] {
            assert_eq!(
                shown[figure],
                figures[format!("{figure}_ns")],
                "{figure} of {class}: {shown}"
            );
        }
    }
}

/// What the browser stamped came back: received and painted, with the legs that end there.
fn browser_hops(shown: &Value, ended: &hopwatch_e2e::Ended) {
    assert_eq!(shown["received"], 40, "{shown}");
    let report = ended.report();
    let legs = &report.lane().legs;
    legs_add_up(&ended.traces());
    let glass = ended.glass();
    assert_eq!(glass.len(), 40, "each message was acknowledged");
    let client = glass[0].text("client");
    assert!(shown["client"].as_str().unwrap().contains(&client[..8]), "{client}: {shown}");
    for row in &glass {
        assert!(row.ns("push_lo_ns") <= row.ns("push_hi_ns"), "{row:?}");
        assert!(row.ns("fanout_ns") >= 0 && row.ns("paint_ns") >= 0, "{row:?}");
        assert!(row.ns("glass_lo_ns") <= row.ns("glass_hi_ns"), "{row:?}");
        assert!(row.ns("browser_resolution_ns") > 0, "a browser's clock is coarse: {row:?}");
    }
    for leg in ["fanout", "push", "paint"] {
        assert_eq!(legs[leg].n, 40, "{leg}");
        assert!(shown["legs"]["rows"][leg].is_object(), "{leg}: {}", shown["legs"]);
    }
    let clocks = format!("{:?}", report.clocks);
    assert!(clocks.contains(&format!("browser:{client}")), "{clocks}");
}
