//! All pages, on a thread of their own, so that handing over and measuring wait for none of them.

use crate::Plan;
use crate::page::{Page, Seen};
use anyhow::{Context, anyhow};
use hopwatch_kit::Shutdown;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// All pages, connected.
pub(crate) struct Crowd {
    thread: JoinHandle<anyhow::Result<Vec<Seen>>>,
    end: Shutdown,
    received: Arc<AtomicU64>,
    readers: u64,
}

impl Crowd {
    /// Connects all pages.
    pub(crate) async fn gather(address: SocketAddr, plan: &Plan) -> anyhow::Result<Self> {
        let (end, received) = (Shutdown::new(), Arc::new(AtomicU64::new(0)));
        let (tell, gathered) = oneshot::channel();
        let (own, ended, count) = (plan.clone(), end.clone(), Arc::clone(&received));
        let thread = std::thread::Builder::new()
            .name("pages".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(all(address, &own, tell, &ended, count))
            })
            .context("failed to start a thread for the pages")?;
        let readers = (plan.pages - plan.stalled) as u64;
        let crowd = Self { thread, end, received, readers };
        match gathered.await {
            Ok(()) => Ok(crowd),
            Err(_) => Err(crowd.disperse().await.err().unwrap_or_else(|| anyhow!("no pages"))),
        }
    }

    /// Waits until all that read have so many messages; whether they have.
    pub(crate) async fn wait_for(&self, messages: u64, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            if self.received.load(Ordering::Relaxed) >= messages * self.readers {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends all pages: what each one saw.
    pub(crate) async fn disperse(self) -> anyhow::Result<Vec<Seen>> {
        self.end.begin();
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        joined.context("failed to wait for the pages")?.map_err(|_| anyhow!("a page panicked"))?
    }
}

/// Which pages never read: evenly among the others.
fn stalls(page: usize, plan: &Plan) -> bool {
    (page + 1) * plan.stalled / plan.pages > page * plan.stalled / plan.pages
}

async fn all(
    address: SocketAddr,
    plan: &Plan,
    gathered: oneshot::Sender<()>,
    end: &Shutdown,
    received: Arc<AtomicU64>,
) -> anyhow::Result<Vec<Seen>> {
    let mut pages = JoinSet::new();
    for index in 0..plan.pages {
        let stalled = stalls(index, plan);
        let page = Page::connect(address, plan.messages(), stalled)
            .await
            .with_context(|| format!("of {} pages, no. {} failed", plan.pages, index + 1))?;
        let ended = end.begun();
        if stalled {
            pages.spawn(async move { Ok(page.stall(ended).await) });
        } else {
            let received = Arc::clone(&received);
            // Browsers' frames aren't in step.
            let phase = Duration::from_micros((index as u64 * 6_180) % 16_667);
            pages.spawn(async move { page.attend(phase, &received, ended).await });
        }
    }
    let _waits = gathered.send(());
    pages.join_all().await.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_never_read_are_spread_evenly() {
        for (pages, stalled) in [(1000, 100), (10, 0), (7, 3), (2, 1)] {
            let plan = Plan {
                broadcaster: "b".into(),
                words: Vec::new(),
                pages,
                stalled,
                rate_hz: 1,
                seconds: 1,
                body_bytes: vec![1],
            };
            let which: Vec<usize> = (0..pages).filter(|page| stalls(*page, &plan)).collect();
            assert_eq!(which.len(), stalled);
            let gaps = which.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.into_iter().all(|gap| gap <= pages / stalled + 1), "{which:?}");
        }
    }
}
