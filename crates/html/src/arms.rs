//! The arms of an experiment beside each other: each run, and delivery.

use crate::chart::{APART, Chart, WIDTH, across, label, line, path};
use crate::markup::{Markup, Px};
use crate::scale::{Scale, number, time_ticks};
use crate::words::{count, count_of, percent, short, thousands};
use hopwatch_analysis::{Amount, ArmFigures, Comparison, Metric};
use std::fmt::Write;

const LEFT: f64 = 250.0;
const RIGHT: f64 = WIDTH - 190.0;
const TOP: f64 = 8.0;
const ROW: f64 = 34.0;
/// Beyond the axis: what was lost.
const LOST: f64 = 30.0;

/// The P99 communication of every run; nothing when no run has one.
pub(crate) fn runs_chart(m: &mut Markup, id: &str, comparison: &Comparison) {
    let arms = &comparison.arms;
    let finite = |amount: &Amount| amount.0.is_finite().then_some(amount.0);
    let all: Vec<f64> = arms
        .iter()
        .flat_map(|arm| arm.communication_p99s_ns.iter().flatten().filter_map(finite))
        .collect();
    let Some(lo) = all.iter().copied().reduce(f64::min) else { return };
    let hi = all.iter().copied().fold(lo, f64::max);
    let scale = Scale::log((lo, hi), (LEFT, RIGHT - LOST));
    let bottom = TOP + ROW * count_of(arms.len());
    let lost = arms.iter().flat_map(|arm| arm.communication_p99s_ns.iter().flatten());
    let some_lost = lost.into_iter().any(|amount| !amount.0.is_finite());
    let shows: Vec<String> = arms.iter().map(runs_said).collect();
    let title = "P99 communication of each run, by arm";
    let chart = Chart { id, title, shows: &shows.join("; "), height: bottom + 40.0 };
    let caption = "A dot for each run, a stroke for their median. An unstable run has no P99 and no \
                   dot. A run that lost so many messages that its P99 is one of them stands at \
                   “lost”.";
    chart.put(m, caption, |m| {
        let name = "P99 communication, logarithmic";
        across(m, &scale, (TOP, bottom), &time_ticks(&scale, APART), name);
        if some_lost {
            line(m, (RIGHT, TOP), (RIGHT, bottom), "guide");
            label(m, (RIGHT, bottom + 15.0), "middle", "tick", "lost");
        }
        for (i, arm) in arms.iter().enumerate() {
            let y = TOP + ROW * (count_of(i) + 0.5);
            label(m, (LEFT - 12.0, y + 4.0), "end", "row", &short(&arm.name, 36));
            line(m, (LEFT, y), (RIGHT, y), "grid");
            let place = |amount: Amount| {
                if amount.0.is_finite() { scale.at(amount.0) } else { RIGHT }
            };
            let mut d = String::new();
            for amount in arm.communication_p99s_ns.iter().flatten() {
                let _infallible = write!(d, "M{} {}h0", Px(place(*amount)), Px(y));
            }
            path(m, &d, "run-dots");
            let text = match arm.communication_p99_ns {
                None => "–".to_owned(),
                Some(amount) => {
                    let x = place(amount);
                    line(m, (x, y - 10.0), (x, y + 10.0), "median");
                    Metric::CommunicationP99.said(amount.0)
                }
            };
            label(m, (RIGHT + 14.0, y + 4.0), "start", "row", &text);
        }
    });
}

fn runs_said(arm: &ArmFigures) -> String {
    let said = |amount: &Option<Amount>| {
        amount.map_or("unstable".to_owned(), |amount| Metric::CommunicationP99.said(amount.0))
    };
    let runs: Vec<String> = arm.communication_p99s_ns.iter().map(said).collect();
    format!("{}: {}; median {}", arm.name, runs.join(", "), said(&arm.communication_p99_ns))
}

/// Delivered in time and at all, of one arm.
pub(crate) struct Delivery {
    /// In time.
    pub(crate) within: Share,
    /// At all.
    pub(crate) delivered: Share,
}

/// A part of the messages and how sure it is.
pub(crate) struct Share {
    n: u64,
    of: u64,
    ci: Option<(f64, f64)>,
}

