//! Measured runs, marks and reports of everything so far, asked for over HTTP while `hopwatch up`
//! goes on.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{
    Report, Row, Running, World, get, get_json, legs_add_up, post, post_from, rows,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;

const MEASURED: &str = "/v1/measured";

fn mono_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Starts or stops: what is answered, and between which moments it was done.
fn measure(collector: SocketAddr, action: &str) -> ((u16, String), (i64, i64)) {
    let asked = mono_ns();
    let reply = post(collector, MEASURED, &json!({ "action": action }).to_string()).unwrap();
    (reply, (asked, mono_ns()))
}

/// The newest run, once it has ended.
fn concluded(running: &mut Running) -> Value {
    let collector = running.address("collector");
    running.wait_for("end of the measured run", |_| {
        let run = get_json(collector, MEASURED)?[0].take();
        let over = ["done", "failed"].contains(&run["state"].as_str().unwrap_or_default());
        if over { Ok(run) } else { Err(run.to_string()) }
    })
}

fn text(collector: SocketAddr, path: &str) -> String {
    let (status, text) = get(collector, path).unwrap();
    assert_eq!(status, 200, "{path}: {text}");
    text
}

fn ids(rows: &[Row]) -> BTreeSet<String> {
    rows.iter().map(|row| row.text("trace_id").to_owned()).collect()
}

