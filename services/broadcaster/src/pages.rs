//! The pages' own threads, and how they learn that there is a message.
//!
//! Handing a message over must take as long with a thousand pages as with none: the gateway waits
//! for it. So pages are served on threads of their own, and whoever hands over rings one bell; the
//! herald on the pages' side wakes them all.

use anyhow::Context;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

/// How long pages may take to hear that the service ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// Where pages are served.
pub(crate) struct Pages {
    runtime: Runtime,
    tasks: TaskTracker,
    bell: Bell,
}

/// Rings for all pages at once. Clones are the same bell.
#[derive(Clone)]
pub(crate) struct Bell {
    ring: Arc<Notify>,
    heard: watch::Sender<()>,
}

impl Bell {
    /// There is something new. It takes as long for any number of pages.
    pub(crate) fn ring(&self) {
        self.ring.notify_one();
    }

    /// Hears of whatever is rung from now on; several rings may be heard as one.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.heard.subscribe()
    }
}

impl Pages {
    /// Starts the threads: half of the machine's processors, for the rest of the pipeline may run on
    /// the same machine.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads((processors / 2).max(1))
            .thread_name("pages")
            .enable_all()
            .build()
            .context("failed to start threads for the pages")?;
        let bell = Bell { ring: Arc::default(), heard: watch::Sender::new(()) };
        let herald = bell.clone();
        runtime.spawn(async move {
            loop {
                herald.ring.notified().await;
                herald.heard.send_replace(());
            }
        });
        Ok(Self { runtime, tasks: TaskTracker::new(), bell })
    }

    pub(crate) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Serves pages from any task.
    pub(crate) fn door(&self) -> Door {
        Door { runtime: self.runtime.handle().clone(), tasks: self.tasks.clone() }
    }

    /// Waits for the pages that leave now that the service ends, for a moment.
    pub(crate) async fn end(self) {
        self.tasks.close();
        // Whoever doesn't read doesn't hear it either.
        let _all_left = tokio::time::timeout(FAREWELL, self.tasks.wait()).await;
        self.runtime.shutdown_background();
    }
}

/// The way in for a page.
#[derive(Clone)]
pub(crate) struct Door {
    runtime: tokio::runtime::Handle,
    tasks: TaskTracker,
}

impl Door {
    /// Serves a page.
    pub(crate) fn enter(&self, page: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(page, &self.runtime);
    }
}
