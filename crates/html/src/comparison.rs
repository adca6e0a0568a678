//! The page of an experiment.

use crate::arms::{Delivery, delivery_chart, runs_chart};
use crate::forest::{bounds, delivery_gains_chart, gain, gains_chart};
use crate::lane::{banner, list};
use crate::markup::Markup;
use crate::page::page;
use crate::tables::{figure, row, table};
use crate::words::{probability, sentence, thousands};
use hopwatch_analysis::{
    Amount, ArmArtefact, Comparison, Contrast, Decision, Factor, Metric, QosFigures, State, maybe,
};
use std::collections::BTreeSet;

/// A comparison as a page: report.html of `hopwatch compare`.
pub fn comparison_html(comparison: &Comparison) -> String {
    page("Hopwatch comparison", |m| {
        head(m, comparison);
        m.within("main", &[], |m| {
            result(m, comparison);
            differences(m, comparison);
            arms(m, comparison);
            qos(m, comparison);
            artefacts(m, comparison);
            notes(m, comparison);
        });
    })
}

fn head(m: &mut Markup, comparison: &Comparison) {
    let plan = &comparison.plan;
    m.within("header", &[], |m| {
        m.element("h1", &[], "Hopwatch comparison");
        let text = format!(
            "{} arms × {} blocks, seed {}; margin {}, limit {}, warm-up {}: fixed before the first \
             trial.",
            plan.arms.len(),
            plan.blocks,
            plan.seed,
            maybe(Some(plan.margin_ns)),
            maybe(Some(plan.limit_ns)),
            maybe(Some(plan.warm_up_ns))
        );
        m.element("p", &[], &text);
        m.within("nav", &[("aria-label", &"Parts of the report")], |m| {
            for (to, name) in [
                ("#result", "Result"),
                ("#differences", "Differences"),
                ("#arms", "Arms"),
                ("#artefacts", "Artefacts"),
            ] {
                m.element("a", &[("href", &to)], name);
                m.text(" ");
            }
        });
    });
}

fn result(m: &mut Markup, comparison: &Comparison) {
    let verdict = &comparison.verdict;
    let class = if comparison.exit_code() == 0 { "result is-good" } else { "result is-warn" };
    m.within("section", &[("id", &"result"), ("class", &class)], |m| {
        m.element("h2", &[], &heading(comparison));
        m.element("p", &[], &format!("{}.", sentence(&verdict.reason)));
        for fix in &verdict.fix_first {
            banner(m, false, "Fix first", fix);
        }
        if let Some(blocks) = verdict.blocks_needed {
            let text = format!(
                "a new experiment of {blocks} blocks, as far as this one tells (for a chance of \
                 80 %)"
            );
            banner(m, false, "Still needed", &text);
        }
        if let Some(control) = &comparison.control {
            if control.differs {
                banner(m, true, "The control differs", &control.said);
            } else {
                m.element("p", &[], &format!("{}.", sentence(&control.said)));
            }
        }
        list(
            m,
            comparison.contrasts.iter().filter(|contrast| contrast.factor == Factor::Link).map(
                |contrast| {
                    let (to, from) = (&contrast.alternative_level, &contrast.baseline_level);
                    let word = contrast.decision.name();
                    format!("{word}: {to} instead of {from} ({})", contrast.condition)
                },
            ),
        );
    });
}

/// What was asked, and the answer; where no two links were compared, what was, unless the short
/// cut says something on the one link all the same.
fn heading(comparison: &Comparison) -> String {
    let verdict = &comparison.verdict;
    let of = |factor: Factor| comparison.contrasts.iter().any(|c| c.factor == factor);
    let links = of(Factor::Link) || comparison.contrasts.is_empty();
    if links || verdict.decision != Decision::Inconclusive {
        return format!("Must HTTP be replaced? {}", verdict.decision.name());
    }
    let effects = Factor::ALL.into_iter().filter(|factor| of(*factor)).map(Factor::effect);
    format!("What was compared: {}", effects.collect::<Vec<_>>().join(", "))
}

/// What is decided on a link; of anything else, what it does. Which QoS is right is a matter of
/// use, and told below.
fn decided(contrast: &Contrast) -> String {
    if contrast.factor == Factor::Link {
        format!("{}: {}", contrast.decision.name(), contrast.said())
    } else {
        contrast.said()
    }
}

fn differences(m: &mut Markup, comparison: &Comparison) {
    m.within("section", &[("id", &"differences")], |m| {
        m.element("h2", &[], "Differences, with intervals over runs");
        if comparison.contrasts.is_empty() {
            m.element("p", &[], "No two arms differ in exactly one factor.");
        }
        gains_chart(m, "gains", comparison);
        delivery_gains_chart(m, "delivery-gains", comparison);
        for contrast in &comparison.contrasts {
            let (to, from) = (&contrast.alternative_level, &contrast.baseline_level);
            m.element("h3", &[], &format!("{}: {to} instead of {from}", sentence(contrast.effect)));
            m.element(
                "p",
                &[("class", &"meta")],
                &format!("{}; {} runs a side", contrast.condition, contrast.runs),
            );
            m.element("p", &[], &format!("{}.", sentence(&decided(contrast))));
            effects_table(m, contrast);
        }
    });
}

