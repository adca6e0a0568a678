//! The gateway's own queue: bounded, with a policy, and everything it does is counted.

use crate::config::DropPolicy;
use bytes::Bytes;
use hopwatch_clocksync::WallBracket;
use hopwatch_model::{GatewayCounters, Ns, PublisherId};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A message as it was taken, whatever it was taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its CDR.
    pub bytes: Bytes,
    /// The DDS writer's stamp, on its host's wall clock.
    pub source_wall_ns: Ns,
    /// The DDS reader's stamp, on this host's wall clock.
    pub received_wall_ns: Ns,
    /// Its number among the writer's messages.
    pub publication_sequence: Option<u64>,
    /// The writer.
    pub publisher: PublisherId,
    /// It came after one that its writer had published later.
    pub reordered: bool,
    /// Right after the take, on the monotonic clock.
    pub taken_ns: Ns,
    /// Both clocks, read together right after.
    pub bracket: WallBracket,
}

/// What came of a message that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Offered {
    /// It waits for a worker.
    Waits,
    /// The queue was full, though a worker was free that has only not woken yet: the message that
    /// waited longest counts as being worked on, and the caller is to start it.
    Starts(Arrival),
    /// The queue was full and nobody free, or it was closed: this message had to go.
    Dropped(Arrival),
}

/// Where messages wait for a worker.
#[derive(Debug)]
pub struct Intake {
    workers: usize,
    capacity: usize,
    /// What waits may be so long in all, in bytes; a single message may be longer.
    most_bytes: usize,
    /// The same for what is worked on.
    most_working_bytes: usize,
    policy: DropPolicy,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Arrival>,
    /// Of all that waits.
    bytes: usize,
    /// Of all that is worked on.
    working_bytes: usize,
    closed: bool,
    taken: u64,
    dropped: u64,
    working: u64,
    finished: u64,
}

impl State {
    fn push(&mut self, arrival: Arrival) {
        self.bytes += arrival.bytes.len();
        self.queue.push_back(arrival);
    }

    fn pop(&mut self) -> Option<Arrival> {
        let first = self.queue.pop_front()?;
        self.bytes -= first.bytes.len();
        Some(first)
    }

    /// The first one, which from now on is worked on.
    fn begin(&mut self) -> Option<Arrival> {
        let first = self.pop()?;
        self.working += 1;
        self.working_bytes += first.bytes.len();
        Some(first)
    }
}

impl Intake {
    /// An empty queue of `capacity` places, at least one, for `workers` workers.
    pub fn new(workers: usize, capacity: usize, policy: DropPolicy) -> Self {
        let (capacity, most_bytes) = (capacity.max(1), usize::MAX);
        let (state, arrived, most_working_bytes) = (Mutex::default(), Notify::new(), usize::MAX);
        Self { workers, capacity, most_bytes, most_working_bytes, policy, state, arrived }
    }

