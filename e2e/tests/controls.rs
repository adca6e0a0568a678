//! What can be set while the pipeline runs: it does what it says, and nothing else.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, Hosts, Row, Running, World, get_json, legs_add_up, request};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};

const SETTINGS: &str = "/v1/settings";
/// A page of this machine.
const PAGE: (&str, &str) = ("origin", "http://localhost:3000");

/// Where a part of the pipeline can be set, by what the page is told.
#[track_caller]
fn control(running: &mut Running, name: &str) -> SocketAddr {
    let page = running.page();
    let page = page.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let config = get_json(page, "/config.json").unwrap();
    let port = config["controls"][format!("{name}_port")].as_u64();
    let port = port.unwrap_or_else(|| panic!("no port of {name}: {config}"));
    SocketAddr::from((Ipv4Addr::LOCALHOST, u16::try_from(port).unwrap()))
}

/// Sets something as a page does; what it is told must be what it wanted.
#[track_caller]
fn set(address: SocketAddr, lines: &[(&str, &str)], wanted: &Value) {
    let all = [&[PAGE], lines].concat();
    let (status, body) = request(address, "PUT", SETTINGS, &all, &wanted.to_string()).unwrap();
    assert_eq!(status, 200, "{body}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), *wanted);
}

/// Messages that went the whole way so far.
#[track_caller]
fn delivered(running: &mut Running) -> u64 {
    running.wait_for("account", Running::account)["delivered"].as_u64().unwrap()
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Ends the pipeline; the account must add up.
#[track_caller]
fn end(running: Running, world: &World) -> Ended {
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    let report = ended.report();
    assert!(report.ledger().adds_up().reconciles, "{:?}", report.ledger());
    legs_add_up(&ended.traces());
    ended
}

#[test]
fn a_slower_ai_shows_as_ai_and_nowhere_else() {
    let world = World::new();
    let words = "up --any-ports --page-port 0 --rate 20 --ai-ms 20 --qos reliable --probes 0";
    let mut running = world.hopwatch(words).start();
    let ai = control(&mut running, "ai");
    assert_eq!(get_json(ai, SETTINGS).unwrap(), json!({"model_ms": 20.0}));
    running.delivered(60);
    set(ai, &[], &json!({"model_ms": 220.0}));
    let more = delivered(&mut running) + 60;
    running.delivered(more);
    let ended = end(running, &world);

    let rows: Vec<Row> = ended.traces().into_iter().filter(Row::is_delivered).collect();
    // The model sleeps exactly; which setting a message had is beyond doubt.
    let (slow, fast): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.ns("ai_infer_ns") > 120_000_000);
    assert!(slow.len() >= 50 && fast.len() >= 50, "{} and {}", fast.len(), slow.len());
    let last_fast = fast.iter().map(|row| row.ns("taken_ns")).max().unwrap();
    let first_slow = slow.iter().map(|row| row.ns("taken_ns")).min().unwrap();
    assert!(last_fast < first_slow, "one that was under way kept its time, and none later had it");
    let grew = |column: &str| {
        let of = |rows: &[Row]| median(rows.iter().map(|row| row.ns(column)).collect());
        of(&slow) - of(&fast)
    };
    let ai = grew("ai_ns");
    assert!((195_000_000..230_000_000).contains(&ai), "{ai}");
    for column in ["transport_ns", "overhead_ns"] {
        let other = grew(column);
        assert!(other.abs() < ai / 20, "{column} grew by {other} ns, AI by {ai} ns");
    }
}

/// When a message was due on the gateway's clock, which is the robots' too.
fn due(row: &Row) -> i64 {
    row.ns("taken_ns") + row.ns("total_ns") - row.ns("intended_ns")
}

#[test]
fn another_rate_is_another_schedule_and_every_message_is_of_one() {
    let world = World::new();
    let words = "up --any-ports --page-port 0 --robots 2 --rate 20 --ai-ms 2 --qos reliable \
                 --probes 0 --payload-bytes 300";
    let mut running = world.hopwatch(words).start();
    let robots = control(&mut running, "robots");
    let first = json!({"rate_hz": 20.0, "payload_bytes": 300});
    assert_eq!(get_json(robots, SETTINGS).unwrap(), first);
    let mut goal = 0;
    for (rate_hz, payload_bytes, messages) in [(20.0, 300, 80), (100.0, 5_000, 400), (4.0, 0, 16)] {
        set(robots, &[], &json!({"rate_hz": rate_hz, "payload_bytes": payload_bytes}));
        // What is set takes over in a moment.
        goal = delivered(&mut running).max(goal) + messages + 60;
        running.delivered(goal);
    }
    let ended = end(running, &world);
    let report = ended.report();
    report.ledger().all_delivered(report.ledger().published);
    assert_eq!(report.ledger().published_source, "census");

    for robot in ["robot_001", "robot_002"] {
        let mut rows = ended.traces();
        rows.retain(|row| row.text("robot_id") == robot);
        rows.sort_by_key(|row| row.ns("sequence"));
        let sequences: Vec<i64> = rows.iter().map(|row| row.ns("sequence")).collect();
        assert_eq!(sequences, (0..i64::try_from(rows.len()).unwrap()).collect::<Vec<_>>());
        let gaps: Vec<i64> = rows.windows(2).map(|two| due(&two[1]) - due(&two[0])).collect();
        // In whole periods, to the nanosecond, but for the two moments of change.
        let mut periods: Vec<(i64, usize)> = Vec::new();
        for gap in &gaps {
            match periods.last_mut() {
                Some((period, n)) if (*period - gap).abs() <= 1 => *n += 1,
                _ => periods.push((*gap, 1)),
            }
        }
        let long: Vec<(i64, bool)> = periods
            .iter()
            .filter(|(_, n)| *n > 3)
            .map(|(period, n)| ((period + 500_000) / 1_000_000, *n > 3))
            .collect();
        assert_eq!(long, [(50, true), (10, true), (250, true)], "{robot}: {periods:?}");
        assert!(periods.len() <= 5, "{robot}: {periods:?}");
        // None was published before it was due, but for how well the wall clock is placed.
        for row in &rows {
            let slack = 200_000 + row.ns("intended_half_ns");
            assert!(row.ns("schedule_ns") > -slack, "{row:?}");
        }
    }
    // Each schedule has a census of its own, which counts on.
    let censuses = ended.records("census");
    let mut told: Vec<(i64, f64, i64)> = censuses
        .iter()
        .filter(|census| census["robot_id"] == "robot_001")
        .map(|census| {
            let start = census["schedule_start_ns"].as_str().unwrap().parse().unwrap();
            let first = census["first_sequence"].as_i64().unwrap();
            (start, census["rate_hz"].as_f64().unwrap(), first)
        })
        .collect();
    told.sort_by_key(|(start, ..)| *start);
    // It counts on, and says so each time.
    told.dedup();
    let rates: Vec<f64> = told.iter().map(|(_, rate, _)| *rate).collect();
    assert_eq!(rates, [20.0, 100.0, 4.0], "{told:?}");
    assert!(told.is_sorted_by_key(|(.., first)| *first), "{told:?}");
}

#[test]
fn what_cant_be_is_refused_and_pages_of_elsewhere_set_nothing() {
    let world = World::new();
    let words = "up --any-ports --page-port 0 --rate 10 --ai-ms 5 --qos reliable";
    let mut running = world.hopwatch(words).start();
    let (ai, robots) = (control(&mut running, "ai"), control(&mut running, "robots"));
    let page = running.page();
    let page = page.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let config = get_json(page, "/config.json").unwrap();
    assert_eq!(config["controls"]["network_port"], Value::Null, "nothing is lost here");
    assert_eq!(config["controls"]["token_needed"], false);
    for (address, wanted, said) in [
        (ai, r#"{"model_ms":-1}"#, "model_ms must lie between 0 and 3600000, not -1"),
        (ai, r#"{"model_ms":3600001}"#, "not 3600001"),
        (ai, r#"{"model_ms":null}"#, "these are no settings"),
        (ai, r#"{"model_ms":1,"sigma":1}"#, "unknown field `sigma`"),
        (robots, r#"{"rate_hz":0,"payload_bytes":0}"#, "a rate is above 0"),
        (robots, r#"{"rate_hz":1e6,"payload_bytes":0}"#, "at most 100000 Hz"),
        (robots, r#"{"rate_hz":1,"payload_bytes":4000001}"#, "payload_bytes must be at most"),
        (robots, r#"{"rate_hz":1,"payload_bytes":-1}"#, "these are no settings"),
        (robots, r#"{"rate_hz":1}"#, "missing field `payload_bytes`"),
    ] {
        let before = get_json(address, SETTINGS).unwrap();
        let (status, body) = request(address, "PUT", SETTINGS, &[PAGE], wanted).unwrap();
        assert!(status == 400 && body.contains(said), "{wanted}: {status} {body}");
        assert_eq!(get_json(address, SETTINGS).unwrap(), before, "{wanted}");
    }
    for (address, wanted) in
        [(ai, r#"{"model_ms":1}"#), (robots, r#"{"rate_hz":1,"payload_bytes":1}"#)]
    {
        let before = get_json(address, SETTINGS).unwrap();
        let elsewhere = ("origin", "http://evil.example");
        let wants_put = ("access-control-request-method", "PUT");
        for (method, lines) in [
            ("PUT", vec![elsewhere]),
            ("GET", vec![elsewhere]),
            ("OPTIONS", vec![elsewhere, wants_put]),
            // Its own name leads here (DNS rebinding).
            ("PUT", vec![("host", "evil.example"), PAGE]),
        ] {
            let (status, body) = request(address, method, SETTINGS, &lines, wanted).unwrap();
            assert!(status == 403, "{method} {lines:?}: {status} {body}");
        }
        assert_eq!(get_json(address, SETTINGS).unwrap(), before);
    }
    end(running, &world);
}

/// A service that others can reach has a token, and nobody sets anything without it.
#[test]
fn beyond_loopback_the_token_is_needed() {
    let world = World::new();
    for (program, wanted) in [
        ("hopwatch-ai-mock", json!({"model_ms": 7.5})),
        ("hopwatch-robot-sim", json!({"rate_hz": 3.0, "payload_bytes": 9})),
    ] {
        let address = if program == "hopwatch-ai-mock" { "--listen" } else { "--control" };
        let mut start = world.program(&world.built(program), address);
        start.arg("0.0.0.0:0");
        let refused = start.end();
        refused.has_code(2).says(&["HOPWATCH_TOKEN"]);
        let mut running = start.env("HOPWATCH_TOKEN", "s3cret").start();
        let port = running.listening().port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let wrong = ("authorization", "Bearer wrong");
        for lines in [vec![PAGE], vec![PAGE, wrong], vec![]] {
            for method in ["PUT", "GET"] {
                let body = wanted.to_string();
                let (status, body) = request(address, method, SETTINGS, &lines, &body).unwrap();
                assert_eq!(status, 401, "{program} {method} {lines:?}: {body}");
            }
        }
        set(address, &[("authorization", "Bearer s3cret")], &wanted);
        running.interrupt();
        running.end();
    }
    world.is_empty_now();
}

/// Packets lost from some moment on, until another one: the report says so.
#[test]
fn a_loss_that_is_set_while_it_runs_is_real_and_told() {
    if Hosts::new().is_none() {
        return;
    }
    let world = World::new();
    let words = "up --any-ports --page-port 0 --rate 50 --ai-ms 2 --qos best-effort --probes 0 \
                 --loss 0 --loss-legs ros";
    let token = ("authorization", "Bearer s3cret");
    let mut running = world.hopwatch(words).env("HOPWATCH_TOKEN", "s3cret").start();
    let network = control(&mut running, "network");
    // Through the door on this host, as the page does.
    let ai = control(&mut running, "ai");
    set(ai, &[token], &json!({"model_ms": 3.0}));
    set(control(&mut running, "robots"), &[token], &json!({"rate_hz": 40.0, "payload_bytes": 0}));
    let page = running.page();
    let page = page.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let config = get_json(page, "/config.json").unwrap();
    assert_eq!(config["controls"]["token_needed"], true);
    let collector = u16::try_from(config["collector_port"].as_u64().unwrap()).unwrap();
    let collector = SocketAddr::from((Ipv4Addr::LOCALHOST, collector));
    let account = || {
        let (status, body) = request(collector, "GET", "/v1/status", &[token], "")?;
        let told: Value = serde_json::from_str(&body).map_err(|_| format!("{status} {body}"))?;
        let lanes = told["lanes"].as_object().ok_or_else(|| body.clone())?;
        lanes.values().next().cloned().ok_or(body)
    };
    let count = |key: &'static str, at_least: u64| {
        move |account: Result<Value, String>| {
            let account = account?;
            match account[key].as_u64() {
                Some(n) if n >= at_least => Ok(n),
                _ => Err(account.to_string()),
            }
        }
    };
    running.wait_for("messages without loss", |_| count("delivered", 80)(account()));
    assert_eq!(account().unwrap()["lost_in_ros"], 0);
    let (status, body) = request(network, "PUT", SETTINGS, &[PAGE], r#"{"loss":0.5}"#).unwrap();
    assert_eq!(status, 401, "{body}");
    let (status, body) =
        request(network, "PUT", SETTINGS, &[PAGE, token], r#"{"loss":1.5}"#).unwrap();
    assert!(status == 400 && body.contains("between 0 and 1, not 1.5"), "{status} {body}");
    set(network, &[token], &json!({"loss": 0.5}));
    let lost = running.wait_for("lost messages", |_| count("lost_in_ros", 20)(account()));
    set(network, &[token], &json!({"loss": 0.0}));
    let more = account().unwrap()["delivered"].as_u64().unwrap() + 80;
    running.wait_for("messages without loss again", |_| count("delivered", more)(account()));

    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    let report = ended.report();
    let ledger = report.ledger().adds_up();
    assert!(ledger.reconciles && ledger.lost_in_ros >= lost, "{ledger:?}");
    let network = &ended.json()["run"]["network"];
    let changes = network["changes"].as_array().unwrap();
    let losses: Vec<&Value> = changes.iter().map(|change| &change["loss"]).collect();
    assert_eq!((&network["loss"], losses), (&json!(0.0), vec![&json!(0.5), &json!(0.0)]));
    assert!(network["legs"][0]["dropped"].as_u64().unwrap() >= lost, "{network}");
    let said = "changed while it ran: to 50 % after ";
    assert!(ended.stdout.replace("\n  ", " ").contains(said), "{}", ended.stdout);
    let events = ended.records("event");
    assert_eq!(events.iter().filter(|event| event["event"] == "loss_changed").count(), 2);
}
