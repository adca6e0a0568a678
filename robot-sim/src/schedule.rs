//! When each message is due, and how late the messages were. Pure.

use hopwatch_model::Ns;
use hopwatch_model::census::due_ns;
use serde::Serialize;

/// The schedule of all robots: each publishes at the same rate, and their messages are spread
/// evenly over a period.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    start_ns: Ns,
    rate_hz: f64,
    robots: u32,
}

impl Schedule {
    /// A schedule whose very first message is due at `start_ns` (monotonic).
    pub fn new(start_ns: Ns, rate_hz: f64, robots: u32) -> Self {
        Self { start_ns, rate_hz, robots }
    }

    /// When the first message of a robot (from 0) is due.
    pub fn start_of(&self, robot: u32) -> Ns {
        due_ns(self.start_ns, self.rate_hz * f64::from(self.robots), u64::from(robot))
    }

    /// When the `index`-th message (from 0) of a robot (from 0) is due.
    pub fn due(&self, robot: u32, index: u64) -> Ns {
        due_ns(self.start_of(robot), self.rate_hz, index)
    }

    /// All messages in the order in which they are due, as (robot, index); `limit` of each robot.
    pub fn order(&self, limit: Option<u64>) -> impl Iterator<Item = (u32, u64)> + use<> {
        let robots = self.robots;
        (0..limit.unwrap_or(u64::MAX)).flat_map(move |index| (0..robots).map(move |r| (r, index)))
    }
}

/// The header sequence of the `index`-th message: counts up from 0, and begins anew at 0 after
/// `i32::MAX`, since a negative sequence would look like an error.
pub fn sequence(index: u64) -> i32 {
    const RANGE: u64 = i32::MAX as u64 + 1;
    i32::try_from(index % RANGE).unwrap_or(0)
}

/// How late messages were published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Messages that were published more than 1 ms after they were due.
    pub late_over_1ms: u64,
    /// The longest that a message was late, in ns.
    pub max_late_ns: Ns,
}

impl Lateness {
    /// Counts one message.
    pub fn record(&mut self, due_ns: Ns, published_ns: Ns) {
        let late = published_ns.saturating_sub(due_ns);
        self.late_over_1ms += u64::from(late > 1_000_000);
        self.max_late_ns = self.max_late_ns.max(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_do_not_drift() {
        // 3 Hz has no whole period in ns.
        let schedule = Schedule::new(7, 3.0, 1);
        assert_eq!(schedule.due(0, 3_000_000), 7 + 1_000_000_000_000_000);
        for index in 0..10_000 {
            let gap = schedule.due(0, index + 1) - schedule.due(0, index);
            assert!((333_333_333..=333_333_334).contains(&gap), "{gap}");
        }
    }

    #[test]
    fn robots_are_spread_over_a_period() {
        let schedule = Schedule::new(1_000, 10.0, 4);
        let starts: Vec<_> = (0..4).map(|robot| schedule.start_of(robot)).collect();
        assert_eq!(starts, [1_000, 25_001_000, 50_001_000, 75_001_000]);
        // What the analysis computes from the census is the same nanosecond.
        assert_eq!(schedule.due(3, 5), due_ns(starts[3], 10.0, 5));
    }

    #[test]
    fn the_order_is_that_of_the_due_times() {
        let schedule = Schedule::new(0, 7.0, 3);
        let order: Vec<_> = schedule.order(Some(50)).collect();
        assert_eq!(order.len(), 150);
        let dues: Vec<_> = order.iter().map(|&(robot, index)| schedule.due(robot, index)).collect();
        assert!(dues.is_sorted());
        assert_eq!(schedule.order(None).nth(3_000), Some((0, 1_000)));
    }

    #[test]
    fn sequences_wrap_to_zero() {
        assert_eq!(sequence(0), 0);
        assert_eq!(sequence(2_147_483_647), i32::MAX);
        assert_eq!(sequence(2_147_483_648), 0);
        assert_eq!(sequence(2_147_483_650), 2);
    }

    #[test]
    fn lateness_counts() {
        let mut lateness = Lateness::default();
        for late in [0, 1_000_000, 1_000_001, 5_000_000, -3] {
            lateness.record(100, 100 + late);
        }
        assert_eq!(lateness, Lateness { late_over_1ms: 2, max_late_ns: 5_000_000 });
    }
}
