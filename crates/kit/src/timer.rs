//! Waiting to a tenth of a millisecond.
//!
//! tokio's timers have a granularity of 1 ms and overshoot by as much, so they can neither pace
//! nor imitate below that. Here a thread of its own waits on the kernel's high-resolution timer
//! with a timer slack of 1 ns, and the caller spins through the last stretch.

use crate::clock::mono_ns;
use hopwatch_model::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The stretch before a deadline that is spun through: a wake-up's usual latency, twice.
const SPIN_NS: Ns = 100_000;

/// Waits for absolute times of this host's monotonic clock.
#[derive(Clone, Debug)]
pub struct PreciseTimer(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    next_id: u64,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    due: Ns,
    id: u64,
    wake: oneshot::Sender<()>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.id) == (other.due, other.id)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.id).cmp(&(other.due, other.id))
    }
}

impl PreciseTimer {
    /// Starts the timer's thread; it ends when the last clone is dropped.
    pub fn start() -> std::io::Result<Self> {
        let waiting = Arc::new(Waiting::default());
        let for_thread = Arc::downgrade(&waiting);
        std::thread::Builder::new().name("precise-timer".to_owned()).spawn(move || {
            sharpen_this_thread();
            while let Some(waiting) = for_thread.upgrade() {
                if !wait_once(&waiting) {
                    break;
                }
            }
        })?;
        Ok(Self(waiting))
    }

    /// Returns at `due` (monotonic ns) or as soon after it as the machine allows; never before.
    pub async fn sleep_until(&self, due: Ns) {
        if due - mono_ns() > SPIN_NS {
            let (wake, woken) = oneshot::channel();
            {
                let mut queue = lock(&self.0.queue);
                let id = queue.next_id;
                queue.next_id += 1;
                queue.heap.push(Reverse(Entry { due: due - SPIN_NS, id, wake }));
            }
            self.0.changed.notify_one();
            // An error would mean that the thread is gone; then the spin below still holds.
            let _thread_gone = woken.await;
        }
        while mono_ns() < due {
            std::hint::spin_loop();
        }
    }
}

impl Drop for PreciseTimer {
    fn drop(&mut self) {
        // This clone and, for the moment of its waiting, the thread's own.
        if Arc::strong_count(&self.0) <= 2 {
            lock(&self.0.queue).closed = true;
            self.0.changed.notify_one();
        }
    }
}

/// Sets this thread's timer slack to 1 ns (default 50 µs): how late the kernel may wake it up.
pub fn sharpen_this_thread() {
    if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
        tracing::debug!(%error, "timer slack stays as it is");
    }
}

/// Waits for the next deadline or a change; false when the timer is closed.
fn wait_once(waiting: &Waiting) -> bool {
    let mut queue = lock(&waiting.queue);
    let now = mono_ns();
    while queue.heap.peek().is_some_and(|Reverse(entry)| entry.due <= now) {
        if let Some(Reverse(entry)) = queue.heap.pop() {
            // The sleeper may have been dropped (a cancelled request).
            let _cancelled = entry.wake.send(());
        }
    }
    if queue.closed {
        return false;
    }
    match queue.heap.peek() {
        Some(Reverse(entry)) => {
            let left = u64::try_from(entry.due - now).unwrap_or(0);
            drop(waiting.changed.wait_timeout(queue, Duration::from_nanos(left)));
        }
        None => drop(waiting.changed.wait(queue)),
    }
    true
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // The heap is consistent between any two statements: a panic elsewhere can't break it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn never_early_and_in_any_order() {
        let timer = PreciseTimer::start().unwrap();
        let start = mono_ns();
        let waits = [7_000_000, 1_000_000, 0, 3_000_000, 50_000].map(|after| {
            let timer = timer.clone();
            tokio::spawn(async move {
                timer.sleep_until(start + after).await;
                (after, mono_ns() - start)
            })
        });
        for wait in waits {
            let (after, took) = wait.await.unwrap();
            assert!(took >= after, "{took} < {after}");
        }
    }
}
