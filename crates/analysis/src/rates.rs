//! How many messages a second, however they are bunched.

use crate::lane::LaneData;
use hopwatch_model::{Hop, Ns, Outcome, REORDERED, Stamp, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// Shorter than this nothing is said of a rate a second: 1 s.
const SHORTEST: Ns = 1_000_000_000;

/// How many messages a second went in and came out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Rates {
    /// Published, by the messages' numbers: those that were lost count, too. Of all writers, over
    /// the lane's time from the first take to the last. `null` when that is less than a second.
    pub published_per_s: Option<f64>,
    /// Delivered, by the end of the pipeline; `null` likewise.
    pub delivered_per_s: Option<f64>,
}

impl Rates {
    /// Of a lane.
    pub(crate) fn of(lane: &LaneData<'_>) -> Self {
        let delivered = lane.traces.iter().filter(|trace| trace.outcome == Outcome::Delivered);
        let mut acked: Vec<Ns> =
            delivered.filter_map(|trace| Some(trace.stamps.get(Hop::WebAcked)?.ns)).collect();
        acked.sort_unstable();
        let ends: Vec<(Ns, i64)> = acked.into_iter().zip(0..).collect();
        Self { published_per_s: published(&lane.traces), delivered_per_s: per_second(&ends) }
    }
}

/// All writers' messages as one series on the gateway's clock, so that each counts for the time
/// that it lived: one that restarted is two writers, one after the other.
fn published(traces: &[&Trace]) -> Option<f64> {
    let mut takes: Vec<(&Stamp, &Trace)> =
        traces.iter().filter_map(|trace| Some((trace.stamps.get(Hop::Taken)?, *trace))).collect();
    takes.sort_by_key(|(taken, trace)| (taken.ns, trace.id));
    let (first, _) = *takes.first()?;
    let mut writers: BTreeMap<_, i64> = BTreeMap::new();
    let mut published: i64 = 0;
    let mut points = Vec::with_capacity(takes.len());
    for (taken, trace) in takes {
        // Of a gateway elsewhere nobody knows when it took what.
        let Ok(at) = taken.since(first) else { continue };
        // DDS numbers a writer's messages; where it doesn't, robots do.
        let (robot, number) = match trace.publication_sequence {
            Some(n) => (None, i64::try_from(n).ok()?),
            None => (Some(trace.robot_id.as_str()), i64::from(trace.sequence)),
        };
        // With a message come those that were lost before it; one that was overtaken counted then.
        let newest = writers.get(&(trace.publisher, robot)).copied();
        let more = match newest {
            Some(newest) if number > newest => number.saturating_sub(newest),
            Some(_) if robot.is_none() || trace.oddities.contains(&REORDERED) => 0,
            // A writer's first, or a robot that counts anew.
            _ => 1,
        };
        if more > 0 {
            writers.insert((trace.publisher, robot), number);
        }
        published = published.saturating_add(more);
        points.push((at, published));
    }
    per_second(&points)
}

/// How many long pauses, all alike, make a period.
const PERIODS: usize = 3;

