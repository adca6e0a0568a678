use crate::clocks::Clocks;
use crate::lane::tests::{delivered, lane_of};
use crate::lane::{LaneReport, Wanted, figures};
use crate::ledger::LedgerBuilder;
use crate::markdown::markdown;
use crate::report::{Report, RunInfo, SCHEMA, Verdict};
use crate::table::table;
use crate::{Budget, Row};
use hopwatch_model::{Hop, Leg, Ns, Trace};
use hopwatch_testkit::chance;
use rand::Rng;
use std::collections::BTreeMap;

const MS: Ns = 1_000_000;

/// Everything from `hop` on happens later.
fn later(mut trace: Trace, hop: Hop, by: Ns) -> Trace {
    let stamps: Vec<_> = trace.stamps.iter().map(|(h, stamp)| (h, stamp.clone())).collect();
    for (at, stamp) in stamps.into_iter().filter(|(at, _)| *at >= hop) {
        trace.stamps.set(at, &stamp.clock, stamp.ns + by);
    }
    trace
}

/// A message every 100 ms with an AI of about 10 ms.
fn messages(n: u64) -> impl Iterator<Item = (u64, Trace)> {
    let mut chance = chance(3);
    (0..n).map(move |i| {
        let ai = 10 * MS + chance.random_range(0..MS);
        (i, delivered(Ns::try_from(i).unwrap() * 100 * MS, i + 1, ai))
    })
}

fn lane(traces: &[Trace]) -> LaneReport {
    let mut ledger = LedgerBuilder::new();
    assert!(traces.iter().all(|trace| ledger.observe_trace(trace)));
    let clocks = Clocks::default();
    let mut data = lane_of(traces, &clocks);
    data.info.workers = 64;
    figures(&data, ledger.ledger(true), &Wanted::default())
}

/// The table and report.md of it.
fn texts(lane: LaneReport) -> [String; 2] {
    let lanes = vec![lane];
    let report = Report {
        schema: SCHEMA,
        run: RunInfo::default(),
        budget: Budget::default().judge(&lanes),
        lanes,
        clocks: vec![],
        environment: BTreeMap::new(),
        artefacts: vec![],
        verdict: Verdict { decision: "INCONCLUSIVE", reason: String::new() },
        broadcasters: vec![],
        clients: vec![],
        shadow: None,
        events: vec![],
    };
    let table = table(&report);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    [table, markdown(&report)]
}

fn line<'a>(text: &'a str, begin: &str) -> &'a str {
    let found = text.lines().find(|line| line.trim_start_matches("- ").starts_with(begin));
    found.unwrap_or_else(|| panic!("no {begin}: {text}"))
}

#[test]
fn fifty_eight_have_a_p99_without_an_upper_bound() {
    let traces: Vec<Trace> = messages(58).map(|(_, trace)| trace).collect();
    let lane = lane(&traces);
    let total = &lane.classes[&Row::Total];
    assert!(total.p99_ns.is_some() && total.p99_ci_ns.hi.is_none());
    for text in texts(lane) {
        assert!(line(&text, "P99 total is at least").ends_with("; no upper bound at n = 58"));
        assert!(!text.contains("n_eff =") && !text.contains("n\\_eff ="), "{text}");
    }
}

#[test]
fn bounds_are_printed_as_soon_as_there_are_some() {
    for (n, p95, p99) in [(58, false, false), (59, true, false), (299, true, true)] {
        // Alternating, so that no message is worth less than one.
        let traces: Vec<Trace> = (0..n)
            .map(|i| {
                let at = i64::try_from(i).unwrap();
                delivered(at * 100 * MS, i + 1, 10 * MS + at % 2 * MS + at)
            })
            .collect();
        let lane = lane(&traces);
        assert_eq!(lane.classes[&Row::Total].n_eff, traces.len());
        let upper = lane.classes[&Row::Total].p99_upper_ns;
        let [_, markdown] = texts(lane);
        let row =
            markdown.lines().find(|line| line.starts_with(&format!("| total | {n} of {n} |")));
        let cells: Vec<&str> = row.unwrap().split(" | ").collect();
        assert_eq!((cells[5] != "–", cells[6] != "– |"), (p95, p99), "{row:?}");
        assert_eq!(upper.is_some(), p99);
        let bullet = line(&markdown, "P99 total is at least");
        assert_eq!(bullet.contains("or at most 11"), p99, "{bullet}");
    }
}

