//! A comparison as text: a table for terminals, and Markdown for pasting.

use crate::artefacts::State;
use crate::compare::{ArmArtefact, ArmFigures, Comparison};
use crate::contrast::{Contrast, gain_said};
use crate::effect::{Amount, Effect, Metric};
use crate::markdown::{cell, put};
use crate::table::{line, wrapped};
use crate::units::maybe;
use std::fmt::Write;

/// The whole comparison for a terminal, at most 100 columns.
pub fn comparison_table(comparison: &Comparison) -> String {
    let mut out = String::new();
    let plan = &comparison.plan;
    wrapped(
        &mut out,
        &format!(
            "{} arms × {} blocks, seed {}, margin {} on P99 communication, limit {}, warm-up {}",
            plan.arms.len(),
            plan.blocks,
            plan.seed,
            maybe(Some(plan.margin_ns)),
            maybe(Some(plan.limit_ns)),
            maybe(Some(plan.warm_up_ns))
        ),
    );
    line(&mut out, "");
    line(
        &mut out,
        &row(["arm", "runs", "delivered", "in time", "P50", "P95", "P99", "total P50"]
            .map(str::to_owned)),
    );
    for arm in &comparison.arms {
        line(&mut out, &row(arm_cells(arm)));
    }
    for contrast in &comparison.contrasts {
        line(&mut out, "");
        wrapped(&mut out, &title(contrast));
        line(
            &mut out,
            &gains_row(
                ["gain of", "gain", "at least", "at most", "p", "bootstrap 95 %"]
                    .map(str::to_owned),
            ),
        );
        for effect in told(contrast) {
            line(&mut out, &gains_row(effect_cells(effect)));
        }
        wrapped(&mut out, &decided(contrast));
    }
    line(&mut out, "");
    if let Some(control) = &comparison.control {
        wrapped(&mut out, &format!("A/A: {}", control.said));
    }
    for qos in &comparison.qos {
        wrapped(&mut out, &format!("QoS, {}", qos.condition));
        wrapped(&mut out, &format!("- sensor stream: {}", qos.sensor_stream));
        wrapped(&mut out, &format!("- command: {}", qos.command));
    }
    for artefact in found(comparison) {
        wrapped(&mut out, &format!("! {}", artefact_said(artefact)));
    }
    for text in ruled_out(comparison) {
        wrapped(&mut out, &text);
    }
    for note in &comparison.notes {
        wrapped(&mut out, &format!("note: {note}"));
    }
    line(&mut out, "");
    let verdict = &comparison.verdict;
    for fix in &verdict.fix_first {
        wrapped(&mut out, &format!("fix first: {fix}"));
    }
    wrapped(&mut out, &format!("{}: {}", verdict.decision.name(), verdict.reason));
    if let Some(blocks) = verdict.blocks_needed {
        wrapped(&mut out, &needed(blocks));
    }
    out
}

/// The whole comparison as Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    let (plan, verdict) = (&comparison.plan, &comparison.verdict);
    put(&mut out, "# Hopwatch comparison\n");
    put(&mut out, &format!("**{}**: {}\n", verdict.decision.name(), cell(&verdict.reason)));
    for fix in &verdict.fix_first {
        put(&mut out, &format!("- fix first: {}", cell(fix)));
    }
    if let Some(blocks) = verdict.blocks_needed {
        put(&mut out, &format!("- {}", needed(blocks)));
    }
    put(
        &mut out,
        &format!(
            "\n{} arms × {} blocks, seed {}, margin {} on P99 communication, limit {}, warm-up {}.\n",
            plan.arms.len(),
            plan.blocks,
            plan.seed,
            maybe(Some(plan.margin_ns)),
            maybe(Some(plan.limit_ns)),
            maybe(Some(plan.warm_up_ns))
        ),
    );
    put(
        &mut out,
        "## Arms\n\nCommunication (taken → web\\_acked less AI): medians over runs; lost messages \
         took forever.\n\n\
         | arm | runs | delivered | in time | P50 | P95 | P99 | P50 total |\n\
         |---|---|---|---|---|---|---|---|",
    );
    for arm in &comparison.arms {
        put(&mut out, &format!("| {} |", arm_cells(arm).map(|text| cell(&text)).join(" | ")));
    }
    put(
        &mut out,
        "\n## Differences\n\nGains are positive when the alternative is better; bounds are \
         one-sided, 95 % each, over runs.",
    );
    for contrast in &comparison.contrasts {
        put(&mut out, &format!("\n### {}\n", cell(&title(contrast))));
        put(
            &mut out,
            "| gain of | gain | at least | at most | p | bootstrap 95 % | Cliff's delta | Welch |\n|---|---|---|---|---|---|---|---|",
        );
        for effect in told(contrast) {
            let delta = effect.cliffs_delta.map_or("–".to_owned(), |d| format!("{d:+.2}"));
            let welch = effect.welch.as_ref().map_or("–".to_owned(), |w| {
                format!("t = {:.2}, df = {:.1}, p {}", w.t, w.df, p_said(w.p))
            });
            put(&mut out, &format!("| {} | {delta} | {welch} |", effect_cells(effect).join(" | ")));
        }
        put(&mut out, &format!("\n{}", cell(&decided(contrast))));
    }
    if let Some(control) = &comparison.control {
        put(&mut out, &format!("\n## Control\n\n{}", cell(&control.said)));
    }
    if !comparison.qos.is_empty() {
        put(&mut out, "\n## QoS\n");
        for qos in &comparison.qos {
            put(&mut out, &format!("- {}", cell(&qos.condition)));
            put(&mut out, &format!("  - sensor stream: {}", cell(&qos.sensor_stream)));
            put(&mut out, &format!("  - command: {}", cell(&qos.command)));
        }
    }
    put(&mut out, "\n## Artefacts\n");
    for artefact in found(comparison) {
        put(&mut out, &format!("- **{}**", cell(&artefact_said(artefact))));
    }
    for text in ruled_out(comparison) {
        put(&mut out, &format!("- {}", cell(&text)));
    }
    if !comparison.notes.is_empty() {
        put(&mut out, "\n## Notes\n");
        for note in &comparison.notes {
            put(&mut out, &format!("- {}", cell(note)));
        }
    }
    out
}

