//! The publishing thread: sleeps until a message is due, publishes it, and goes on.

use crate::census::Counts;
use crate::content::{Content, padded, stamp};
use crate::control::Wanted;
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
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last stretch before a message is due is spun through: about what a wake-up takes. Longer
/// would take the processor from those who are measured.
const SPIN_NS: Ns = 60_000;

/// How long a sleep may be without a look at the wish to end, and at changes.
pub(crate) const NAP_NS: Ns = 100_000_000;

/// One robot's side of the publishing thread.
pub(crate) struct Speaker {
    pub(crate) content: Content,
    pub(crate) outlets: Vec<Outlet>,
}

/// One topic of a robot.
pub(crate) struct Outlet {
    pub(crate) publisher: Publisher<RobotMessage>,
    /// The size that messages are padded to; `None`: as it is set for all.
    pub(crate) payload_bytes: Option<usize>,
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

/// A schedule, and at how many messages of each robot it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    pub(crate) schedule: Schedule,
    pub(crate) limit: Option<u64>,
}

impl Leg {
    fn ends_at(&self, position: u64) -> bool {
        let (_, index) = self.schedule.at(position);
        self.limit.is_some_and(|limit| index >= limit)
    }
}

/// Schedules that are to take over, in their order. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Arc<Mutex<VecDeque<Leg>>>);

impl Changes {
    fn legs(&self) -> MutexGuard<'_, VecDeque<Leg>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the one that `make` makes at this moment. It must begin behind it: so no message that
    /// is of the new schedule can have been published by the old one.
    pub(crate) fn add(&self, make: impl FnOnce(Ns) -> Leg) -> Leg {
        let mut legs = self.legs();
        let leg = make(mono_ns());
        legs.push_back(leg);
        leg
    }

