//! Latency over the time of the run, and each loss at its time.

use crate::chart::{APART, Chart, WIDTH, across, along, label, line, path};
use crate::flow::spaced;
use crate::markup::{Markup, Px};
use crate::scale::{Scale, time_ticks};
use crate::words::{count, float, thousands};
use hopwatch_analysis::{Course, Gap, LaneReport, maybe};
use hopwatch_model::{Ledger, Ns, Outcome, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 16.0;
const PANEL: f64 = 130.0;
const HEAD: f64 = 22.0;
const LOSS: f64 = 18.0;
/// So many dots of a column of the chart are told apart.
const OF_A_COLUMN: usize = 8;

/// Losses of one kind: where they are marked.
struct Losses {
    name: String,
    n: u64,
    marks: Vec<f64>,
}

/// A part of a latency that is drawn over time: its name, and its time of a message.
type Part = (&'static str, fn(&hopwatch_analysis::Point) -> Option<Ns>);

/// The chart; nothing when no message was taken.
pub(crate) fn over_time_chart(m: &mut Markup, id: &str, lane: &LaneReport, course: &Course) {
    let Some(last) = course.points.iter().map(|point| point.at_ns).max() else { return };
    let time = Scale::linear((0.0, float(last).max(1e9)), (LEFT, RIGHT));
    let (losses, homeless) = losses(course, &lane.ledger, &time);
    let parts: [Part; 2] =
        [("total: taken → web_acked", |p| p.total_ns), ("communication", |p| p.communication_ns)];
    let panels: Vec<(&str, Vec<(Ns, Ns)>)> = parts
        .iter()
        .map(|(name, of)| {
            let timed = course.points.iter().filter_map(|p| Some((p.at_ns, of(p)?)));
            (*name, timed.collect::<Vec<_>>())
        })
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let n = panels.first().map_or(0, |(_, points)| points.len());
    let strip = if losses.is_empty() { 0.0 } else { HEAD + LOSS * rows(losses.len()) };
    let height = rows(panels.len()) * (HEAD + PANEL + 8.0) + strip + 42.0;
    let shows = said(&panels, &losses, last);
    let title = format!("Latency over time, lane {}", lane.name);
    let chart = Chart { id, title: &title, shows: &shows, height };
    let mut thinned = false;
    let mut draw = |m: &mut Markup| {
        let mut top = 0.0;
        let bottom = height - 42.0;
        let ticks = time_ticks(&time, APART);
        across(m, &time, (HEAD, bottom), &ticks, "time of the take, since the first one");
        for (name, points) in &panels {
            thinned |= panel(m, top, name, points, &time);
            top += HEAD + PANEL + 8.0;
        }
        if !losses.is_empty() {
            label(m, (LEFT, top + 14.0), "start", "head", "lost, at their time");
            top += HEAD;
            for kind in &losses {
                strip_of(m, top, kind);
                top += LOSS;
            }
        }
    };
    // Drawn first: the caption tells what drawing had to leave out.
    let mut drawn = Markup::default();
    draw(&mut drawn);
    let mut caption = format!("{} messages went the whole way.", thousands(lane_count(n)));
    if thinned {
        let _infallible = write!(
            caption,
            " Thinned out: of each column of the chart the smallest and the largest and {} between \
             them; equal dots are one.",
            OF_A_COLUMN - 2
        );
    }
    if losses.iter().any(|kind| kind.name.contains('*')) {
        caption.push_str(" * marked between the takes before and after, evenly.");
    }
    if homeless > 0 {
        let _infallible = write!(caption, " {} lost ones have no known time.", thousands(homeless));
    }
    if course.elsewhere > 0 {
        let _infallible = write!(
            caption,
            " {} were taken on another clock and aren't here.",
            thousands(course.elsewhere)
        );
    }
    chart.put(m, &caption, |m| m.append(&drawn));
}

fn rows(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn lane_count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Draws one quantity; true when not every dot could be drawn.
fn panel(m: &mut Markup, top: f64, name: &str, points: &[(Ns, Ns)], time: &Scale) -> bool {
    let ends = |ns: fn(Ns, Ns) -> Ns| points.iter().map(|(_, ns)| *ns).reduce(ns).unwrap_or(0);
    let (lo, hi) = (ends(Ns::min), ends(Ns::max));
    let (y0, y1) = (top + HEAD + PANEL, top + HEAD);
    let scale = Scale::of_points((float(lo), float(hi)), (y0, y1));
    let how = if scale.is_log() {
        " (logarithmic)"
    } else if scale.has_zero() {
        ""
    } else {
        " (axis does not begin at 0)"
    };
    label(m, (LEFT, top + 14.0), "start", "head", &format!("{name}{how}"));
    along(m, &scale, (LEFT, RIGHT), &time_ticks(&scale, 26.0));
    let at: Vec<(f64, f64)> =
        points.iter().map(|(at, ns)| (time.at(float(*at)), scale.at(float(*ns)))).collect();
    let (dots, thinned) = thin(&at);
    let mut d = String::new();
    for (x, y) in dots {
        let _infallible = write!(d, "M{} {}h0", Px(x), Px(y));
    }
    path(m, &d, "dots-over-time");
    thinned
}

/// The dots that can be told apart, at half a pixel; where a column has many, its extremes and
/// some between. True when some were left out that could have been told apart.
fn thin(points: &[(f64, f64)]) -> (Vec<(f64, f64)>, bool) {
    const FEW: usize = 4_000;
    let mut columns: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for (x, y) in points {
        columns.entry(halves(*x)).or_default().insert(halves(*y));
    }
    let many = columns.values().map(BTreeSet::len).sum::<usize>() > FEW;
    let mut left_out = false;
    let mut dots = Vec::new();
    for (x, ys) in &columns {
        let ys: Vec<i64> = ys.iter().copied().collect();
        let steps = OF_A_COLUMN - 1;
        let kept: Vec<i64> = if many && ys.len() > OF_A_COLUMN {
            left_out = true;
            (0..=steps).map(|i| ys[i * (ys.len() - 1) / steps]).collect()
        } else {
            ys
        };
        dots.extend(kept.into_iter().map(|y| (float(*x) / 2.0, float(y) / 2.0)));
    }
    (dots, left_out)
}

/// A coordinate of the chart in half pixels.
#[expect(clippy::cast_possible_truncation, reason = "charts are some hundred pixels wide")]
fn halves(px: f64) -> i64 {
    (px * 2.0).round() as i64
}

fn strip_of(m: &mut Markup, top: f64, kind: &Losses) {
    let text = format!("{} {}", kind.name, thousands(kind.n));
    label(m, (LEFT - 6.0, top + 12.0), "end", "row", &text);
    line(m, (LEFT, top + 8.0), (RIGHT, top + 8.0), "grid");
    let at: BTreeSet<i64> = kind.marks.iter().map(|x| halves(*x)).collect();
    let mut d = String::new();
    for x in at {
        let _infallible = write!(d, "M{} {}v11", Px(float(x) / 2.0), Px(top + 2.5));
    }
    path(m, &d, "loss-marks");
}

/// The losses by kind, and how many have no place in time.
fn losses(course: &Course, ledger: &Ledger, time: &Scale) -> (Vec<Losses>, u64) {
    let mut kinds: BTreeMap<Outcome, Vec<f64>> = BTreeMap::new();
    for point in course.points.iter().filter(|point| point.outcome != Outcome::Delivered) {
        kinds.entry(point.outcome).or_default().push(time.at(float(point.at_ns)));
    }
    let mut losses = Vec::new();
    let untaken = [
        ("lost in ROS", ledger.lost_in_ros),
        ("before discovery", ledger.lost_before_discovery),
        ("unknown", ledger.outcome_unknown),
    ];
    let occurred: Vec<&str> =
        untaken.iter().filter(|(_, n)| *n > 0).map(|(name, _)| *name).collect();
    let untaken: u64 = untaken.iter().map(|(_, n)| n).sum();
    let seen: u64 = course.gaps.iter().fold(0, |sum, gap| sum.saturating_add(gap.n));
    // More holes than losses: the numbers of that robot mean something else.
    let placed = if seen <= untaken { seen } else { 0 };
    if placed > 0 {
        let name = match occurred[..] {
            [only] => format!("{only}*"),
            _ => "never taken*".to_owned(),
        };
        let marks = course.gaps.iter().flat_map(|gap| marks(gap, time)).collect();
        losses.push(Losses { name, n: placed, marks });
    }
    losses.extend(kinds.into_iter().map(|(outcome, marks)| Losses {
        name: outcome_said(outcome),
        n: lane_count(marks.len()),
        marks,
    }));
    (losses, untaken - placed)
}

/// Evenly between the neighbours; of very many no more than there are pixels.
fn marks(gap: &Gap, time: &Scale) -> Vec<f64> {
    let (from, to) = (time.at(float(gap.from_ns)), time.at(float(gap.to_ns)));
    let most = gap.n.min(2_000);
    (1..=most).map(|i| from + (to - from) * count(i) / count(most + 1)).collect()
}

/// An outcome for people.
pub(crate) fn outcome_said(outcome: Outcome) -> String {
    match outcome {
        Outcome::ServiceFailed(Stage::Ai, why) => format!("AI {}", spaced(why.name())),
        other => spaced(&other.to_string()),
    }
}

/// The chart in words.
fn said(panels: &[(&str, Vec<(Ns, Ns)>)], losses: &[Losses], last: Ns) -> String {
    let mut parts: Vec<String> = panels
        .iter()
        .map(|(name, points)| {
            let least = points.iter().map(|(_, ns)| *ns).min();
            let most = points.iter().max_by_key(|(at, ns)| (*ns, std::cmp::Reverse(*at)));
            format!(
                "{name} of {} messages over {}: {} to {}, the longest {} after the first take",
                points.len(),
                maybe(Some(last)),
                maybe(least),
                maybe(most.map(|(_, ns)| *ns)),
                maybe(most.map(|(at, _)| *at)),
            )
        })
        .collect();
    parts.extend(losses.iter().map(|kind| format!("{}: {}", kind.name.replace('*', ""), kind.n)));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_extremes_and_is_bounded() {
        // 50,000 messages over 700 px with two outliers.
        let points: Vec<(f64, f64)> = (0..50_000u32)
            .map(|i| {
                let y = if i == 31_000 { 3.0 } else { 60.0 + f64::from(i * 7_919 % 601) / 10.0 };
                (150.0 + f64::from(i) * 0.014, if i == 9 { 129.0 } else { y })
            })
            .collect();
        let (dots, left_out) = thin(&points);
        assert!(left_out && dots.len() <= 1_401 * OF_A_COLUMN, "{}", dots.len());
        assert!(dots.contains(&(584.0, 3.0)) && dots.contains(&(150.0, 129.0)));
        let (few, left_out) = thin(&points[..3_000]);
        assert!(!left_out && !few.is_empty());
    }

    #[test]
    fn losses_stand_between_their_neighbours() {
        let time = Scale::linear((0.0, 10.0), (0.0, 100.0));
        let at = marks(&Gap { from_ns: 2, to_ns: 6, n: 3 }, &time);
        assert_eq!(at, [30.0, 40.0, 50.0]);
        assert_eq!(marks(&Gap { from_ns: 0, to_ns: 10, n: u64::MAX }, &time).len(), 2_000);
    }
}
