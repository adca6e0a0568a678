//! Tables: the figures, and the text alternative of the charts.

use crate::ecdf::{Curve, interval_said};
use crate::legs::{Look, looks, pattern, shade};
use crate::markup::Markup;
use crate::words::{CLASSES, between, class_said, count, interval, percent, thousands};
use hopwatch_analysis::{BudgetReport, LaneReport, Row, Width, maybe, moments};
use hopwatch_model::{Class, Leg, Ns};
use hopwatch_stats::Summary;

/// A table that scrolls where the screen is narrow: its heads, then its rows.
pub(crate) fn table(m: &mut Markup, caption: &str, heads: &[&str], rows: impl FnOnce(&mut Markup)) {
    m.within("div", &[("class", &"wide")], |m| {
        m.within("table", &[], |m| {
            m.element("caption", &[], caption);
            m.within("thead", &[], |m| {
                m.within("tr", &[], |m| {
                    for head in heads {
                        m.element("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.within("tbody", &[], rows);
        });
    });
}

/// A row: its name, then cells.
pub(crate) fn row(m: &mut Markup, name: &str, cells: &[String]) {
    m.within("tr", &[], |m| {
        m.element("th", &[("scope", &"row")], name);
        for cell in cells {
            m.element("td", &[], cell);
        }
    });
}

/// The limits and what was measured.
pub(crate) fn budget_table(m: &mut Markup, budget: &BudgetReport) {
    let heads = ["lane: quantity", "limit", "measured", "holds"];
    table(m, "Budget", &heads, |m| {
        for check in &budget.checks {
            m.within("tr", &[], |m| {
                let (class, word) =
                    if check.passed { ("good", "✓ pass") } else { ("bad", "✗ FAIL") };
                m.element("th", &[("scope", &"row")], &check.name);
                m.element("td", &[], &check.limit);
                m.element("td", &[], &check.measured);
                m.element("td", &[("class", &class)], word);
            });
        }
    });
}

/// The figures of the distributions.
pub(crate) fn distribution_table(m: &mut Markup, lanes: &[(&LaneReport, Result<Curve, String>)]) {
    let heads = ["lane", "over", "lost", "P50", "P95", "P99", "in time"];
    table(m, "The same in figures, with 95 % intervals", &heads, |m| {
        for (lane, curve) in lanes {
            m.within("tr", &[], |m| {
                m.element("th", &[("scope", &"row")], &lane.name);
                match curve {
                    Err(why) => m.element("td", &[("colspan", &5), ("class", &"said")], why),
                    Ok(curve) => {
                        let over = format!("{} {}", thousands(curve.of), curve.over);
                        m.element("td", &[], &over);
                        let lost = percent(count(curve.lost()) / count(curve.of));
                        m.element("td", &[], &format!("{} ({lost})", thousands(curve.lost())));
                        for p in [500, 950, 990] {
                            let ci = interval_said(curve.interval(p));
                            figure(m, &curve.quantile(p).to_string(), &ci);
                        }
                    }
                }
                let span = lane
                    .over_published
                    .as_ref()
                    .map(|over| (over.published.as_ref().unwrap_or(&over.pipeline), over));
                match span {
                    None => m.element("td", &[], "–"),
                    Some((span, over)) => {
                        let within = &span.delivered_within;
                        let (lo, hi) = within.ratio_ci;
                        figure(
                            m,
                            &format!(
                                "{} within {}",
                                percent(within.ratio),
                                maybe(Some(over.limit_ns))
                            ),
                            &format!("{} to {}", percent(lo), percent(hi)),
                        );
                    }
                }
            });
        }
    });
}

/// A figure and what is said of it, smaller.
pub(crate) fn figure(m: &mut Markup, figure: &str, said: &str) {
    m.within("td", &[], |m| {
        m.text(figure);
        if !said.is_empty() && said != "–" {
            m.element("small", &[], said);
        }
    });
}

const FIGURES: [&str; 10] = ["n", "mean", "sd", "min", "P50", "P75", "P90", "P95", "P99", "max"];

/// Count, moments and quantiles; where the clocks leave too much open, that instead (METHOD 4).
fn figures(m: &mut Markup, s: &Summary, width: Option<&Width>) {
    m.element("td", &[], &s.n.to_string());
    if let Some(open) = width.filter(|width| !width.resolved) {
        let said = open.said().unwrap_or_else(|| "not resolved".to_owned());
        m.element("td", &[("colspan", &9), ("class", &"said")], &said);
        return;
    }
    for moment in moments(s) {
        m.element("td", &[], &moment);
    }
    m.element("td", &[], &maybe(s.min_ns));
    figure(m, &maybe(s.p50_ns), &interval(s.p50_ci_ns));
    m.element("td", &[], &maybe(s.p75_ns));
    m.element("td", &[], &maybe(s.p90_ns));
    figure(m, &maybe(s.p95_ns), &interval(s.p95_ci_ns));
    figure(m, &maybe(s.p99_ns), &interval(s.p99_ci_ns));
    m.element("td", &[], &maybe(s.max_ns));
}

/// What is said beside a name: how far the clocks leave it open, and that it is negative.
fn beside(m: &mut Markup, width: &Width, negative: usize) {
    if let Some(said) = width.said().filter(|_| width.resolved) {
        m.element("small", &[], &said);
    }
    if negative > 0 {
        m.element("small", &[("class", &"bad")], &format!("{negative} negative: a clock lies"));
    }
}

/// The classes: what the total is split into.
pub(crate) fn class_table(m: &mut Markup, lane: &LaneReport) {
    let heads: Vec<&str> = ["taken → web_acked"].into_iter().chain(FIGURES).collect();
    table(m, "By class; below quantiles their 95 % intervals", &heads, |m| {
        for of_row in Row::ALL {
            m.within("tr", &[], |m| {
                m.within("th", &[("scope", &"row")], |m| {
                    let class = match of_row {
                        Row::Ai => Some(Class::Ai),
                        Row::Transport => Some(Class::Transport),
                        Row::Overhead => Some(Class::Overhead),
                        Row::Communication | Row::Total => None,
                    };
                    if let Some(class) = class {
                        swatch(m, shade(class, false), pattern(class));
                    }
                    m.text(of_row.name());
                    if let Some(width) = lane.class_widths.get(&of_row) {
                        beside(m, width, 0);
                    }
                });
                if let Some(summary) = lane.classes.get(&of_row) {
                    figures(m, summary, lane.class_widths.get(&of_row));
                }
            });
        }
    });
}

/// All legs.
pub(crate) fn leg_table(m: &mut Markup, lane: &LaneReport) {
    let looks = looks(lane);
    let heads: Vec<&str> = ["leg", "class"].into_iter().chain(FIGURES).collect();
    table(
        m,
        "By leg, in the order of the way; below quantiles their 95 % intervals",
        &heads,
        |m| {
            for (leg, figures_of) in &lane.legs {
                m.within("tr", &[], |m| {
                    m.within("th", &[("scope", &"row")], |m| {
                        named(m, *leg, looks.get(leg).copied());
                        beside(m, &figures_of.width, figures_of.negative);
                    });
                    m.element("td", &[], figures_of.class.name());
                    figures(m, &figures_of.summary, Some(&figures_of.width));
                });
            }
        },
    );
    if lane.legs.contains_key(&Leg::AiRoundTrip) {
        m.element("p", &[], "AI includes its transport: the service does not tell its own time.");
    }
}

fn named(m: &mut Markup, leg: Leg, look: Option<Look>) {
    if let Some(look) = look {
        swatch(m, look.shade, look.pattern);
        m.text(&format!("{}. ", look.number));
    }
    m.text(leg.name());
}

/// Spans that are neither class nor leg.
pub(crate) fn span_table(m: &mut Markup, lane: &LaneReport) {
    let heads: Vec<&str> = ["span"].into_iter().chain(FIGURES).collect();
    table(m, "Longer spans, and the transport of each service in one", &heads, |m| {
        for (name, span) in lane.spans.iter().filter(|(_, span)| span.summary.n > 0) {
            m.within("tr", &[], |m| {
                m.within("th", &[("scope", &"row")], |m| {
                    m.text(name);
                    if span.width.exact {
                        m.element("small", &[], "exact");
                    }
                    beside(m, &span.width, 0);
                });
                figures(m, &span.summary, Some(&span.width));
            });
        }
    });
}

/// The bars of the stacked legs as figures, and what each leg adds to the variation.
pub(crate) fn breakdown_table(m: &mut Markup, lane: &LaneReport) {
    let Some(first) = lane.breakdown.first() else { return };
    let looks = looks(lane);
    let ends = |lo: Ns, hi: Ns| between(&maybe(Some(lo)), &maybe(Some(hi)));
    let heads: Vec<String> = ["leg".to_owned()]
        .into_iter()
        .chain(lane.breakdown.iter().map(|near| {
            let near_name = near.near.to_uppercase();
            format!("near {near_name}, n = {}, {}", near.n, ends(near.lo_ns, near.hi_ns))
        }))
        .chain(["part of the variance".to_owned()])
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(m, "What the total is made of: means of the messages near its quantiles", &heads, |m| {
        for leg in first.legs.keys() {
            m.within("tr", &[], |m| {
                m.within("th", &[("scope", &"row")], |m| {
                    named(m, *leg, looks.get(leg).copied());
                });
                for near in &lane.breakdown {
                    m.element("td", &[], &maybe(Some(near.leg(*leg))));
                }
                let share = lane.variance_shares.as_ref().and_then(|shares| shares.get(leg));
                let text = share.map_or("–".to_owned(), |share| {
                    format!("{:.1} %", (share * 1e3).round() / 10.0 + 0.0)
                });
                m.element("td", &[], &text);
            });
        }
        let totals: Vec<String> = lane
            .breakdown
            .iter()
            .map(|near| maybe(Some(near.mean_ns)))
            .chain([String::new()])
            .collect();
        row(m, "total", &totals);
    });
}

/// The table of the published measurement of this pipeline, in its own units.
pub(crate) fn s1_table(m: &mut Markup, lane: &LaneReport) {
    let heads = ["stage", "mean s", "min", "max", "median", "share", "sd"];
    let caption = "As the published measurement of this pipeline (S1) printed it: round trips";
    table(m, caption, &heads, |m| {
        for (name, of_row) in lane.s1.rows() {
            let s = &of_row.summary;
            let share = of_row.share_percent.map_or("–".to_owned(), |p| format!("{p:.2} %"));
            let cells = [
                seconds(s.mean_ns),
                whole(s.min_ns),
                whole(s.max_ns),
                whole(s.p50_ns),
                share,
                seconds(s.sd_ns),
            ];
            row(m, name, &cells);
        }
    });
}

fn seconds(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".to_owned(), |ns| format!("{:.4}", ns / 1e9))
}

fn whole(ns: Option<Ns>) -> String {
    seconds(ns.map(crate::words::float))
}

/// What the colours and patterns are.
pub(crate) fn legend(m: &mut Markup) {
    m.within("ul", &[("class", &"legend")], |m| {
        for class in CLASSES {
            m.within("li", &[], |m| {
                swatch(m, shade(class, false), pattern(class));
                swatch(m, shade(class, true), pattern(class));
                m.element("b", &[], class.name());
                m.text(&format!(": {}", class_said(class)));
            });
        }
    });
}

/// A small square of a leg's colour and pattern.
fn swatch(m: &mut Markup, shade: &str, pattern: Option<&str>) {
    let svg: crate::markup::Attributes<'_> = &[
        ("xmlns", &"http://www.w3.org/2000/svg"),
        ("class", &"swatch"),
        ("viewBox", &"0 0 14 14"),
        ("aria-hidden", &"true"),
    ];
    m.within("svg", svg, |m| {
        for class in [Some(shade), pattern, Some("edge")].into_iter().flatten() {
            m.void("rect", &[("width", &14), ("height", &14), ("class", &class)]);
        }
    });
}
