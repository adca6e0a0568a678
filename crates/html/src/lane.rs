//! The section of one lane.

use crate::flow::flow_chart;
use crate::legs::legs_chart;
use crate::markup::Markup;
use crate::over_time::over_time_chart;
use crate::tables::{breakdown_table, class_table, leg_table, legend, s1_table, span_table};
use crate::words::{CLASSES, percent, thousands};
use hopwatch_analysis::{Course, LaneReport, flow, ledger_lines, maybe, remarks};
use hopwatch_model::Ns;

/// Defects that are told one by one.
const DEFECTS: usize = 10;

/// What a lane comes to, in one sentence.
pub(crate) fn headline(lane: &LaneReport) -> String {
    let ledger = &lane.ledger;
    let delivered = if ledger.published == 0 {
        "nothing was published".to_owned()
    } else {
        format!(
            "{} of {} published messages delivered",
            thousands(ledger.delivered),
            thousands(ledger.published)
        )
    };
    let Some(middle) = lane.breakdown.iter().find(|near| near.near == "p50") else {
        return format!("{delivered}.");
    };
    let parts: Vec<(&str, Ns)> = CLASSES
        .iter()
        .map(|class| {
            let of = middle.legs.iter().filter(|(leg, _)| leg.class() == *class);
            (class.name(), of.map(|(_, ns)| *ns).sum())
        })
        .collect();
    let share = |ns: Ns| percent(crate::words::float(ns) / crate::words::float(middle.mean_ns));
    let said: Vec<String> = parts
        .iter()
        .map(|(name, ns)| {
            if middle.mean_ns > 0 {
                format!("{name} {} ({})", maybe(Some(*ns)), share(*ns))
            } else {
                format!("{name} {}", maybe(Some(*ns)))
            }
        })
        .collect();
    format!(
        "{delivered}; of the {} that a message near the median took, {}.",
        maybe(Some(middle.mean_ns)),
        said.join(", ")
    )
}

/// The section.
pub(crate) fn lane_section(m: &mut Markup, i: usize, lane: &LaneReport, course: &Course) {
    let id = |what: &str| format!("lane-{}-{what}", i + 1);
    m.within("section", &[("id", &id("section"))], |m| {
        m.element("h2", &[], &format!("Lane {}", lane.name));
        let meta = format!("{} · {} · {}", lane.topic, lane.qos, lane.transport);
        m.element("p", &[("class", &"meta")], &meta);
        warnings(m, lane);
        m.element("h3", &[], "What became of every message");
        flow_chart(m, &id("flow"), lane);
        list(m, ledger_lines(&lane.ledger).iter().map(|line| line.trim().to_owned()));
        if !lane.breakdown.is_empty() {
            m.element("h3", &[], "Where the time goes");
            legend(m);
            legs_chart(m, &id("legs"), lane);
        }
        if !course.points.is_empty() {
            m.element("h3", &[], "Latency over time");
            over_time_chart(m, &id("time"), lane, course);
        }
        m.element("h3", &[], "What is to be said");
        if lane.stability.unstable {
            list(m, flow(lane).into_iter());
        } else {
            list(m, [lane.stability.reason.clone()].into_iter().chain(remarks(lane)));
        }
        list(m, lane.oddities.iter().map(|(odd, n)| format!("{n} messages were odd: {odd}")));
        defects(m, lane);
        if lane.stability.unstable {
            return;
        }
        m.element("h3", &[], "Figures");
        class_table(m, lane);
        leg_table(m, lane);
        breakdown_table(m, lane);
        span_table(m, lane);
        s1_table(m, lane);
    });
}

/// What must not be overlooked: no steady state, an account that doesn't add up, lying clocks.
fn warnings(m: &mut Markup, lane: &LaneReport) {
    if lane.stability.unstable {
        banner(m, true, "No percentiles", &lane.stability.reason);
    }
    if !lane.ledger.reconciles {
        let why = lane.ledger.notes.join("; ");
        banner(m, true, "DOES NOT RECONCILE", &format!("the account does not add up: {why}"));
    }
    for finding in &lane.findings {
        let text = format!("({}) {}", finding.subject, finding.text);
        banner(m, false, &crate::flow::spaced(&finding.kind), &text);
    }
}

/// A word in bold and a text that is seen.
pub(crate) fn banner(m: &mut Markup, bad: bool, word: &str, text: &str) {
    let class = if bad { "banner is-bad" } else { "banner" };
    m.within("p", &[("class", &class)], |m| {
        m.element("b", &[], word);
        m.text(": ");
        m.text(text);
    });
}

/// A list; of nothing there is none.
pub(crate) fn list(m: &mut Markup, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        m.within("ul", &[], |m| {
            for item in items {
                m.element("li", &[], &item);
            }
        });
    }
}

fn defects(m: &mut Markup, lane: &LaneReport) {
    let told = lane.defects.iter().take(DEFECTS);
    let more = lane.defects.len().saturating_sub(DEFECTS);
    let rest = (more > 0).then(|| format!("and {more} more; report.json has all"));
    list(m, told.map(|defect| format!("not in the figures: {defect}")).chain(rest));
}
