//! The publishing thread: sleeps until a message is due, publishes it, and goes on.

use crate::census::Counts;
use crate::content::{Content, padded, stamp};
use crate::schedule::{Lateness, Schedule};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::{mono_ns, wall_ns};
use hopwatch_kit::timer::sharpen_this_thread;
use hopwatch_model::Ns;
use hopwatch_model::lane::turn;
use r2r::Publisher;
use r2r::hopwatch_msgs::msg::RobotMessage;
use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};
use std::sync::Arc;

/// The last stretch before a message is due is spun through: about what a wake-up takes. Longer
/// would take the processor from those who are measured.
const SPIN_NS: Ns = 60_000;

/// How long a sleep may be without a look at the wish to end.
const NAP_NS: Ns = 100_000_000;

/// One robot's side of the publishing thread.
pub(crate) struct Speaker {
    pub(crate) content: Content,
    pub(crate) outlets: Vec<Outlet>,
}

/// One topic of a robot.
pub(crate) struct Outlet {
    pub(crate) publisher: Publisher<RobotMessage>,
    /// The size that messages are padded to.
    pub(crate) payload_bytes: usize,
    pub(crate) counts: Arc<Counts>,
}

impl Outlet {
    fn publish(&self, message: &mut RobotMessage) {
        stamp(message, wall_ns());
        let published = self.publisher.publish(message);
        if let Err(error) = &published {
            // Once is enough: they are counted.
            if self.counts.read().1 == 0 {
                tracing::warn!(robot = message.header.robot_id, "failed to publish: {error}");
            }
        }
        self.counts.record(published.is_ok());
    }
}

/// Publishes every message of the schedule in turn, late ones at once; ends after `limit`
/// messages of each robot, or when `shutdown` begins.
///
/// A message goes out on each topic of its robot, one right after the other, in an order that
/// changes from message to message ([`turn`]): each with a stamp of its own, all of them due at the
/// same moment. So of those behind the first, what `publish()` of the earlier ones takes is part of
/// their `schedule` leg, for every topic equally often. Lateness is that of the first.
pub(crate) fn publish_all(
    speakers: &mut [Speaker],
    schedule: Schedule,
    limit: Option<u64>,
    shutdown: &Shutdown,
) -> Result<Lateness, r2r::Error> {
    sharpen_this_thread();
    let mut lateness = Lateness::default();
    for (robot, index) in schedule.order(limit) {
        let Some(speaker) = usize::try_from(robot).ok().and_then(|at| speakers.get_mut(at)) else {
            break;
        };
        // Made beforehand, so that it doesn't make the message late.
        let message = speaker.content.next_message();
        let mut copies = speaker
            .outlets
            .iter()
            .map(|outlet| padded(&message, outlet.payload_bytes))
            .collect::<Result<Vec<_>, _>>()?;
        let due = schedule.due(robot, index);
        if !sleep_until(due, shutdown) {
            break;
        }
        lateness.record(due, mono_ns());
        for at in turn(index, copies.len()) {
            if let (Some(outlet), Some(copy)) = (speaker.outlets.get(at), copies.get_mut(at)) {
                outlet.publish(copy);
            }
        }
    }
    Ok(lateness)
}

/// Sleeps until `due` (monotonic); false when the wish to end came first.
fn sleep_until(due: Ns, shutdown: &Shutdown) -> bool {
    loop {
        if shutdown.has_begun() {
            return false;
        }
        let now = mono_ns();
        let wake = due - SPIN_NS;
        if now >= wake {
            break;
        }
        let until = wake.min(now + NAP_NS);
        let request = Timespec { tv_sec: until / 1_000_000_000, tv_nsec: until % 1_000_000_000 };
        match clock_nanosleep_absolute(ClockId::Monotonic, &request) {
            Ok(()) | Err(Errno::INTR) => {}
            // Can't happen with this clock and a valid time; then at least don't spin for long.
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
    while mono_ns() < due {
        std::hint::spin_loop();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_never_too_short_and_ends_when_asked() {
        let shutdown = Shutdown::new();
        for after in [0, 10_000, 2_000_000] {
            let due = mono_ns() + after;
            assert!(sleep_until(due, &shutdown));
            assert!(mono_ns() >= due);
        }
        shutdown.begin();
        assert!(!sleep_until(mono_ns() + 3_600_000_000_000, &shutdown));
    }
}
