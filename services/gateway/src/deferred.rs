//! Work that was begun on a thread of its own choice, and moves to the runtime once it is woken.

use futures_util::future::BoxFuture;
use std::mem::replace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use tokio::runtime::Handle;

/// Does `work` on this thread as far as it goes without waiting. The rest is a task of `runtime`,
/// from when there is something to go on with: spawned at once, it would wake a thread only to
/// find that there is nothing to do yet, in the very moment in which others have work to do.
pub(crate) fn begin_here(mut work: BoxFuture<'static, ()>, runtime: &Handle) {
    let deferred = Arc::new(Deferred { state: Mutex::new(State::Begun), runtime: runtime.clone() });
    let waker = Waker::from(Arc::clone(&deferred));
    let _entered = runtime.enter();
    if work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        deferred.wait(work);
    }
}

struct Deferred {
    state: Mutex<State>,
    runtime: Handle,
}

enum State {
    /// On the thread that began it.
    Begun,
    /// Still there, but there is something to go on with already.
    Woken,
    /// Waits for its first waking.
    Waits(BoxFuture<'static, ()>),
    /// A task of the runtime, which has wakers of its own.
    Spawned,
}

impl Deferred {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, work: BoxFuture<'static, ()>) {
        let mut state = self.state();
        if matches!(*state, State::Woken) {
            *state = State::Spawned;
            self.runtime.spawn(work);
        } else {
            *state = State::Waits(work);
        }
    }
}

impl Wake for Deferred {
    fn wake(self: Arc<Self>) {
        let mut state = self.state();
        match replace(&mut *state, State::Spawned) {
            State::Begun | State::Woken => *state = State::Woken,
            State::Waits(work) => drop(self.runtime.spawn(work)),
            State::Spawned => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::begin_here;
    use futures_util::FutureExt;
    use std::thread;
    use std::time::Duration;
    use tokio::runtime::Builder;
    use tokio::sync::oneshot;

    #[test]
    fn what_needs_no_waiting_is_done_on_the_thread_that_began_it() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (tell, mut told) = oneshot::channel();
        begin_here(async { tell.send(thread::current().id()).unwrap() }.boxed(), runtime.handle());
        assert_eq!(told.try_recv().unwrap(), thread::current().id());
    }

    #[test]
    fn the_rest_is_done_by_the_runtime_whenever_it_is_woken() {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        for woken_while_begun in [false, true] {
            let (wake, woken) = oneshot::channel::<()>();
            let (tell, told) = oneshot::channel();
            let mut wake = Some(wake);
            let mut now = woken_while_begun.then(|| wake.take().unwrap());
            let work = async move {
                let mut woken = woken;
                // Asked once before the waking, so that it is a waking.
                assert!((&mut woken).now_or_never().is_none());
                let waits = futures_util::future::poll_fn(move |context| {
                    let answer = woken.poll_unpin(context);
                    if let Some(now) = now.take() {
                        now.send(()).unwrap();
                    }
                    answer
                });
                waits.await.unwrap();
                // Woken again, as a task of the runtime.
                tokio::time::sleep(Duration::from_millis(1)).await;
                tell.send(thread::current().id()).unwrap();
            };
            begin_here(work.boxed(), runtime.handle());
            if let Some(wake) = wake {
                wake.send(()).unwrap();
            }
            assert_ne!(told.blocking_recv().unwrap(), thread::current().id());
        }
    }
}
