//! Where the time goes: the legs of the messages near P50, P95 and P99, stacked.

use crate::chart::{APART, Chart, WIDTH, across, label, rectangle};
use crate::markup::Markup;
use crate::scale::{Scale, time_ticks};
use crate::words::{float, width};
use hopwatch_analysis::{LaneReport, Near, maybe};
use hopwatch_model::{Class, Leg, Ns};
use std::collections::BTreeMap;

const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 92.0;
const BAR: f64 = 26.0;
const ROW: f64 = 34.0;
/// Room above the bars of a panel, for its heading.
const HEAD: f64 = 22.0;
/// Room below them, for the axis.
const FOOT: f64 = 30.0;

/// How a leg is drawn, and its number in charts and tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// From 1, in the order of the way.
    pub(crate) number: usize,
    /// Every other leg of a class is lighter.
    pub(crate) shade: &'static str,
    /// Greyscale knows classes by this.
    pub(crate) pattern: Option<&'static str>,
}

/// The looks of a lane's legs.
pub(crate) fn looks(lane: &LaneReport) -> BTreeMap<Leg, Look> {
    let mut of_class: BTreeMap<Class, usize> = BTreeMap::new();
    let mut looks = BTreeMap::new();
    for (i, leg) in lane.legs.keys().enumerate() {
        let before = of_class.entry(leg.class()).or_default();
        let shade = shade(leg.class(), *before % 2 == 1);
        *before += 1;
        looks.insert(*leg, Look { number: i + 1, shade, pattern: pattern(leg.class()) });
    }
    looks
}

/// The class of the style sheet for one of two shades.
pub(crate) const fn shade(class: Class, lighter: bool) -> &'static str {
    match (class, lighter) {
        (Class::Ai, false) => "ai-0",
        (Class::Ai, true) => "ai-1",
        (Class::Transport, false) => "transport-0",
        (Class::Transport, true) => "transport-1",
        (Class::Overhead, false) => "overhead-0",
        (Class::Overhead, true) => "overhead-1",
    }
}

/// The pattern over a class's colour: none, stripes, dots.
pub(crate) const fn pattern(class: Class) -> Option<&'static str> {
    match class {
        Class::Ai => None,
        Class::Transport => Some("stripes"),
        Class::Overhead => Some("dots"),
    }
}

/// The chart; nothing when no message went the whole way, or the lane is unstable.
pub(crate) fn legs_chart(m: &mut Markup, id: &str, lane: &LaneReport) {
    if lane.breakdown.is_empty() {
        return;
    }
    let looks = looks(lane);
    let rest = |leg: Leg| leg.class() != Class::Ai;
    let panels: [(&str, &dyn Fn(Leg) -> bool); 2] =
        [("taken → web_acked", &|_| true), ("the same without AI, enlarged: communication", &rest)];
    let rows = f64::from(u32::try_from(lane.breakdown.len()).unwrap_or(3));
    let panel = HEAD + rows * ROW + FOOT;
    let shows = said(&lane.breakdown);
    let title = format!("Where the time goes, lane {}", lane.name);
    let chart = Chart { id, title: &title, shows: &shows, height: 2.0 * panel };
    let caption = "Means of the messages whose total is near P50, P95 and P99; the legs of a bar \
                   sum to its total. Numbers are those of the table of legs. Legs too short for \
                   a name or number have none.";
    chart.put(m, caption, |m| {
        for (i, (name, wanted)) in panels.iter().enumerate() {
            let top = if i == 0 { 0.0 } else { panel };
            label(m, (LEFT, top + 14.0), "start", "head", name);
            bars(m, top + HEAD, &lane.breakdown, &looks, wanted);
        }
    });
}

fn bars(
    m: &mut Markup,
    top: f64,
    rows: &[Near],
    looks: &BTreeMap<Leg, Look>,
    wanted: &dyn Fn(Leg) -> bool,
) {
    let legs = |near: &Near| -> Vec<(Leg, Ns)> {
        let own = near.legs.iter().map(|(leg, ns)| (*leg, *ns));
        own.filter(|(leg, _)| wanted(*leg)).collect()
    };
    let drawn = |near: &Near| legs(near).iter().map(|(_, ns)| float(*ns).max(0.0)).sum::<f64>();
    let longest = rows.iter().map(drawn).fold(0.0, f64::max);
    let scale = Scale::linear((0.0, longest), (LEFT, RIGHT));
    let bottom = top + ROW * f64::from(u32::try_from(rows.len()).unwrap_or(3));
    across(m, &scale, (top, bottom), &time_ticks(&scale, APART), "");
    for (i, near) in rows.iter().enumerate() {
        let y = top + ROW * f64::from(u32::try_from(i).unwrap_or(0)) + (ROW - BAR) / 2.0;
        let middle = y + BAR / 2.0 + 4.0;
        let row = format!("near {}", near.near.to_uppercase());
        label(m, (LEFT - 8.0, middle), "end", "row", &row);
        let mut from = 0.0;
        let mut sum = 0;
        for (leg, ns) in legs(near) {
            let to = from + float(ns).max(0.0);
            let (x, end) = (scale.at(from), scale.at(to));
            (from, sum) = (to, sum + ns);
            let Some(look) = looks.get(&leg) else { continue };
            m.within("g", &[], |m| {
                let tip = format!("{}. {leg} ({}): {}", look.number, leg.class(), maybe(Some(ns)));
                m.element("title", &[], &tip);
                rectangle(m, (x, y), (end - x, BAR), look.shade);
                if let Some(pattern) = look.pattern {
                    rectangle(m, (x, y), (end - x, BAR), pattern);
                }
                rectangle(m, (x, y), (end - x, BAR), "edge");
                if let Some(text) = fitting(leg, ns, *look, end - x) {
                    label(m, (f64::midpoint(x, end), middle), "middle", "tag", &text);
                }
            });
        }
        label(m, (scale.at(from) + 6.0, middle), "start", "row", &maybe(Some(sum)));
    }
}

/// The longest text that a leg of so many pixels has room for.
fn fitting(leg: Leg, ns: Ns, look: Look, room: f64) -> Option<String> {
    let texts =
        [format!("{leg} {}", maybe(Some(ns))), leg.name().to_owned(), look.number.to_string()];
    texts.into_iter().find(|text| width(text) + 8.0 <= room)
}

/// The chart in words.
fn said(rows: &[Near]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|near| {
            let class = |class: Class| {
                let of = near.legs.iter().filter(|(leg, _)| leg.class() == class);
                maybe(Some(of.map(|(_, ns)| *ns).sum()))
            };
            format!(
                "near {} (n = {}): total {} = AI {} + transport {} + overhead {}",
                near.near.to_uppercase(),
                near.n,
                maybe(Some(near.mean_ns)),
                class(Class::Ai),
                class(Class::Transport),
                class(Class::Overhead)
            )
        })
        .collect();
    rows.join("; ")
}
