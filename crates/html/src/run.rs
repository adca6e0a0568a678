//! The page of a run.

use crate::ecdf::{Curve, ecdf_chart};
use crate::lane::{banner, headline, lane_section, list};
use crate::markup::Markup;
use crate::page::page;
use crate::shadow::shadow_section;
use crate::tables::{budget_table, distribution_table};
use crate::words::sentence;
use hopwatch_analysis::{Course, Dataset, LaneReport, Report, courses, page_lines};

/// The report as a page: report.html.
///
/// `data` is what the report was made from; it gives the charts their single messages. The order
/// of its records makes no difference. Of a report and a dataset that don't belong together, the
/// charts and the figures don't either.
pub fn report_html(report: &Report, data: &Dataset) -> String {
    let courses = courses(data);
    let none = Course::default();
    let lanes: Vec<(&LaneReport, &Course)> = report
        .lanes
        .iter()
        .map(|lane| {
            let of = courses.iter().find(|course| course.lane == lane.name);
            (lane, of.unwrap_or(&none))
        })
        .collect();
    page(&format!("Hopwatch run {}", report.run.id), |m| {
        head(m, report);
        m.within("main", &[], |m| {
            result(m, report);
            distributions(m, &lanes);
            for (i, (lane, course)) in lanes.iter().enumerate() {
                lane_section(m, i, lane, course);
            }
            if let Some(shadow) = &report.shadow {
                shadow_section(m, shadow);
            }
            words(m, report);
        });
    })
}

fn head(m: &mut Markup, report: &Report) {
    let run = &report.run;
    m.within("header", &[], |m| {
        m.element("h1", &[], &format!("Hopwatch run {}", run.id));
        m.within("p", &[], |m| {
            m.text(&format!("Started {}, {:.1} s. ", run.started, run.duration_s));
            m.element("code", &[], &format!("hopwatch {}", run.command.join(" ")));
        });
        m.within("nav", &[("aria-label", &"Parts of the report")], |m| {
            m.element("a", &[("href", &"#result")], "Result");
            m.text(" ");
            if !report.lanes.is_empty() {
                m.element("a", &[("href", &"#distributions")], "Latency by lane");
                m.text(" ");
            }
            for (i, lane) in report.lanes.iter().enumerate() {
                let to = format!("#lane-{}-section", i + 1);
                m.element("a", &[("href", &to)], &format!("Lane {}", lane.name));
                m.text(" ");
            }
            if report.shadow.is_some() {
                m.element("a", &[("href", &"#other-links")], "Other links");
                m.text(" ");
            }
            m.element("a", &[("href", &"#clocks")], "Clocks");
            m.text(" ");
            m.element("a", &[("href", &"#environment")], "Environment");
        });
    });
}

/// How it ended, and what it says, before anything else.
fn result(m: &mut Markup, report: &Report) {
    let some = |of: fn(&LaneReport) -> bool| -> Vec<&str> {
        report.lanes.iter().filter(|lane| of(lane)).map(|lane| lane.name.as_str()).collect()
    };
    let (unstable, astray) =
        (some(|lane| lane.stability.unstable), some(|lane| !lane.ledger.reconciles));
    let failed = report.budget.checks.iter().filter(|check| !check.passed).count();
    let (class, said) = match report.exit_code() {
        0 => ("is-good", "Within budget".to_owned()),
        1 => {
            let of = report.budget.checks.len();
            ("is-bad", format!("Budget missed: {failed} of {of} limits don't hold"))
        }
        3 => {
            let unstable =
                (!unstable.is_empty()).then(|| format!("Unstable: {}", unstable.join(", ")));
            let astray =
                (!astray.is_empty()).then(|| format!("Does not reconcile: {}", astray.join(", ")));
            let both: Vec<String> = unstable.into_iter().chain(astray).collect();
            ("is-bad", format!("{}. Nothing can be concluded", both.join(". ")))
        }
        _ => ("is-bad", "Nothing was delivered".to_owned()),
    };
    let class = format!("result {class}");
    m.within("section", &[("id", &"result"), ("class", &class)], |m| {
        m.element("h2", &[], &said);
        for lane in &report.lanes {
            m.within("p", &[], |m| {
                m.element("b", &[], &lane.name);
                m.text(": ");
                m.text(&headline(lane));
                if lane.stability.unstable {
                    m.text(" It was unstable: no percentiles.");
                }
            });
        }
        if let Some(why) = &report.run.interrupted {
            banner(m, false, "Ended before its time", why);
        }
        if report.run.messages_not_kept > 0 {
            let n = report.run.messages_not_kept;
            banner(m, false, "Not kept", &format!("{n} messages are in no figure below"));
        }
        if let Some(network) = &report.run.network {
            m.element("p", &[], &format!("{}.", sentence(&network.said())));
        }
        m.within("p", &[], |m| {
            m.text("Must HTTP be replaced? ");
            m.element("b", &[], report.verdict.decision);
            m.text(": ");
            m.text(&report.verdict.reason);
            m.text(".");
        });
        if !report.budget.checks.is_empty() {
            budget_table(m, &report.budget);
        }
    });
}

