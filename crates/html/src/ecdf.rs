//! The distribution of latency by lane, over what was published: a lost message never arrives, so
//! the curve of a lane that loses messages never reaches 1 (METHOD 10).

use crate::chart::{APART, Chart, WIDTH, across, along, label, line, path};
use crate::markup::{Markup, Px};
use crate::scale::{Scale, time_ticks};
use crate::words::{between, count, count_of, float, percent, short, thousands, width};
use hopwatch_analysis::{Course, LaneReport, Latency, maybe};
use hopwatch_model::Ns;
use hopwatch_stats::{interval_ranks, nearest_rank};
use std::fmt::Write;

const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 190.0;
const TOP: f64 = 14.0;
const HEIGHT: f64 = 270.0;
const BOTTOM: f64 = TOP + HEIGHT;
/// Lanes are told apart by so many colours and dashes, then they begin anew.
const LOOKS: usize = 6;
/// Names at the right need this much.
const SLOT: f64 = 30.0;

/// One lane's distribution.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// The times of those that arrived, sorted.
    times: Vec<Ns>,
    /// Over so many.
    pub(crate) of: u64,
    /// What so many are.
    pub(crate) over: &'static str,
    /// What the times begin with.
    pub(crate) from: &'static str,
    /// How many independent messages they are worth.
    worth: u64,
}

impl Curve {
    /// Whether a lane's curve can begin with publication: its times are known from there.
    pub(crate) fn has_publication(lane: &LaneReport, course: &Course) -> bool {
        let known = lane.over_published.as_ref().is_none_or(|over| over.published.is_some());
        // One without any time has a curve from wherever the others begin.
        let empty = course.points.iter().all(|p| p.total_ns.is_none());
        lane.stability.unstable
            || (known && (empty || course.points.iter().any(|p| p.published_ns.is_some())))
    }

    /// Of a lane, from publication or from the take on; a lane that has none gives the reason.
    pub(crate) fn of(lane: &LaneReport, course: &Course, published: bool) -> Result<Self, String> {
        if lane.stability.unstable {
            return Err("unstable: a distribution would tell how long the run was".to_owned());
        }
        let time = |p: &hopwatch_analysis::Point| {
            if published { p.published_ns } else { p.total_ns }
        };
        let mut times: Vec<Ns> = course.points.iter().filter_map(time).collect();
        times.sort_unstable();
        let from = if published { "published" } else { "taken" };
        let n = u64::try_from(times.len()).unwrap_or(u64::MAX);
        // Of messages that are no longer kept there is no time, but they were no losses.
        let (of, over) = match &lane.over_published {
            Some(over) => (over.of.max(n), "published"),
            None => (n, "kept and delivered"),
        };
        if of == 0 {
            return Err("no message to draw".to_owned());
        }
        let span = if published { "published" } else { "pipeline" };
        let worth = lane.spans.get(span).map_or(of, |span| {
            let (n_eff, n) = (count_of(span.summary.n_eff), count_of(span.summary.n));
            if n > 0.0 { whole(count(of) * n_eff / n).clamp(1, of) } else { of }
        });
        Ok(Self { name: lane.name.clone(), times, of, over, from, worth })
    }

    /// How many never arrived.
    pub(crate) fn lost(&self) -> u64 {
        self.of - u64::try_from(self.times.len()).unwrap_or(self.of)
    }

    /// The value at a rank, from 1.
    fn ranked(&self, rank: usize) -> Latency {
        self.times.get(rank.saturating_sub(1)).map_or(Latency::Lost, |ns| Latency::Ns(*ns))
    }

    /// A quantile over all of them, in thousandths.
    pub(crate) fn quantile(&self, thousandths: u32) -> Latency {
        self.ranked(nearest_rank(usize::try_from(self.of).unwrap_or(usize::MAX), thousandths))
    }

