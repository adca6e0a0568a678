//! Whether the queue was stable (METHOD 11): an unstable one has no percentiles.

use crate::lane::taken_ns;
use crate::rates::per_second;
use crate::series::lower_slope;
use hopwatch_model::{Hop, Ns, Outcome, Trace};
use serde::Serialize;

/// The verdict on a lane's queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Stability {
    /// True when messages surely came faster than they could be worked off, or their backlog
    /// grew: then percentiles tell how long the run was, and nothing else.
    pub unstable: bool,
    /// Arrival rate × mean time in a worker ÷ workers; `null` before there are figures.
    pub utilisation: Option<f64>,
    /// Its 95 % interval; `null` for fewer than 20 messages or less than 3 s: too little to be
    /// judged by.
    pub utilisation_ci: Option<(f64, f64)>,
    /// How fast waiting grew, in µs of waiting a second of run, by least squares; `null` before
    /// there are figures.
    pub waiting_slope_us_per_s: Option<f64>,
    /// The shortest waits grew, too: a backlog that never emptied.
    pub waiting_grows: bool,
    /// The numbers in a sentence.
    pub reason: String,
}

/// Fewer messages tell nothing of a trend, nor of a utilisation.
const FEWEST: usize = 20;
/// Nor do messages of less time than this: some that come together are no load. 3 s.
const SHORTEST: Ns = 3_000_000_000;
/// Into so many pieces a run is cut to see how much its utilisation varies.
const PIECES: usize = 10;
/// Student's t of 97.5 % with one degree of freedom less than pieces.
const STUDENT_T: f64 = 2.262;

/// Judges a lane by its traces (all outcomes) and the gateway's workers.
///
/// **Utilisation** counts when its whole 95 % interval is at 1 or above. The interval is that of
/// a ratio, work ÷ time, over ten pieces of the run with equally many messages (batch means; the
/// standard error of a ratio estimator by linearisation, W. G. Cochran, *Sampling Techniques*,
/// 3rd ed., 6.4). An even load with even work has no width; a random one has what it varies by.
///
/// **Growth** counts when the lower envelope of the waits rises beyond its own scatter, and over
/// the run by more than the mean work on a message and by more than chance makes of a queue that
/// is just at its limit. Waiting is a random walk that doesn't go below 0 (D. V. Lindley, 1952):
/// without a drift, n steps of standard deviation σ take it above 2.24 σ √n with 2.5 % (by the
/// reflection principle). A queue below its limit gets there still more seldom.
///
/// By simulation of queues with random arrivals and random work (M/M/1): at a utilisation of 0.95
/// 4 % of 60 messages are called unstable, and none of 1000; at 1.3 30 % of 60, 83 % of 300 and
/// all of 1000.
pub fn stability(traces: &[&Trace], workers: u32) -> Stability {
    let mut traces = traces.to_vec();
    traces.sort_by_key(|trace| (taken_ns(trace), trace.id));
    let load = Load::of(&traces, workers);
    let utilisation = load.as_ref().map(|load| load.utilisation);
    let ci = load.as_ref().and_then(|load| load.ci);
    let waits = waits(&traces);
    let enough = waits.len() >= FEWEST && span(&waits) >= SHORTEST;
    let slope = enough.then(|| slope_us_per_s(&waits)).flatten();
    let work = mean_work_ns(&traces);
    let grows = enough && grows(&waits, work);
    let overloaded = ci.is_some_and(|(lo, _)| lo >= 1.0);
    let unstable = overloaded || grows;
    let numbers = load.as_ref().map_or_else(
        || "too few messages to tell".to_owned(),
        |load| load.said(workers, traces.len()),
    );
    // Rounded first: a slope of −0.3 is no "-0".
    let grew = |s: f64| format!("; waiting grew by {:.0} µs a second", s.round() + 0.0);
    let trend = slope.map(grew).unwrap_or_default();
    let tooth = if overloaded { saw_tooth(&traces, &waits) } else { None }.unwrap_or_default();
    let reason = if unstable {
        format!(
            "UNSTABLE: {numbers}{trend}{tooth}: the queue has no steady state, so percentiles of this run mean nothing"
        )
    } else {
        format!("{numbers}{trend}")
    };
    Stability {
        unstable,
        utilisation,
        utilisation_ci: ci,
        waiting_slope_us_per_s: slope,
        waiting_grows: grows,
        reason,
    }
}