/// Events a second from points (time, number of the event), both ascending.
///
/// Counting all events between the first and the last one inflates bursts: 12 messages every
/// 100 ms in two bursts are 23 in 0.1 s. So whole periods are counted: from the first event to the
/// end of the last long pause. Pauses are long when they last at least half as long as those that
/// make up three quarters of the time. In an even series each pause is long, and the rate is
/// (n − 1) ÷ (last − first); so it is with a stall here and there.
///
/// Pauses make a period when there are three of them, none more than twice as long as those.
/// Fewer, or unlike ones, are outages: what came behind the last of them counts, too, and the rate
/// is (n − 1) ÷ (last − first).
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
    let alike = |pause: &&Ns| (long / 2..=long.saturating_mul(2)).contains(*pause);
    let end = if pauses.iter().filter(alike).count() >= PERIODS {
        pauses.iter().rposition(|pause| *pause >= long / 2)? + 1
    } else {
        pauses.len()
    };
    let (at, count) = *points.get(end)?;
    let time = at - first;
    (time >= SHORTEST).then(|| count.saturating_sub(number) as f64 * 1e9 / time as f64)
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

    /// METHOD 11: the rate goes into the utilisation, and an outage is part of the time.
    #[test]
    fn a_long_outage_is_part_of_the_time() {
        // 10 Hz for 12.5 s, nothing for 75 s, 10 Hz again: 250 in 100 s.
        let times = |before: i64, outage: i64, after: i64| {
            (0..before).chain(before + outage..before + outage + after)
        };
        let rate = |at: &mut dyn Iterator<Item = i64>| {
            let points: Vec<(Ns, i64)> = at.map(|tick| tick * 100 * MS).zip(0..).collect();
            per_second(&points).unwrap()
        };
        for (before, outage, after) in
            [(125, 750, 125), (25, 900, 75), (5, 900, 95), (200, 700, 100)]
        {
            let truth = 10.0 * (1.0 - f64::from(i32::try_from(outage).unwrap()) / 1000.0);
            let found = rate(&mut times(before, outage, after));
            assert!((found / truth - 1.0).abs() < 0.02, "{outage} of 1000: {found} for {truth}");
        }
        // Three outages that are not alike make no period either.
        let three = (0..50).chain(650..700).chain(800..850).chain(950..1000);
        let found = rate(&mut three.into_iter());
        assert!((found - 2.0).abs() < 0.02, "{found}");
    }

    fn writer(of: u8, robot: &str, first: i64, count: i64, offset: Ns) -> Vec<Trace> {
        (0..count)
            .map(|i| {
                let at = (first + i) * 100 * MS + offset;
                let mut trace = delivered(at, u64::try_from(i + 1).unwrap(), 2 * MS);
                trace.publisher = hopwatch_model::PublisherId([of; 16]);
                trace.robot_id = robot.into();
                trace
            })
            .collect()
    }

    #[test]
    fn each_writer_counts_for_the_time_that_it_lived() {
        let clocks = Clocks::default();
        let rate = |parts: &[Vec<Trace>], numbered: bool| {
            let mut traces = parts.concat();
            for trace in &mut traces {
                trace.publication_sequence = trace.publication_sequence.filter(|_| numbered);
            }
            Rates::of(&lane_of(&traces, &clocks)).published_per_s.unwrap()
        };
        for numbered in [true, false] {
            // A robot at 10 Hz that restarts after 30 s; without a name of its own, too.
            for second in [2, 1].into_iter().filter(|second| !numbered || *second == 2) {
                let restart = [writer(1, "a", 0, 300, 0), writer(second, "a", 300, 300, 0)];
                let found = rate(&restart, numbered);
                assert!((found - 10.0).abs() < 1e-6, "{numbered} {second}: {found}");
            }
            let relay = [writer(1, "a", 0, 300, 0), writer(2, "b", 300, 300, 0)];
            assert!((rate(&relay, numbered) - 10.0).abs() < 1e-6);
            for offset in [0, 10 * MS, 50 * MS] {
                let both = [writer(1, "a", 0, 300, 0), writer(2, "b", 0, 300, offset)];
                let found = rate(&both, numbered);
                assert!((found - 20.0).abs() < 1e-6, "{numbered} {offset}: {found}");
            }
            // Half of the time alone, half of it together.
            let joined = [writer(1, "a", 0, 600, 0), writer(2, "b", 300, 300, 50 * MS)];
            assert!((rate(&joined, numbered) - 15.0).abs() < 0.05);
        }
        // One that was overtaken counted as lost before; what is lost for good counts.
        let mut late = writer(1, "a", 0, 300, 0);
        late.remove(200);
        late.swap(100, 101);
        let [a, b] = [100usize, 101].map(|i| late[i].stamps.clone());
        (late[100].stamps, late[101].stamps) = (b, a);
        late[101].oddities = vec![REORDERED];
        for numbered in [true, false] {
            let found = rate(&[late.clone()], numbered);
            assert!((found - 10.0).abs() < 1e-6, "{found}");
        }
        // Numbers that nobody counts to.
        let mut crafted = writer(1, "a", 0, 30, 0);
        crafted[29].publication_sequence = Some(u64::try_from(i64::MAX).unwrap());
        crafted.extend(writer(2, "b", 30, 30, 0));
        crafted[58].publication_sequence = Some(u64::try_from(i64::MAX).unwrap());
        assert!(rate(&[crafted], true).is_finite());
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
        // What was lost before a writer's first message taken is not known.
        assert!((rates.published_per_s.unwrap() - 240.0).abs() < 240.0 / 60.0, "{rates:?}");
        assert!((rates.delivered_per_s.unwrap() - 170.0).abs() < 1e-6, "{rates:?}");
    }
}
