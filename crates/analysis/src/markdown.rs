//! report.md: the same figures for pasting.

use crate::lane::{LaneReport, Row};
use crate::report::Report;
use crate::table::{ledger_lines, page_lines};
use crate::units::{duration, maybe};
use hopwatch_model::Leg;
use hopwatch_stats::Summary;
use std::fmt::Write;

/// The whole report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let run = &report.run;
    put(&mut out, &format!("# Hopwatch run {}\n", cell(&run.id)));
    put(
        &mut out,
        &format!(
            "Started {}, {:.1} s, hopwatch {}.",
            cell(&run.started),
            run.duration_s,
            cell(&run.command.join(" "))
        ),
    );
    if let Some(why) = &run.interrupted {
        put(&mut out, &format!("Ended before its time: {}.", cell(why)));
    }
    if run.messages_not_kept > 0 {
        put(
            &mut out,
            &format!(
                "{} messages were not kept: they are in no figure below.",
                run.messages_not_kept
            ),
        );
    }
    let verdict = &report.verdict;
    put(&mut out, &format!("\n**{}**: {}\n", verdict.decision, cell(&verdict.reason)));
    let judged = if report.budget.passed { "kept" } else { "MISSED" };
    put(&mut out, &format!("## Budget: {judged}\n\n| | limit | measured | |\n|---|---|---|---|"));
    for check in &report.budget.checks {
        let mark = if check.passed { "✓" } else { "✗" };
        let (name, limit, measured) = (cell(&check.name), &check.limit, &check.measured);
        put(&mut out, &format!("| {name} | {limit} | {measured} | {mark} |"));
    }
    report.lanes.iter().for_each(|lane| of_lane(&mut out, lane));
    let pages = page_lines(report);
    if !pages.is_empty() {
        put(&mut out, "\n## Pages\n");
        for line in pages {
            put(&mut out, &format!("- {}", cell(&line)));
        }
    }
    if !report.events.is_empty() {
        put(&mut out, "\n## Events\n");
        for event in &report.events {
            put(&mut out, &format!("- **{}**: {}", cell(&event.kind), cell(&event.text)));
        }
    }
    put(&mut out, "\n## Clocks\n\n| clock | used for | relation |\n|---|---|---|");
    for clock in &report.clocks {
        let (id, used_for) = (cell(&clock.id), cell(&clock.used_for));
        put(&mut out, &format!("| {id} | {used_for} | {} |", cell(&clock.relation)));
    }
    put(&mut out, "\n## Environment\n\n| | |\n|---|---|");
    for (key, value) in &report.environment {
        put(&mut out, &format!("| {} | {} |", cell(key), cell(value)));
    }
    out
}

fn of_lane(out: &mut String, lane: &LaneReport) {
    put(out, &format!("\n## Lane {}\n", cell(&lane.name)));
    put(out, &format!("{} · {} · {}\n", cell(&lane.topic), cell(&lane.qos), cell(&lane.transport)));
    for line in ledger_lines(&lane.ledger) {
        put(out, &format!("- {}", cell(line.trim())));
    }
    put(out, &format!("- stability: {}", cell(&lane.stability.reason)));
    for finding in &lane.findings {
        let (kind, subject) = (cell(&finding.kind), cell(&finding.subject));
        put(out, &format!("- **{kind}** ({subject}): {}", cell(&finding.text)));
    }
    put(out, "");
    if lane.stability.unstable {
        return;
    }
    head(out, "taken → web_acked");
    for row in Row::ALL {
        figures(out, row.name(), &lane.classes[&row]);
    }
    let ci = lane.classes[&Row::Total].p99_ci_ns;
    let upper = match ci.hi {
        Some(hi) => maybe(Some(hi)),
        None => format!("no upper bound at n = {}", lane.classes[&Row::Total].n),
    };
    put(out, &format!("\n95 % interval of the P99 total: {} to {upper}\n", maybe(ci.lo)));
    head(out, "longer spans");
    for (name, span) in &lane.spans {
        let exact = if span.width.exact { " (exact)" } else { "" };
        let said = span.width.said().map(|said| format!(", {said}")).unwrap_or_default();
        figures(out, &format!("{name}{exact}{said}"), &span.summary);
    }
    put(out, "");
    head(out, "leg");
    for (leg, f) in &lane.legs {
        let said = f.width.said().map(|said| format!(", {said}")).unwrap_or_default();
        figures(out, &format!("{leg} ({}){said}", f.class), &f.summary);
    }
    if lane.legs.contains_key(&Leg::AiRoundTrip) {
        put(out, "\nAI includes its transport: the service does not tell its own time.");
    }
    put(out, "\nAs the published measurement of this pipeline printed it (round trips):\n");
    put(out, "| stage | mean s | min | max | median | share | sd |\n|---|---|---|---|---|---|---|");
    for (name, row) in lane.s1.rows() {
        let s = &row.summary;
        let (mean, min, max) = (seconds(s.mean_ns), whole(s.min_ns), whole(s.max_ns));
        let share = row.share_percent.map_or("–".to_owned(), |p| format!("{p:.2} %"));
        let (median, sd) = (whole(s.p50_ns), seconds(s.sd_ns));
        put(out, &format!("| {name} | {mean} | {min} | {max} | {median} | {share} | {sd} |"));
    }
    for (odd, n) in &lane.oddities {
        put(out, &format!("\n{n} messages were odd: {odd}"));
    }
    for defect in &lane.defects {
        put(out, &format!("\nnot in the figures: {}", cell(defect)));
    }
}

fn head(out: &mut String, what: &str) {
    put(
        out,
        &format!(
            "| {what} | n | mean | sd | min | P50 | P75 | P90 | P95 | P99 | max |\n\
             |---|---|---|---|---|---|---|---|---|---|---|"
        ),
    );
}

fn figures(out: &mut String, name: &str, s: &Summary) {
    let float = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), duration);
    let _infallible = writeln!(
        out,
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        s.n,
        float(s.mean_ns),
        float(s.sd_ns),
        maybe(s.min_ns),
        maybe(s.p50_ns),
        maybe(s.p75_ns),
        maybe(s.p90_ns),
        maybe(s.p95_ns),
        maybe(s.p99_ns),
        maybe(s.max_ns)
    );
}

fn seconds(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".to_owned(), |ns| format!("{:.3}", ns / 1e9))
}

#[expect(clippy::cast_precision_loss, reason = "shown in milliseconds")]
fn whole(ns: Option<i64>) -> String {
    seconds(ns.map(|ns| ns as f64))
}

fn put(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Text from outside can't break out of its cell or line, nor become markup.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::units::plain(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '|' | '#' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
