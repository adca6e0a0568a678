//! The table that `hopwatch run` prints: at most 100 columns.

use crate::lane::{LaneReport, Row};
use crate::remarks::{flow, moments, remarks};
use crate::report::Report;
use crate::shadow::Shadow;
use crate::units::{maybe, plain};
use hopwatch_model::{ClientCounters, Failure, Ledger, Leg};
use hopwatch_stats::Summary;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Pages that are told of one by one.
const PAGES: usize = 8;

/// The whole table as text.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    for lane in &report.lanes {
        of_lane(&mut out, lane);
    }
    for of_lane in &report.artefacts {
        for text in of_lane.said() {
            let lane = if report.lanes.len() > 1 { of_lane.lane.as_str() } else { "artefacts" };
            wrapped(&mut out, &format!("{lane}: {text}"));
        }
    }
    if let Some(network) = &report.run.network {
        wrapped(&mut out, &network.said());
    }
    for check in &report.budget.checks {
        let mark = if check.passed { "ok    " } else { "MISSED" };
        line(&mut out, &format!("{mark}  {}  {}  {}", check.name, check.limit, check.measured));
    }
    for text in report.shadow.iter().flat_map(Shadow::said) {
        wrapped(&mut out, &text);
    }
    for text in page_lines(report) {
        wrapped(&mut out, &text);
    }
    for event in &report.events {
        wrapped(&mut out, &format!("! {}: {}", event.kind, event.text));
    }
    out
}

fn of_lane(out: &mut String, lane: &LaneReport) {
    line(out, &format!("{} · {} · {} · {}", lane.name, lane.topic, lane.qos, lane.transport));
    for text in ledger_lines(&lane.ledger) {
        wrapped(out, &text);
    }
    for failure in &lane.failures {
        wrapped(out, &failure.said());
    }
    if lane.ledger.published == 0 {
        wrapped(out, "nothing was published on the topic, as far as this ROS domain shows");
    }
    if lane.stability.unstable {
        wrapped(out, &lane.stability.reason);
        for text in flow(lane) {
            wrapped(out, &text);
        }
        said(out, lane);
        return;
    }
    let head = ["", "n", "mean", "sd", "min", "P50", "P90", "P95", "P99", "max"];
    row(out, head.map(str::to_owned));
    for (name, summary) in Row::ALL.iter().map(|row| (row.name(), &lane.classes[row])) {
        figures(out, name, summary, true);
    }
    for (row, width) in &lane.class_widths {
        if let Some(said) = width.said() {
            line(out, &format!("  {}: {said}", row.name()));
        }
    }
    // What came before the take is in no class: of a lossy link, it is nearly all.
    for name in ["published", "intended"] {
        let Some(span) = lane.spans.get(name).filter(|span| span.summary.n > 0) else { continue };
        figures(out, name, &span.summary, span.width.resolved);
        if let Some(said) = span.width.said() {
            line(out, &format!("  {name}: {said}"));
        }
    }
    line(out, "");
    for (leg, f) in &lane.legs {
        figures(out, leg.name(), &f.summary, f.width.resolved);
        if let Some(said) = f.width.said() {
            line(out, &format!("  {leg}: {said}"));
        }
        if f.negative > 0 {
            line(out, &format!("  {} of {leg} are negative: a clock lies", f.negative));
        }
    }
    line(out, "");
    for text in remarks(lane) {
        wrapped(out, &text);
    }
    if lane.legs.contains_key(&Leg::AiRoundTrip) {
        line(out, "AI includes its transport: the service does not tell its own time");
    }
    said(out, lane);
    for defect in lane.defects.iter().take(3) {
        wrapped(out, &format!("! {defect}"));
    }
    for (odd, n) in &lane.oddities {
        line(out, &format!("! {n} messages were odd: {odd}"));
    }
}

/// What the clocks do.
fn said(out: &mut String, lane: &LaneReport) {
    for finding in &lane.findings {
        wrapped(out, &format!("! {} ({}): {}", finding.kind, finding.subject, finding.text));
    }
}

