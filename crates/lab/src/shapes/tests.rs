//! Made-up worlds whose truth is known.

use super::plan::{Bench, Measuring, Message, Paced, Plan, Run, Step, Taken, Way};
use super::static_tests::definitions;
use super::values::Compared;
use super::{Given, Shapes};
use crate::study::{Housekeeping, Raw, SCHEMA, Study};
use serde_json::Value;

const N: u64 = 10;

fn plan() -> Plan {
    let message = |of: &str, paths: &[&str], split_of: Option<&str>| Message {
        of: of.to_owned(),
        lengths: paths.iter().map(|path| ((*path).to_owned(), N)).collect::<Given>(),
        split_of: split_of.map(str::to_owned),
    };
    Plan {
        definitions: definitions(),
        messages: vec![
            message("t/msg/FooArray", &["my_large_array"], None),
            message("t/msg/FooSplit", &["foo_1_array", "foo_2_array"], Some("t/msg/FooArray")),
        ],
        rate_hz: 30.0,
        measuring: Some(Measuring {
            iterations: 20,
            warm_up: 2,
            within_ms: 1000,
            paced_ms: 1200,
            sizes: vec![0, 1],
            rounds: 4,
        }),
        run: None,
    }
}

/// A run in which every step takes `ns`, give or take a little that depends on round and sample.
fn run(way: Way, of: &str, round: u32, ns: i64) -> Run {
    let is_array = of.ends_with("Array");
    let samples = |n: i64, ns: i64| -> Vec<i64> {
        (0..n).map(|i| ns + ns / 100 * (i % 5) + ns / 50 * i64::from(round)).collect()
    };
    let at_ns = (0..36).map(|i| i * 33_333_333).collect::<Vec<i64>>();
    Run {
        round,
        way,
        of: of.to_owned(),
        bench: Bench {
            bytes: if is_array { 168 } else { 136 },
            construct_ns: samples(20, ns),
            serialize_ns: samples(20, ns),
            publish_ns: samples(20, ns),
            deserialize_ns: samples(20, 2 * ns),
            round_trips: 22,
            sizes: match (is_array, way) {
                (true, _) => vec![(0, 8), (1, 24)],
                // Made by hand, the empty arrays take no room for alignment.
                (false, Way::RustRaw) => vec![(0, 12), (1, 28)],
                (false, _) => vec![(0, 16), (1, 28)],
            },
        },
        compared: Compared { bytes: 168, different: 0, first: None },
        paced: Paced {
            due: 36,
            sent: 36,
            build_ns: samples(36, ns),
            publish_ns: samples(36, ns),
            late_ns: samples(36, 1000),
            // 36 messages lie 35 periods apart, and the last one is published.
            took_ns: 1_167_000_000,
        },
        raw: Taken { received: 36, at_ns: at_ns.clone(), bytes: Some(168) },
        typed: Taken {
            received: 27,
            at_ns: at_ns.iter().map(|ns| ns / 3).take(27).collect(),
            bytes: None,
        },
    }
}

fn raw(runs: Vec<Run>) -> Raw<Plan, Run> {
    let of = |run: &Run| Housekeeping {
        run: format!("round {}", run.round),
        segments: 0,
        orphans: 0,
        killed: 0,
    };
    Raw {
        schema: SCHEMA.to_owned(),
        study: "shapes".to_owned(),
        began: "2026-12-01T00:00:00Z".to_owned(),
        seed: 7,
        complete: true,
        environment: std::collections::BTreeMap::new(),
        plan: plan(),
        skipped: Vec::new(),
        housekeeping: runs.iter().map(of).collect(),
        runs,
    }
}

/// Python's array costs 25 times as much, Rust's 1.5 times as much with raw bytes the same.
fn world(rounds: u32) -> Raw<Plan, Run> {
    let mut runs = Vec::new();
    for round in 1..=rounds {
        for (way, array, split) in [
            (Way::Python, 10_000_000, 400_000),
            (Way::Rust, 150_000, 100_000),
            (Way::RustRaw, 50_000, 50_000),
        ] {
            runs.push(run(way, "t/msg/FooArray", round, array));
            runs.push(run(way, "t/msg/FooSplit", round, split));
        }
    }
    raw(runs)
}

fn text(raw: &Raw<Plan, Run>) -> String {
    Shapes::report(raw).document.markdown()
}

