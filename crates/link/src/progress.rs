//! The stamps of a call under way: they survive its deadline.

use crate::call::{Call, CallError, Reply};
use hopwatch_kit::Clock;
use hopwatch_model::{Failure, Ns};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::error::Elapsed;

#[derive(Default)]
pub(crate) struct Progress(Mutex<Stamps>);

#[derive(Clone, Copy, Default)]
struct Stamps {
    connecting: Option<Ns>,
    first_sent: Option<Ns>,
    sent: Option<Ns>,
    retries: u32,
}

impl Progress {
    fn stamps(&self) -> MutexGuard<'_, Stamps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opening begins. Of several times the first counts.
    pub(crate) fn connecting(&self, now: Ns) {
        let mut stamps = self.stamps();
        if stamps.connecting.is_none() {
            stamps.connecting = Some(now);
        }
    }

    /// The request goes out. What went out before never arrived anywhere.
    pub(crate) fn sent(&self, now: Ns) {
        self.stamps().sent = Some(now);
    }

    /// It goes out again.
    pub(crate) fn retried(&self) {
        self.stamps().retries += 1;
    }

    /// Of the requests that went out at these times, the one that arrived was sent at `sent`.
    pub(crate) fn arrived(&self, first: Ns, sent: Ns) {
        let mut stamps = self.stamps();
        stamps.sent = Some(sent);
        stamps.first_sent = (sent != first).then_some(first);
    }

    /// A whole call: an exchange, within its deadline.
    pub(crate) async fn of(
        deadline: Duration,
        clock: &dyn Clock,
        exchange: impl AsyncFnOnce(&Self) -> Result<(Reply, Ns), CallError>,
    ) -> Call {
        let progress = Self::default();
        let result = tokio::time::timeout(deadline, exchange(&progress)).await;
        progress.call(result, deadline, clock)
    }

    /// The call, once its exchange is over or its deadline is.
    pub(crate) fn call(
        self,
        result: Result<Result<(Reply, Ns), CallError>, Elapsed>,
        deadline: Duration,
        clock: &dyn Clock,
    ) -> Call {
        let result = result.unwrap_or_else(|_elapsed| {
            let text = format!("no whole reply within {} ms", deadline.as_millis());
            Err(CallError::new(Failure::TimedOut, text))
        });
        let (result, ended) = match result {
            Ok((reply, ended)) => (Ok(reply), ended),
            Err(error) => (Err(error), clock.now()),
        };
        let Stamps { connecting, first_sent, sent, retries } =
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Call { connecting, first_sent, sent, retries, ended, result }
    }
}