/// Steps without a drift exceed so many σ √n with a chance of 2.5 %.
const WALK: f64 = 2.24;

/// Whether waiting grew, and not by chance.
#[expect(clippy::cast_precision_loss, reason = "times are floats here")]
fn grows(waits: &[(Ns, Ns)], work: Option<f64>) -> bool {
    let Some((slope, work)) = lower_slope(waits).zip(work) else { return false };
    let rise = slope * 1e3 * seconds(span(waits));
    let steps: Vec<f64> = waits.windows(2).map(|w| (w[1].1 - w[0].1) as f64).collect();
    let Some(drift) = mean(&steps) else { return false };
    let walk: f64 = steps.iter().map(|step| (step - drift).powi(2)).sum();
    rise > work.max(WALK * walk.sqrt())
}

/// What came, and how long it kept a worker.
struct Load {
    per_s: f64,
    service_ns: f64,
    utilisation: f64,
    ci: Option<(f64, f64)>,
}

impl Load {
    /// Of all traces, in the order of the takes.
    #[expect(clippy::cast_precision_loss, reason = "rates and means are floats")]
    fn of(sorted: &[&Trace], workers: u32) -> Option<Self> {
        let takes: Vec<(Ns, i64)> = sorted.iter().map(|trace| taken_ns(trace)).zip(0..).collect();
        let times: Vec<Option<Ns>> = sorted.iter().map(|trace| service_ns(trace)).collect();
        let known: Vec<f64> = times.iter().flatten().map(|ns| *ns as f64).collect();
        let workers = f64::from(workers.max(1));
        let (per_s, service_ns) = (per_second(&takes)?, mean(&known)?);
        let utilisation = per_s * service_ns / 1e9 / workers;
        // What was dropped would have kept a worker as long as any other.
        let work: Vec<f64> = times.iter().map(|ns| ns.map_or(service_ns, |ns| ns as f64)).collect();
        let takes: Vec<Ns> = takes.into_iter().map(|(at, _)| at).collect();
        let enough = takes.len() >= FEWEST && takes.last()? - takes.first()? >= SHORTEST;
        let half = enough.then(|| half_width(&takes, &work)).flatten();
        let ci = half
            .map(|half| half / workers)
            .map(|half| ((utilisation - half).max(0.0), utilisation + half));
        Some(Self { per_s, service_ns, utilisation, ci })
    }

    fn said(&self, workers: u32, n: usize) -> String {
        let numbers = format!(
            "{:.2} messages a second × {:.3} s in one of {workers} workers = utilisation {:.3}",
            self.per_s,
            self.service_ns / 1e9,
            self.utilisation
        );
        match self.ci {
            Some((lo, hi)) if format!("{lo:.3}") == format!("{hi:.3}") => numbers,
            Some((lo, hi)) => format!("{numbers} ({lo:.3} to {hi:.3})"),
            None if self.utilisation >= 1.0 => {
                format!("{numbers}, of {n} messages: too few, or too short a time, to judge")
            }
            None => numbers,
        }
    }
}

/// Half of the 95 % interval of work ÷ time.
#[expect(clippy::cast_precision_loss, reason = "times are floats here")]
fn half_width(takes: &[Ns], work: &[f64]) -> Option<f64> {
    let gaps = takes.len().checked_sub(1)?;
    let pieces: Vec<(f64, f64)> = (0..PIECES)
        .map(|i| (i * gaps / PIECES, (i + 1) * gaps / PIECES))
        .map(|(from, to)| (work[from..to].iter().sum(), (takes[to] - takes[from]) as f64))
        .collect();
    let sum = |of: fn(&(f64, f64)) -> f64| pieces.iter().map(of).sum::<f64>();
    let (worked, time) = (sum(|p| p.0), sum(|p| p.1));
    let n = PIECES as f64;
    let squares: f64 = pieces.iter().map(|(w, t)| (w - worked / time * t).powi(2)).sum();
    let half = STUDENT_T * (n * squares / (n - 1.0)).sqrt() / time;
    half.is_finite().then_some(half)
}