/// What pages lost, in words; nothing when they lost nothing.
pub fn page_lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for b in &report.broadcasters {
        if b.frames_dropped + b.rubbish > 0 {
            lines.push(format!(
                "pages: {} frames sent, {} dropped for slow pages, {} from pages not understood",
                b.frames_sent, b.frames_dropped, b.rubbish
            ));
        }
    }
    let lossy = |c: &&ClientCounters| {
        let left = c.connected == 0 && c.waiting > 0;
        c.frames_dropped + c.rubbish + c.unacked() > 0 || left
    };
    let mut told = 0;
    for c in report.clients.iter().filter(lossy) {
        told += 1;
        if told <= PAGES {
            lines.push(format!(
                "page {}: {} offered = {} sent + {} dropped + {} not sent; {} acknowledged, {} not",
                c.client,
                c.offered,
                c.frames_sent,
                c.frames_dropped,
                c.waiting,
                c.acked,
                c.unacked()
            ));
        }
    }
    if told > PAGES {
        lines.push(format!("… and {} more pages that lost something", told - PAGES));
    }
    let unrecorded: u64 = report.clients.iter().map(|c| c.unrecorded).sum();
    if unrecorded > 0 {
        lines.push(format!(
            "pages: {unrecorded} acknowledgements were counted and not recorded: stamps of few pages \
             at once are (recorded_pages of the broadcaster)"
        ));
    }
    lines
}

/// The ledger in words: fates that occurred, and whether they add up.
pub fn ledger_lines(ledger: &Ledger) -> Vec<String> {
    let mut text = format!(
        "published {} (by {}) = delivered {}",
        ledger.published, ledger.published_source, ledger.delivered
    );
    let mut fate = |name: &str, n: u64| {
        if n > 0 {
            let _infallible = write!(text, " + {name} {n}");
        }
    };
    fate("before discovery", ledger.lost_before_discovery);
    fate("lost in ROS", ledger.lost_in_ros);
    fate("outcome unknown", ledger.outcome_unknown);
    fate("queue dropped", ledger.queue_dropped);
    fate("undecodable", ledger.undecodable);
    failures(&mut fate, "AI", &ledger.ai_failed);
    failures(&mut fate, "web", &ledger.web_failed);
    fate("abandoned", ledger.abandoned);
    fate("in flight", ledger.in_flight);
    text.push_str(if ledger.reconciles { "; reconciles" } else { "; DOES NOT RECONCILE" });
    let beside = [
        (ledger.duplicates, "duplicates"),
        (ledger.duplicate_ids, "with the message id of another"),
        (ledger.reordered, "reordered"),
        (ledger.restarts, "robot restarts"),
    ];
    let beside: Vec<String> =
        beside.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !beside.is_empty() {
        let _infallible = write!(text, "; beside: {}", beside.join(", "));
    }
    let mut why = Vec::new();
    if ledger.dds_lost > 0 {
        why.push(format!("{} did not reach the reader, says DDS", ledger.dds_lost));
    }
    if ledger.overwritten_in_history > 0 {
        why.push(format!("{} look overwritten in its history", ledger.overwritten_in_history));
    }
    if !why.is_empty() {
        let _infallible = write!(text, "; of those lost in ROS, {}", why.join(" and "));
    }
    let mut lines = vec![text];
    lines.extend(ledger.notes.iter().map(|note| format!("  {note}")));
    lines
}

fn failures(fate: &mut impl FnMut(&str, u64), stage: &str, failed: &BTreeMap<Failure, u64>) {
    for (failure, n) in failed {
        fate(&format!("{stage} {failure}"), *n);
    }
}

/// Where the clocks leave too much open there are no figures, but the interval below (METHOD 4).
fn figures(out: &mut String, name: &str, s: &Summary, resolved: bool) {
    let [mean, sd] = moments(s);
    let quantiles = [s.min_ns, s.p50_ns, s.p90_ns, s.p95_ns, s.p99_ns, s.max_ns].map(maybe);
    let [min, p50, p90, p95, p99, max] = quantiles;
    let figures = [mean, sd, min, p50, p90, p95, p99, max];
    let figures = if resolved { figures } else { figures.map(|_| maybe(None)) };
    let [mean, sd, min, p50, p90, p95, p99, max] = figures;
    row(out, [name.to_owned(), s.n.to_string(), mean, sd, min, p50, p90, p95, p99, max]);
}

/// 16 + 7 + 8 × 9 = 95 columns.
fn row(out: &mut String, cells: [String; 10]) {
    let [name, n, rest @ ..] = cells;
    let mut text = format!("{name:<16}{n:>7}");
    for cell in rest {
        let _infallible = write!(text, " {cell:>8}");
    }
    line(out, &text);
}

pub(crate) fn line(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "{}", clip(text).trim_end());
}

/// At most 100 columns, and nothing that a terminal would obey.
fn clip(text: &str) -> String {
    let text = plain(text);
    if text.chars().count() <= 100 { text } else { text.chars().take(99).chain(['…']).collect() }
}

/// Breaks a sentence between words.
pub(crate) fn wrapped(out: &mut String, text: &str) {
    let mut current = String::new();
    for word in text.split(' ') {
        if !current.is_empty() && current.chars().count() + 1 + word.chars().count() > 100 {
            line(out, &current);
            current = format!("  {word}");
        } else {
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
    }
    line(out, &current);
}
