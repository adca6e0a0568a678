//! A robot that sends what no honest robot sends: each message is an outcome, and the pipeline
//! goes on.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Row, World, legs_add_up, table_fits};
use serde_json::Value;
use std::collections::BTreeMap;

/// What becomes of each kind that DDS delivers: delivered with these oddities, or undecodable.
const FATES: [(&str, Option<&[&str]>); 29] = [
    ("invalid-utf8", Some(&["not_utf8"])),
    ("invalid-utf8-id", Some(&["not_utf8"])),
    ("inner-nul", Some(&["holds_nul"])),
    ("battery-nan", Some(&["not_finite"])),
    ("battery-inf", Some(&["not_finite"])),
    ("battery-minus-inf", Some(&["not_finite"])),
    ("error-100kb", Some(&[])),
    ("error-1mb", Some(&[])),
    ("empty-strings", Some(&[])),
    ("not-a-uuid", Some(&[])),
    ("markup", Some(&[])),
    ("negative-priority", Some(&[])),
    ("negative-sequence", Some(&[])),
    ("huge-sequence", Some(&[])),
    ("time-zero", Some(&["bad_time"])),
    ("time-negative", Some(&["bad_time"])),
    ("time-extreme", Some(&["bad_time"])),
    ("nsec-overflow", Some(&["bad_time"])),
    ("big-endian", Some(&[])),
    ("unterminated", None),
    ("trailing-bytes", None),
    ("length-lie", None),
    ("truncated-tail", None),
    ("truncated-battery", None),
    ("truncated-string", None),
    ("header-only", None),
    ("two-bytes", None),
    ("garbage-body", None),
    ("garbage", None),
];

#[test]
fn every_hostile_message_has_an_outcome_and_the_pipeline_goes_on() {
    let world = World::new();
    let mut running = world.hopwatch("run --no-sim --for 60s --ai-ms 1 --qos reliable").start();
    let log = world.path("hostile.jsonl");
    let kinds: Vec<&str> = FATES.iter().map(|(kind, _)| *kind).collect();
    let words = format!("--qos reliable --rate 25 --kinds {} --log", kinds.join(","));
    let peer = world.peer("hostile.py", &words).arg(log.to_str().unwrap()).start();
    // A normal one goes first, between and last.
    let sent = 2 * FATES.len() + 1;
    let known = FATES.iter().filter(|(_, fate)| fate.is_some()).count() + FATES.len() + 1;
    running.delivered(u64::try_from(known).unwrap());
    running.interrupt();
    let ended = running.end();
    drop(peer.end());
    world.is_empty_now();

    // More than 1 % lost: no P99 over what was published.
    let report = ended.has_code(1).report();
    let lane = report.lane();
    let ledger = lane.ledger.adds_up();
    assert_eq!(ledger.published, u64::try_from(sent).unwrap());
    assert_eq!(ledger.delivered, u64::try_from(known).unwrap());
    assert_eq!(ledger.undecodable, u64::try_from(sent - known).unwrap());
    assert_eq!(lane.defects, Vec::<String>::new());

    let rows = ended.traces();
    legs_add_up(&rows);
    let by_number: BTreeMap<i64, &Row> =
        rows.iter().map(|row| (row.ns("publication_sequence"), row)).collect();
    let oddities = oddities(&ended.records("trace"));
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    let fates: BTreeMap<&str, _> = FATES.into_iter().collect();
    for line in std::fs::read_to_string(log).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["refused"], Value::Null, "{line}");
        let kind = line["kind"].as_str().unwrap();
        let number = line["slot"].as_i64().unwrap() + 1;
        let row = by_number.get(&number).unwrap_or_else(|| panic!("{kind} is not told of"));
        let fate = if kind == "normal" { Some(&[][..]) } else { fates[kind] };
        if let Some(odd) = fate {
            assert!(row.is_delivered(), "{kind}: {row:?}");
            assert_eq!(row.ns("sequence"), line["sequence"].as_i64().unwrap(), "{kind}");
            assert_eq!(oddities[row.text("trace_id")], odd, "{kind}");
            for odd in odd {
                *counted.entry((*odd).to_owned()).or_default() += 1;
            }
        } else {
            assert_eq!(row.text("outcome"), "undecodable", "{kind}");
            assert!(!row.text("detail").is_empty(), "{kind} has no reason: {row:?}");
        }
    }
    assert_eq!(lane.oddities, counted);
    table_fits(&ended.stdout);
    for (odd, n) in counted {
        let line = format!("! {n} messages were odd: {odd}");
        assert!(ended.stdout.contains(&line), "{}", ended.stdout);
    }
}

/// Oddities by trace id.
fn oddities(records: &[Value]) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |record: &Value| {
        let odd = record["oddities"].as_array().cloned().unwrap_or_default();
        (text(&record["trace_id"]), odd.iter().map(text).collect())
    };
    records.iter().map(of).collect()
}
