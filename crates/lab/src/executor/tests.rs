//! The study on made-up worlds, and on the figures that were published (SEEDS S3).
#![allow(clippy::unwrap_used, reason = "tests")]

use super::figures::{Contrast, Wait};
use super::text::contrast;
use super::*;
use crate::{Block, Mark};
use hopwatch_stats::Modes;

const MS: i64 = 1_000_000;

fn plan(conditions: &[Condition]) -> Plan {
    Plan {
        conditions: conditions.to_vec(),
        rounds: 5,
        heavy: 5_000_000,
        period_ms: 10,
        for_ms: 6000,
        start_up_ms: 2000,
        scans_hz: 60,
        of_run: None,
    }
}

const fn node(language: Language, threads: u32) -> Condition {
    Condition { language, work: Work::Threads, threads }
}

/// A run whose turns lie these intervals apart, in ms.
fn run(round: u32, condition: Condition, intervals_ms: impl IntoIterator<Item = i64>) -> Run {
    let mut turns_ns = vec![0];
    for ms in intervals_ms {
        turns_ns.push(turns_ns.last().unwrap() + ms * MS);
    }
    let turns = u64::try_from(turns_ns.len()).unwrap();
    Run {
        round,
        condition,
        node: Node {
            turns_ns,
            heavy_ns: vec![300 * MS; 15],
            callbacks: vec![[turns, 0], [0, 15], [0, 0]],
            taken: 15,
        },
        scans: 400,
    }
}

fn raw(plan: Plan, runs: Vec<Run>) -> Raw<Plan, Run> {
    Raw {
        schema: crate::SCHEMA.to_owned(),
        study: Executor::NAME.to_owned(),
        began: "2026-12-01T00:00:00Z".to_owned(),
        seed: 7,
        complete: true,
        environment: std::collections::BTreeMap::new(),
        plan,
        skipped: vec![],
        runs,
        housekeeping: vec![],
    }
}

/// A stall in the start-up is told apart, and the rate is that of what comes after it.
#[test]
fn the_start_up_is_told_apart() {
    let condition = node(Language::Cpp, 4);
    // 330 ms in the first 2 s, then 400 turns of 10 ms.
    let stalled = std::iter::once(330).chain(std::iter::repeat_n(10, 167 + 400));
    let figures = Figures::of(&plan(&[condition]), &[run(1, condition, stalled)], 1);
    let of = &figures.conditions[0].runs[0];
    assert_eq!((of.start_up_longest_ns, of.longest_ns), (Some(330 * MS), Some(10 * MS)));
    assert_eq!(of.turns, 400);
    assert!((of.rate_hz - 100.0).abs() < 1e-9 && of.cv.unwrap() < 1e-9, "{of:?}");
    assert_eq!((of.threads_used, of.by_thread[0]), (2, 569));
}

/// A stall that begins in the start-up and reaches beyond it is the loop's, with its part of the window.
#[test]
fn a_stall_beyond_the_start_up_is_not_lost() {
    let condition = node(Language::Python, 4);
    // 1 s of turns, 4 s of none, 1 s of turns: of the 4 s after the start-up, 3 s stood still.
    let stalled = std::iter::repeat_n(10, 100)
        .chain(std::iter::once(4000))
        .chain(std::iter::repeat_n(10, 100));
    let figures = Figures::of(&plan(&[condition]), &[run(1, condition, stalled)], 1);
    let of = &figures.conditions[0].runs[0];
    assert_eq!(
        (of.turns, of.longest_ns, of.start_up_longest_ns),
        (101, Some(4000 * MS), Some(10 * MS))
    );
    assert!((of.rate_hz - 100.75 / 4.0).abs() < 1e-9, "{of:?}");
}

