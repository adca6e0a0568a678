//! Differences with their intervals: a row for each pair of arms, and the margin that decides.

use crate::chart::{Chart, WIDTH, across, label, line, path, rectangle};
use crate::markup::{Markup, Px};
use crate::scale::{Scale, number, time_ticks};
use crate::words::{between, count_of, float, short};
use hopwatch_analysis::{Amount, Comparison, Contrast, Effect, Factor, Metric};
use std::fmt::Write;

const LEFT: f64 = 270.0;
const RIGHT: f64 = WIDTH - 200.0;
const TOP: f64 = 40.0;
const ROW: f64 = 50.0;
/// A group's name.
const GROUP: f64 = 22.0;
/// An arrow that points beyond the axis is at least that long.
const ARROW: f64 = 26.0;

/// One row.
struct Line<'a> {
    /// Rows of the same group come one after the other.
    group: String,
    name: String,
    below: String,
    effect: &'a Effect,
    /// What is decided on it, if anything.
    word: &'static str,
    class: &'static str,
}

/// The gains in the quantity that each contrast is decided on, with the margin.
pub(crate) fn gains_chart(m: &mut Markup, id: &str, comparison: &Comparison) {
    let mut lines: Vec<Line<'_>> = comparison
        .contrasts
        .iter()
        .filter_map(|contrast| line_of(contrast, contrast.headline))
        .collect();
    if let Some(control) = &comparison.control {
        lines.extend(control.effects.first().map(|effect| Line {
            group: format!("control (A/A): {}", effect.metric.title()),
            name: "control instead of its twin".to_owned(),
            below: "the same arm twice".to_owned(),
            effect,
            word: match (control.differs, control.can_tell) {
                (true, _) => "DIFFERS",
                (false, true) => "no difference shown",
                (false, false) => "says nothing",
            },
            class: if control.differs { "forest bad-row" } else { "forest control" },
        }));
    }
    let margin = float(comparison.plan.margin_ns);
    forest(m, id, "What the other level would gain", &lines, Some(margin));
}

/// The gains in delivery within the limit; nothing when no arm lost anything.
pub(crate) fn delivery_gains_chart(m: &mut Markup, id: &str, comparison: &Comparison) {
    let lines: Vec<Line<'_>> = comparison
        .contrasts
        .iter()
        .filter_map(|contrast| line_of(contrast, Metric::DeliveredWithin))
        .map(|line| Line { word: "", ..line })
        .collect();
    let whole = |amounts: &[Amount]| amounts.iter().all(|amount| amount.0 >= 1.0);
    if lines.iter().all(|line| whole(&line.effect.baseline) && whole(&line.effect.alternative)) {
        return;
    }
    forest(m, id, "What the other level would gain in delivery within the limit", &lines, None);
}

fn line_of(contrast: &Contrast, metric: Metric) -> Option<Line<'_>> {
    let effect = contrast.effect_of(metric).filter(|effect| !effect.baseline.is_empty())?;
    // Which QoS is right is a matter of use: no verdict.
    let word = match (contrast.factor == Factor::Link, contrast.differs) {
        (true, _) => contrast.decision.name(),
        (false, true) => "differs",
        (false, false) => "no difference shown",
    };
    let (to, from) = (&contrast.alternative_level, &contrast.baseline_level);
    Some(Line {
        group: format!("{}: {}", contrast.effect, metric.title()),
        name: format!("{to} instead of {from}"),
        below: contrast.condition.clone(),
        effect,
        word,
        class: "forest",
    })
}

/// Finite ends and the estimate of one row.
fn ends(effect: &Effect) -> impl Iterator<Item = f64> {
    let bounds = [effect.gain, effect.gain_lower, effect.gain_upper];
    bounds.into_iter().flatten().map(|amount| amount.0).filter(|value| value.is_finite())
}

