//! Workers that do heavy work, one job at a time: a mutually exclusive group on several threads.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Jobs that wait; beyond that the oldest is dropped, as KEEP_LAST does it.
const DEPTH: usize = 5;

/// What the workers share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A job came, the group got free, or it is over.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<u64>,
    busy: bool,
    over: bool,
}

/// What a job of a size is.
type Work = fn(u64) -> f64;

/// What a worker did: how long each job took, in ns.
pub(super) type Done = Vec<i64>;

/// The pool.
pub(super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<Done>>,
}

/// Puts jobs in, from any thread.
#[derive(Clone)]
pub(super) struct Intake(Arc<Shared>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intake {
    /// A job of so many sines.
    pub(super) fn put(&self, heavy: u64) {
        let mut state = self.0.lock();
        if state.waiting.len() >= DEPTH {
            state.waiting.pop_front();
        }
        state.waiting.push_back(heavy);
        drop(state);
        self.0.changed.notify_one();
    }
}

impl Pool {
    pub(super) fn start(threads: u32, work: Work) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let workers = (0..threads)
            .map(|number| {
                let shared = Arc::clone(&shared);
                let thread = std::thread::Builder::new().name(format!("worker-{number}"));
                thread.spawn(move || serve(&shared, work))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { shared, workers })
    }

    pub(super) fn intake(&self) -> Intake {
        Intake(Arc::clone(&self.shared))
    }

    /// Ends the workers, once what they do is done; what each of them did.
    pub(super) fn end(self) -> Vec<Done> {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
        self.workers.into_iter().map(|worker| worker.join().unwrap_or_default()).collect()
    }
}

fn serve(shared: &Shared, work: Work) -> Done {
    let mut done = Done::new();
    let mut state = shared.lock();
    loop {
        if state.over {
            return done;
        }
        let job = if state.busy { None } else { state.waiting.pop_front() };
        match job {
            Some(heavy) => {
                state.busy = true;
                drop(state);
                let began = Instant::now();
                black_box(work(heavy));
                done.push(i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX));
                state = shared.lock();
                state.busy = false;
                shared.changed.notify_one();
            }
            None => {
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// The heavy work: a sum of sines.
pub(super) fn sines(count: u64) -> f64 {
    let mut sum = 0.0;
    let mut x: f64 = 0.0;
    for _ in 0..count {
        sum += black_box(x).sin();
        x += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// Jobs that are being done, and how many of them at most.
    static AT_ONCE: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

    fn counted(_heavy: u64) -> f64 {
        let (now, most) = &AT_ONCE;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(2));
        now.fetch_sub(1, Ordering::SeqCst);
        0.0
    }

    #[test]
    fn one_job_at_a_time_by_any_worker_and_the_newest_stay() {
        let pool = Pool::start(4, counted).unwrap();
        let intake = pool.intake();
        // So many at once that the group is busy all the while.
        for _ in 0..1000 {
            intake.put(1);
        }
        let began = Instant::now();
        while !pool.shared.lock().waiting.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(30), "jobs wait for ever");
            std::thread::sleep(Duration::from_millis(1));
        }
        let done = pool.end();
        assert_eq!((done.len(), AT_ONCE.1.load(Ordering::SeqCst)), (4, 1));
        assert!((DEPTH..1000).contains(&done.concat().len()), "{done:?}");
    }

    #[test]
    fn the_sum_is_that_of_sines() {
        let exact: f64 = (0..1000).map(|i| f64::from(i).sin()).sum();
        assert!((sines(1000) - exact).abs() < 1e-9);
    }
}