#[test]
fn a_measured_run_holds_what_was_taken_between_start_and_stop() {
    let world = World::new();
    let words = "up --any-ports --page-port 0 --rate 40 --ai-ms 150 --budget-total-ms 2500";
    let mut running = world.hopwatch(words).start();
    let collector = running.address("collector");
    running.delivered(40);

    let ((status, run), start) = measure(collector, "start");
    assert_eq!(status, 200, "{run}");
    let name = serde_json::from_str::<Value>(&run).unwrap()["name"].as_str().unwrap().to_owned();
    let marked = post(collector, "/v1/mark", r#"{"text":"문이 열렸다"}"#).unwrap();
    assert_eq!(marked.0, 200, "{marked:?}");
    let delivered = running.account().unwrap()["delivered"].as_u64().unwrap();
    running.delivered(delivered + 120);
    let ((status, why), _) = measure(collector, "start");
    assert!(status == 409 && why.contains(&name), "{why}");
    let ((status, run), stop) = measure(collector, "stop");
    assert_eq!(status, 200, "{run}");
    assert_eq!(measure(collector, "stop").0.0, 409);
    let run = concluded(&mut running);
    assert_eq!(run["state"], "done", "{run}");

    // While it goes on, everything so far.
    let so_far: Report = serde_json::from_str(&text(collector, "/v1/report.json")).unwrap();
    assert!(so_far.lanes.iter().all(|lane| lane.ledger.reconciles), "{so_far:?}");
    assert!(text(collector, "/v1/report.html").contains("문이 열렸다"));
    assert!(get(collector, &format!("{MEASURED}/..%2F{name}/report.json")).unwrap().0 == 404);

    let of_run = |file: &str| text(collector, &format!("{MEASURED}/{name}/{file}"));
    let (json, csv) = (of_run("report.json"), of_run("traces.csv"));
    assert!(of_run("report.md").contains(&name) && of_run("report.html").contains(&name));
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();

    // What lies between by the clock, of all that the whole run knows.
    let between = |from: i64, to: i64| -> BTreeSet<String> {
        let all = ended.traces();
        let within: Vec<Row> =
            all.into_iter().filter(|row| (from..=to).contains(&row.ns("taken_ns"))).collect();
        ids(&within)
    };
    let own = rows(&csv);
    legs_add_up(&own);
    let taken = ids(&own);
    assert!(between(start.1, stop.0).is_subset(&taken), "some of its messages are missing");
    assert!(taken.is_subset(&between(start.0, stop.1)), "it has messages of others");
    assert!(taken.len() > 100, "{}", taken.len());
    assert_eq!(run["messages"], taken.len(), "{run}");

    let value: Value = serde_json::from_str(&json).unwrap();
    let report: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(report.lanes.len(), 2, "BEST_EFFORT and RELIABLE");
    for lane in &report.lanes {
        let of_lane = own.iter().filter(|row| row.text("lane") == lane.name);
        let numbers: BTreeSet<i64> = of_lane.map(|row| row.ns("publication_sequence")).collect();
        let n = numbers.len();
        let delivered = u64::try_from(n).unwrap();
        lane.ledger.adds_up();
        assert_eq!((lane.classes["total"].n, lane.ledger.delivered), (n, delivered));
        // BEST_EFFORT loses some on a busy machine: each is a number that is missing in between.
        let span = numbers.last().unwrap() - numbers.first().unwrap() + 1;
        assert_eq!(lane.ledger.published, u64::try_from(span).unwrap(), "{:?}", lane.ledger);
        assert_eq!(lane.ledger.lost_in_ros, lane.ledger.published - delivered);
        assert_eq!(lane.ledger.duplicates, 0);
        assert_eq!(lane.legs["schedule"].n, n, "the schedule is known");
    }
    let ledger = &value["lanes"][0]["ledger"];
    assert_eq!(ledger["published_source"], "publication_sequence", "{ledger}");
    assert!(ledger["notes"].to_string().contains("a part of a run"), "{ledger}");
    assert_eq!(run["decision"], value["verdict"]["decision"]);
    assert!(!value["verdict"]["reason"].as_str().unwrap().is_empty());
    assert_eq!(value["budget"]["checks"][0]["limit_value"], 2.5e9, "{}", value["budget"]);
    assert!(!value["artefacts"].as_array().unwrap().is_empty());
    assert!(
        value["environment"]["RMW_IMPLEMENTATION"].is_string()
            || value["environment"]["kernel"].is_string()
    );
    let events = value["events"].to_string();
    assert!(events.contains("문이 열렸다") && events.contains("measured_run"), "{events}");

    // The report of the whole run has the mark, too, and the files lie in its folder.
    assert!(ended.json()["events"].to_string().contains("문이 열렸다"));
    let folder = ended.out.join("measured").join(&name);
    assert_eq!(std::fs::read_to_string(folder.join("report.json")).unwrap(), json);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let world = World::new();
    let mut running =
        world.hopwatch("up --no-sim --any-ports --page-port 0 --ai-ms 2 --qos reliable").start();
    let collector = running.address("collector");
    assert!(measure(collector, "stop").0.1.contains("start one first"));
    for (path, body) in [(MEASURED, r#"{"action":"start"}"#), ("/v1/mark", r#"{"text":"x"}"#)] {
        let refused = post_from("http://evil.example", collector, path, body).unwrap();
        assert_eq!(refused.0, 403, "{path}: {refused:?}");
        let (status, why) = post(collector, path, &"x".repeat(10 << 10)).unwrap();
        assert!(status == 400 || status == 413, "{path}: {status} {why}");
    }
    // A page of this machine may.
    let start = r#"{"action":"start"}"#;
    let begun = post_from("http://localhost:3000", collector, MEASURED, start).unwrap();
    assert_eq!(begun.0, 200, "{begun:?}");
    assert_eq!(measure(collector, "stop").0.0, 200);
    let run = concluded(&mut running);
    assert_eq!(
        (&run["state"], &run["trouble"]),
        (&json!("failed"), &json!("no message was taken in it"))
    );

    // Robots that have ended leave a gateway that says nothing: the run's end is known all the same.
    assert_eq!(measure(collector, "start").0.0, 200);
    world.robots("--rate 50 --for 1s --qos reliable").end().has_code(0);
    running.delivered(50);
    assert_eq!(measure(collector, "stop").0.0, 200);
    let run = concluded(&mut running);
    assert_eq!((&run["state"], &run["messages"]), (&json!("done"), &json!(50)), "{run}");
    let path = format!("{MEASURED}/{}/report.json", run["name"].as_str().unwrap());
    let report: Report = serde_json::from_str(&text(collector, &path)).unwrap();
    report.ledger().adds_up();
    running.interrupt();
    running.end();
    world.is_empty_now();
}
