//! The pages' own threads, and how they learn that there is a message.
//!
//! Handing a message over must take as long with a thousand pages as with none: the gateway waits
//! for it. So pages are served on threads of their own, and whoever hands over rings one bell; the
//! herald on the pages' side wakes them all.

use anyhow::Context;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

/// How long pages may take to hear that the service ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// With more messages than one in such a time, several are written to a page at once: a screen shows
/// none of them sooner, and a write costs as much as a message.
const GATHER: Duration = Duration::from_millis(5);
/// So many in a row are written one by one, as those of several lanes that come together.
const BURST: u32 = 16;

/// How often pages are woken: each time, up to a rate (a leaky bucket; ITU-T I.371's GCRA).
struct Pace {
    /// When the next one would be due, were all of them evenly spaced.
    even: Instant,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { even: now }
    }

    /// How long to wait before the next one.
    fn next(&mut self, now: Instant) -> Duration {
        let at = now.max(self.even.checked_sub(GATHER * BURST).unwrap_or(now));
        self.even = self.even.max(at) + GATHER;
        at - now
    }
}

/// Where pages are served.
pub(crate) struct Pages {
    handle: Handle,
    /// Dropped, it ends.
    threads: Threads,
    tasks: TaskTracker,
    bell: Bell,
}

/// A runtime that may be dropped on another one: it ends without being waited for.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
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
            let mut pace = Pace::new(Instant::now());
            loop {
                herald.ring.notified().await;
                let wait = pace.next(Instant::now());
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                herald.heard.send_replace(());
            }
        });
        let handle = runtime.handle().clone();
        Ok(Self { threads: Threads(Some(runtime)), handle, tasks: TaskTracker::new(), bell })
    }

    pub(crate) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Serves pages from any task.
    pub(crate) fn door(&self) -> Door {
        Door { runtime: self.handle.clone(), tasks: self.tasks.clone() }
    }

    /// Waits for the pages that leave now that the service ends, for a moment.
    pub(crate) async fn end(self) {
        self.tasks.close();
        // Whoever doesn't read doesn't hear it either.
        let _all_left = tokio::time::timeout(FAREWELL, self.tasks.wait()).await;
        drop(self.threads);
    }
}

/// The way in for a page.
#[derive(Clone)]
pub(crate) struct Door {
    runtime: Handle,
    tasks: TaskTracker,
}

impl Door {
    /// Serves a page.
    pub(crate) fn enter(&self, page: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(page, &self.runtime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each ring is heard by each page, also one that rings before the page waits for it.
    #[tokio::test]
    async fn all_pages_hear_the_bell() -> anyhow::Result<()> {
        let pages = Pages::start()?;
        let mut ears: Vec<_> = (0..1000).map(|_| pages.bell().listen()).collect();
        for _ in 0..3 {
            pages.bell().ring();
            for ear in &mut ears {
                tokio::time::timeout(Duration::from_secs(20), ear.changed()).await??;
            }
        }
        pages.end().await;
        Ok(())
    }

    /// Up to 200 messages a second none waits, nor do those that come together; of more, several are
    /// written at once.
    #[test]
    fn only_a_lasting_rate_is_gathered() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        let ms = Duration::from_millis;
        for turn in 0..100 {
            // Fifteen lanes, five times a second.
            for _ in 0..15 {
                assert_eq!(pace.next(begin + ms(200 * turn)), ms(0), "turn {turn}");
            }
        }
        let mut now = begin + ms(60_000);
        let mut rings = 0;
        while now < begin + ms(61_000) {
            let wait = pace.next(now);
            assert!(wait <= GATHER, "{wait:?}");
            // A message comes each ms, and one ring tells of all that came.
            now += wait + ms(1);
            rings += 1;
        }
        assert!((200..=200 + BURST + 2).contains(&rings), "{rings}");
    }

    /// As when the service can't listen: the threads end, and nothing panics.
    #[tokio::test]
    async fn pages_may_be_dropped_anywhere() -> anyhow::Result<()> {
        let pages = Pages::start()?;
        let (tell, told) = tokio::sync::oneshot::channel::<()>();
        pages.door().enter(async move {
            let _kept = tell;
            std::future::pending::<()>().await;
        });
        drop(pages);
        assert!(told.await.is_err(), "its page is still being served");
        Ok(())
    }
}