/// What comes at any moment meets long intervals more often than short ones.
#[test]
fn a_wait_is_weighed_by_time() {
    let even = Wait::of(&[10 * MS; 100]).unwrap();
    assert!((even.mean_ns - 5e6).abs() < 1.0, "{even:?}");
    assert!((even.p50_ns - 5 * MS).abs() <= 1 && (even.p99_ns - 9_900_000).abs() <= 1, "{even:?}");
    // 99 of 10 ms and one of 990 ms: half of the time is the long one's.
    let mut uneven = vec![10 * MS; 99];
    uneven.push(990 * MS);
    let wait = Wait::of(&uneven).unwrap();
    assert!((wait.mean_ns - 250e6).abs() < 1.0, "{wait:?}");
    // P(wait > r) = (990 − r) / 1980 beyond 10 ms: 1 % of it at 970.2 ms.
    assert!((wait.p99_ns - 970_200_000).abs() <= 1, "{wait:?}");
    assert_eq!(Wait::of(&[]), None);
}

/// Where no scan came the loop ran alone: that it holds says nothing.
#[test]
fn a_loop_that_had_nothing_beside_it_shows_nothing() {
    let condition = node(Language::Rust, 4);
    let of = |idle: u32| {
        let runs: Vec<Run> = (1..=4)
            .map(|round| {
                let mut run = run(round, condition, std::iter::repeat_n(10, 600));
                run.node.taken = if round == idle { 0 } else { 15 };
                run
            })
            .collect();
        Figures::of(&plan(&[condition]), &runs, 1).conditions.remove(0).pace
    };
    assert_eq!((of(3), of(0)), (Pace::Between, Pace::Holds));
}

/// A loop that never came again after the start-up has no rate, and isn't left out.
#[test]
fn a_loop_that_stands_still_falls_apart() {
    let condition = node(Language::Python, 4);
    let runs: Vec<Run> = (1..=4).map(|round| run(round, condition, [10, 10])).collect();
    let figures = Figures::of(&plan(&[condition]), &runs, 1);
    assert_eq!(figures.conditions[0].pace, Pace::Fails);
    assert_eq!(figures.conditions[0].rate_range_hz, (0.0, 0.0));
}

/// SEEDS S3, the first conclusion that repetition overturned: "32 threads make Python 23 % faster". Five
/// rates a side with the published means, deviations and extremes.
#[test]
fn thirty_two_threads_are_not_called_faster() {
    let four = [5.70, 8.00, 7.81, 8.96, 7.63];
    let many = [5.94, 8.33, 7.23, 12.12, 6.13];
    let of = Contrast::of(("rclpy, 32 threads", &many), ("rclpy, 4 threads", &four), 1).unwrap();
    let welch = of.welch.unwrap();
    assert!((of.difference_hz - 0.33).abs() < 0.01, "{of:?}");
    // Published: 0.27, of values that are rounded to 0.01 Hz.
    assert!((welch.t - 0.27).abs() < 0.01 && (welch.df - 5.7).abs() < 0.1, "{of:?}");
    assert!(!of.differs && of.permutation_p > 0.5 && !of.alike, "{of:?}");
    let Block::Claim(mark, text) = contrast(&of) else { panic!("no claim") };
    assert_eq!(mark, Mark::NotShown);
    assert!(text.contains("Welch t = 0.26, df = 5.7"), "{text}");
    assert!(text.ends_with("no difference shown, nor that they are alike."), "{text}");
}

/// SEEDS S3, the second one: "the stall comes from 4 threads". It is in both, in most runs, and the
/// longest intervals have two modes.
#[test]
fn stalls_of_two_modes_have_no_mean() {
    let four = [12_500, 10_600, 332_000, 331_500, 330_900];
    let many = [328_700, 329_500, 330_500, 10_300, 329_600];
    let (a, b) = (node(Language::Cpp, 4), node(Language::Cpp, 32));
    let of = |condition, longest: [i64; 5]| {
        longest.into_iter().zip(1..).map(move |(us, round)| {
            let mut run = run(round, condition, std::iter::repeat_n(10, 598));
            // In the start-up, in µs.
            for at in run.node.turns_ns.iter_mut().skip(1) {
                *at += us * 1000 - 10 * MS;
            }
            run
        })
    };
    let runs: Vec<Run> = of(a, four).chain(of(b, many)).collect();
    let raw = raw(plan(&[a, b]), runs);
    let figures = Figures::of(&raw.plan, &raw.runs, 1);
    for one in &figures.conditions {
        let modes: Modes = one.stalls.unwrap();
        assert!(modes.low.center_ns < 13 * MS && modes.high.center_ns > 328 * MS, "{modes:?}");
        // After the start-up there is none.
        assert_eq!(one.runs[0].longest_ns, Some(10 * MS));
    }
    let text = Executor::report(&raw).document.markdown();
    assert!(text.contains("C++, 4 threads: the runs' longest intervals have two modes"), "{text}");
    assert!(text.contains("isn't given"), "{text}");
    // The rates are the same in both, in every run, or nearly.
    assert!(figures.threads[0].alike && !figures.threads[0].differs, "{:?}", figures.threads);
}

