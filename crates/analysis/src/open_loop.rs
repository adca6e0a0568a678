//! The two ways to count a message's time: from when it was due, and from when it was published
//! (METHOD 8).

use crate::decompose::Decomposition;
use crate::units::maybe;
use hopwatch_model::{Leg, Ns};
use hopwatch_stats::Summary;
use serde::Serialize;

/// What a robot's lateness on its own schedule makes of the P99: of the messages whose due time is
/// known, both series. Each message has its own due time; none is made up for messages that a
/// stall held back, as tools do that know no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct OpenLoop {
    /// How many messages.
    pub n: usize,
    /// P99 of intended → web_acked: what whoever relies on the schedule sees.
    pub from_schedule_p99_ns: Ns,
    /// P99 of published → web_acked: a late message begins anew here.
    pub from_publication_p99_ns: Ns,
    /// P99 of intended → published: how late the robot was.
    pub late_p99_ns: Ns,
    /// The latest that it was.
    pub late_max_ns: Ns,
    /// The first two differ by more than a tenth, 1 ms and what the clocks leave open.
    pub differs: bool,
}

/// A robot is late by this much on any host.
const SMALL: Ns = 1_000_000;

impl OpenLoop {
    /// `None` when no message's due time is known.
    pub(crate) fn of<'a>(messages: impl Iterator<Item = &'a Decomposition>) -> Option<Self> {
        let (mut due, mut published, mut late, mut open) = (vec![], vec![], vec![], 0);
        for d in messages {
            let Some(((from_due, _), (from_published, _))) = d.intended.zip(d.published) else {
                continue;
            };
            due.push(from_due);
            published.push(from_published);
            late.push(from_due.saturating_sub(from_published));
            let schedule = d.before.iter().find(|leg| leg.leg == Leg::Schedule);
            open = open.max(schedule.map_or(0, |leg| leg.half_ns));
        }
        let (due, published, late) = (Summary::of(due), Summary::of(published), Summary::of(late));
        let (schedule, publication) = (due.p99_ns?, published.p99_ns?);
        let apart = schedule.saturating_sub(publication);
        Some(Self {
            n: due.n,
            from_schedule_p99_ns: schedule,
            from_publication_p99_ns: publication,
            late_p99_ns: late.p99_ns?,
            late_max_ns: late.max_ns?,
            differs: apart > (publication / 10).max(SMALL).max(open),
        })
    }

    /// What has to be said when both ways to count tell different stories.
    pub(crate) fn said(&self) -> Option<String> {
        self.differs.then(|| {
            format!(
                "P99 from the schedule {}, from publication {}: the robot was late by up to {} \
                 (P99 {}); the first one is what a user of the schedule sees",
                maybe(Some(self.from_schedule_p99_ns)),
                maybe(Some(self.from_publication_p99_ns)),
                maybe(Some(self.late_max_ns)),
                maybe(Some(self.late_p99_ns)),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Clocks;
    use crate::decompose::decompose;
    use crate::lane::tests::{GATEWAY, delivered};
    use hopwatch_model::{Census, ClockId};

    const MS: Ns = 1_000_000;
    /// published → taken, and all legs but the AI.
    const REST: Ns = 3_000 + 8_000;

    /// 60 s at 100 Hz, AI 3 ms; the robot stands still for `stall` at the end of each 10 s.
    fn minute(stall: Ns) -> Vec<Decomposition> {
        let start = 1_000 * MS;
        let census = Census {
            robot_id: "robot_001".into(),
            instance: "i".into(),
            clock: ClockId::new(GATEWAY),
            schedule_start_ns: start,
            rate_hz: 100.0,
            first_sequence: 0,
            published: 6_000,
            failed: 0,
            last: true,
        };
        let clocks = Clocks::default();
        let period = 10_000 * MS;
        (0..6_000)
            .map(|i| {
                let due = i * 10 * MS;
                // The robot is late with what is due in the stall, and with nothing else.
                let ends = (due / period + 1) * period;
                let published = if due >= ends - stall { ends - 1 } else { due };
                let number = u64::try_from(i + 1).unwrap();
                let trace = delivered(start + published + 3_000, number, 3 * MS);
                decompose(&trace, &[&census], &clocks).unwrap()
            })
            .collect()
    }

    /// METHOD's invariant: of 6000 messages 300 are late by 10, 20, … 500 ms, 6 by each; 60 are
    /// beyond P99, those by 410 ms and more. So the P99 is that of a message late by 400 ms.
    #[test]
    fn stalls_are_seen_from_the_schedule() {
        let found = OpenLoop::of(minute(500 * MS).iter()).unwrap();
        let expected = 400 * MS - 1 + 3 * MS + REST;
        assert_eq!((found.n, found.from_schedule_p99_ns), (6_000, expected));
        assert_eq!(found.from_publication_p99_ns, 3 * MS + REST);
        assert_eq!((found.late_max_ns, found.late_p99_ns), (500 * MS - 1, 400 * MS - 1));
        let said = found.said().unwrap();
        assert!(said.starts_with("P99 from the schedule 403.0 ms, from publication 3.011 ms"));
        assert!(said.contains("late by up to 500.0 ms"), "{said}");
    }

    #[test]
    fn a_robot_in_time_has_nothing_to_be_told() {
        let found = OpenLoop::of(minute(0).iter()).unwrap();
        assert_eq!((found.late_max_ns, found.said()), (0, None));
        assert_eq!(found.from_schedule_p99_ns, found.from_publication_p99_ns);
        assert_eq!(OpenLoop::of([Decomposition::default()].iter()), None);
    }
}
