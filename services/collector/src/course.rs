//! A lane's latency over time, in bins: pure, the page draws it.

use crate::samples::{Axis, Sample};
use hopwatch_model::{Ns, Outcome};
use hopwatch_stats::quantile;
use hopwatch_wire::feed::{Bin, CourseView, Window};
use std::collections::BTreeMap;

/// Bins of a chunk.
const CHUNK: i64 = 32;
/// A run has at most so many bins.
const MOST: i64 = 300;
/// Widths of the bins of a run, in ms.
const WIDTHS: [u32; 14] = [
    1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
    3_600_000, 14_400_000, 86_400_000,
];

/// How far a window reaches back, in ms; `None`: to the beginning.
pub(crate) fn reach_ms(window: Window) -> Option<i64> {
    match window {
        Window::TenSeconds => Some(10_000),
        Window::Minute => Some(60_000),
        Window::Run => None,
    }
}

/// How wide the bins of a window are, in ms. `span_ms`: how long a run is by now.
pub(crate) fn width_ms(window: Window, span_ms: i64) -> u32 {
    match window {
        Window::TenSeconds => 250,
        Window::Minute => 1_000,
        Window::Run => {
            let fits = |width: &u32| span_ms / i64::from(*width) < MOST;
            WIDTHS.into_iter().find(fits).unwrap_or(WIDTHS[WIDTHS.len() - 1])
        }
    }
}

/// Messages that ROS lost, when their absence was noticed: (in ms, how many).
pub(crate) type RosLost = (i64, u64);

/// Puts samples into bins of `width` ms, in chunks.
pub(crate) fn course<'a>(
    lane: &str,
    width: u32,
    samples: impl Iterator<Item = &'a Sample>,
    axis: &Axis,
    ros_lost: impl Iterator<Item = RosLost>,
) -> Vec<CourseView> {
    let index = |at_ms: i64| at_ms.div_euclid(i64::from(width));
    let mut bins: BTreeMap<i64, Filling> = BTreeMap::new();
    for sample in samples {
        bins.entry(index(axis.of(sample))).or_default().add(sample);
    }
    for (at_ms, n) in ros_lost.filter(|(_, n)| *n > 0) {
        let lost = &mut bins.entry(index(at_ms)).or_default().lost;
        *lost.entry("lost_in_ros".to_owned()).or_default() += n;
    }
    let mut chunks: BTreeMap<i64, Vec<Bin>> = BTreeMap::new();
    for (index, filling) in bins {
        let bin = filling.bin(index * i64::from(width));
        chunks.entry(index.div_euclid(CHUNK)).or_default().push(bin);
    }
    let chunk = |(chunk, bins)| CourseView { lane: lane.to_owned(), width_ms: width, chunk, bins };
    chunks.into_iter().map(chunk).collect()
}

#[derive(Default)]
struct Filling {
    /// AI, transport, overhead, total.
    times: [Vec<Ns>; 4],
    slowest: Option<(Ns, String)>,
    lost: BTreeMap<String, u64>,
}

impl Filling {
    fn add(&mut self, sample: &Sample) {
        let Some(times) = sample.times else {
            // One that can't be split is a defect, and told as such; it was not lost.
            if sample.outcome == Outcome::Delivered {
                return;
            }
            *self.lost.entry(sample.outcome.to_string()).or_default() += 1;
            return;
        };
        for (of, ns) in
            self.times.iter_mut().zip([times.ai, times.transport, times.overhead, times.total])
        {
            of.push(ns);
        }
        if self.slowest.as_ref().is_none_or(|(total, _)| times.total > *total) {
            self.slowest = Some((times.total, sample.id.to_string()));
        }
    }

