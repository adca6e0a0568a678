//! Each link between real programs: what goes over it, what it loses, and what it would change.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Hosts, Row, World, legs_add_up};
use std::collections::BTreeMap;

const LINKS: [&str; 8] =
    ["http1", "http1-fresh", "http2", "websocket", "grpc", "quic", "udp", "udp-retry"];

/// The same messages over every link at once.
#[test]
fn every_link_carries_the_same_messages() {
    let world = World::new();
    let mut run = world.hopwatch("run --for 4s --rate 10 --ai-ms 5");
    for link in LINKS {
        run.arg("--lane").arg(&format!("reliable,link={link},name={link}"));
    }
    let ended = run.end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    let lanes: Vec<(&str, &str)> =
        report.lanes.iter().map(|lane| (lane.name.as_str(), lane.transport.as_str())).collect();
    let mut expected = LINKS.map(|link| (link, link));
    expected.sort_unstable();
    assert_eq!(lanes, expected);
    let rows = ended.traces();
    legs_add_up(&rows);
    let mut of_lane: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        of_lane.entry(row.text("lane")).or_default().push(row);
    }
    for lane in &report.lanes {
        lane.ledger.all_delivered(40);
        // Opened ahead of the first message and kept, but for the one whose way it is.
        let rows = &of_lane[lane.name.as_str()];
        let opened = |leg| rows.iter().filter(|row| row.maybe(leg).is_some()).count();
        let opened = opened("ai_connect_ns").max(opened("web_connect_ns"));
        if lane.name == "http1-fresh" {
            assert_eq!(opened, 40);
        } else {
            assert!(opened <= 2, "{} opened {opened} connections", lane.name);
        }
        // Both services told their own time on every link.
        let told = |row: &&&Row| {
            row.maybe("ai_request_ns").is_some() && row.maybe("web_handle_ns").is_some()
        };
        assert_eq!(rows.iter().filter(told).count(), 40, "{}", lane.name);
    }
}

/// A datagram that is lost is a message that is lost: in the ledger and in the percentiles.
#[test]
fn what_udp_loses_took_forever() {
    if Hosts::new().is_none() {
        return;
    }
    let world = World::new();
    let words = "run --for 6s --rate 20 --ai-ms 5 --qos reliable --link udp --loss 10% \
                 --loss-legs ai,web";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(1).report();
    let ledger = report.ledger().adds_up();
    assert_eq!(ledger.published, 120);
    let gone = |failed: &BTreeMap<String, u64>| failed.get("timed_out").copied().unwrap_or(0);
    let (ai, web) = (gone(&ledger.ai_failed), gone(&ledger.web_failed));
    // Two datagrams a call: some 23 of 120 at the AI service.
    assert!(ai >= 4 && web >= 2, "{ledger:?}");
    assert!(ledger.delivered >= 40 && ledger.delivered <= 114, "{ledger:?}");
    let over = &ended.json()["lanes"][0]["over_published"];
    assert_eq!(over["pipeline"]["p99_ns"], "lost", "{over}");
    assert_eq!(over["of"].as_u64().unwrap(), ledger.delivered + over["lost"].as_u64().unwrap());
    assert!(ended.stdout.contains("P99 over published: lost"), "{}", ended.stdout);
    legs_add_up(&ended.traces());
}

/// The same loss, sent again: hardly anything is lost, and what it took has legs of its own.
#[test]
fn what_udp_retry_sends_again_has_its_own_legs() {
    if Hosts::new().is_none() {
        return;
    }
    let world = World::new();
    let words = "run --for 6s --rate 20 --ai-ms 5 --qos reliable --link udp-retry --loss 10% \
                 --loss-legs ai,web";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.report();
    let ledger = report.ledger().adds_up();
    assert_eq!((ledger.published, ledger.in_flight), (120, 0));
    assert!(ledger.delivered >= 117, "{ledger:?}");
    let rows = ended.traces();
    legs_add_up(&rows);
    let with = |leg: &str| rows.iter().filter(|row| row.maybe(leg).is_some()).count();
    let requests = with("ai_retry_ns") + with("web_retry_ns");
    let replies = with("ai_resend_ns") + with("web_resend_ns");
    // Of 240 calls, each direction loses one in ten.
    assert!(requests >= 5 && replies >= 5, "{requests} requests and {replies} replies");
    for row in &rows {
        for leg in ["ai_retry_ns", "web_retry_ns", "ai_resend_ns", "web_resend_ns"] {
            assert!(row.maybe(leg).is_none_or(|ns| ns > 0), "{row:?}");
        }
    }
}

/// Beside the messages, every link is tried on the same path.
#[test]
fn shadow_probes_try_every_link() {
    let world = World::new();
    let words = "run --for 5s --rate 10 --ai-ms 5 --qos reliable --probes 80";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(50);
    let shadow = ended.json()["shadow"].clone();
    assert_eq!((&shadow["current"], &shadow["rate_hz"]), (&"http1".into(), &80.0.into()));
    let links = shadow["links"].as_array().unwrap();
    let mut names: Vec<&str> = links.iter().map(|link| link["link"].as_str().unwrap()).collect();
    assert_eq!(names[0], "http1");
    names.sort_unstable();
    let mut expected = LINKS;
    expected.sort_unstable();
    assert_eq!(names, expected);
    for link in links {
        assert_eq!(link["failed"], 0, "{link}");
        assert!(link["probes"].as_u64().unwrap() >= 10, "{link}");
    }
    // Each kept link is measured warm: only the one that opens a connection each time pays for it.
    let mut opened: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for probe in ended.records("probe") {
        let (all, cold) = opened.entry(probe["link"].as_str().unwrap().to_owned()).or_default();
        *all += 1;
        *cold += u64::from(probe["connect_ns"].as_i64().unwrap() > 0);
    }
    for (link, (all, cold)) in opened {
        assert_eq!(cold, if link == "http1-fresh" { all } else { 0 }, "{link} of {all}");
    }
    assert!(ended.stdout.contains("shadow probes"), "{}", ended.stdout);
}