/// All that was compared in one contrast.
fn effects_table(m: &mut Markup, contrast: &Contrast) {
    let heads = [
        "gain of",
        "gain",
        "of the total",
        "p",
        "p of blocks",
        "bootstrap 95 %",
        "Cliff's delta",
        "Welch",
    ];
    let known = contrast.effects.iter().filter(|effect| !effect.baseline.is_empty());
    table(m, "Below a gain its one-sided 95 % bounds; positive is better", &heads, |m| {
        for effect in known {
            m.within("tr", &[], |m| {
                m.within("th", &[("scope", &"row")], |m| {
                    m.text(effect.metric.title());
                    if effect.metric == contrast.headline {
                        m.element("small", &[], "decided on this");
                    }
                });
                figure(m, &gain(effect.metric, effect.gain), &bounds(effect));
                let percent = effect.gain_percent_of_total;
                m.element("td", &[], &percent.map_or("–".to_owned(), |p| format!("{p:.2} %")));
                for p in [effect.p, effect.p_paired] {
                    m.element("td", &[], &p.map_or("–".to_owned(), probability));
                }
                let bootstrap = effect.bootstrap_ci.map_or("–".to_owned(), |(lo, hi)| {
                    between(effect.metric, Some(lo), Some(hi))
                });
                m.element("td", &[], &bootstrap);
                let delta = effect.cliffs_delta.map_or("–".to_owned(), |d| format!("{d:+.2}"));
                let of_delta = effect
                    .cliffs_delta_ci
                    .map_or(String::new(), |(lo, hi)| format!("{lo:+.2} to {hi:+.2}"));
                figure(m, &delta, &of_delta);
                let welch = effect.welch.as_ref();
                let test = welch.map_or("–".to_owned(), |w| {
                    format!("t = {:.2}, df = {:.1}, p {}", w.t, w.df, equals(w.p))
                });
                figure(m, &test, welch.map_or("", |w| w.said));
            });
        }
    });
    for (side, modes) in contrast.effects.iter().take(1).flat_map(|effect| {
        [("baseline", &effect.baseline_modes), ("alternative", &effect.alternative_modes)]
    }) {
        if let Some(modes) = modes {
            let text = format!(
                "The {side}'s runs have two modes, {} and {}: read no mean of them.",
                maybe(Some(modes.low.center_ns)),
                maybe(Some(modes.high.center_ns))
            );
            m.element("p", &[("class", &"banner")], &text);
        }
    }
}

/// A probability behind a "p".
fn equals(p: f64) -> String {
    let said = probability(p);
    if said.starts_with('<') { said } else { format!("= {said}") }
}

fn between(metric: Metric, lo: Option<Amount>, hi: Option<Amount>) -> String {
    let said = |amount: Option<Amount>| amount.map_or("–".to_owned(), |a| metric.said_gain(a.0));
    crate::words::between(&said(lo), &said(hi))
}

fn arms(m: &mut Markup, comparison: &Comparison) {
    m.within("section", &[("id", &"arms")], |m| {
        m.element("h2", &[], "Arms");
        runs_chart(m, "runs", comparison);
        delivery_chart(m, "delivery", comparison);
        let heads = [
            "arm",
            "runs",
            "in time",
            "delivered",
            "P50",
            "P95",
            "P99",
            "transport P50",
            "total P50",
            "left out",
            "unstable",
        ];
        let caption = "Communication (taken → web_acked less AI) and the rest: medians over runs; \
                       lost messages took forever";
        table(m, caption, &heads, |m| {
            for arm in &comparison.arms {
                let delivery = Delivery::of(arm);
                m.within("tr", &[], |m| {
                    m.within("th", &[("scope", &"row")], |m| {
                        m.text(&arm.name);
                        let plan = comparison.plan.arms.get(arm.arm);
                        if plan.is_some_and(|plan| plan.is_control) {
                            m.element("small", &[], "control: repeats the first");
                        }
                    });
                    m.element("td", &[], &arm.runs.to_string());
                    figure(m, &delivery.within.said(), &delivery.within.interval());
                    figure(m, &delivery.delivered.said(), &delivery.delivered.interval());
                    for amount in [
                        arm.communication_p50_ns,
                        arm.communication_p95_ns,
                        arm.communication_p99_ns,
                    ] {
                        let text = amount.map(|a| Metric::CommunicationP99.said(a.0));
                        m.element("td", &[], &text.unwrap_or_else(|| "–".to_owned()));
                    }
                    m.element("td", &[], &maybe(arm.transport_p50_ns));
                    m.element("td", &[], &maybe(arm.total_p50_ns));
                    m.element("td", &[("class", &"note")], &left_out(&arm.dropped));
                    m.element("td", &[], &arm.unstable.len().to_string());
                });
            }
        });
        let unstable = comparison.arms.iter().filter(|arm| !arm.unstable.is_empty());
        list(
            m,
            unstable
                .map(|arm| format!("unstable trials of {}: {}", arm.name, arm.unstable.join(", "))),
        );
    });
}

