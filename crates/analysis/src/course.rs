//! The course of a lane: each message by the time of its take, and those that nobody took. For
//! charts over time and for distributions.

use crate::decompose::decompose;
use crate::report::{Dataset, accounts};
use hopwatch_model::{Class, Hop, Ns, Outcome, Stamp, Trace};
use std::collections::BTreeMap;

/// One message that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// When it was taken, since the lane's first take.
    pub at_ns: Ns,
    /// What became of it.
    pub outcome: Outcome,
    /// taken → web_acked, of a message that went the whole way.
    pub total_ns: Option<Ns>,
    /// The part of `total_ns` that isn't the AI service's own time.
    pub communication_ns: Option<Ns>,
    /// published → web_acked: the middle of what the clocks allow.
    pub published_ns: Option<Ns>,
}

/// Messages that were published between two others of the same writer, and never taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// When the message before was taken, since the lane's first take.
    pub from_ns: Ns,
    /// When the message after was taken.
    pub to_ns: Ns,
    /// How many are missing.
    pub n: u64,
}

/// A lane's messages over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The lane.
    pub lane: String,
    /// Messages in the order of their takes, without duplicates.
    pub points: Vec<Point>,
    /// Holes in the writers' numbers, in order.
    pub gaps: Vec<Gap>,
    /// Messages that have no place among the others: taken on another clock than the first.
    pub elsewhere: u64,
}

/// The courses of all lanes, in the order of the report. The order of the records makes no
/// difference.
pub fn courses(data: &Dataset) -> Vec<Course> {
    let clocks = data.clocks();
    let of_lane = |(info, account): &(&crate::LaneInfo, crate::report::LaneAccount<'_>)| {
        let mut course = Course { lane: info.name.clone(), ..Course::default() };
        let census = account.census();
        let taken = |trace: &Trace| trace.stamps.get(Hop::Taken).cloned();
        let Some(first) = account.fresh.iter().find_map(|trace| taken(trace)) else {
            return course;
        };
        for trace in &account.fresh {
            let Some(at_ns) = since(trace, &first) else {
                course.elsewhere += 1;
                continue;
            };
            let parts = decompose(trace, &census, &clocks).unwrap_or_default();
            let whole = trace.outcome == Outcome::Delivered;
            let total_ns = parts.pipeline_ns.filter(|_| whole);
            course.points.push(Point {
                at_ns,
                outcome: trace.outcome,
                total_ns,
                communication_ns: total_ns.map(|total| total - parts.class_ns(Class::Ai)),
                published_ns: parts.published.filter(|_| whole).map(|(ns, _)| ns),
            });
        }
        course.gaps = gaps(&account.fresh, &first);
        course
    };
    accounts(data).iter().map(of_lane).collect()
}

fn since(trace: &Trace, first: &Stamp) -> Option<Ns> {
    trace.stamps.get(Hop::Taken)?.since(first).ok()
}

/// The holes in each writer's numbers. A robot's header is the word where DDS has no numbers.
fn gaps(traces: &[&Trace], first: &Stamp) -> Vec<Gap> {
    let mut writers: BTreeMap<_, Vec<(i64, Ns)>> = BTreeMap::new();
    for trace in traces {
        let (robot, number) = match trace.publication_sequence {
            Some(number) => (None, i64::try_from(number).ok()),
            None => (Some(trace.robot_id.as_str()), Some(i64::from(trace.sequence))),
        };
        if let Some(taken) = number.zip(since(trace, first)) {
            writers.entry((trace.publisher, robot)).or_default().push(taken);
        }
    }
    let mut found = Vec::new();
    for numbers in writers.values_mut() {
        numbers.sort_unstable();
        for pair in numbers.windows(2) {
            let ((before, a), (after, b)) = (pair[0], pair[1]);
            let missing = after.saturating_sub(before).saturating_sub(1);
            if let Some(n) = u64::try_from(missing).ok().filter(|n| *n > 0) {
                found.push(Gap { from_ns: a.min(b), to_ns: a.max(b), n });
            }
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::tests::delivered;
    use crate::report::tests::dataset;
    use hopwatch_model::{ClockId, Failure, Stage};

    const S: Ns = 1_000_000_000;

    #[test]
    fn a_course_has_every_message_at_its_time() {
        let course = courses(&dataset()).remove(0);
        assert_eq!((course.lane.as_str(), course.points.len(), course.elsewhere), ("lane", 60, 0));
        let lost = &course.points[9];
        assert_eq!(lost.outcome, Outcome::ServiceFailed(Stage::Ai, Failure::Failed));
        assert_eq!((lost.at_ns, lost.total_ns, lost.published_ns), (9 * S, None, None));
        let first = &course.points[0];
        assert_eq!((first.at_ns, first.communication_ns), (0, Some(8_000)));
        assert_eq!(first.published_ns, first.total_ns.map(|total| total + 3_000));
        assert!(course.gaps.is_empty());
    }

    #[test]
    fn holes_in_the_numbers_lie_between_their_neighbours() {
        let mut data = dataset();
        data.traces.retain(|trace| !matches!(trace.sequence, 20..=22 | 40));
        let straight = courses(&data);
        let gap = |from: Ns, to: Ns, n| Gap { from_ns: from * S, to_ns: to * S, n };
        assert_eq!(straight[0].gaps, [gap(19, 23, 3), gap(39, 41, 1)]);
        data.traces.reverse();
        data.traces.swap(3, 40);
        assert_eq!(courses(&data), straight);
    }

    #[test]
    fn another_clock_has_no_place_here() {
        let mut data = dataset();
        let mut far = delivered(S, 61, S);
        let taken = far.stamps.get(Hop::Taken).map(|stamp| stamp.ns);
        far.stamps.set(Hop::Taken, &ClockId::new("far"), taken.unwrap() + S / 2);
        data.traces.push(far);
        let course = courses(&data).remove(0);
        assert_eq!((course.points.len(), course.elsewhere), (60, 1));
        assert!(courses(&Dataset::default()).is_empty());
    }
}
