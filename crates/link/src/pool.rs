//! Idle connections, of which each is used by one request at a time.

use hopwatch_model::Ns;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) struct Pool<C> {
    idle: Mutex<Vec<(C, Ns)>>,
    max_idle: Ns,
}

impl<C> Pool<C> {
    /// Connections that were idle for longer than `max_idle` aren't used again.
    pub(crate) fn new(max_idle: Duration) -> Self {
        let max_idle = Ns::try_from(max_idle.as_nanos()).unwrap_or(Ns::MAX);
        Self { idle: Mutex::default(), max_idle }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(C, Ns)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection for the next request, and closes those that were idle for too long:
    /// the service may have closed its side, and nobody would look at them again while fewer are
    /// needed at once.
    pub(crate) fn keep(&self, connection: C, now: Ns) {
        let oldest = now.saturating_sub(self.max_idle);
        let mut idle = self.idle();
        let stale = idle.partition_point(|(_, since)| *since < oldest);
        idle.drain(..stale);
        idle.push((connection, now));
    }

    /// The connection used last, if it isn't too old: the longest idle ones age out.
    pub(crate) fn take(&self, now: Ns) -> Option<C> {
        let oldest = now.saturating_sub(self.max_idle);
        let mut idle = self.idle();
        let (connection, since) = idle.pop()?;
        if since < oldest {
            // What lies below was idle for even longer.
            idle.clear();
            return None;
        }
        Some(connection)
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        self.idle().clear();
    }
}
