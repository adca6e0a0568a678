//! How many messages a second, however they are bunched.

use crate::lane::LaneData;
use hopwatch_model::{Hop, Ns, Outcome, Stamp, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// Shorter than this nothing is said of a rate a second: 1 s.
const SHORTEST: Ns = 1_000_000_000;

/// How many messages a second went in and came out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Rates {
    /// Published, by the messages' numbers: those that were lost count, too. The sum over the
    /// writers. `null` when a writer's messages lie within less than a second.
    pub published_per_s: Option<f64>,
    /// Delivered, by the end of the pipeline; `null` likewise.
    pub delivered_per_s: Option<f64>,
}

impl Rates {
    /// Of a lane; its traces are in the order in which they were taken.
    pub(crate) fn of(lane: &LaneData<'_>) -> Self {
        let delivered = lane.traces.iter().filter(|trace| trace.outcome == Outcome::Delivered);
        let mut acked: Vec<Ns> =
            delivered.filter_map(|trace| Some(trace.stamps.get(Hop::WebAcked)?.ns)).collect();
        acked.sort_unstable();
        let ends: Vec<(Ns, i64)> = acked.into_iter().zip(0..).collect();
        Self { published_per_s: published(&lane.traces), delivered_per_s: per_second(&ends) }
    }
}

fn published(traces: &[&Trace]) -> Option<f64> {
    // DDS numbers a writer's messages; where it doesn't, robots do.
    let mut writers: BTreeMap<_, Vec<(&Stamp, i64)>> = BTreeMap::new();
    for trace in traces {
        let (writer, number) = match trace.publication_sequence {
            Some(n) => ((Some(trace.publisher), ""), i64::try_from(n).ok()?),
            None => ((None, trace.robot_id.as_str()), i64::from(trace.sequence)),
        };
        // Only differences count, so the stamps of any one clock will do. DDS' own stand whatever
        // the robot writes into its headers.
        let by = [Hop::Written, Hop::Published, Hop::Taken];
        if let Some(stamp) = by.iter().find_map(|hop| trace.stamps.get(*hop)) {
            writers.entry(writer).or_default().push((stamp, number));
        }
    }
    let of_writer = |messages: Vec<(&Stamp, i64)>| {
        let (first, _) = *messages.first()?;
        let since = |(stamp, number): (&Stamp, i64)| Some((stamp.since(first).ok()?, number));
        let mut points: Vec<(Ns, i64)> = messages.into_iter().filter_map(since).collect();
        points.sort_unstable_by_key(|(at, number)| (*number, *at));
        // A clock that was set back meanwhile tells no rate.
        points.is_sorted_by_key(|(at, _)| *at).then(|| per_second(&points)).flatten()
    };
    let rates: Option<Vec<f64>> = writers.into_values().map(of_writer).collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| rates.iter().sum())
}