impl Share {
    /// By the runs' own spread where it is known (`of_runs`), else as if losses were independent.
    fn part(&self) -> f64 {
        if self.of == 0 { 0.0 } else { count(self.n) / count(self.of) }
    }

    /// In words.
    pub(crate) fn said(&self) -> String {
        if self.of == 0 {
            return "–".to_owned();
        }
        format!("{} ({} of {})", percent(self.part()), thousands(self.n), thousands(self.of))
    }

    /// Its interval in words.
    pub(crate) fn interval(&self) -> String {
        self.ci.map_or("–".to_owned(), |(lo, hi)| format!("{} to {}", percent(lo), percent(hi)))
    }
}

impl Delivery {
    /// Of an arm.
    pub(crate) fn of(arm: &ArmFigures) -> Self {
        let share = |n, ci| Share { n, of: arm.published, ci };
        Self {
            within: share(arm.within, arm.within_ci),
            delivered: share(arm.delivered, arm.delivered_ci),
        }
    }
}

/// Delivery of each arm, with intervals; nothing when no arm published anything.
pub(crate) fn delivery_chart(m: &mut Markup, id: &str, comparison: &Comparison) {
    let arms: Vec<(&ArmFigures, Delivery)> = comparison
        .arms
        .iter()
        .filter(|arm| arm.published > 0)
        .map(|arm| (arm, Delivery::of(arm)))
        .collect();
    if arms.is_empty() {
        return;
    }
    let least = arms
        .iter()
        .flat_map(|(_, delivery)| [&delivery.within, &delivery.delivered])
        .map(|share| share.ci.map_or(share.part(), |(lo, _)| lo.min(share.part())))
        .fold(1.0, f64::min);
    // Near 1 the differences are what counts.
    let lowest = [0.99, 0.95, 0.9, 0.5].into_iter().find(|lowest| least >= *lowest).unwrap_or(0.0);
    let scale = Scale::linear((lowest, 1.0), (LEFT, RIGHT));
    let bottom = TOP + ROW * count_of(arms.len());
    let shows: Vec<String> = arms
        .iter()
        .map(|(arm, delivery)| {
            let (within, delivered) = (&delivery.within, &delivery.delivered);
            format!("{}: in time {}, delivered {}", arm.name, within.said(), delivered.said())
        })
        .collect();
    let title = "Delivery by arm";
    let chart = Chart { id, title, shows: &shows.join("; "), height: bottom + 40.0 };
    let mut caption = "Filled: delivered within the limit, with its 95 % interval. Hollow: \
                       delivered at all."
        .to_owned();
    if lowest > 0.0 {
        let _infallible = write!(caption, " The axis begins at {}.", percent(lowest));
    }
    chart.put(m, &caption, |m| {
        let ticks: Vec<(f64, String)> = scale
            .ticks(APART)
            .into_iter()
            .map(|tick| (tick, format!("{}\u{a0}%", number((tick * 1e6).round() / 1e4))))
            .collect();
        across(m, &scale, (TOP, bottom), &ticks, "of what was published");
        for (i, (arm, delivery)) in arms.iter().enumerate() {
            let y = TOP + ROW * (count_of(i) + 0.5);
            label(m, (LEFT - 12.0, y + 4.0), "end", "row", &short(&arm.name, 36));
            m.within("g", &[("class", &"forest")], |m| {
                if let Some((lo, hi)) = delivery.within.ci {
                    let (from, to, up) = (Px(scale.at(lo)), Px(scale.at(hi)), Px(y - 5.0));
                    let d = format!("M{from} {up}v10m0 -5H{to}m0 -5v10");
                    path(m, &d, "whisker");
                }
                let at = scale.at(delivery.within.part());
                m.void("circle", &[("cx", &Px(at)), ("cy", &Px(y)), ("r", &5), ("class", &"dot")]);
                let at = scale.at(delivery.delivered.part());
                m.void(
                    "circle",
                    &[("cx", &Px(at)), ("cy", &Px(y)), ("r", &7), ("class", &"hollow")],
                );
            });
            label(m, (RIGHT + 14.0, y + 4.0), "start", "row", &delivery.within.said());
        }
    });
}
