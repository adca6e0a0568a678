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

/// The header's sequence begins anew after so many messages: after `i32::MAX` comes 0, or
/// `i32::MIN` where a robot lets the number overflow. Both are the same modulo 2^31.
pub const SEQUENCE_PERIOD: i64 = 1 << 31;

/// By how much `sequence` is ahead of `reference`, where both begin anew after
/// [`SEQUENCE_PERIOD`]: the shortest way, from −2^30 to 2^30 − 1.
pub fn sequence_ahead(sequence: i64, reference: i64) -> i64 {
    const HALF: i64 = SEQUENCE_PERIOD / 2;
    (sequence - reference + HALF).rem_euclid(SEQUENCE_PERIOD) - HALF
}

impl Census {
    /// When the message of `sequence` was due on the robot's clock (open loop, METHOD 8).
    /// `None` for a sequence before the first.
    ///
    /// A sequence that began anew is known by the time: of all messages that carry it, the one
    /// that was due nearest to `published_ns` (on the same clock) is meant.
    pub fn intended_ns(&self, sequence: i32, published_ns: Ns) -> Option<Ns> {
        let near = self.index_at(published_ns);
        let counted = near + i64::from(self.first_sequence);
        let index = near + sequence_ahead(i64::from(sequence), counted);
        u64::try_from(index).ok().map(|i| due_ns(self.schedule_start_ns, self.rate_hz, i))
    }

    /// The index of the message that was due about then; clipped where no index makes sense.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "only has to be right to within 2^30 messages"
    )]
    fn index_at(&self, ns: Ns) -> i64 {
        let since = ns.saturating_sub(self.schedule_start_ns) as f64;
        (since * self.rate_hz / 1e9).clamp(0.0, (1_u64 << 52) as f64) as i64
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
        assert_eq!(census.intended_ns(10, 150), Some(100));
        assert_eq!(census.intended_ns(12, 2_000_000_150), Some(2_000_000_100));
        // Published much later than it was due: still the same message.
        assert_eq!(census.intended_ns(12, 900_000_000_000), Some(2_000_000_100));
        assert_eq!(census.intended_ns(9, 150), None);
    }

    #[test]
    fn a_sequence_that_begins_anew_is_known_by_the_time() {
        let census = Census {
            robot_id: "robot_001".into(),
            instance: "i".into(),
            clock: ClockId::new("c"),
            schedule_start_ns: 0,
            rate_hz: 1e6,
            first_sequence: i32::MAX - 1,
            published: 0,
            failed: 0,
            last: false,
        };
        // i32::MAX − 1, i32::MAX, then 0 or i32::MIN, then 1 or i32::MIN + 1.
        for (sequence, due) in [
            (i32::MAX - 1, 0),
            (i32::MAX, 1_000),
            (0, 2_000),
            (i32::MIN, 2_000),
            (1, 3_000),
            (i32::MIN + 1, 3_000),
        ] {
            assert_eq!(census.intended_ns(sequence, due + 50), Some(due), "{sequence}");
            let later = due + 3 * SEQUENCE_PERIOD * 1_000;
            assert_eq!(census.intended_ns(sequence, later + 50), Some(later), "{sequence}");
        }
    }
}
