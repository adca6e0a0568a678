//! The ledger as a flow: what was published, and where it went.

use crate::chart::{Chart, WIDTH, label, path, rectangle};
use crate::markup::{Markup, Px};
use crate::words::{count, percent, thousands};
use hopwatch_analysis::LaneReport;
use hopwatch_model::{Failure, Ledger};
use std::collections::BTreeMap;

const LEFT: f64 = 190.0;
const RIGHT: f64 = 560.0;
const NODE: f64 = 14.0;
/// The height of all messages together.
const WHOLE: f64 = 150.0;
/// A fate's text needs this much.
const SLOT: f64 = 20.0;
/// What occurred is seen, however seldom.
const THINNEST: f64 = 1.5;

/// What became of some of the messages.
struct Fate {
    name: String,
    n: u64,
    class: &'static str,
}

/// The fates that occurred, in the order of the way; those delivered first.
fn fates(ledger: &Ledger) -> Vec<Fate> {
    let lost = |name: &str, n: u64| Fate { name: name.to_owned(), n, class: "lost" };
    let failed = |stage: &str, failed: &BTreeMap<Failure, u64>| -> Vec<Fate> {
        failed.iter().map(|(why, n)| lost(&format!("{stage} {}", spaced(why.name())), *n)).collect()
    };
    let mut fates = vec![
        Fate { name: "delivered".to_owned(), n: ledger.delivered, class: "arrived" },
        lost("before discovery", ledger.lost_before_discovery),
        lost("lost in ROS", ledger.lost_in_ros),
        lost("outcome unknown", ledger.outcome_unknown),
        lost("queue dropped", ledger.queue_dropped),
        lost("undecodable", ledger.undecodable),
    ];
    fates.extend(failed("AI", &ledger.ai_failed));
    fates.extend(failed("web", &ledger.web_failed));
    fates.push(lost("abandoned", ledger.abandoned));
    fates.push(Fate { name: "in flight".to_owned(), n: ledger.in_flight, class: "open" });
    let told: u64 = ledger.accounted();
    fates.push(lost("not accounted for", ledger.published.saturating_sub(told)));
    fates.retain(|fate| fate.n > 0);
    fates
}

/// A name of the wire for people.
pub(crate) fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

/// The chart; nothing when nothing was published.
pub(crate) fn flow_chart(m: &mut Markup, id: &str, lane: &LaneReport) {
    let ledger = &lane.ledger;
    let fates = fates(ledger);
    let all: u64 = fates.iter().map(|fate| fate.n).sum();
    if all == 0 {
        return;
    }
    let size = |n: u64| (WHOLE * count(n) / count(all)).max(THINNEST);
    let slots: Vec<f64> = fates.iter().map(|fate| size(fate.n).max(SLOT) + 6.0).collect();
    let right_height: f64 = slots.iter().sum();
    let height = right_height.max(WHOLE) + 16.0;
    let parts: Vec<String> = fates
        .iter()
        .map(|fate| format!("{} {} ({})", fate.name, fate.n, percent(share(fate.n, all))))
        .collect();
    let shows = format!("published {} = {}", ledger.published, parts.join(" + "));
    let title = format!("What became of every message, lane {}", lane.name);
    let chart = Chart { id, title: &title, shows: &shows, height };
    chart.put(m, &caption(ledger, all), |m| {
        let top = (height - WHOLE) / 2.0;
        rectangle(m, (LEFT - NODE, top), (NODE, WHOLE), "whole");
        let middle = height / 2.0;
        label(m, (LEFT - NODE - 8.0, middle - 3.0), "end", "head", "published");
        label(m, (LEFT - NODE - 8.0, middle + 13.0), "end", "row", &thousands(ledger.published));
        let by = format!("by {}", spaced(ledger.published_source.name()));
        label(m, (LEFT - NODE - 8.0, middle + 29.0), "end", "tick", &by);
        let (mut from, mut slot) = (top, (height - right_height) / 2.0);
        for (fate, room) in fates.iter().zip(&slots) {
            let part = WHOLE * count(fate.n) / count(all);
            let wide = size(fate.n);
            let to = slot + (room - wide) / 2.0;
            // The last ones must not stick out below what they come from.
            let start = from.min(top + WHOLE - wide);
            path(m, &band((start, to), wide), fate.class);
            rectangle(m, (RIGHT, to), (NODE, wide), fate.class);
            if fate.class == "lost" {
                rectangle(m, (RIGHT, to), (NODE, wide), "stripes");
            }
            let text =
                format!("{}: {} ({})", fate.name, thousands(fate.n), percent(share(fate.n, all)));
            label(m, (RIGHT + NODE + 8.0, slot + room / 2.0 + 4.0), "start", "row", &text);
            (from, slot) = (from + part, slot + room);
        }
    });
}

fn share(n: u64, of: u64) -> f64 {
    count(n) / count(of)
}

/// A band of that width from the left to the right.
fn band((from, to): (f64, f64), wide: f64) -> String {
    let (left, right, half) = (Px(LEFT), Px(RIGHT), Px(f64::midpoint(LEFT, RIGHT)));
    let (a, b, c, d) = (Px(from), Px(to), Px(to + wide), Px(from + wide));
    format!("M{left} {a}C{half} {a} {half} {b} {right} {b}V{c}C{half} {c} {half} {d} {left} {d}Z")
}

fn caption(ledger: &Ledger, all: u64) -> String {
    let thin = "Widths are in proportion; what occurred at all is at least a hair wide.";
    if all > ledger.published {
        format!("{thin} The fates sum up to {all}, more than were published.")
    } else {
        thin.to_owned()
    }
}

const _: () = assert!(RIGHT + NODE < WIDTH);
