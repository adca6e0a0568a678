//! report.md: the same figures for pasting.

use crate::lane::{LaneReport, Row};
use crate::remarks::{flow, moments, remarks};
use crate::report::Report;
use crate::table::{ledger_lines, page_lines};
use crate::units::maybe;
use hopwatch_model::Leg;
use hopwatch_stats::{Interval, Summary};

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
    if let Some(network) = &run.network {
        put(&mut out, &format!("\n{}.", cell(&network.said())));
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
    put(&mut out, "\n## Artefacts\n");
    for of_lane in &report.artefacts {
        for text in of_lane.said() {
            put(&mut out, &format!("- {}: {}", cell(&of_lane.lane), cell(&text)));
        }
    }
    if let Some(shadow) = &report.shadow {
        put(&mut out, "\n## Other links\n");
        for text in shadow.said() {
            put(&mut out, &format!("- {}", cell(&text)));
        }
    }
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
    for failure in &lane.failures {
        put(out, &format!("- {}", cell(&failure.said())));
    }
    put(out, &format!("- stability: {}", cell(&lane.stability.reason)));
    for finding in &lane.findings {
        let (kind, subject) = (cell(&finding.kind), cell(&finding.subject));
        put(out, &format!("- **{kind}** ({subject}): {}", cell(&finding.text)));
    }
    if lane.stability.unstable {
        for text in flow(lane) {
            put(out, &format!("- {}", cell(&text)));
        }
        put(out, "");
        return;
    }
    for text in remarks(lane) {
        put(out, &format!("- {}", cell(&text)));
    }
    put(out, "");
    head(out, "taken → web_acked");
    for row in Row::ALL {
        figures(out, row.name(), &lane.classes[&row], true);
    }
    put(out, "");
    head(out, "longer spans");
    for (name, span) in &lane.spans {
        let exact = if span.width.exact { " (exact)" } else { "" };
        let said = span.width.said().map(|said| format!(", {said}")).unwrap_or_default();
        figures(out, &format!("{name}{exact}{said}"), &span.summary, span.width.resolved);
    }
    put(out, "");
    head(out, "leg");
    for (leg, f) in &lane.legs {
        let said = f.width.said().map(|said| format!(", {said}")).unwrap_or_default();
        figures(out, &format!("{leg} ({}){said}", f.class), &f.summary, f.width.resolved);
    }
    intervals(out, lane);
    made_of(out, lane);
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

/// How sure the quantiles are: of every class, span and leg that occurred and that the clocks
/// resolve.
fn intervals(out: &mut String, lane: &LaneReport) {
    put(
        out,
        "\n95 % intervals, and what P95 and P99 are at most (95 %, each for itself); ≥: so few \
         messages have no upper bound\n\n\
         | | n\\_eff of n | P50 | P95 | P99 | P95 at most | P99 at most |\n\
         |---|---|---|---|---|---|---|",
    );
    let classes = Row::ALL.iter().map(|row| (row.name(), &lane.classes[row]));
    let spans = lane.spans.iter().filter(|(_, span)| span.width.resolved);
    let spans = spans.map(|(name, span)| (*name, &span.summary));
    let legs = lane.legs.iter().filter(|(_, f)| f.width.resolved);
    let legs = legs.map(|(leg, f)| (leg.name(), &f.summary));
    for (name, s) in classes.chain(spans).chain(legs).filter(|(_, s)| s.n > 0) {
        let of = |ci: Interval| match (ci.lo, ci.hi) {
            (lo, Some(hi)) => format!("{} to {}", maybe(lo), maybe(Some(hi))),
            (Some(lo), None) => format!("≥ {}", maybe(Some(lo))),
            (None, None) => "–".to_owned(),
        };
        let (p50, p95, p99) = (of(s.p50_ci_ns), of(s.p95_ci_ns), of(s.p99_ci_ns));
        let (most95, most99) = (maybe(s.p95_upper_ns), maybe(s.p99_upper_ns));
        let (n_eff, n) = (s.n_eff, s.n);
        let row = format!("| {n_eff} of {n} | {p50} | {p95} | {p99} | {most95} | {most99} |");
        put(out, &format!("| {} {row}", cell(name)));
    }
}

/// The legs near the quantiles of the total, and their part in its variance.
fn made_of(out: &mut String, lane: &LaneReport) {
    let [p50, p95, p99] = &lane.breakdown[..] else { return };
    put(out, "\nWhat the total is made of: means of the messages near its quantiles\n");
    let heads = [p50, p95, p99].map(|near| {
        format!(
            "near {} (n = {}, {} to {})",
            near.near.to_uppercase(),
            near.n,
            maybe(Some(near.lo_ns)),
            maybe(Some(near.hi_ns))
        )
    });
    put(
        out,
        &format!("| leg | {} | part of the variance |\n|---|---|---|---|---|", heads.join(" | ")),
    );
    for leg in p50.legs.keys() {
        let share = lane.variance_shares.as_ref().and_then(|shares| shares.get(leg));
        let share = share.map_or("–".to_owned(), |share| {
            format!("{:.1} %", (share * 1e3).round() / 10.0 + 0.0)
        });
        let means = [p50, p95, p99].map(|near| maybe(Some(near.leg(*leg)))).join(" | ");
        put(out, &format!("| {} | {means} | {share} |", cell(leg.name())));
    }
    let totals = [p50, p95, p99].map(|near| maybe(Some(near.mean_ns))).join(" | ");
    put(out, &format!("| total | {totals} | |"));
}

/// Where the clocks leave too much open there are no figures, but the interval beside the name
/// (METHOD 4).
fn figures(out: &mut String, name: &str, s: &Summary, resolved: bool) {
    let [mean, sd] = moments(s);
    let quantiles = [s.min_ns, s.p50_ns, s.p75_ns, s.p90_ns, s.p95_ns, s.p99_ns, s.max_ns];
    let figures = [mean, sd].into_iter().chain(quantiles.map(maybe));
    let figures = figures.map(|figure| if resolved { figure } else { maybe(None) });
    put(out, &format!("| {name} | {} | {} |", s.n, figures.collect::<Vec<_>>().join(" | ")));
}

fn seconds(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".to_owned(), |ns| format!("{:.3}", ns / 1e9))
}

#[expect(clippy::cast_precision_loss, reason = "shown in milliseconds")]
fn whole(ns: Option<i64>) -> String {
    seconds(ns.map(|ns| ns as f64))
}

pub(crate) fn put(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Text from outside can't break out of its cell or line, nor become markup.
pub(crate) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::units::plain(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '|' | '#' | '~' | '$' | '&' | '>' => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    out
}