#[test]
fn the_known_truth_comes_out() {
    let report = Shapes::report(&world(4));
    assert!(report.decided, "{:#}", report.figures);
    let ratio = |way: &str| -> Value {
        let all = report.figures["contrasts"].as_array().unwrap();
        all.iter().find(|one| one["way"] == way).unwrap()["ratios"]["publish"].clone()
    };
    let near = |value: &Value, truth: f64| (value.as_f64().unwrap() / truth - 1.0).abs() < 0.1;
    for (way, truth) in [("python", 25.0), ("rust", 1.5), ("rust_raw", 1.0)] {
        let ratio = ratio(way);
        assert!(near(&ratio["times"], truth), "{way}: {ratio}");
        assert!(ratio["at_least"].as_f64().unwrap() <= truth, "{way}: {ratio}");
        assert!(ratio["at_most"].as_f64().unwrap() >= truth, "{way}: {ratio}");
    }
    let measured = report.figures["measured"].as_array().unwrap();
    let python = measured.iter().find(|one| one["way"] == "python").unwrap();
    // 10.7 ms or so, 30 times a second.
    assert!(near(&python["budget_share"]["middle"], 0.32), "{python}");
    assert_eq!((&python["due"], &python["sent"]), (&144.into(), &144.into()));
    assert_eq!(python["typed"]["received"], 108);
    assert!(near(&python["typed"]["received_of_sent"]["middle"], 0.75), "{python}");
    // The bursts of this subscriber look like three times the rate.
    assert!(near(&python["typed"]["apparent_per_s"]["middle"], 90.0), "{python}");
    assert_eq!(python["steps"]["publish"]["samples"], 80);
    let document = report.document.markdown();
    assert!(document.contains("at least 10 times"), "{document}");
    assert!(document.contains("the same, within a factor of 1.25"), "{document}");
    insta::assert_snapshot!(document);
}

#[test]
fn too_few_rounds_show_nothing() {
    let report = Shapes::report(&world(3));
    assert!(!report.decided);
    let document = report.document.markdown();
    assert!(document.contains("**not shown**") && document.contains("takes 4 runs"), "{document}");
    assert!(!document.contains("at least 10 times"), "{document}");
}

#[test]
fn what_differs_between_languages_is_told_and_decides_nothing() {
    let mut odd = world(4);
    odd.runs[0].compared = Compared { bytes: 168, different: 3, first: Some(17) };
    let report = Shapes::report(&odd);
    assert!(!report.decided);
    let said = report.document.markdown();
    assert!(said.contains("3 bytes are not those of the other languages, the first one at 17"));

    let mut large = world(4);
    large.runs[0].bench.bytes = 169;
    let said = text(&large);
    assert!(said.contains("169 bytes, where 168 are due"), "{said}");
    let mut large = world(4);
    large.runs[0].bench.sizes[1].1 = 25;
    let said = text(&large);
    assert!(said.contains("25 bytes at N = 1, where 24 are due"), "{said}");
    assert!(!said.contains("came back as they were"), "{said}");
}

#[test]
fn two_modes_are_told_and_so_is_what_cannot_be_published() {
    let mut two = world(4);
    for run in two.runs.iter_mut().filter(|run| run.way == Way::Python) {
        for ns in run.paced.publish_ns.iter_mut().step_by(3) {
            *ns *= 40;
        }
    }
    let said = text(&two);
    assert!(said.contains("publishing has two modes"), "{said}");

    let mut slow = world(4);
    for run in slow.runs.iter_mut().filter(|run| run.samples(Step::PacedPublish)[0] > 5_000_000) {
        run.paced.publish_ns.iter_mut().for_each(|ns| *ns *= 5);
        run.paced.sent = 20;
    }
    let said = text(&slow);
    assert!(said.contains("can't be published at 30 Hz"), "{said}");
    assert!(said.contains("80 of 144"), "{said}");
}

#[test]
fn the_same_file_gives_the_same_report() {
    let world = world(4);
    let text = serde_json::to_string(&world).unwrap();
    let again: Raw<Plan, Run> = serde_json::from_str(&text).unwrap();
    let (one, two) = (Shapes::report(&world), Shapes::report(&again));
    assert_eq!(one.figures, two.figures);
    assert_eq!(one.document, two.document);
}

#[test]
fn a_run_of_something_else_is_refused() {
    let mut odd = world(4);
    odd.runs[0].of = "t/msg/Other".to_owned();
    let report = Shapes::report(&odd);
    assert!(!report.decided);
    assert!(report.document.lead[0].contains("t/msg/Other"), "{:?}", report.document.lead);
}