fn left_out(dropped: &hopwatch_analysis::Dropped) -> String {
    let parts: Vec<String> = [
        (dropped.warm_up, "warm-up"),
        (dropped.before_discovery, "before discovery"),
        (dropped.in_flight, "in flight"),
        (dropped.untimed, "untimed"),
    ]
    .iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{} {what}", thousands(*n)))
    .collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

fn qos(m: &mut Markup, comparison: &Comparison) {
    if comparison.qos.is_empty() {
        return;
    }
    m.within("section", &[("id", &"qos")], |m| {
        m.element("h2", &[], "BEST_EFFORT or RELIABLE");
        for qos in &comparison.qos {
            m.element("h3", &[], &qos.condition);
            m.within("ul", &[], |m| {
                for (what, text) in
                    [("sensor stream", &qos.sensor_stream), ("command", &qos.command)]
                {
                    m.within("li", &[], |m| {
                        m.element("b", &[], what);
                        m.text(": ");
                        m.text(text);
                    });
                }
            });
            let heads = ["QoS", "lost in ROS", "ros P50", "ros P99", "late", "late P50", "at most"];
            table(m, "The way through DDS, of the messages that came", &heads, |m| {
                for side in [&qos.baseline, &qos.alternative] {
                    row(m, &side.qos, &qos_cells(side));
                }
            });
        }
    });
}

fn qos_cells(side: &QosFigures) -> [String; 6] {
    let late = &side.late;
    [
        format!("{} of {}", thousands(side.lost_in_ros), thousands(side.published)),
        maybe(side.ros_p50_ns),
        maybe(side.ros_p99_ns),
        format!("{} of {}", late.n, late.of),
        maybe(late.p50_ns),
        maybe(late.max_ns),
    ]
}

fn artefacts(m: &mut Markup, comparison: &Comparison) {
    m.within("section", &[("id", &"artefacts")], |m| {
        m.element("h2", &[], "What else makes a link look slow");
        let found: Vec<&ArmArtefact> =
            comparison.artefacts.iter().filter(|a| a.state == State::Found).collect();
        if found.is_empty() {
            m.element("p", &[], "Nothing of the kind was found.");
        }
        for artefact in found {
            banner(m, false, &sentence(artefact.kind.title()), &artefact_said(artefact));
        }
        let kinds: BTreeSet<_> = comparison.artefacts.iter().map(|a| a.kind).collect();
        if kinds.is_empty() {
            return;
        }
        let heads: Vec<&str> =
            ["arm"].into_iter().chain(kinds.iter().map(|kind| kind.title())).collect();
        table(m, "Looked for in each arm", &heads, |m| {
            for arm in &comparison.arms {
                m.within("tr", &[], |m| {
                    m.element("th", &[("scope", &"row")], &arm.name);
                    for kind in &kinds {
                        let of = comparison.artefacts.iter();
                        let (class, word) = match of
                            .filter(|a| a.arm == arm.arm && a.kind == *kind)
                            .map(|a| a.state)
                            .min_by_key(|state| *state != State::Found)
                        {
                            Some(State::Found) => ("bad", "✗ found"),
                            Some(State::RuledOut) => ("fine", "✓ ruled out"),
                            Some(State::Unknown) => ("open", "? not known"),
                            None => ("open", "–"),
                        };
                        m.element("td", &[("class", &class)], word);
                    }
                });
            }
        });
    });
}

fn artefact_said(a: &ArmArtefact) -> String {
    let mut parts =
        vec![format!("{}, {} of {} trials: {}", a.arm_name, a.trials, a.of, a.evidence)];
    if !a.fix.is_empty() {
        parts.push(a.fix.clone());
    }
    if let Some((p50, p99)) = a.gain_p50_ns.zip(a.gain_p99_ns) {
        let (p50, p99) = (maybe(Some(p50)), maybe(Some(p99)));
        parts.push(format!("it would gain {p50} at P50 and {p99} at P99"));
    }
    parts.join("; ")
}

fn notes(m: &mut Markup, comparison: &Comparison) {
    if !comparison.notes.is_empty() {
        m.within("section", &[("id", &"notes")], |m| {
            m.element("h2", &[], "Notes");
            list(m, comparison.notes.iter().cloned());
        });
    }
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