fn needed(blocks: usize) -> String {
    format!("a new experiment of {blocks} blocks is needed, as far as this one tells")
}

fn title(contrast: &Contrast) -> String {
    format!(
        "{}: {} instead of {}, {} runs a side ({})",
        contrast.effect,
        contrast.alternative_level,
        contrast.baseline_level,
        contrast.runs,
        contrast.condition
    )
}

fn decided(contrast: &Contrast) -> String {
    use crate::experiment::Factor;
    match contrast.factor {
        Factor::Link => format!("{}: {}", contrast.decision.name(), contrast.said()),
        // Which QoS is right is a matter of use, and told below.
        Factor::Qos | Factor::Loss | Factor::Rate | Factor::Payload => contrast.said(),
    }
}

/// Metrics that are known.
fn told(contrast: &Contrast) -> impl Iterator<Item = &Effect> {
    contrast.effects.iter().filter(|effect| !effect.baseline.is_empty())
}

fn effect_cells(effect: &Effect) -> [String; 6] {
    let said = |amount: Option<Amount>| gain_said(effect.metric, amount);
    let bootstrap = effect
        .bootstrap_ci
        .map_or("–".to_owned(), |(lo, hi)| format!("{} to {}", said(Some(lo)), said(Some(hi))));
    [
        effect.metric.title().to_owned(),
        said(effect.gain),
        said(effect.gain_lower),
        said(effect.gain_upper),
        effect.p.map_or("–".to_owned(), p_said),
        bootstrap,
    ]
}

fn p_said(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
fn arm_cells(arm: &ArmFigures) -> [String; 8] {
    let percent = |n: u64| match arm.published {
        0 => "–".to_owned(),
        of => format!("{:.2} %", 100.0 * n as f64 / of as f64),
    };
    let said = |amount: Option<Amount>| {
        amount.map_or("–".to_owned(), |amount| Metric::CommunicationP99.said(amount.0))
    };
    [
        arm.name.clone(),
        arm.runs.to_string(),
        percent(arm.delivered),
        percent(arm.within),
        said(arm.communication_p50_ns),
        said(arm.communication_p95_ns),
        said(arm.communication_p99_ns),
        maybe(arm.total_p50_ns),
    ]
}

fn row(cells: [String; 8]) -> String {
    let [name, runs, rest @ ..] = cells;
    let mut text = format!("{name:<32}{runs:>5}");
    for cell in rest {
        let _infallible = write!(text, " {cell:>9}");
    }
    text
}

fn gains_row(cells: [String; 6]) -> String {
    let [metric, rest @ .., bootstrap] = cells;
    let mut text = format!("  {metric:<27}");
    for cell in rest {
        let _infallible = write!(text, " {cell:>10}");
    }
    text + &format!("  {bootstrap}")
}

fn found(comparison: &Comparison) -> impl Iterator<Item = &ArmArtefact> {
    comparison.artefacts.iter().filter(|a| a.state == State::Found)
}

fn artefact_said(a: &ArmArtefact) -> String {
    let mut text = format!(
        "{} ({}, {} of {} trials): {}",
        a.kind.title(),
        a.arm_name,
        a.trials,
        a.of,
        a.evidence
    );
    if !a.fix.is_empty() {
        let _infallible = write!(text, "; {}", a.fix);
    }
    if let Some((p50, p99)) = a.gain_p50_ns.zip(a.gain_p99_ns) {
        let (p50, p99) = (maybe(Some(p50)), maybe(Some(p99)));
        let _infallible = write!(text, "; it would gain {p50} at P50 and {p99} at P99");
    }
    text
}

/// Which arms are free of which artefacts, and where that can't be told.
fn ruled_out(comparison: &Comparison) -> Vec<String> {
    let arms: Vec<(usize, &str)> =
        comparison.arms.iter().map(|arm| (arm.arm, arm.name.as_str())).collect();
    let named = |arm: usize, state: State| {
        let of = comparison.artefacts.iter().filter(|a| a.arm == arm && a.state == state);
        of.map(|a| a.kind.title()).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    for (arm, name) in arms {
        let (out, unknown) = (named(arm, State::RuledOut), named(arm, State::Unknown));
        if !out.is_empty() {
            lines.push(format!("ruled out in {name}: {out}"));
        }
        if !unknown.is_empty() {
            lines.push(format!("not known of {name}: {unknown}"));
        }
    }
    lines
}