/// Events a second from points (time, number of the event), both ascending.
///
/// Counting all events between the first and the last one inflates bursts: 12 messages every
/// 100 ms in two bursts are 23 in 0.1 s. So whole periods are counted: from the first event to the
/// end of the last long pause. Pauses are long when they last at least half as long as those that
/// make up three quarters of the time. In an even series each pause is long, and the rate is
/// (n − 1) ÷ (last − first); so it is with a stall here and there.
///
/// `None` when that is less than a second: of one burst nobody knows when the next one comes.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub(crate) fn per_second(points: &[(Ns, i64)]) -> Option<f64> {
    let (first, number) = *points.first()?;
    let pauses: Vec<Ns> = points.windows(2).map(|p| p[1].0.saturating_sub(p[0].0)).collect();
    let whole = points.last()?.0.checked_sub(first)?;
    let mut longest_first = pauses.clone();
    longest_first.sort_unstable_by(|a, b| b.cmp(a));
    let mut covered: Ns = 0;
    let long = longest_first.into_iter().find(|pause| {
        covered = covered.saturating_add(*pause);
        covered >= whole - whole / 4
    })?;
    let end = pauses.iter().rposition(|pause| *pause >= long / 2)? + 1;
    let (at, count) = *points.get(end)?;
    let time = at - first;
    (time >= SHORTEST).then(|| (count - number) as f64 * 1e9 / time as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Clocks;
    use crate::lane::tests::{delivered, lane_of};
    use hopwatch_testkit::chance;
    use rand::Rng;

    const MS: Ns = 1_000_000;

    /// 12 messages in a burst every 100 ms; a reader that keeps the last `depth` of each.
    fn bursts(count: i64, depth: i64) -> Vec<Trace> {
        bursts_of(count, depth, MS / 10)
    }

    /// The same with so much from one message of a burst to the next.
    fn bursts_of(count: i64, depth: i64, apart: Ns) -> Vec<Trace> {
        let all = (0..count).flat_map(|burst| (0..12).map(move |of| (burst, of)));
        all.filter(|(_, of)| *of >= 12 - depth)
            .map(|(burst, of)| {
                let number = u64::try_from(burst * 12 + of + 1).unwrap();
                delivered(burst * 100 * MS + of * apart, number, 2 * MS)
            })
            .collect()
    }

    /// From users' reports: tools that average over the newest messages say 1 to 10 kHz here.
    #[test]
    fn bursts_inflate_no_rate() {
        let clocks = Clocks::default();
        for count in [11, 12, 30, 301] {
            let cases = [(5, 50.0, MS / 10), (20, 120.0, MS / 10), (5, 50.0, MS), (20, 120.0, MS)];
            for (depth, per_s, apart) in cases {
                let traces = bursts_of(count, depth, apart);
                let rates = Rates::of(&lane_of(&traces, &clocks));
                let near = |found: Option<f64>, truth: f64| (found.unwrap() - truth).abs() < 1e-6;
                assert!(near(rates.published_per_s, 120.0), "{count} {depth}: {rates:?}");
                assert!(near(rates.delivered_per_s, per_s), "{count} {depth}: {rates:?}");
            }
        }
        // One burst, or one second: nothing is said rather than 10 kHz.
        for count in [1, 10] {
            let traces = bursts(count, 20);
            assert_eq!(Rates::of(&lane_of(&traces, &clocks)), Rates::default());
        }
        assert_eq!(Rates::of(&lane_of(&[], &clocks)), Rates::default());
    }

    #[test]
    fn even_and_random_series_are_counted_whole() {
        let even: Vec<(Ns, i64)> = (0..3).map(|i| (i * 1_000 * MS, i)).collect();
        assert_eq!(per_second(&even), Some(1.0));
        // 60 s at 100 Hz with a stall of 3 s, whose messages come at once: the stall ends nothing.
        let stall = |due: Ns| if (20_000..23_000).contains(&due) { 23_000 } else { due };
        let stalled: Vec<(Ns, i64)> = (0..6_000).map(|i| (stall(i * 10) * MS, i)).collect();
        assert!((per_second(&stalled).unwrap() - 100.0).abs() < 1e-6);
        let mut off = Vec::new();
        for seed in 0..200 {
            let mut chance = chance(seed);
            let mut at = 0.0;
            let random: Vec<(Ns, i64)> = (0..1_000)
                .map(|i| {
                    at += -(1.0 - chance.random::<f64>()).ln() * 1e7;
                    #[expect(clippy::cast_possible_truncation, reason = "some ten seconds")]
                    (at as Ns, i)
                })
                .collect();
            off.push(per_second(&random).unwrap() / 100.0 - 1.0);
        }
        // Its standard error is 1/√1000.
        assert!(off.iter().all(|off| off.abs() < 0.15), "{off:?}");
        assert!(off.iter().sum::<f64>().abs() / 200.0 < 0.01, "{off:?}");
    }

    #[test]
    fn two_writers_are_added_up() {
        let mut traces = bursts(30, 20);
        let mut other = bursts(30, 5);
        for trace in &mut other {
            trace.publisher = hopwatch_model::PublisherId([2; 16]);
        }
        traces.append(&mut other);
        let clocks = Clocks::default();
        let rates = Rates::of(&lane_of(&traces, &clocks));
        assert!((rates.published_per_s.unwrap() - 240.0).abs() < 1e-6, "{rates:?}");
        assert!((rates.delivered_per_s.unwrap() - 170.0).abs() < 1e-6, "{rates:?}");
    }
}