/// How long a message kept a worker; `None` while it is worked on, and when it never was.
fn service_ns(trace: &Trace) -> Option<Ns> {
    let started = trace.stamps.get(Hop::Started)?;
    // A worker is held by a message that fails, too.
    let ends = [Hop::WebAcked, Hop::Failed, Hop::AiAnswered];
    ends.iter().find_map(|hop| trace.stamps.get(*hop))?.since(started).ok()
}

/// How long a message waited in the AI service's own line.
fn line_ns(trace: &Trace) -> Ns {
    let (begun, received) = (trace.stamps.get(Hop::AiBegun), trace.stamps.get(Hop::AiReceived));
    begun.zip(received).and_then(|(begun, received)| begun.since(received).ok()).unwrap_or(0)
}

/// Mean time in a worker without the wait in the AI service's line, which is no work.
#[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
fn mean_work_ns(traces: &[&Trace]) -> Option<f64> {
    let work = |trace: &&Trace| Some(service_ns(trace)?.saturating_sub(line_ns(trace)) as f64);
    mean(&traces.iter().filter_map(work).collect::<Vec<f64>>())
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// (taken, waiting) of each message: in the gateway's queue and in the AI's line.
fn waits(sorted: &[&Trace]) -> Vec<(Ns, Ns)> {
    let wait = |trace: &&Trace| {
        let taken = trace.stamps.get(Hop::Taken)?;
        let queue = trace.stamps.get(Hop::Started)?.since(taken).ok()?;
        Some((taken.ns, queue.saturating_add(line_ns(trace))))
    };
    sorted.iter().filter_map(wait).collect()
}

/// A queue that is too short for its load: waiting climbs, is cut by a drop, and climbs again.
#[expect(clippy::cast_precision_loss, reason = "a slope is a float")]
fn saw_tooth(traces: &[&Trace], waits: &[(Ns, Ns)]) -> Option<String> {
    let dropped = traces.iter().filter(|trace| trace.outcome == Outcome::QueueDropped).count();
    let mut climbs: Vec<f64> = waits
        .windows(2)
        .filter(|pair| pair[1].0 > pair[0].0)
        .map(|pair| (pair[1].1 - pair[0].1) as f64 * 1e6 / (pair[1].0 - pair[0].0) as f64)
        .collect();
    climbs.sort_by(f64::total_cmp);
    let climb = *climbs.get(climbs.len() / 2)?;
    (dropped > 0 && climb > 0.0).then(|| {
        format!(
            " in a saw-tooth: {climb:.0} µs a second from message to message, cut by {dropped} \
             drops of the queue"
        )
    })
}

fn span(points: &[(Ns, Ns)]) -> Ns {
    points.first().zip(points.last()).map_or(0, |(a, b)| b.0.saturating_sub(a.0))
}

#[expect(clippy::cast_precision_loss, reason = "a regression is done in floats")]
fn seconds(ns: Ns) -> f64 {
    ns as f64 / 1e9
}

/// Least squares.
#[expect(clippy::cast_precision_loss, reason = "a regression is done in floats")]
fn slope_us_per_s(points: &[(Ns, Ns)]) -> Option<f64> {
    let (first, _) = points.first()?;
    let points: Vec<(f64, f64)> =
        points.iter().map(|(at, wait)| (seconds(at - first), *wait as f64 / 1e3)).collect();
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sxx: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    let sxy: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    (sxx > 0.0).then(|| sxy / sxx)
}

#[cfg(test)]
#[path = "stability_tests.rs"]
mod tests;
