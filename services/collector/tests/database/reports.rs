//! Reports of what the collector has, marks, and measured runs, asked for over HTTP.

use crate::program::{Collector, http, post};
use crate::{PATIENCE, gateway};
use serde_json::Value;
use std::time::{Duration, Instant};

const LANE: &str = r#"{"source":"g","number":1000,"kind":"lane","lane":"l","topic":"/t","qos":"BEST_EFFORT VOLATILE KEEP_LAST 1","transport":"http1","workers":4,"clock":"b/1"}"#;

fn ask(collector: &Collector, what: &str, body: &str) -> (u16, String) {
    http(collector.address, what, body).unwrap()
}

fn json(collector: &Collector, path: &str) -> Value {
    let (status, body) = ask(collector, &format!("GET {path}"), "");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// The newest measured run, once it is neither running nor being written.
fn measured(collector: &Collector) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let run = json(collector, "/v1/measured")[0].take();
        let state = run["state"].as_str().unwrap();
        if ["done", "failed"].contains(&state) {
            return run;
        }
        assert!(Instant::now() < until, "{run}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn everything_so_far_is_reported_from_file_and_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("records.db");
    let mut reports = Vec::new();
    for place in [Some(&*database), None] {
        let words = ["--budget-total-ms", "3", "--budget-delivered", "0.5"];
        let collector = Collector::start_with(place, &words);
        let lines: String = (1..=20).map(|n| gateway("g", n) + "\n").collect();
        assert_eq!(post(collector.address, &format!("{lines}{LANE}\n")).unwrap().0, 200);
        let mut report = json(&collector, "/v1/report.json");
        let ledger = &report["lanes"][0]["ledger"];
        assert_eq!(ledger["published"], 18, "{ledger}");
        assert_eq!(ledger["outcome_unknown"], 0, "nothing has ended: {ledger}");
        let limits: Vec<&Value> = report["budget"]["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["limit_value"])
            .collect();
        assert_eq!(limits, [3e6, 1e8, 2e9, 0.5], "{report}");
        assert!(report["run"]["interrupted"].as_str().unwrap().contains("went on"), "{report}");
        report["run"].take();
        reports.push(report);
        let (status, html) = ask(&collector, "GET /v1/report.html", "");
        assert!(status == 200 && html.starts_with("<!DOCTYPE html>"), "{status} {html:.80}");
        let (_, rows) = ask(&collector, "GET /v1/traces.csv", "");
        assert_eq!(rows.lines().count(), 1 + 18);
        assert!(ask(&collector, "GET /v1/report.md", "").1.starts_with("# "));
        assert_eq!(ask(&collector, "GET /v1/report.pdf", "").0, 404);
    }
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn a_mark_is_stored_and_in_the_report_and_what_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("records.db");
    let mut collector = Collector::start(Some(&database));
    post(collector.address, LANE).unwrap();
    let (status, told) = ask(&collector, "POST /v1/mark", r#"{"text":"door opened"}"#);
    assert!(status == 200 && told.contains("door opened ("), "{told}");
    for bad in [format!(r#"{{"text":"{}"}}"#, "x".repeat(10 << 10)), r#"{"text":"a\nb"}"#.into()] {
        let (status, why) = ask(&collector, "POST /v1/mark", &bad);
        assert!(status == 400 && why.len() < 200, "{status} {why}");
    }
    // A page of elsewhere.
    let evil = "POST /v1/mark HTTP/1.0\r\norigin: http://evil.example\r\nx:";
    assert_eq!(ask(&collector, evil, r#"{"text":"evil"}"#).0, 403);

    collector.kill();
    let collector = Collector::start(Some(&database));
    let events = json(&collector, "/v1/report.json")["events"].take();
    let marks: Vec<&Value> =
        events.as_array().unwrap().iter().filter(|event| event["kind"] == "mark").collect();
    assert_eq!(marks.len(), 1, "{events}");
    assert!(marks[0]["text"].as_str().unwrap().starts_with("door opened ("), "{events}");
}

#[test]
fn a_measured_run_without_a_message_says_so_and_is_known_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("records.db");
    let mut collector = Collector::start(Some(&database));
    let measure = |collector: &Collector, action: &str| {
        ask(collector, "POST /v1/measured", &format!(r#"{{"action":"{action}"}}"#))
    };
    assert_eq!(measure(&collector, "stop").0, 409);
    assert_eq!(measure(&collector, "pause").0, 400);
    let (status, run) = measure(&collector, "start");
    assert_eq!(status, 200, "{run}");
    let name = serde_json::from_str::<Value>(&run).unwrap()["name"].as_str().unwrap().to_owned();
    let (status, why) = measure(&collector, "start");
    assert!(status == 409 && why.contains(&name), "{why}");
    assert_eq!(ask(&collector, &format!("GET /v1/measured/{name}/report.json"), "").0, 409);
    assert_eq!(measure(&collector, "stop").0, 200);
    let run = measured(&collector);
    assert!(run["state"] == "failed" && run["trouble"] == "no message was taken in it", "{run}");
    let (status, why) = ask(&collector, &format!("GET /v1/measured/{name}/report.json"), "");
    assert!(status == 404 && why.contains("no message"), "{status} {why}");
    for path in ["..%2F..%2Frecords.db/report.json", "%2e%2e/report.json", "x/..%2Frecords.db"] {
        let (status, why) = ask(&collector, &format!("GET /v1/measured/{path}"), "");
        assert!(status == 404 && !why.contains("SQLite"), "{path}: {status} {why}");
    }
    let (_, run) = measure(&collector, "start");
    collector.kill();
    let collector = Collector::start(Some(&database));
    let found = json(&collector, "/v1/measured");
    assert_eq!((found[1]["name"].as_str(), &found[1]["state"]), (Some(&*name), &"failed".into()));
    let cut = serde_json::from_str::<Value>(&run).unwrap();
    assert_eq!(found[0]["name"], cut["name"]);
    assert!(found[0]["trouble"].as_str().unwrap().contains("ended before"), "{found}");
}