    /// The same for so many bytes in all that wait, and that are worked on.
    #[must_use]
    pub fn of_bytes(self, most_bytes: usize, most_working_bytes: usize) -> Self {
        Self { most_bytes, most_working_bytes, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message in. While a worker is free, none is dropped.
    ///
    /// Workers are told of it when others wait already. One that is alone may be started by
    /// whoever brought it ([`Intake::start_alone`]), who has to ask once no more come.
    pub fn offer(&self, arrival: Arrival) -> Offered {
        let mut state = self.state();
        state.taken += 1;
        let offered = if state.closed {
            Offered::Dropped(arrival)
        } else if state.queue.len() < self.capacity {
            state.push(arrival);
            Offered::Waits
        } else if self.has_place(&state) || self.policy == DropPolicy::Oldest {
            state.push(arrival);
            let starts = self.has_place(&state);
            let first = if starts { state.begin() } else { state.pop() };
            match first {
                Some(first) if starts => Offered::Starts(first),
                Some(first) => Offered::Dropped(first),
                None => Offered::Waits,
            }
        } else {
            Offered::Dropped(arrival)
        };
        state.dropped += u64::from(matches!(offered, Offered::Dropped(_)));
        let others = state.queue.len() > 1;
        drop(state);
        if others {
            self.arrived.notify_one();
        }
        offered
    }

    /// A message that has to go since what waits is too long in all, by the same policy; to be asked
    /// for until there is none. The only one that waits may stay.
    ///
    /// While a worker is free it is started instead, as in [`Intake::offer`].
    pub fn overflow(&self) -> Option<Offered> {
        let mut state = self.state();
        if state.bytes <= self.most_bytes || state.queue.len() < 2 {
            return None;
        }
        if self.has_place(&state) {
            return state.begin().map(Offered::Starts);
        }
        let gone = match self.policy {
            DropPolicy::Oldest => state.pop(),
            DropPolicy::Newest => {
                let newest = state.queue.pop_back();
                state.bytes -= newest.as_ref().map_or(0, |arrival| arrival.bytes.len());
                newest
            }
        };
        state.dropped += u64::from(gone.is_some());
        gone.map(Offered::Dropped)
    }

    /// Tells workers that a message waits, in the place of [`Intake::start_alone`].
    pub fn wake(&self) {
        self.arrived.notify_one();
    }

    /// The only message that waits, if a worker is free and it `may` be started by the caller: then it
    /// counts as being worked on, and the caller is its worker. If it may not, a worker is told of it.
    pub fn start_alone(&self, may: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        let mut state = self.state();
        let alone = state.queue.len() == 1 && !state.closed && self.has_place(&state);
        if !alone {
            return None;
        }
        if !state.queue.front().is_some_and(may) {
            drop(state);
            self.arrived.notify_one();
            return None;
        }
        state.begin()
    }

    /// Whether the first that waits may be worked on: a worker is free, and it isn't too long beside
    /// what is worked on already.
    fn has_place(&self, state: &State) -> bool {
        let first = state.queue.front().map_or(0, |arrival| arrival.bytes.len());
        let bytes = state.working_bytes.saturating_add(first);
        state.working < self.places() && (state.working == 0 || bytes <= self.most_working_bytes)
    }

    fn places(&self) -> u64 {
        u64::try_from(self.workers).unwrap_or(u64::MAX)
    }

    /// The next message, once a worker is free: from now on it counts as being worked on. `None`
    /// when the queue is closed.
    pub async fn next(&self) -> Option<Arrival> {
        loop {
            {
                let mut state = self.state();
                if state.closed {
                    return None;
                }
                if self.has_place(&state)
                    && let Some(arrival) = state.begin()
                {
                    return Some(arrival);
                }
            }
            self.arrived.notified().await;
        }
    }

    /// A worker is done with a message of so many bytes, with whatever outcome.
    pub fn finished(&self, bytes: usize) {
        let mut state = self.state();
        state.working -= 1;
        state.working_bytes -= bytes;
        state.finished += 1;
        drop(state);
        self.arrived.notify_one();
    }

    /// Closes the queue: nothing more is handed out. Gives back what still waited; each counts
    /// as finished, for its outcome is known now.
    pub fn close(&self) -> Vec<Arrival> {
        let mut state = self.state();
        state.closed = true;
        let left: Vec<Arrival> = state.queue.drain(..).collect();
        state.bytes = 0;
        state.finished += left.len() as u64;
        drop(state);
        self.arrived.notify_one();
        left
    }

    /// Whether nothing waits and nothing is worked on.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.queue.is_empty() && state.working == 0
    }

    /// The counters at one moment: taken = queue_dropped + queued + working + finished.
    pub fn counters(&self, lane: &str) -> GatewayCounters {
        let state = self.state();
        GatewayCounters {
            lane: lane.to_owned(),
            taken: state.taken,
            queue_dropped: state.dropped,
            queued: state.queue.len() as u64,
            working: state.working,
            finished: state.finished,
            ..GatewayCounters::default()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn arrival(number: u64) -> Arrival {
        Arrival {
            bytes: Bytes::new(),
            source_wall_ns: 0,
            received_wall_ns: 0,
            publication_sequence: Some(number),
            publisher: PublisherId([1; 16]),
            reordered: false,
            taken_ns: 0,
            bracket: WallBracket { mono_before: 0, wall: 0, mono_after: 0 },
        }
    }

    fn number(arrival: &Arrival) -> u64 {
        arrival.publication_sequence.unwrap()
    }

    /// An intake whose only worker is busy with message 0.
    fn busy(capacity: usize, policy: DropPolicy) -> Intake {
        let intake = Intake::new(1, capacity, policy);
        assert_eq!(intake.offer(arrival(0)), Offered::Waits);
        assert!(intake.start_alone(|_| true).is_some());
        intake
    }

    #[tokio::test]
    async fn a_full_queue_gives_up_by_its_policy() {
        for (policy, gone, left) in
            [(DropPolicy::Oldest, 1, [2, 3]), (DropPolicy::Newest, 3, [1, 2])]
        {
            let intake = busy(2, policy);
            assert_eq!(intake.offer(arrival(1)), Offered::Waits);
            assert_eq!(intake.offer(arrival(2)), Offered::Waits);
            assert_eq!(intake.offer(arrival(3)), Offered::Dropped(arrival(gone)));
            for expected in left {
                intake.finished(0);
                assert_eq!(intake.next().await.as_ref().map(number), Some(expected));
            }
        }
    }

    #[test]
    fn what_a_full_queue_has_too_much_is_started_while_a_worker_is_free() {
        for policy in [DropPolicy::Oldest, DropPolicy::Newest] {
            let intake = Intake::new(2, 1, policy);
            assert_eq!(intake.offer(arrival(1)), Offered::Waits);
            assert_eq!(intake.offer(arrival(2)), Offered::Starts(arrival(1)));
            assert_eq!(intake.offer(arrival(3)), Offered::Starts(arrival(2)));
            assert!(matches!(intake.offer(arrival(4)), Offered::Dropped(_)));
        }
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_too() {
        let long = |number| Arrival { bytes: Bytes::from(vec![0; 10]), ..arrival(number) };
        let all = |intake: &Intake| -> Vec<u64> {
            std::iter::from_fn(|| intake.overflow())
                .map(|gone| match gone {
                    Offered::Dropped(gone) => number(&gone),
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        for (policy, gone) in [(DropPolicy::Oldest, [1, 2]), (DropPolicy::Newest, [4, 3])] {
            let intake = busy(9, policy).of_bytes(25, usize::MAX);
            for number in 1..=4 {
                assert_eq!(intake.offer(long(number)), Offered::Waits);
            }
            assert_eq!(all(&intake), gone);
            let counters = intake.counters("l");
            assert_eq!((counters.queue_dropped, counters.queued, counters.taken), (2, 2, 5));
        }
        let intake = busy(9, DropPolicy::Oldest).of_bytes(5, usize::MAX);
        assert_eq!(intake.offer(long(1)), Offered::Waits);
        assert!(all(&intake).is_empty(), "the only one may be longer");
        assert_eq!(intake.offer(long(2)), Offered::Waits);
        assert_eq!(all(&intake), [1]);
        intake.close();
        assert!(intake.overflow().is_none());
    }

    #[test]
    fn what_is_too_long_to_wait_is_started_while_a_worker_is_free() {
        let long = |number| Arrival { bytes: Bytes::from(vec![0; 10]), ..arrival(number) };
        let intake = Intake::new(2, 9, DropPolicy::Oldest).of_bytes(5, usize::MAX);
        for number in 1..=3 {
            assert_eq!(intake.offer(long(number)), Offered::Waits);
        }
        assert_eq!(intake.overflow(), Some(Offered::Starts(long(1))));
        assert_eq!(intake.overflow(), Some(Offered::Starts(long(2))));
        assert_eq!(intake.overflow(), None, "the only one that waits");
    }

    #[tokio::test]
    async fn what_is_worked_on_is_bounded_in_bytes_too() {
        let long = |number| Arrival { bytes: Bytes::from(vec![0; 10]), ..arrival(number) };
        let intake = Intake::new(9, 9, DropPolicy::Oldest).of_bytes(usize::MAX, 25);
        for number in 1..=4 {
            assert_eq!(intake.offer(long(number)), Offered::Waits);
        }
        assert_eq!(intake.next().await, Some(long(1)));
        assert_eq!(intake.next().await, Some(long(2)));
        assert!(intake.start_alone(|_| true).is_none());
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(10), intake.next())
                .await
                .is_err()
        );
        intake.finished(10);
        assert_eq!(intake.next().await, Some(long(3)));
        // One alone may be as long as it is.
        let intake = Intake::new(9, 9, DropPolicy::Oldest).of_bytes(usize::MAX, 5);
        assert_eq!(intake.offer(long(1)), Offered::Waits);
        assert!(intake.start_alone(|_| false).is_none());
        assert_eq!(intake.start_alone(|_| true), Some(long(1)));
    }

    #[tokio::test]
    async fn a_closed_queue_hands_out_nothing() {
        let intake = Intake::new(9, 4, DropPolicy::Oldest);
        assert_eq!(intake.offer(arrival(1)), Offered::Waits);
        assert_eq!(intake.close().iter().map(number).collect::<Vec<_>>(), [1]);
        assert!(intake.next().await.is_none());
        assert_eq!(intake.offer(arrival(2)), Offered::Dropped(arrival(2)));
        assert!(intake.is_idle());
    }

    proptest! {
        /// taken = dropped + queued + working + finished, after every step; and nothing is
        /// dropped while a worker is free.
        #[test]
        fn counters_reconcile_after_every_step(
            steps in prop::collection::vec(0u8..5, 1..200),
            capacity in 1usize..5,
            workers in 1usize..4,
            newest in any::<bool>(),
        ) {
            let policy = if newest { DropPolicy::Newest } else { DropPolicy::Oldest };
            let intake = Intake::new(workers, capacity, policy);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for (i, step) in steps.iter().enumerate() {
                let before = intake.counters("l");
                match step {
                    0 | 1 => {
                        let offered = intake.offer(arrival(i as u64));
                        let dropped = matches!(offered, Offered::Dropped(_));
                        let full = before.queued == capacity as u64;
                        prop_assert_eq!(dropped, full && before.working == workers as u64);
                    }
                    2 if before.queued > 0 && before.working < workers as u64 => {
                        drop(runtime.block_on(intake.next()));
                    }
                    4 => {
                        let alone = before.queued == 1 && before.working < workers as u64;
                        prop_assert_eq!(intake.start_alone(|_| true).is_some(), alone);
                    }
                    3 if before.working > 0 => intake.finished(0),
                    _ => {}
                }
                let c = intake.counters("l");
                prop_assert_eq!(c.taken, c.queue_dropped + c.queued + c.working + c.finished);
                prop_assert!(c.queued <= capacity as u64 && c.working <= workers as u64);
            }
            intake.close();
            let c = intake.counters("l");
            prop_assert_eq!(c.taken, c.queue_dropped + c.queued + c.working + c.finished);
        }
    }
}
