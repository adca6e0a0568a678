//! What holds of every run.

use crate::report::{Figures, Lane};
use crate::traces::Row;

/// Legs before the take, from the latest to the earliest.
const BEFORE: [&str; 4] = ["wake_ns", "ros_ns", "write_ns", "schedule_ns"];

/// Legs of the pipeline: taken → web_acked, in every way that it can be split.
const PIPELINE: [&str; 20] = [
    "queue_ns",
    "encode_ns",
    "ai_connect_ns",
    "ai_retry_ns",
    "ai_request_ns",
    "ai_wait_ns",
    "ai_infer_ns",
    "ai_resend_ns",
    "ai_reply_ns",
    "ai_transport_ns",
    "ai_round_trip_ns",
    "handoff_ns",
    "web_connect_ns",
    "web_retry_ns",
    "web_request_ns",
    "web_handle_ns",
    "web_resend_ns",
    "web_reply_ns",
    "web_transport_ns",
    "web_round_trip_ns",
];

/// Σ legs = total, ai + transport + overhead = total, and the longer spans are the total and the
/// legs before it: in whole nanoseconds, for every delivered message. Others have no total.
#[track_caller]
pub fn legs_add_up(rows: &[Row]) {
    for row in rows {
        let Some(total) = row.maybe("total_ns") else {
            assert!(!row.is_delivered(), "delivered and no total: {row:?}");
            continue;
        };
        assert!(row.is_delivered(), "a total and not delivered: {row:?}");
        let sum: i64 = PIPELINE.iter().filter_map(|leg| row.maybe(leg)).sum();
        assert_eq!(sum, total, "{row:?}");
        let classes = ["ai_ns", "transport_ns", "overhead_ns"].map(|class| row.ns(class));
        assert_eq!(classes.iter().sum::<i64>(), total, "{row:?}");
        let before: Vec<i64> = BEFORE.iter().map_while(|leg| row.maybe(leg)).collect();
        let span = |legs: usize| before.get(..legs).map(|b| total + b.iter().sum::<i64>());
        assert_eq!(row.maybe("published_ns"), span(3), "{row:?}");
        assert_eq!(row.maybe("intended_ns"), span(4), "{row:?}");
    }
}

/// The report's figures are those of its own traces, worked out here once more.
#[track_caller]
pub fn figures_are_of_the_traces(lane: &Lane, rows: &[Row]) {
    let delivered: Vec<&Row> = rows.iter().filter(|row| row.is_delivered()).collect();
    assert_eq!(lane.ledger.delivered, u64::try_from(delivered.len()).unwrap());
    assert_eq!(lane.defects, Vec::<String>::new());
    for (class, figures) in &lane.classes {
        let of = |row: &&Row| match class.as_str() {
            "communication" => row.ns("transport_ns") + row.ns("overhead_ns"),
            class => row.ns(&format!("{class}_ns")),
        };
        same(class, figures, delivered.iter().map(of).collect());
    }
    for (leg, figures) in &lane.legs {
        if !["fanout", "push", "paint"].contains(&leg.as_str()) {
            let column = format!("{leg}_ns");
            let lengths = delivered.iter().filter_map(|row| row.maybe(&column)).collect();
            same(leg, figures, lengths);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
#[track_caller]
fn same(name: &str, figures: &Figures, mut values: Vec<i64>) {
    values.sort_unstable();
    let n = values.len();
    assert_eq!(figures.n, n, "{name}");
    // The nearest rank: the smallest value that so many hundredths of all do not exceed.
    let p = |hundredths: usize| values.get((n * hundredths).div_ceil(100).saturating_sub(1));
    for (which, got, want) in [
        ("min", figures.min_ns, values.first()),
        ("P50", figures.p50_ns, p(50)),
        ("P75", figures.p75_ns, p(75)),
        ("P90", figures.p90_ns, p(90)),
        ("P95", figures.p95_ns, p(95)),
        ("P99", figures.p99_ns, p(99)),
        ("max", figures.max_ns, values.last()),
    ] {
        assert_eq!(got.as_ref(), want, "{which} of {name}");
    }
    if n > 0 {
        let mean = values.iter().sum::<i64>() as f64 / n as f64;
        let off = (figures.mean_ns.unwrap() - mean).abs();
        assert!(off < 1e-3 + mean.abs() * 1e-12, "mean of {name}: {mean} {figures:?}");
    }
    if n > 1 {
        let mean = figures.mean_ns.unwrap();
        let squares: f64 = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
        let sd = (squares / (n - 1) as f64).sqrt();
        let off = (figures.sd_ns.unwrap() - sd).abs();
        assert!(off < 1e-3 + sd * 1e-9, "sd of {name}: {sd} {figures:?}");
    }
    // A two-sided interval of the P99 has no upper end below 368 values (METHOD 12).
    if n > 0 {
        let (lo, hi) = figures.p99_ci_ns;
        assert!(lo.is_some_and(|lo| lo <= figures.p99_ns.unwrap()), "{name}: {figures:?}");
        assert_eq!(hi.is_some(), n >= 368, "{name}: n = {n}, {figures:?}");
    }
}

/// The printed table fits 100 columns.
#[track_caller]
pub fn table_fits(table: &str) {
    assert!(table.contains("published "), "no table: {table}");
    for line in table.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}