fn forest(m: &mut Markup, id: &str, title: &str, lines: &[Line<'_>], margin: Option<f64>) {
    if lines.is_empty() {
        return;
    }
    let all =
        |of: fn(f64, f64) -> f64| lines.iter().flat_map(|line| ends(line.effect)).fold(0.0, of);
    let (lo, hi) = (all(f64::min), all(f64::max));
    let scale = if let Some(margin) = margin {
        Scale::of_differences((lo, hi), margin, (LEFT, RIGHT))
    } else {
        let pad = ((hi - lo) * 0.08).max(0.001);
        Scale::linear((lo - pad, hi + pad), (LEFT, RIGHT))
    };
    let heads: Vec<bool> =
        (0..lines.len()).map(|i| i == 0 || lines[i].group != lines[i - 1].group).collect();
    let groups = heads.iter().filter(|head| **head).count();
    let bottom = TOP + ROW * count_of(lines.len()) + GROUP * count_of(groups);
    let shows: Vec<String> = lines
        .iter()
        .map(|line| {
            let word =
                if line.word.is_empty() { String::new() } else { format!(": {}", line.word) };
            let (group, name, below) = (&line.group, &line.name, &line.below);
            format!("{group}, {name} ({below}): {}{word}", line.effect.said())
        })
        .collect();
    let chart = Chart { id, title, shows: &shows.join("; "), height: bottom + 40.0 };
    chart.put(m, &caption(margin.is_some(), &scale), |m| {
        if let Some(margin) = margin {
            let (from, to) = (scale.at(-margin), scale.at(margin));
            rectangle(m, (from, TOP - 6.0), (to - from, bottom - TOP + 6.0), "margin-band");
        }
        let ticks = ticks(&scale, margin.is_some());
        let name = if scale.is_linear() { "gain" } else { "gain, by ratios beyond the margin" };
        across(m, &scale, (TOP - 6.0, bottom), &ticks, name);
        let zero = scale.at(0.0);
        line(m, (zero, TOP - 6.0), (zero, bottom), "zero");
        if let Some(margin) = margin {
            for at in [-margin, margin] {
                line(m, (scale.at(at), TOP - 6.0), (scale.at(at), bottom), "guide");
            }
            let text = format!("margin {}", hopwatch_analysis::duration(margin));
            label(m, (scale.at(margin) + 4.0, TOP - 12.0), "start", "tick", &text);
        }
        label(m, (LEFT, TOP - 26.0), "start", "tick", "← worse than before");
        label(m, (RIGHT, TOP - 26.0), "end", "tick", "better than before →");
        let mut top = TOP;
        for (of_row, head) in lines.iter().zip(&heads) {
            if *head {
                label(m, (4.0, top + 14.0), "start", "head", &of_row.group);
                top += GROUP;
            }
            m.within("g", &[("class", &of_row.class)], |m| row(m, top, of_row, &scale));
            top += ROW;
        }
    });
}

fn ticks(scale: &Scale, time: bool) -> Vec<(f64, String)> {
    if time {
        time_ticks(scale, 58.0)
    } else {
        let points = |share: f64| format!("{}\u{a0}pt", number((share * 1e5).round() / 1e3));
        scale.ticks(58.0).into_iter().map(|tick| (tick, points(tick))).collect()
    }
}

fn row(m: &mut Markup, top: f64, of_row: &Line<'_>, scale: &Scale) {
    let effect = of_row.effect;
    let middle = top + 15.0;
    label(m, (LEFT - 12.0, middle + 1.0), "end", "row", &short(&of_row.name, 38));
    label(m, (LEFT - 12.0, middle + 15.0), "end", "tick", &short(&of_row.below, 43));
    // An end that is infinite, or that so few runs don't have, is an arrow beyond the axis.
    let arrow = |amount: Option<Amount>, beyond: f64| match amount {
        Some(amount) => (scale.at(amount.0), !amount.0.is_finite()),
        None => (beyond, true),
    };
    let ((mut from, before), (mut to, behind)) =
        (arrow(effect.gain_lower, LEFT), arrow(effect.gain_upper, RIGHT));
    if behind {
        from = from.min(RIGHT - ARROW);
    }
    if before {
        to = to.max(LEFT + ARROW);
    }
    let mut d = String::new();
    let _infallible = write!(d, "M{} {}H{}", Px(from), Px(middle), Px(to));
    // Where both ends lie beyond the same side, there is one arrow.
    let same = effect.gain_lower == effect.gain_upper && before && behind;
    for (x, open, way) in [(from, before, 1.0), (to, behind, -1.0)] {
        let inner = same && (x - LEFT).abs() > 0.1 && (x - RIGHT).abs() > 0.1;
        let _infallible = match open {
            _ if inner => Ok(()),
            true => {
                let (back, up, down) = (Px(x + 6.0 * way), Px(middle - 4.0), Px(middle + 4.0));
                write!(d, "M{back} {up}L{} {}L{back} {down}", Px(x), Px(middle))
            }
            false => write!(d, "M{} {}v10", Px(x), Px(middle - 5.0)),
        };
    }
    path(m, &d, "whisker");
    let mut runs = String::new();
    let sign = if effect.metric.is_share() { -1.0 } else { 1.0 };
    for (before, after) in effect.baseline.iter().zip(&effect.alternative) {
        let gain = sign * (before.0 - after.0);
        if gain.is_finite() {
            let _infallible = write!(runs, "M{} {}v6", Px(scale.at(gain)), Px(middle + 10.0));
        }
    }
    path(m, &runs, "runs");
    let finite = effect.gain.filter(|gain| gain.0.is_finite());
    if let Some(at) = finite.map(|gain| scale.at(gain.0)) {
        m.void("circle", &[("cx", &Px(at)), ("cy", &Px(middle)), ("r", &5), ("class", &"dot")]);
    }
    let said = gain(effect.metric, effect.gain);
    label(m, (RIGHT + 14.0, middle - 3.0), "start", "row", &said);
    let bounds = bounds(effect);
    if bounds != said {
        label(m, (RIGHT + 14.0, middle + 11.0), "start", "tick", &short(&bounds, 31));
    }
    label(m, (RIGHT + 14.0, middle + 25.0), "start", "head", of_row.word);
}

/// A gain in words.
pub(crate) fn gain(metric: Metric, amount: Option<Amount>) -> String {
    amount.map_or_else(|| "open".to_owned(), |amount| metric.said_gain(amount.0))
}

/// The one-sided 95 % bounds of a gain in words.
pub(crate) fn bounds(effect: &Effect) -> String {
    let said = |amount: Amount| effect.metric.said_gain(amount.0);
    match (effect.gain_lower, effect.gain_upper) {
        (None, None) => "no bounds: too few runs".to_owned(),
        (Some(lo), None) => format!("≥ {}", said(lo)),
        (None, Some(hi)) => format!("≤ {}", said(hi)),
        (Some(lo), Some(hi)) if lo == hi => said(lo),
        (Some(lo), Some(hi)) => between(&said(lo), &said(hi)),
    }
}

fn caption(time: bool, scale: &Scale) -> String {
    let mut text = "Dot: the gain, as the median of all differences of runs (Hodges–Lehmann). \
                    Line: from the one-sided 95 % lower to the one-sided 95 % upper bound; an \
                    arrow: no such bound, for lack of runs or because messages were lost. Small \
                    strokes: the difference of each block."
        .to_owned();
    if time {
        text.push_str(
            " KEEP needs the line's right end left of the margin on the right; SWITCH needs the \
             whole line right of it, by a bound that is stricter the more pairs are compared.",
        );
    }
    if !scale.is_linear() {
        text.push_str(" Within the margin the axis is about linear.");
    }
    text
}