/// A loop that falls apart beside one that doesn't, of five runs each, two contrasts asked together.
#[test]
fn pythons_loop_falls_apart_and_rusts_does_not() {
    let (rust, python) = (node(Language::Rust, 4), node(Language::Python, 4));
    let numpy = Condition { work: Work::Numpy, ..python };
    let runs: Vec<Run> = (1..=5)
        .flat_map(|round| {
            let odd = i64::from(round % 2);
            [
                run(round, rust, std::iter::repeat_n(10, 600)),
                run(round, python, std::iter::repeat_n(120 + odd, 50)),
                run(round, numpy, std::iter::repeat_n(11 - odd, 560)),
            ]
        })
        .collect();
    let mut plan = plan(&[rust, python, numpy]);
    plan.of_run = Some(OfRun {
        folder: "out/minute".into(),
        lanes: vec![crate::LaneOfRun {
            name: "best-effort".into(),
            topic: "/t".into(),
            rate_hz: Some(20.0),
            total_p50_ns: Some(10 * MS),
            total_p99_ns: None,
            published_p50_ns: None,
            legs_p50_ns: std::collections::BTreeMap::new(),
        }],
    });
    let report = Executor::report(&raw(plan, runs));
    let text = report.document.markdown();
    assert!(text.contains("**shown**: Rust, 4 threads: the loop holds its rate"), "{text}");
    assert!(
        text.contains("**shown**: rclpy, 4 threads: the loop falls apart (8.3 to 8.3"),
        "{text}"
    );
    assert!(text.contains("**not shown**: rclpy, work in NumPy, 4 threads: neither"), "{text}");
    assert!(text.contains("rclpy, 4 threads against Rust, 4 threads: -91.7"), "{text}");
    // The least p that five runs against five have, twice (Holm): 2 × 2 ÷ C(10, 5).
    assert!(text.contains("permutation p = 0.008, Holm's 0.016: a difference."), "{text}");
    // Intervals of 120 and 121 ms are met in their middle.
    let waits = "waits 60.30 ms for the next turn (mean; P50 60.30 ms";
    assert!(text.contains(waits), "{text}");
    let beside = "Beside it, in out/minute: lane best-effort has a total of 10.00 ms (P50).";
    assert!(text.contains(beside), "{text}");
    assert!(text.contains("Beside the same work these hold: Rust, 4 threads"), "{text}");
    // What is neither leaves the study undecided.
    assert!(!report.decided);
}

/// Three runs a side have no p below 5 %.
#[test]
fn few_runs_say_that_they_are_few() {
    let of = Contrast::of(("a", &[1.0, 2.0, 3.0]), ("b", &[91.0, 95.0, 99.0]), 1).unwrap();
    let Block::Claim(mark, text) = contrast(&of) else { panic!("no claim") };
    assert_eq!(mark, Mark::NotShown);
    assert!(text.ends_with("so few runs can't show one."), "{text}");
}

#[test]
fn no_runs_are_no_figures() {
    let report = Executor::report(&raw(plan(&[node(Language::Rust, 4)]), vec![]));
    assert!(!report.decided);
    assert!(report.document.markdown().starts_with("# Executor"));
}