    fn bin(mut self, at_ms: i64) -> Bin {
        self.times.iter_mut().for_each(|of| of.sort_unstable());
        let [ai, transport, overhead, total] = &self.times;
        Bin {
            at_ms,
            n: total.len(),
            p50_ns: quantile(total, 500),
            p95_ns: quantile(total, 950),
            p99_ns: quantile(total, 990),
            max_ns: total.last().copied(),
            ai_p50_ns: quantile(ai, 500),
            transport_p50_ns: quantile(transport, 500),
            overhead_p50_ns: quantile(overhead, 500),
            slowest: self.slowest.map(|(_, id)| id),
            lost: self.lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::{axis, trace};
    use crate::samples::{Arrival, Samples, Times};
    use hopwatch_model::{Failure, Stage};

    const MS: Ns = 1_000_000;
    /// Of the collector, on the gateway's clock.
    const START: Ns = 100_000_000_000;

    #[test]
    fn messages_lie_in_the_bins_of_their_takes() {
        let (mut axis, mut samples) = (axis("gateway"), Samples::default());
        for number in 0..100_i64 {
            let taken = START + number * 100 * MS;
            let mut trace = trace(u64::try_from(number).unwrap(), taken, "r");
            let total = (number + 1) * MS;
            let times = Times { ai: total - 3, transport: 2, overhead: 1, total };
            if number % 10 == 5 {
                trace.outcome = Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut);
            }
            let whole = trace.outcome == Outcome::Delivered;
            let arrival = Arrival::At(taken - START);
            samples.push(&trace, whole.then_some(times), arrival, &mut axis);
        }
        let view = samples.since(Ns::MIN);
        let lost = [(-1, 0), (2_300, 2), (2_400, 1)];
        let chunks = course("lane", 1_000, view.iter(), &axis, lost.into_iter());
        assert_eq!(chunks.len(), 1);
        let bins = &chunks[0].bins;
        assert_eq!(bins.len(), 10);
        let bin = &bins[2];
        assert_eq!((bin.at_ms, bin.n), (2_000, 9));
        // 21 … 30 ms without the sixth.
        assert_eq!((bin.p50_ns, bin.max_ns), (Some(25 * MS), Some(30 * MS)));
        assert_eq!((bin.ai_p50_ns, bin.transport_p50_ns), (Some(25 * MS - 3), Some(2)));
        assert_eq!(bin.slowest, Some(trace(29, 0, "r").id.to_string()));
        let told = BTreeMap::from([("ai timed_out".to_owned(), 1), ("lost_in_ros".to_owned(), 3)]);
        assert_eq!(bin.lost, told);
        assert_eq!(bins.iter().map(|bin| bin.n).sum::<usize>(), 90);
        // One that can't be split was delivered all the same.
        let mut samples = Samples::default();
        samples.push(&trace(1, START, "r"), None, Arrival::At(0), &mut axis);
        let view = samples.since(Ns::MIN);
        let bins = course("lane", 1_000, view.iter(), &axis, std::iter::empty());
        assert!(bins[0].bins[0].lost.is_empty(), "{bins:?}");
    }

    #[test]
    fn chunks_stay_where_they_are_however_far_the_window_moves() {
        let (mut axis, mut samples) = (axis("gateway"), Samples::default());
        for second in -40..40_i64 {
            let taken = START + second * 1_000 * MS;
            let mut trace = trace(1, taken, "r");
            trace.outcome = Outcome::QueueDropped;
            samples.push(&trace, None, Arrival::At(taken - START), &mut axis);
        }
        let view = samples.since(Ns::MIN);
        let all = course("lane", 1_000, view.iter(), &axis, std::iter::empty());
        let numbers: Vec<(i64, usize)> = all.iter().map(|c| (c.chunk, c.bins.len())).collect();
        assert_eq!(numbers, [(-2, 8), (-1, 32), (0, 32), (1, 8)]);
        assert_eq!(all[0].bins[0].at_ms, -40_000);
        let later = course("lane", 1_000, view.iter().skip(10), &axis, std::iter::empty());
        assert_eq!(later[1..], all[2..]);
    }

    #[test]
    fn bins_of_a_run_grow_with_it() {
        assert_eq!(width_ms(Window::Run, 0), 1_000);
        for (minutes, width) in [(4, 1_000), (6, 2_000), (60, 15_000), (24 * 60, 300_000)] {
            assert_eq!(width_ms(Window::Run, minutes * 60_000), width, "{minutes} min");
        }
        assert_eq!(width_ms(Window::Run, i64::MAX), 86_400_000);
        assert_eq!((width_ms(Window::TenSeconds, 9), width_ms(Window::Minute, 9)), (250, 1_000));
    }
}
