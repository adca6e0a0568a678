//! Whether the queue was stable (METHOD 11): an unstable one has no percentiles.

use crate::lane::taken_ns;
use hopwatch_model::{Hop, Ns, Trace};
use serde::Serialize;

/// The verdict on a lane's queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Stability {
    /// True when messages came faster than they could be worked off: then percentiles tell how
    /// long the run was, and nothing else.
    pub unstable: bool,
    /// Arrival rate × mean time in a worker ÷ workers; `null` before there are figures.
    pub utilisation: Option<f64>,
    /// How fast waiting grew, in µs of waiting a second of run; `null` before there are figures.
    pub waiting_slope_us_per_s: Option<f64>,
    /// The numbers in a sentence.
    pub reason: String,
}

/// Waiting that grows by less than this is noise: 5 ms a second.
const SLOPE_US_PER_S: f64 = 5_000.0;
/// Fewer messages tell nothing of a trend.
const FEWEST: usize = 20;

/// Judges a lane by its traces (all outcomes) and the gateway's workers.
pub fn stability(traces: &[&Trace], workers: u32) -> Stability {
    let mut traces = traces.to_vec();
    traces.sort_by_key(|trace| taken_ns(trace));
    let arrival = arrival_rate(&traces);
    let service = mean_service_ns(&traces);
    let utilisation =
        arrival.zip(service).map(|(per_s, ns)| per_s * ns / 1e9 / f64::from(workers.max(1)));
    let waits = waits(&traces);
    let slope = (waits.len() >= FEWEST).then(|| slope_us_per_s(&waits)).flatten();
    let overloaded = utilisation.is_some_and(|u| u >= 1.0);
    let growing = slope.zip(service).is_some_and(|(slope, service)| {
        slope > SLOPE_US_PER_S && slope * 1e3 * span_s(&waits) > service
    });
    let numbers = match (arrival, service, utilisation) {
        (Some(rate), Some(ns), Some(u)) => format!(
            "{rate:.2} messages a second × {:.3} s in one of {workers} workers = utilisation {u:.3}",
            ns / 1e9
        ),
        _ => "too few messages to tell".to_owned(),
    };
    let trend = slope.map(|s| format!("; waiting grew by {s:.0} µs a second")).unwrap_or_default();
    let reason = if overloaded || growing {
        format!(
            "UNSTABLE: {numbers}{trend}: the queue has no steady state, so percentiles of this run mean nothing"
        )
    } else {
        format!("{numbers}{trend}")
    };
    Stability {
        unstable: overloaded || growing,
        utilisation,
        waiting_slope_us_per_s: slope,
        reason,
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates and means are floats")]
fn arrival_rate(sorted: &[&Trace]) -> Option<f64> {
    let span = taken_ns(sorted.last()?).checked_sub(taken_ns(sorted.first()?))?;
    (sorted.len() >= 2 && span > 0).then(|| (sorted.len() - 1) as f64 * 1e9 / span as f64)
}

/// Mean of started → end of work, over messages that were worked on to an end.
#[expect(clippy::cast_precision_loss, reason = "rates and means are floats")]
fn mean_service_ns(traces: &[&Trace]) -> Option<f64> {
    let times: Vec<Ns> = traces
        .iter()
        .filter_map(|trace| {
            let started = trace.stamps.get(Hop::Started)?;
            // A worker is held by a message that fails, too.
            let ends = [Hop::WebAcked, Hop::Failed, Hop::AiAnswered];
            let end = ends.iter().find_map(|hop| trace.stamps.get(*hop))?;
            end.since(started).ok()
        })
        .collect();
    (!times.is_empty()).then(|| times.iter().map(|t| *t as f64).sum::<f64>() / times.len() as f64)
}

/// (taken in s, waiting in µs) of each message: in the gateway's queue and in the AI's line.
#[expect(clippy::cast_precision_loss, reason = "a regression is done in floats")]
fn waits(sorted: &[&Trace]) -> Vec<(f64, f64)> {
    let Some(first) = sorted.first().map(|trace| taken_ns(trace)) else {
        return Vec::new();
    };
    sorted
        .iter()
        .filter_map(|trace| {
            let stamps = &trace.stamps;
            let taken = stamps.get(Hop::Taken)?;
            let queue = stamps.get(Hop::Started)?.since(taken).ok()?;
            let line = stamps
                .get(Hop::AiBegun)
                .zip(stamps.get(Hop::AiReceived))
                .and_then(|(begun, received)| begun.since(received).ok())
                .unwrap_or(0);
            Some((taken.ns.saturating_sub(first) as f64 / 1e9, (queue + line) as f64 / 1e3))
        })
        .collect()
}

fn span_s(points: &[(f64, f64)]) -> f64 {
    points.first().zip(points.last()).map_or(0.0, |(a, b)| b.0 - a.0)
}

/// Least squares.
#[expect(clippy::cast_precision_loss, reason = "a regression is done in floats")]
fn slope_us_per_s(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sxx: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    let sxy: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    (sxx > 0.0).then(|| sxy / sxx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::tests::trace_of;

    const S: Ns = 1_000_000_000;

    /// One worker, one message a second, each taking `service`: the simplest queue there is.
    fn serial(n: i64, service: Ns) -> Vec<Trace> {
        let mut free = 0;
        (0..n)
            .map(|i| {
                let taken = i * S;
                let started = taken.max(free);
                free = started + service;
                trace_of(&[
                    (Hop::Taken, taken),
                    (Hop::Started, started),
                    (Hop::AiSent, started),
                    (Hop::AiAnswered, free),
                    (Hop::WebSent, free),
                    (Hop::WebAcked, free),
                ])
            })
            .collect()
    }

    /// SEEDS S1: 1 Hz × 1.037 s in series is overloaded; the queue grows by 37 ms a message.
    #[test]
    fn the_published_pipeline_is_unstable() {
        let traces = serial(60, 1_037_000_000);
        let s = stability(&traces.iter().collect::<Vec<_>>(), 1);
        assert!(s.unstable && s.reason.starts_with("UNSTABLE"), "{}", s.reason);
        assert!((s.utilisation.unwrap() - 1.037).abs() < 1e-9);
        assert!((s.waiting_slope_us_per_s.unwrap() - 37_000.0).abs() < 1.0);
    }

    #[test]
    fn below_capacity_is_stable() {
        let traces = serial(60, 900_000_000);
        let s = stability(&traces.iter().collect::<Vec<_>>(), 1);
        assert!(!s.unstable, "{}", s.reason);
        let traces = serial(60, 1_037_000_000);
        assert!(stability(&[], 1).utilisation.is_none());
        assert!(!stability(&[&traces[0]], 1).unstable);
    }
}