/// 5 % of the replies of the AI service wait 40 ms for a delayed acknowledgement.
#[test]
fn two_modes_are_named_and_have_no_mean() {
    let mut chance = chance(5);
    let traces: Vec<Trace> = messages(1_000)
        .map(|(i, trace)| {
            let usual = 200_000 + chance.random_range(0..20_000);
            let delayed = if i * 7 % 20 == 0 { 40 * MS } else { 0 };
            later(trace, Hop::AiAnswered, usual + delayed)
        })
        .collect();
    let lane = lane(&traces);
    let reply = &lane.legs[&Leg::AiReply].summary;
    let modes = reply.modes.unwrap();
    assert_eq!((modes.low.n, modes.high.n), (950, 50));
    assert!(reply.mean_ns.is_some(), "JSON keeps it");
    assert!(lane.legs[&Leg::AiInfer].summary.modes.is_none());
    let json = serde_json::to_value(&lane).unwrap();
    assert_eq!(json["legs"]["ai_reply"]["modes"]["high"]["n"], 50);
    assert!(json["legs"]["ai_infer"]["modes"].is_null());
    for text in texts(lane) {
        let text = text.replace("\n  ", " ").replace('\\', "");
        for (name, nagle) in [("total", false), ("communication", false), ("ai_reply", true)] {
            let said = line(&text, &format!("{name} has two modes: "));
            assert!(said.contains("(95 %) and ") && said.contains("(5 %)"), "{said}");
            assert_eq!(said.contains("Nagle with delayed ACK"), nagle, "{said}");
        }
        let row = text.lines().find(|line| line.trim_start_matches("| ").starts_with("ai_reply "));
        let cells: Vec<&str> = row.unwrap().split([' ', '|']).filter(|c| !c.is_empty()).collect();
        assert_eq!(cells.iter().filter(|cell| **cell == "–").count(), 2, "{row:?}");
    }
}

#[test]
fn the_slowest_and_the_variation_are_told_by_leg() {
    let traces: Vec<Trace> = messages(1_000)
        .map(|(i, trace)| {
            let queue = if i * 7 % 50 == 0 { Ns::try_from(50 + i % 20).unwrap() * MS } else { 0 };
            later(trace, Hop::Started, queue)
        })
        .collect();
    let lane = lane(&traces);
    let [p50, _, p99] = &lane.breakdown[..] else { panic!("{:?}", lane.breakdown) };
    assert!(p50.leg(Leg::Queue) < 2_000 && p99.leg(Leg::Queue) > 50 * MS, "{p99:?}");
    for text in texts(lane) {
        let text = text.replace('\\', "");
        let said = line(&text, "the slowest (near P99, n = 11; + against near P50): queue ");
        assert!(said.contains(" ms (+"), "{said}");
        assert!(line(&text, "100 % of the variation").ends_with("is queue"), "{text}");
    }
}

/// Each message takes as long as the nine before it.
#[test]
fn messages_that_depend_on_each_other_are_worth_less() {
    let traces: Vec<Trace> = (0..1_000)
        .map(|i| {
            let at = i64::try_from(i).unwrap();
            delivered(at * 100 * MS, i + 1, 10 * MS + at / 10 * 7_919 % 101 * 10_000)
        })
        .collect();
    let lane = lane(&traces);
    let n_eff = lane.classes[&Row::Total].n_eff;
    assert!((40..80).contains(&n_eff), "{n_eff}");
    for text in texts(lane) {
        let text = text.replace('\\', "");
        line(&text, &format!("n_eff = {n_eff} of 1000: messages depend on each other"));
        let bound = line(&text, "P99 total is at least");
        assert!(bound.ends_with(&format!("no upper bound at n_eff = {n_eff}")), "{bound}");
    }
}
