//! The census: what a robot itself says it has published.

use crate::clock::{ClockId, Ns};

/// A robot's own count, and the schedule it publishes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Census {
    /// The robot.
    pub robot_id: String,
    /// This start of the robot's publisher; a restart is another instance.
    pub instance: String,
    /// The robot's monotonic clock.
    pub clock: ClockId,
    /// When the first message was due, on that clock.
    pub schedule_start_ns: Ns,
    /// Messages a second.
    pub rate_hz: f64,
    /// The header sequence of the first message.
    pub first_sequence: i32,
    /// Messages handed to `publish()` without an error so far.
    pub published: u64,
    /// Messages that `publish()` refused.
    pub failed: u64,
    /// Nothing follows from this instance.
    pub last: bool,
}

impl Census {
    /// When the message of `sequence` was due on the robot's clock (open loop, METHOD 8).
    /// `None` for a sequence before the first.
    pub fn intended_ns(&self, sequence: i32) -> Option<Ns> {
        let index = i64::from(sequence) - i64::from(self.first_sequence);
        u64::try_from(index).ok().map(|i| due_ns(self.schedule_start_ns, self.rate_hz, i))
    }
}

/// The due time of the `index`-th message of an open-loop schedule: `start + index / rate`.
///
/// Computed from the index each time, so that no rounding adds up and the schedule can't drift.
/// The robot and the analysis both call this: the same arithmetic gives the same nanosecond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "indices stay far below 2^53, and the result is meant to be whole nanoseconds"
)]
pub fn due_ns(start_ns: Ns, rate_hz: f64, index: u64) -> Ns {
    start_ns.saturating_add((index as f64 * 1e9 / rate_hz).round() as Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_does_not_drift() {
        // 1/3 s isn't a whole number of nanoseconds: an added-up period would be off by
        // 1 µs after 3,000 messages.
        assert_eq!(due_ns(5, 3.0, 3_000), 5 + 1_000_000_000_000);
        assert_eq!(due_ns(0, 500.0, 86_400 * 500), 86_400_000_000_000);
    }

    #[test]
    fn intended_counts_from_the_first_sequence() {
        let census = Census {
            robot_id: "robot_001".into(),
            instance: "i".into(),
            clock: ClockId::new("c"),
            schedule_start_ns: 100,
            rate_hz: 1.0,
            first_sequence: 10,
            published: 0,
            failed: 0,
            last: false,
        };
        assert_eq!(census.intended_ns(10), Some(100));
        assert_eq!(census.intended_ns(12), Some(2_000_000_100));
        assert_eq!(census.intended_ns(9), None);
    }
}
