//! What the figures of a lane come to, in sentences: the same in the table and in report.md.

use crate::lane::{LaneReport, Row};
use crate::units::{duration, maybe};
use hopwatch_model::{Class, Leg, Ns};
use hopwatch_stats::{Modes, Summary, interval_ranks};
use std::fmt::Write;

/// Below this part of n, intervals are visibly wider than those of independent messages.
const DEPENDENT: f64 = 0.8;

/// Legs that are named as what the slowest are made of.
const SLOWEST_LEGS: usize = 3;

/// What is to be said of a lane with percentiles.
pub fn remarks(lane: &LaneReport) -> Vec<String> {
    let mut said = Vec::new();
    said.push(p99_bound(&lane.classes[&Row::Total]));
    said.extend(dependence(&lane.classes[&Row::Total]));
    said.extend(slowest(lane));
    said.extend(variation(lane));
    said.extend(modes(lane));
    said.extend(lane.open_loop.as_ref().and_then(crate::OpenLoop::said));
    said.extend(flow(lane));
    said
}

/// What is to be said of any lane: counts and rates mean something without a steady state, too.
pub fn flow(lane: &LaneReport) -> Vec<String> {
    let mut said = lane.over_published.as_ref().map(crate::OverPublished::said).unwrap_or_default();
    let rate = |per_s: Option<f64>| per_s.map_or("–".to_owned(), |r| format!("{r:.2}"));
    let rates = &lane.rates;
    if rates.published_per_s.or(rates.delivered_per_s).is_some() {
        let (published, delivered) = (rate(rates.published_per_s), rate(rates.delivered_per_s));
        said.push(format!("{published} published and {delivered} delivered a second"));
    }
    said.extend(lane.delivery_gap.as_ref().and_then(crate::DeliveryGap::said));
    said
}

fn p99_bound(total: &Summary) -> String {
    let ci = total.p99_ci_ns;
    match ci.hi {
        _ if total.n == 0 => "no message went the whole way".to_owned(),
        Some(hi) => format!("P99 total lies within [{}, {}] (95 %)", maybe(ci.lo), maybe(Some(hi))),
        None => {
            let least = maybe(ci.lo.or(total.min_ns));
            let upper = no_upper_bound(total, 0.99);
            match total.p99_upper_ns {
                Some(hi) => format!(
                    "P99 total is at least {least} (97.5 %) or at most {} (95 %), each for itself",
                    maybe(Some(hi))
                ),
                None => format!("P99 total is at least {least} (97.5 %); {upper}"),
            }
        }
    }
}

/// Why a quantile has no upper end: there are too few messages, or they are worth too few.
pub(crate) fn no_upper_bound(s: &Summary, p: f64) -> String {
    match interval_ranks(s.n, p, 0.95) {
        (_, None) => format!("no upper bound at n = {}", s.n),
        _ => format!("no upper bound at n_eff = {}", s.n_eff),
    }
}

/// Independent messages have an r₁ of up to 2/√n by chance: of few messages, n_eff comes out lower
/// without their depending on each other.
#[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
fn dependence(total: &Summary) -> Option<String> {
    let (n, n_eff) = (total.n as f64, total.n_eff as f64);
    let r1 = (n - n_eff) / (n + n_eff);
    let dependent = n_eff < DEPENDENT * n && r1 > 2.0 / n.sqrt();
    dependent.then(|| {
        format!(
            "n_eff = {} of {}: messages depend on each other, so intervals are those of fewer",
            total.n_eff, total.n
        )
    })
}

/// The legs near P99 that are longest in excess of those near P50.
fn slowest(lane: &LaneReport) -> Option<String> {
    let near = |name| lane.breakdown.iter().find(|near| near.near == name);
    let (middle, slow) = (near("p50")?, near("p99")?);
    let mut excess: Vec<(Ns, Leg)> =
        slow.legs.iter().map(|(leg, ns)| (ns - middle.leg(*leg), *leg)).collect();
    excess.sort_by_key(|(more, leg)| (std::cmp::Reverse(*more), *leg));
    let named: Vec<String> = excess
        .iter()
        .filter(|(more, _)| *more > 0)
        .take(SLOWEST_LEGS)
        .map(|(more, leg)| {
            format!("{leg} {} (+{})", maybe(Some(slow.leg(*leg))), maybe(Some(*more)))
        })
        .collect();
    (!named.is_empty()).then(|| {
        format!("the slowest (near P99, n = {}; + against near P50): {}", slow.n, named.join(", "))
    })
}

fn variation(lane: &LaneReport) -> Option<String> {
    let mut shares: Vec<(f64, Leg)> =
        lane.variance_shares.as_ref()?.iter().map(|(leg, share)| (*share, *leg)).collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let ((most, leg), rest) = shares.split_first().map(|(first, rest)| (*first, rest))?;
    let mut said = format!("{} of the variation of the total is {leg}", percent(most));
    if let Some((next, leg)) = rest.first().filter(|(share, _)| *share >= 0.005) {
        let _infallible = write!(said, ", {} {leg}", percent(*next));
    }
    Some(said)
}

/// A write, another write and a read with Nagle's algorithm on one side and delayed
/// acknowledgements on the other: 40 ms on Linux, and what else it takes (METHOD 20).
const NAGLE_NS: std::ops::RangeInclusive<Ns> = 35_000_000..=50_000_000;

fn modes(lane: &LaneReport) -> Vec<String> {
    let classes = Row::ALL.iter().map(|row| (row.name(), &lane.classes[row].modes, false));
    let legs = lane
        .legs
        .iter()
        .map(|(leg, f)| (leg.name(), &f.summary.modes, f.class == Class::Transport));
    let mut said: Vec<String> = Vec::new();
    for (name, modes, transport) in classes.chain(legs) {
        let Some(Modes { low, high, .. }) = modes else { continue };
        let mode = |mode: &hopwatch_stats::Mode| {
            format!("{} ({:.0} %)", maybe(Some(mode.center_ns)), mode.share * 100.0)
        };
        let mut text = format!("{name} has two modes: {} and {}", mode(low), mode(high));
        if said.is_empty() {
            text.push_str(": mean and sd mean nothing");
        }
        if transport && NAGLE_NS.contains(&high.center_ns.saturating_sub(low.center_ns)) {
            text.push_str("; a mode 40 ms later is what Nagle with delayed ACK makes");
        }
        said.push(text);
    }
    said
}

/// Mean and standard deviation as they may be shown: not those of two modes (METHOD 18).
pub fn moments(s: &Summary) -> [String; 2] {
    [s.mean_ns, s.sd_ns]
        .map(|ns| ns.filter(|_| s.modes.is_none()).map_or_else(|| "–".to_owned(), duration))
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
