//! Ending in order: a signal (or the parent's end) asks, the service drains and returns.

use std::future::Future;
use tokio_util::sync::CancellationToken;

/// The wish that a service should end. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    /// Nobody wishes it yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wishes it. Any number of times is the same as once.
    pub fn begin(&self) {
        self.0.cancel();
    }

    /// Whether it has been wished.
    pub fn has_begun(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is wished.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.clone().cancelled_owned()
    }

    /// Begins on SIGINT or SIGTERM, and with `parent` also when standard input ends, which is
    /// how a program started by `hopwatch` notices that `hopwatch` is gone, however it went.
    pub fn on_signals(parent: bool) -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let shutdown = Self::new();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let begin = shutdown.clone();
        tokio::spawn(async move {
            let cause = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            };
            tracing::info!(cause, "stopping");
            begin.begin();
        });
        if parent {
            // A thread of its own: tokio's standard input would keep the runtime from ending.
            let begin = shutdown.clone();
            std::thread::Builder::new().name("parent-watch".to_owned()).spawn(move || {
                let _ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                if !begin.has_begun() {
                    tracing::info!(cause = "parent ended", "stopping");
                }
                begin.begin();
            })?;
        }
        Ok(shutdown)
    }
}
