//! When each message is due, and how late the messages were. Pure.

use hopwatch_model::Ns;
use hopwatch_model::census::due_ns;
use serde::Serialize;

/// The schedule of all robots: each publishes at the same rate, and their messages are spread
/// evenly over a period.
///
/// All messages have a position in the order in which they are due: robots take turns, so that
/// position p is of robot p mod n, and its message p ÷ n. Another rate is another schedule, which
/// goes on at the position where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    start_ns: Ns,
    rate_hz: f64,
    robots: u32,
    /// The position of the first message.
    from: u64,
}

impl Schedule {
    /// A schedule whose very first message is due at `start_ns` (monotonic).
    pub fn new(start_ns: Ns, rate_hz: f64, robots: u32) -> Self {
        Self { start_ns, rate_hz, robots, from: 0 }
    }

    /// The schedule that takes over at `at_ns`: what is due before is of this one, the next message
    /// is due right then, and all others at the new rate.
    #[must_use]
    pub fn changed(&self, at_ns: Ns, rate_hz: f64) -> Self {
        Self { start_ns: at_ns, rate_hz, robots: self.robots, from: self.due_before(at_ns) }
    }

    /// Messages a second, of each robot.
    pub fn rate_hz(&self) -> f64 {
        self.rate_hz
    }

    /// When it begins.
    pub fn start_ns(&self) -> Ns {
        self.start_ns
    }

    /// The position of its first message.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// The robot (from 0) and its message (from 0) at a position.
    pub fn at(&self, position: u64) -> (u32, u64) {
        let robots = u64::from(self.robots);
        (u32::try_from(position % robots).unwrap_or(0), position / robots)
    }

    /// When the first message of a robot (from 0) is due, and which one of its messages it is.
    pub fn first_of(&self, robot: u32) -> (Ns, u64) {
        let robots = u64::from(self.robots);
        let ahead = (u64::from(robot) + robots - self.from % robots) % robots;
        let start = due_ns(self.start_ns, self.rate_hz * f64::from(self.robots), ahead);
        (start, (self.from + ahead) / robots)
    }

    /// When the `index`-th message (from 0) of a robot (from 0) is due.
    pub fn due(&self, robot: u32, index: u64) -> Ns {
        let (start, first) = self.first_of(robot);
        due_ns(start, self.rate_hz, index.saturating_sub(first))
    }

    /// The position of the first message that isn't due before `at_ns`.
    fn due_before(&self, at_ns: Ns) -> u64 {
        let is_before = |position: u64| {
            let (robot, index) = self.at(position);
            self.due(robot, index) < at_ns
        };
        let mut step = 1_u64;
        while is_before(self.from.saturating_add(step)) {
            step = step.saturating_mul(2);
        }
        // All before `low` are due before, and `high` isn't.
        let (mut low, mut high) = (self.from, self.from.saturating_add(step));
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) { low = middle + 1 } else { high = middle }
        }
        low
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
        let starts: Vec<_> = (0..4).map(|robot| schedule.first_of(robot).0).collect();
        assert_eq!(starts, [1_000, 25_001_000, 50_001_000, 75_001_000]);
        // What the analysis computes from the census is the same nanosecond.
        assert_eq!(schedule.due(3, 5), due_ns(starts[3], 10.0, 5));
    }

    /// When all messages of the first `count` positions are due.
    fn dues(schedule: Schedule, positions: std::ops::Range<u64>) -> Vec<Ns> {
        let due = |position| {
            let (robot, index) = schedule.at(position);
            schedule.due(robot, index)
        };
        positions.map(due).collect()
    }

    #[test]
    fn the_order_is_that_of_the_due_times() {
        let schedule = Schedule::new(0, 7.0, 3);
        assert!(dues(schedule, 0..150).is_sorted());
        assert_eq!(schedule.at(3_000), (0, 1_000));
    }

    #[test]
    fn another_rate_goes_on_where_the_one_before_ends() {
        const MS: Ns = 1_000_000;
        let first = Schedule::new(500 * MS, 10.0, 2);
        // Due at 500, 550, 600, 650, … ms: at 640 ms it is robot 2's turn with its second message.
        let second = first.changed(640 * MS, 2.0);
        assert_eq!((second.from(), second.at(3)), (3, (1, 1)));
        assert_eq!((second.first_of(1), second.first_of(0)), ((640 * MS, 1), (890 * MS, 2)));
        assert_eq!(dues(second, 3..7), [640, 890, 1_140, 1_390].map(|ms| ms * MS));
        // What the analysis computes from the census is the same nanosecond.
        let (start, first_index) = second.first_of(0);
        assert_eq!(second.due(0, 9), due_ns(start, 2.0, 9 - first_index));
        // What is due at the very moment is of the new one; before the first nothing was due.
        assert_eq!(first.changed(650 * MS, 2.0).from(), 3);
        assert_eq!(first.changed(0, 2.0).from(), 0);
        assert_eq!(second.changed(640 * MS, 5.0).from(), 3);
    }

    #[test]
    fn no_message_is_left_out_or_due_before_its_time_whatever_is_set() {
        let mut schedule = Schedule::new(1_000, 1_000.0, 7);
        let mut end = 1_000;
        for (turn, rate) in (1..).zip([3.0, 99_999.0, 0.001, 250.0, 7.7, 1.0 / 3.0, 100_000.0]) {
            let at = schedule.start_ns() + 40_000_000 * turn;
            let next = schedule.changed(at, rate);
            let all = dues(schedule, schedule.from()..next.from());
            assert!(all.is_sorted() && all.iter().all(|due| (end..at).contains(due)), "{rate}");
            let behind = dues(schedule, next.from()..next.from() + 1);
            assert!(behind[0] >= at, "{rate}");
            (schedule, end) = (next, at);
        }
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