fn distributions(m: &mut Markup, lanes: &[(&LaneReport, &Course)]) {
    if lanes.is_empty() {
        return;
    }
    // One beginning for all.
    let published = lanes.iter().all(|(lane, course)| Curve::has_publication(lane, course));
    let curves: Vec<(&LaneReport, Result<Curve, String>)> =
        lanes.iter().map(|(lane, course)| (*lane, Curve::of(lane, course, published))).collect();
    m.within("section", &[("id", &"distributions")], |m| {
        m.element("h2", &[], "Latency by lane, over what was published");
        let drawn: Vec<&Curve> = curves.iter().filter_map(|(_, c)| c.as_ref().ok()).collect();
        ecdf_chart(m, "ecdf", &drawn);
        distribution_table(m, &curves);
    });
}

/// Pages, events, clocks, environment.
fn words(m: &mut Markup, report: &Report) {
    let pages = page_lines(report);
    if !pages.is_empty() {
        m.within("section", &[("id", &"pages")], |m| {
            m.element("h2", &[], "Pages");
            list(m, pages.into_iter());
        });
    }
    if !report.events.is_empty() {
        m.within("section", &[("id", &"events")], |m| {
            m.element("h2", &[], "Events");
            m.within("ul", &[], |m| {
                for event in &report.events {
                    m.within("li", &[], |m| {
                        m.element("b", &[], &event.kind);
                        m.text(": ");
                        m.text(&event.text);
                    });
                }
            });
        });
    }
    m.within("section", &[("id", &"clocks")], |m| {
        m.element("h2", &[], "Clocks");
        let rows = report
            .clocks
            .iter()
            .map(|clock| [clock.id.as_str(), clock.used_for.as_str(), clock.relation.as_str()]);
        plain_table(m, &["clock", "used for", "relation"], rows);
    });
    m.within("section", &[("id", &"environment")], |m| {
        m.element("h2", &[], "Environment");
        let rows = report.environment.iter().map(|(key, value)| [key.as_str(), value.as_str()]);
        plain_table(m, &["what", "value"], rows);
    });
}

/// A table of words.
fn plain_table<'a, const N: usize>(
    m: &mut Markup,
    heads: &[&str; N],
    rows: impl Iterator<Item = [&'a str; N]>,
) {
    m.within("div", &[("class", &"wide")], |m| {
        m.within("table", &[("class", &"words")], |m| {
            m.within("thead", &[], |m| {
                m.within("tr", &[], |m| {
                    for head in heads {
                        m.element("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.within("tbody", &[], |m| {
                for cells in rows {
                    m.within("tr", &[], |m| {
                        for (i, cell) in cells.iter().enumerate() {
                            if i == 0 {
                                m.element("th", &[("scope", &"row")], cell);
                            } else {
                                m.element("td", &[], cell);
                            }
                        }
                    });
                }
            });
        });
    });
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