    /// Its 95 % interval by order statistics (METHOD 12), over all of them, as if they were only
    /// as many as they are worth: blocks of like values, whose outermost count, as in
    /// `hopwatch_stats::quantile_interval_effective`. An end that so few don't have is `None`.
    pub(crate) fn interval(&self, thousandths: u32) -> (Option<Latency>, Option<Latency>) {
        let blocks = usize::try_from(self.worth).unwrap_or(usize::MAX);
        let p = f64::from(thousandths) / 1000.0;
        let (lo, hi) = interval_ranks(blocks, p, 0.95);
        let (n, blocks) = (u128::from(self.of), u128::from(self.worth.max(1)));
        let rank = |rank: u128| self.ranked(usize::try_from(rank).unwrap_or(usize::MAX));
        (
            lo.map(|l| rank((l as u128 - 1) * n / blocks + 1)),
            hi.map(|u| rank((u as u128 * n).div_ceil(blocks))),
        )
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, not below 0")]
fn whole(count: f64) -> u64 {
    count.max(0.0).floor() as u64
}

/// A quantile's interval in words.
pub(crate) fn interval_said((lo, hi): (Option<Latency>, Option<Latency>)) -> String {
    match (lo, hi) {
        (Some(Latency::Lost), _) => Latency::Lost.to_string(),
        (Some(lo), Some(hi)) => between(&lo.to_string(), &hi.to_string()),
        (Some(lo), None) => format!("≥ {lo}"),
        (None, Some(hi)) => format!("≤ {hi}"),
        (None, None) => "–".to_owned(),
    }
}

/// The chart; nothing when no message of any lane arrived.
pub(crate) fn ecdf_chart(m: &mut Markup, id: &str, curves: &[&Curve]) {
    let ends = |curve: &&Curve| Some((*curve.times.first()?, *curve.times.last()?));
    let all: Vec<(Ns, Ns)> = curves.iter().filter_map(ends).collect();
    let Some((lo, hi)) = all.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return;
    };
    let positive = curves.iter().filter_map(|c| c.times.iter().find(|ns| **ns > 0)).min();
    let lowest = positive.copied().unwrap_or(lo);
    let x = Scale::log((float(lowest), float(hi)), (LEFT, RIGHT));
    let y = Scale::linear((0.0, 1.0), (BOTTOM, TOP));
    let texts: Vec<String> = curves.iter().map(|curve| said(curve)).collect();
    let title = "Latency by lane: the part of the messages that arrived within a time";
    let chart = Chart { id, title, shows: &texts.join("; "), height: BOTTOM + 44.0 };
    let mut caption = "A step for each message. A lost one never arrives: its lane's curve ends \
                       below 100 %. Dots: P50 and P99 over all messages, with their 95 % \
                       intervals; an arrow: no upper end, for lack of messages, or lost."
        .to_owned();
    if lo <= 0 {
        caption.push_str(" Times of 0 and less stand at the left end.");
    }
    chart.put(m, &caption, |m| {
        // All of one chart begin at the same hop, or they could not be compared.
        let from = curves.first().map_or("published", |curve| curve.from);
        let name = format!("{from} → web_acked, logarithmic");
        across(m, &x, (TOP, BOTTOM), &time_ticks(&x, APART), &name);
        let shares = [(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")];
        along(m, &y, (LEFT, RIGHT), &shares.map(|(share, text)| (share, text.to_owned())));
        line(m, (LEFT, y.at(0.99)), (RIGHT, y.at(0.99)), "guide");
        label(m, (LEFT + 5.0, y.at(0.99) + 13.0), "start", "tick", "99 %");
        let slots = slots(curves, &y);
        for (i, (curve, slot)) in curves.iter().zip(slots).enumerate() {
            let class = format!("lane-{}", i % LOOKS);
            m.within("g", &[("class", &class)], |m| {
                path(m, &steps(curve, &x, &y), "curve");
                let offset = count_of(i) * 4.0;
                for (thousandths, share) in [(500, 0.5), (990, 0.99)] {
                    let at = y.at(share) + offset;
                    quantile(m, curve, thousandths, &x, at);
                    // Of several curves the figures stand in the table: here they would collide.
                    if let (Latency::Ns(ns), 1) = (curve.quantile(thousandths), curves.len()) {
                        let text = format!("P{} {}", thousandths / 10, maybe(Some(ns)));
                        name_quantile(m, x.at(float(ns)), at, &text);
                    }
                }
                let end = y.at(count_of(curve.times.len()) / count(curve.of));
                path(m, &leader(end, slot), "leader");
                label(m, (RIGHT + 22.0, slot + 4.0), "start", "lane", &short(&curve.name, 23));
                let lost = if curve.lost() == 0 {
                    format!("all of {}", thousands(curve.of))
                } else {
                    format!("{} lost", percent(count(curve.lost()) / count(curve.of)))
                };
                label(m, (RIGHT + 22.0, slot + 17.0), "start", "tick", &lost);
            });
        }
    });
}

/// Where the names of the curves stand: at their ends, but never on each other.
fn slots(curves: &[&Curve], y: &Scale) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = curves
        .iter()
        .enumerate()
        .map(|(i, curve)| (y.at(count_of(curve.times.len()) / count(curve.of)), i))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut slots = vec![0.0; curves.len()];
    let room = HEIGHT / count_of(curves.len().max(1));
    let mut free = TOP;
    for (end, i) in order {
        slots[i] = end.max(free);
        free = slots[i] + SLOT.min(room);
    }
    // Those pushed below the bottom move all up.
    let over = (free - SLOT.min(room) - BOTTOM).max(0.0);
    slots.iter().map(|slot| slot - over).collect()
}

fn leader(end: f64, slot: f64) -> String {
    format!("M{} {}L{} {}", Px(RIGHT + 1.0), Px(end), Px(RIGHT + 19.0), Px(slot))
}

/// The curve as steps: one for each time, or for each half pixel when there are more. The last of
/// those that share one tells how many there are, so a curve is as high at a gap as it should be.
fn steps(curve: &Curve, x: &Scale, y: &Scale) -> String {
    let mut d = format!("M{} {}", Px(LEFT), Px(BOTTOM));
    let column = |ns: &Ns| (x.at(float(*ns)) * 2.0).floor();
    for (i, ns) in curve.times.iter().enumerate() {
        let next = curve.times.get(i + 1);
        if next.is_none_or(|next| column(next) > column(ns)) {
            let (at, up) = (x.at(float(*ns)), y.at(count_of(i + 1) / count(curve.of)));
            let _infallible = write!(d, "H{}V{}", Px(at), Px(up));
        }
    }
    let _infallible = write!(d, "H{}", Px(RIGHT));
    d
}

/// A quantile as a dot, with its interval.
fn quantile(m: &mut Markup, curve: &Curve, thousandths: u32, x: &Scale, y: f64) {
    let place = |latency: Option<Latency>| match latency {
        Some(Latency::Ns(ns)) => Some(x.at(float(ns))),
        Some(Latency::Lost) | None => None,
    };
    let (lo, hi) = curve.interval(thousandths);
    let at = curve.quantile(thousandths);
    let text =
        format!("{} P{}: {at} (95 %: {})", curve.name, thousandths / 10, interval_said((lo, hi)));
    if lo == Some(Latency::Lost) {
        return;
    }
    let left = place(lo).unwrap_or(LEFT);
    let right = place(hi);
    m.within("g", &[], |m| {
        m.element("title", &[], &text);
        let end = right.unwrap_or(RIGHT);
        let mut d = format!("M{} {y0}v8m0 -4H{}", Px(left), Px(end), y0 = Px(y - 4.0));
        d.push_str(if right.is_some() { "m0 -4v8" } else { "l-6 -4m6 4l-6 4" });
        path(m, &d, "whisker");
        if let Some(at) = place(Some(at)) {
            m.void("circle", &[("cx", &Px(at)), ("cy", &Px(y)), ("r", &4), ("class", &"dot")]);
        }
    });
}

/// A quantile's figure beside its dot: left of it where there is no room to the right.
fn name_quantile(m: &mut Markup, x: f64, y: f64, text: &str) {
    let (at, anchor) =
        if x + 16.0 + width(text) < RIGHT { (x + 9.0, "start") } else { (x - 9.0, "end") };
    label(m, (at, y + 18.0), anchor, "tag", text);
}

/// The curve in words.
fn said(curve: &Curve) -> String {
    let [p50, p95, p99] = [500, 950, 990].map(|thousandths| curve.quantile(thousandths));
    format!(
        "{}: {} of {} {}, {} lost; from {}: fastest {}, P50 {p50}, P95 {p95}, P99 {p99}, slowest {}",
        curve.name,
        curve.times.len(),
        curve.of,
        curve.over,
        curve.lost(),
        curve.from,
        maybe(curve.times.first().copied()),
        maybe(curve.times.last().copied()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(times: Vec<Ns>, of: u64) -> Curve {
        Curve { name: "lane".into(), times, of, over: "published", from: "taken", worth: of }
    }

    #[test]
    fn a_lost_message_takes_forever() {
        let some = curve((1..=97).collect(), 100);
        assert_eq!(some.lost(), 3);
        assert_eq!((some.quantile(500), some.quantile(990)), (Latency::Ns(50), Latency::Lost));
        assert_eq!(interval_said(some.interval(990)), "≥ 97 ns");
        let (lo, hi) = some.interval(500);
        // The ranks of n = 100: 40 and 61.
        assert_eq!((lo, hi), (Some(Latency::Ns(40)), Some(Latency::Ns(61))));
        let none = curve(vec![], 10);
        assert_eq!((none.lost(), none.quantile(500)), (10, Latency::Lost));
        assert_eq!(interval_said(none.interval(500)), "lost");
    }

    #[test]
    fn a_curve_has_no_more_steps_than_pixels() {
        let many = curve((1..=50_000).map(|i| 1_000_000 + i * 20).collect(), 50_000);
        let x = Scale::log((1e6, 2e6), (LEFT, RIGHT));
        let y = Scale::linear((0.0, 1.0), (BOTTOM, TOP));
        let d = steps(&many, &x, &y);
        assert!(d.len() < 40_000, "{}", d.len());
        assert!(d.ends_with(&format!("V{}H{}", Px(TOP), Px(RIGHT))), "{}", &d[d.len() - 40..]);
    }

    /// 99 messages take about 10 ms, one takes 1 s: between them the curve is at 99 %.
    #[test]
    fn a_curve_is_as_high_as_it_should_be_at_a_gap() {
        let mut times: Vec<Ns> = (0..99).map(|i| 10_000_000 + i * 700).collect();
        times.push(1_000_000_000);
        let x = Scale::log((1e7, 1e9), (LEFT, RIGHT));
        let y = Scale::linear((0.0, 1.0), (BOTTOM, TOP));
        let d = steps(&curve(times, 100), &x, &y);
        let last = format!("H{}V{}H{}", Px(x.at(1e9)), Px(TOP), Px(RIGHT));
        let before = d.strip_suffix(&last).unwrap_or_else(|| panic!("{d}"));
        assert!(before.ends_with(&format!("V{}", Px(y.at(0.99)))), "{d}");
    }

    #[test]
    fn names_do_not_touch() {
        let curves: Vec<Curve> = (0..6).map(|i| curve(vec![1; 10 - i / 5], 10)).collect();
        let y = Scale::linear((0.0, 1.0), (BOTTOM, TOP));
        let mut slots = slots(&curves.iter().collect::<Vec<_>>(), &y);
        slots.sort_by(f64::total_cmp);
        assert!(slots.windows(2).all(|pair| pair[1] - pair[0] >= 29.9), "{slots:?}");
        assert!(slots.iter().all(|slot| (0.0..=BOTTOM).contains(slot)), "{slots:?}");
    }
}
