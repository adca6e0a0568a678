//! An AI service that answers with anything but an answer: each is counted by its name, and
//! deliveries go on as soon as it is itself again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod server;

use hopwatch_e2e::{World, figures_are_of_the_traces, legs_add_up};
use server::{Manner, Server};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What each manner is called in the ledger, and what the trace says of it.
const NAMES: [(Manner, &str, &str); 13] = [
    (Manner::Status(500), "failed", "500"),
    (Manner::Status(502), "failed", "502"),
    (Manner::Status(503), "refused", "503"),
    (Manner::Status(404), "refused", "404"),
    (Manner::Html, "bad_reply", "text/html"),
    (Manner::BrokenJson, "bad_reply", "no JSON"),
    (Manner::Empty, "bad_reply", "no JSON"),
    (Manner::TooLong, "bad_reply", "exceeds"),
    (Manner::Garbage, "broken", "connection"),
    (Manner::Nothing, "broken", "connection"),
    (Manner::Half, "broken", "inside the reply"),
    (Manner::Late, "timed_out", "within 300 ms"),
    (Manner::Drip, "timed_out", "within 300 ms"),
];

/// Rude for a while, with good answers in between; then good.
fn manner(request: usize) -> Manner {
    match request {
        0..52 if request % 2 == 1 => NAMES[request / 2 % NAMES.len()].0,
        _ if request.is_multiple_of(4) => Manner::Timed,
        _ => Manner::Good,
    }
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

#[test]
fn every_bad_answer_is_counted_by_its_name() {
    let world = World::new();
    let server = Server::start(anywhere(), manner);
    let config =
        world.file("hopwatch.toml", "[gateway]\nai_timeout_ms = 300\nmax_reply_bytes = 100_000\n");
    let words = format!(
        "run --for 4s --rate 20 --ai-url http://{}/infer --config {}",
        server.address,
        config.display()
    );
    let ended = world.hopwatch(&words).end();
    world.is_empty_now();
    // More than 1 % lost: no P99 over what was published.
    let report = ended.has_code(1).report();
    let ledger = report.ledger().adds_up();
    assert_eq!(ledger.published, 80);
    assert!(ledger.web_failed.is_empty(), "{ledger:?}");

    let answered = server.answered();
    let of = |manner| answered.get(&manner).copied().unwrap_or(0);
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for (manner, name, _) in NAMES {
        assert_eq!(of(manner), 2, "{manner:?} in {answered:?}");
        *expected.entry(name.to_owned()).or_default() += of(manner);
    }
    assert_eq!(ledger.ai_failed, expected);
    assert_eq!(ledger.delivered, of(Manner::Good) + of(Manner::Timed));

    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(report.lane(), &rows);
    for (_, name, word) in NAMES {
        let outcome = format!("ai {name}");
        let mut told = rows.iter().filter(|row| row.text("outcome") == outcome);
        let text = told.find(|row| row.text("detail").contains(word));
        assert!(text.is_some(), "no {outcome} of {word:?}");
    }
    // It recovers: the last ones all went the whole way.
    assert!(rows.iter().rev().take(20).all(hopwatch_e2e::Row::is_delivered));
    // What it tells of itself is AI, the rest of the round trip is transport; where it tells
    // nothing, the round trip is AI as a whole.
    let delivered = || rows.iter().filter(|row| row.is_delivered());
    let (timed, untimed): (Vec<_>, Vec<_>) =
        delivered().partition(|row| row.maybe("ai_transport_ns").is_some());
    assert_eq!(u64::try_from(timed.len()).unwrap(), of(Manner::Timed));
    for row in timed {
        assert_eq!((row.ns("ai_wait_ns"), row.ns("ai_infer_ns")), (1_000_000, 4_000_000));
        assert!(row.ns("ai_transport_ns") > 0, "{row:?}");
    }
    for row in untimed {
        assert_eq!(row.ns("ai_ns"), row.ns("ai_round_trip_ns"));
    }
}

#[test]
fn an_ai_service_that_goes_and_comes_back_is_unreachable_meanwhile() {
    let world = World::new();
    let server = Server::start(anywhere(), |_| Manner::Good);
    let address = server.address;
    let words = format!("run --for 5s --rate 20 --ai-url http://{address}/infer");
    let mut running = world.hopwatch(&words).start();
    running.delivered(20);
    server.close();
    let unreachable = running.wait_for("unreachable ones", |running| {
        let account = running.account()?;
        let n = account["ai_failed"]["unreachable"].as_u64().unwrap_or(0);
        if n >= 5 { Ok(account["delivered"].as_u64().unwrap()) } else { Err(account.to_string()) }
    });
    let server = Server::start(address, |_| Manner::Good);
    running.delivered(unreachable + 20);
    let ended = running.end();
    world.is_empty_now();
    // More than 1 % lost: no P99 over what was published.
    let report = ended.has_code(1).report();
    let ledger = report.ledger().adds_up();
    assert_eq!(ledger.published, 100);
    assert!(ledger.ai_failed["unreachable"] >= 5, "{ledger:?}");
    // At most the one that was under way just then broke otherwise.
    let others: u64 = ledger.ai_failed.values().sum::<u64>() - ledger.ai_failed["unreachable"];
    assert!(others <= 1, "{ledger:?}");
    assert!(server.answered()[&Manner::Good] >= 20);
    let rows = ended.traces();
    legs_add_up(&rows);
    assert!(rows.last().unwrap().is_delivered());
    let told = rows.iter().find(|row| row.text("outcome") == "ai unreachable").unwrap();
    assert!(told.text("detail").contains(&address.to_string()), "{told:?}");
}

/// It never comes: nothing is delivered, and every message says why.
#[test]
fn without_an_ai_service_the_pipeline_failed() {
    let world = World::new();
    let nobody = std::net::TcpListener::bind(anywhere()).unwrap().local_addr().unwrap();
    let words = format!("run --for 1s --rate 10 --ai-url http://{nobody}/infer");
    let ended = world.hopwatch(&words).end();
    world.is_empty_now();
    let ledger = ended.has_code(4).report().ledger().adds_up().clone();
    assert_eq!((ledger.published, ledger.delivered), (10, 0));
    assert_eq!(ledger.ai_failed, BTreeMap::from([("unreachable".to_owned(), 10)]));
    assert!(ended.stdout.contains("AI unreachable 10"), "{}", ended.stdout);
}

/// 40 ms that are neither HTTP's nor the network's: whoever changed to UDP for them would have
/// looked in the wrong place.
#[test]
fn a_reply_in_two_segments_is_named_nagle_and_not_blamed_on_http() {
    let world = World::new();
    let server = Server::start(anywhere(), |_| Manner::InTwo);
    // Linux delays the acknowledgement of a head only where requests follow replies within 40 ms.
    let words =
        format!("run --for 4s --rate 100 --qos reliable --ai-url http://{}/infer", server.address);
    let ended = world.hopwatch(&words).end();
    world.is_empty_now();
    ended.report().ledger().all_delivered(400);
    let of_lane = ended.json()["artefacts"][0]["artefacts"].clone();
    let state = |kind: &str| {
        let found = of_lane.as_array().unwrap().iter().find(|artefact| artefact["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}: {of_lane}")).clone()
    };
    let nagle = state("nagle_delayed_ack");
    assert_eq!(nagle["state"], "found", "{of_lane}");
    assert!(nagle["fix"].as_str().unwrap().contains("TCP_NODELAY"), "{nagle}");
    // It is most of what communication takes here.
    assert!(nagle["gain_p50_ns"].as_i64().unwrap() > 30_000_000, "{nagle}");
    for other in ["lost_syn", "tcp_retransmission", "serial_gateway"] {
        assert_eq!(state(other)["state"], "ruled_out", "{of_lane}");
    }
    assert!(ended.stdout.contains("TCP_NODELAY"), "{}", ended.stdout);
}
