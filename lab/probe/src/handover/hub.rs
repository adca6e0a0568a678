//! Handing over inside a process, by the rules that rclcpp has for it: who gives away and who wants a
//! message of its own decides how often it is copied.

use super::frame::Frame;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A message that a consumer has.
#[derive(Debug)]
pub(super) enum Held {
    /// Of its own.
    Own(Frame),
    /// With others.
    Together(Arc<Frame>),
}

impl Deref for Held {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        match self {
            Self::Own(frame) => frame,
            Self::Together(frame) => frame,
        }
    }
}

/// What consumers want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Each a message of its own.
    Own,
    /// To read one together.
    Together,
}

/// Hands over to queues, one for each consumer.
#[derive(Debug)]
pub(super) struct Hub {
    queues: Vec<Arc<Queue>>,
    wanted: Wanted,
    /// The newest ones, for consumers that come later.
    kept: Option<VecDeque<Held>>,
    depth: usize,
}

impl Hub {
    pub(super) fn new(consumers: u32, depth: u32, wanted: Wanted, kept: bool) -> Self {
        let depth = depth as usize;
        let queues = (0..consumers).map(|_| Arc::new(Queue::new(depth))).collect();
        Self { queues, wanted, kept: kept.then(VecDeque::new), depth }
    }

    pub(super) fn queues(&self) -> &[Arc<Queue>] {
        &self.queues
    }

    /// Gives a message away: nothing is copied but what more than one wants of its own.
    pub(super) fn give(&mut self, frame: Frame) {
        match self.wanted {
            Wanted::Together => self.share(Arc::new(frame)),
            Wanted::Own => {
                // A copy is kept, and the message goes on.
                if self.kept.is_some() {
                    self.keep(Held::Own(frame.clone()));
                }
                let Some((last, others)) = self.queues.split_last() else { return };
                for queue in others {
                    queue.put(Held::Own(frame.clone()));
                }
                last.put(Held::Own(frame));
            }
        }
    }

    /// Hands on a message that its producer keeps: at least one copy.
    pub(super) fn lend(&mut self, frame: &Frame) {
        match self.wanted {
            Wanted::Together => self.share(Arc::new(frame.clone())),
            Wanted::Own => {
                for queue in &self.queues {
                    queue.put(Held::Own(frame.clone()));
                }
            }
        }
    }

    /// Hands on a message that is read together already.
    pub(super) fn share(&mut self, frame: Arc<Frame>) {
        for queue in &self.queues {
            queue.put(Held::Together(Arc::clone(&frame)));
        }
        self.keep(Held::Together(frame));
    }

    fn keep(&mut self, held: Held) {
        let Some(kept) = &mut self.kept else { return };
        if kept.len() == self.depth {
            kept.pop_front();
        }
        kept.push_back(held);
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.queues.iter().for_each(|queue| queue.close());
    }
}

/// Messages that wait for a consumer: the newest ones, the oldest first (KEEP_LAST).
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    depth: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Held>,
    closed: bool,
}

impl Queue {
    fn new(depth: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), depth }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, held: Held) {
        let mut state = self.lock();
        // Freeing a large message takes its time: not under the lock.
        let dropped =
            if state.waiting.len() == self.depth { state.waiting.pop_front() } else { None };
        state.waiting.push_back(held);
        drop(state);
        self.changed.notify_one();
        drop(dropped);
    }

    /// The oldest that waits; none: it is over.
    pub(super) fn get(&self) -> Option<Held> {
        let mut state = self.lock();
        loop {
            if let Some(held) = state.waiting.pop_front() {
                return Some(held);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::frame::Template;
    use super::*;

    fn frame(number: u64) -> Frame {
        let args = crate::handover::tests::parsed(&[
            "probe", "--role", "both", "--way", "moved", "--size", "64",
        ]);
        Template::new(&args).frame(number)
    }

    /// How many consumers have the producer's own message, and how many buffers there are.
    fn handed(wanted: Wanted, kept: bool, consumers: u32, gives: bool) -> (usize, usize) {
        let mut hub = Hub::new(consumers, 5, wanted, kept);
        let made = frame(1);
        let place = |frame: &Frame| frame.bytes.as_ptr().addr();
        let own = place(&made);
        // Held beyond the look at it: its block must not come back.
        let mut lent = None;
        if gives {
            hub.give(made);
        } else {
            hub.lend(&made);
            lent = Some(made);
        }
        let all: Vec<Held> = hub.queues().iter().map(|queue| queue.get().unwrap()).collect();
        let places: std::collections::BTreeSet<usize> =
            all.iter().map(|held| place(held)).collect();
        drop(lent);
        (all.iter().filter(|held| place(held) == own).count(), places.len())
    }

    #[test]
    fn who_gives_and_who_wants_decides_the_copies() {
        for n in [1, 2, 4] {
            let all = n as usize;
            assert_eq!(handed(Wanted::Own, false, n, true), (1, all), "N - 1 copies");
            assert_eq!(
                handed(Wanted::Own, true, n, true),
                (1, all),
                "kept: one more, that nobody has"
            );
            assert_eq!(handed(Wanted::Own, false, n, false), (0, all), "lent: N copies");
            assert_eq!(handed(Wanted::Together, false, n, true), (all, 1), "no copy");
            assert_eq!(handed(Wanted::Together, true, n, true), (all, 1), "kept: no copy");
            assert_eq!(handed(Wanted::Together, false, n, false), (0, 1), "lent: one copy");
        }
    }

    #[test]
    fn a_queue_keeps_the_newest() {
        let mut hub = Hub::new(1, 2, Wanted::Own, false);
        for number in 0..5 {
            hub.give(frame(number));
        }
        hub.close();
        let queue = &hub.queues()[0];
        let number = |held: Held| super::super::frame::head(held.payload()).unwrap().0;
        assert_eq!(queue.get().map(number), Some(3));
        assert_eq!(queue.get().map(number), Some(4));
        assert!(queue.get().is_none());
    }
}
