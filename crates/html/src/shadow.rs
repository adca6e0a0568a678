//! What other links would change on this path, by shadow probes.

use crate::chart::{Chart, WIDTH, across, label, line, path};
use crate::lane::list;
use crate::markup::{Markup, Px};
use crate::scale::{Scale, time_ticks};
use crate::tables::{figure, table};
use crate::words::{between, count_of, float, short, thousands};
use hopwatch_analysis::{Change, Latency, Shadow, ShadowLink, maybe};
use hopwatch_model::Ns;
use std::fmt::Write;

const LEFT: f64 = 160.0;
const RIGHT: f64 = WIDTH - 210.0;
const TOP: f64 = 24.0;
const ROW: f64 = 34.0;

/// The section.
pub(crate) fn shadow_section(m: &mut Markup, shadow: &Shadow) {
    m.within("section", &[("id", &"other-links")], |m| {
        m.element("h2", &[], "What another link would change, as a hint");
        let texts = shadow.said();
        // The head says what the probes are; the links stand in the table.
        list(m, texts.into_iter().take(1));
        changes_chart(m, "changes", shadow);
        let heads = ["link", "requests", "no reply", "sent again", "cost P50", "P95", "change"];
        let caption = format!(
            "Request and reply to {}, connection included, without the service's own time; one \
             without a reply takes forever. With 95 % intervals of the change",
            shadow.services()
        );
        table(m, &caption, &heads, |m| {
            for link in &shadow.links {
                m.within("tr", &[], |m| {
                    m.within("th", &[("scope", &"row")], |m| {
                        m.text(&link.link);
                        if link.link == shadow.current {
                            m.element("small", &[], "in use");
                        }
                    });
                    m.element("td", &[], &thousands(number(link.probes)));
                    m.element("td", &[], &thousands(number(link.failed)));
                    m.element("td", &[], &thousands(link.retries));
                    m.element("td", &[], &cost(link.p50_ns));
                    m.element("td", &[], &cost(link.p95_ns));
                    figure(m, &signed(link.change_ns), &change_said(&link.change_ci_ns));
                });
            }
        });
    });
}

fn number(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn cost(of: Option<Latency>) -> String {
    of.map_or_else(|| maybe(None), |of| of.to_string())
}

/// With its sign.
fn signed(change: Option<Change>) -> String {
    change.map_or_else(|| maybe(None), |change| change.to_string())
}

fn change_said(ci: &(Option<Change>, Option<Change>)) -> String {
    match ci {
        (None, None) => "–".to_owned(),
        (lo, hi) => between(&signed(*lo), &signed(*hi)),
    }
}

/// What can be drawn of it.
fn finite(change: Option<Change>) -> Option<Ns> {
    match change {
        Some(Change::Ns(ns)) => Some(ns),
        _ => None,
    }
}

/// The changes with their intervals; nothing when there is only one link.
fn changes_chart(m: &mut Markup, id: &str, shadow: &Shadow) {
    let links: Vec<(&ShadowLink, Change)> =
        shadow.links.iter().filter_map(|link| Some((link, link.change_ns?))).collect();
    let ends = |(link, change): &(&ShadowLink, Change)| {
        let (lo, hi) = link.change_ci_ns;
        [Some(*change), lo, hi].map(finite).into_iter().flatten()
    };
    let all: Vec<Ns> = links.iter().flat_map(ends).collect();
    if links.is_empty() {
        return;
    }
    let lo = all.iter().copied().fold(0, Ns::min);
    let hi = all.iter().copied().fold(0, Ns::max);
    // A tenth of the farthest is seen beside it.
    let seen = float(hi.max(lo.saturating_neg())) / 10.0;
    let scale = Scale::of_differences((float(lo), float(hi)), seen, (LEFT, RIGHT));
    let bottom = TOP + ROW * count_of(links.len());
    let shows: Vec<String> = links
        .iter()
        .map(|(link, change)| {
            format!(
                "{}: {} ({})",
                link.link,
                signed(Some(*change)),
                change_said(&link.change_ci_ns)
            )
        })
        .collect();
    let title = format!("What each link would change against {}", shadow.current);
    let chart = Chart { id, title: &title, shows: &shows.join("; "), height: bottom + 40.0 };
    let mut caption = format!(
        "Dot: the median of the differences to {} within a round. Line: its 95 % interval.",
        shadow.current
    );
    if !scale.is_linear() {
        caption.push_str(" The axis is about linear near 0, and runs by ratios farther out.");
    }
    chart.put(m, &caption, |m| {
        label(m, (LEFT, 12.0), "start", "tick", "← shorter");
        label(m, (RIGHT, 12.0), "end", "tick", "longer →");
        across(m, &scale, (TOP, bottom), &time_ticks(&scale, 58.0), "change");
        line(m, (scale.at(0.0), TOP), (scale.at(0.0), bottom), "zero");
        for (i, (link, change)) in links.iter().enumerate() {
            let y = TOP + ROW * (count_of(i) + 0.5);
            label(m, (LEFT - 12.0, y + 4.0), "end", "row", &short(&link.link, 22));
            m.within("g", &[("class", &"forest")], |m| {
                let (lo, hi) = link.change_ci_ns;
                if let (Some(lo), Some(hi)) = (finite(lo), finite(hi)) {
                    let (from, to) = (Px(scale.at(float(lo))), Px(scale.at(float(hi))));
                    let mut d = String::new();
                    let _infallible = write!(d, "M{from} {}v10m0 -5H{to}m0 -5v10", Px(y - 5.0));
                    path(m, &d, "whisker");
                }
                // What is lost lies beyond every scale.
                if let Some(change) = finite(Some(*change)) {
                    let at = Px(scale.at(float(change)));
                    m.void("circle", &[("cx", &at), ("cy", &Px(y)), ("r", &5), ("class", &"dot")]);
                }
            });
            let text = format!("{} of P50 {}", signed(Some(*change)), cost(link.p50_ns));
            label(m, (RIGHT + 14.0, y + 4.0), "start", "row", &text);
        }
    });
}