    /// The schedule that the message at a position is of, when it isn't that of the one before.
    fn take(&self, position: u64) -> Option<Leg> {
        let mut legs = self.legs();
        let mut taken = None;
        while legs.front().is_some_and(|next| next.schedule.from() <= position) {
            taken = legs.pop_front();
        }
        taken
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
    mut leg: Leg,
    changes: &Changes,
    wanted: &Wanted,
    shutdown: &Shutdown,
) -> Result<Lateness, r2r::Error> {
    sharpen_this_thread();
    let mut lateness = Lateness::default();
    for position in leg.schedule.from().. {
        if leg.ends_at(position) {
            break;
        }
        let (robot, index) = leg.schedule.at(position);
        let Some(speaker) = usize::try_from(robot).ok().and_then(|at| speakers.get_mut(at)) else {
            break;
        };
        // Made beforehand, so that it doesn't make the message late.
        let message = speaker.content.next_message();
        let mut size = wanted.payload_bytes();
        let mut copies = copies_of(speaker, &message, size)?;
        let Some(due) = wait_for(position, &mut leg, changes, shutdown) else { break };
        if wanted.payload_bytes() != size {
            size = wanted.payload_bytes();
            copies = copies_of(speaker, &message, size)?;
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

/// A message as it goes out on each topic.
fn copies_of(
    speaker: &Speaker,
    message: &RobotMessage,
    size: usize,
) -> Result<Vec<RobotMessage>, r2r::Error> {
    let outlets = speaker.outlets.iter();
    outlets.map(|outlet| padded(message, outlet.payload_bytes.unwrap_or(size))).collect()
}

/// Waits until the message at a position is due, by the schedule that it is of then, and says when
/// that was. `None`: it is no longer to be published.
fn wait_for(position: u64, leg: &mut Leg, changes: &Changes, shutdown: &Shutdown) -> Option<Ns> {
    loop {
        if let Some(next) = changes.take(position) {
            *leg = next;
        }
        if leg.ends_at(position) {
            return None;
        }
        let (robot, index) = leg.schedule.at(position);
        let due = leg.schedule.due(robot, index);
        match nap_until(due, shutdown) {
            Nap::Ended => return None,
            Nap::Early => {}
            // A schedule that took over meanwhile knows better.
            Nap::Due => match changes.take(position) {
                Some(next) => *leg = next,
                None => return Some(due),
            },
        }
    }
}

/// How a nap ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nap {
    /// The moment has come.
    Due,
    /// It has not yet.
    Early,
    /// The wish to end came first.
    Ended,
}

/// Sleeps until `due` (monotonic), but not for longer than [`NAP_NS`].
fn nap_until(due: Ns, shutdown: &Shutdown) -> Nap {
    if shutdown.has_begun() {
        return Nap::Ended;
    }
    let now = mono_ns();
    let wake = due - SPIN_NS;
    if now < wake {
        let until = wake.min(now + NAP_NS);
        let request = Timespec { tv_sec: until / 1_000_000_000, tv_nsec: until % 1_000_000_000 };
        match clock_nanosleep_absolute(ClockId::Monotonic, &request) {
            Ok(()) | Err(Errno::INTR) => {}
            // Can't happen with this clock and a valid time; then at least don't spin for long.
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
        if mono_ns() < wake {
            return Nap::Early;
        }
        if shutdown.has_begun() {
            return Nap::Ended;
        }
    }
    while mono_ns() < due {
        std::hint::spin_loop();
    }
    Nap::Due
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn sleeping_is_never_too_short_and_ends_when_asked() {
        let shutdown = Shutdown::new();
        for after in [0, 10_000, 2_000_000, NAP_NS + MS] {
            let due = mono_ns() + after;
            while nap_until(due, &shutdown) != Nap::Due {
                assert!(mono_ns() < due);
            }
            assert!(mono_ns() >= due);
        }
        shutdown.begin();
        assert_eq!(nap_until(mono_ns() + 3_600_000_000_000, &shutdown), Nap::Ended);
    }

    /// A robot that publishes once an hour is set to 100 Hz while it sleeps.
    #[test]
    fn a_schedule_that_takes_over_is_noticed_while_one_sleeps() {
        let (shutdown, changes) = (Shutdown::new(), Changes::default());
        let slow = Schedule::new(mono_ns() - 1_000 * MS, 1.0 / 3_600.0, 1);
        let mut leg = Leg { schedule: slow, limit: Some(3) };
        assert_eq!(wait_for(0, &mut leg, &changes, &shutdown), Some(slow.start_ns()));
        let waiting = std::thread::spawn({
            let (shutdown, changes) = (shutdown.clone(), changes.clone());
            move || {
                let dues = [1, 2, 3].map(|at| wait_for(at, &mut leg, &changes, &shutdown));
                (dues, mono_ns())
            }
        });
        let fast = changes
            .add(|now| Leg { schedule: slow.changed(now + 150 * MS, 100.0), limit: Some(3) })
            .schedule;
        let (dues, done) = waiting.join().unwrap();
        let start = fast.start_ns();
        assert_eq!((fast.from(), dues), (1, [Some(start), Some(start + 10 * MS), None]));
        assert!(done >= start + 10 * MS);
    }

    #[test]
    fn of_several_schedules_each_message_is_of_the_last_one_that_has_begun() {
        let changes = Changes::default();
        let first = Schedule::new(0, 10.0, 1);
        let leg = |schedule| Leg { schedule, limit: None };
        let second = changes.add(|_| leg(first.changed(300 * MS, 20.0))).schedule;
        // Before anything of the second one was due.
        let third = changes.add(|_| leg(second.changed(300 * MS, 5.0))).schedule;
        let fourth = changes.add(|_| leg(third.changed(700 * MS, 1.0))).schedule;
        assert!(changes.take(2).is_none());
        assert_eq!(changes.take(3).map(|leg| leg.schedule), Some(third));
        assert!(changes.take(4).is_none());
        assert_eq!(changes.take(5).map(|leg| leg.schedule), Some(fourth));
    }
}
