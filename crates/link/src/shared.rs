//! One connection that all requests share, opened again when it is gone.

use crate::call::CallError;
use crate::progress::Progress;
use hopwatch_kit::Clock;
use hopwatch_model::Ns;
use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What tells that a connection has ended.
pub(crate) trait Connected: Send + Sync {
    fn is_open(&self) -> bool;
}

pub(crate) struct Shared<C> {
    kept: Mutex<Option<Arc<Kept<C>>>>,
    /// Held while one is opened: the others wait for that one.
    opening: tokio::sync::Mutex<()>,
    max_idle: Ns,
}

/// A connection, and when it was last used and heard of.
pub(crate) struct Kept<C> {
    pub(crate) connection: C,
    used: AtomicI64,
    heard: AtomicI64,
}

impl<C: Connected> Shared<C> {
    /// A connection that was idle for longer than `max_idle` isn't used again.
    pub(crate) fn new(max_idle: Duration) -> Self {
        let max_idle = Ns::try_from(max_idle.as_nanos()).unwrap_or(Ns::MAX);
        Self { kept: Mutex::default(), opening: tokio::sync::Mutex::default(), max_idle }
    }

    /// The kept connection, or one that `open` makes, and whether it was made for this request.
    pub(crate) async fn take<F>(
        &self,
        clock: &dyn Clock,
        progress: &Progress,
        open: impl FnOnce() -> F,
    ) -> Result<(Arc<Kept<C>>, bool), CallError>
    where
        F: Future<Output = Result<C, CallError>>,
    {
        let now = clock.now();
        if let Some(kept) = self.usable(now) {
            return Ok((kept, false));
        }
        progress.connecting(now);
        let _turn = self.opening.lock().await;
        if let Some(kept) = self.usable(clock.now()) {
            return Ok((kept, true));
        }
        let connection = open().await?;
        let now = clock.now();
        let (used, heard) = (AtomicI64::new(now), AtomicI64::new(Ns::MIN));
        let kept = Arc::new(Kept { connection, used, heard });
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&kept));
        Ok((kept, true))
    }

    fn usable(&self, now: Ns) -> Option<Arc<Kept<C>>> {
        let mut slot = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = slot.as_ref()?;
        let idle = now.saturating_sub(kept.used.load(Ordering::Relaxed));
        if idle > self.max_idle || !kept.connection.is_open() {
            *slot = None;
            return None;
        }
        kept.used.store(now, Ordering::Relaxed);
        Some(Arc::clone(kept))
    }

    /// Doesn't use this one again.
    pub(crate) fn discard(&self, gone: &Arc<Kept<C>>) {
        let mut slot = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, gone)) {
            *slot = None;
        }
    }

    /// A request that was sent at `sent` on this connection begins to wait.
    pub(crate) fn waiting<'a>(&'a self, kept: &'a Arc<Kept<C>>, sent: Ns) -> Waiting<'a, C> {
        Waiting { shared: self, kept, sent }
    }
}

/// A request waits for its reply. Dropped without one, at its deadline, it takes the connection
/// along unless another reply came meanwhile: a peer that vanished without a word would otherwise
/// keep all requests waiting until TCP gives up.
pub(crate) struct Waiting<'a, C: Connected> {
    shared: &'a Shared<C>,
    kept: &'a Arc<Kept<C>>,
    sent: Ns,
}

impl<C: Connected> Waiting<'_, C> {
    /// A reply came.
    pub(crate) fn heard(self, now: Ns) {
        self.kept.heard.fetch_max(now, Ordering::Relaxed);
        self.kept.used.fetch_max(now, Ordering::Relaxed);
    }
}

impl<C: Connected> Drop for Waiting<'_, C> {
    fn drop(&mut self) {
        if self.kept.heard.load(Ordering::Relaxed) < self.sent {
            self.shared.discard(self.kept);
        }
    }
}
