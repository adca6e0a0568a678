//! Many pages at one broadcaster: does each message reach those who read it soon, whatever those
//! who don't read do?
//!
//! [`measure`] starts a broadcaster of its own on a free port and takes the places of everybody
//! around it: the gateway, which hands over messages at a steady rate; the pages, of which each one
//! reads and acknowledges as a page in a browser does, or never reads; and the collector. All are on
//! one machine, so every stamp is of one clock.

mod broadcaster;
mod collector;
mod crowd;
mod frames;
mod gateway;
mod measured;
mod page;
mod system;

use anyhow::{Context, ensure};
use broadcaster::Broadcaster;
use hopwatch_kit::{Shutdown, clock};
pub use measured::{Limits, Measured, Memory, Page, Spread};
use std::path::PathBuf;
use std::time::Duration;
pub use system::Sample;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program `hopwatch-broadcaster`.
    pub broadcaster: PathBuf,
    /// Further words for its command line.
    pub words: Vec<String>,
    /// Pages, in all.
    pub pages: usize,
    /// Those of them that never read.
    pub stalled: usize,
    /// Messages a second.
    pub rate_hz: u32,
    /// For how long.
    pub seconds: u32,
    /// Sizes of the messages' bodies in bytes, in turn.
    pub body_bytes: Vec<usize>,
}

/// Each reading page keeps 8 bytes for each message.
const MOST_STAMPS: u64 = 64 << 20;
/// How long the last messages may take to reach everyone.
const PATIENCE: Duration = Duration::from_secs(10);

impl Plan {
    fn check(&self) -> anyhow::Result<()> {
        ensure!(self.stalled < self.pages, "--stalled must be below --pages: somebody has to read");
        ensure!(self.rate_hz > 0 && self.seconds > 0, "--rate and --seconds must be above 0");
        ensure!(!self.body_bytes.is_empty(), "--body-bytes names no size");
        let stamps = self.messages() * self.pages as u64;
        ensure!(
            stamps <= MOST_STAMPS,
            "{stamps} stamps are more than are kept ({MOST_STAMPS}): choose a smaller --pages, \
             --rate or --seconds"
        );
        Ok(())
    }

    /// Messages, in all.
    pub fn messages(&self) -> u64 {
        u64::from(self.rate_hz) * u64::from(self.seconds)
    }
}

/// Measures.
pub async fn measure(plan: &Plan) -> anyhow::Result<Measured> {
    plan.check()?;
    system::allow_files(plan.pages)?;
    let sockets_before = system::socket_memory();
    let collector = collector::Collector::start().await?;
    let broadcaster = Broadcaster::start(plan, collector.address()).await?;
    let idle_bytes = broadcaster.memory()?.0;
    let crowd = crowd::Crowd::gather(broadcaster.address(), plan).await?;
    let sampling_end = Shutdown::new();
    let started = clock::mono_ns();
    let cpu_before = (broadcaster.cpu()?, system::own_cpu()?);
    let samples = tokio::spawn(system::sample(
        broadcaster.pid(),
        sockets_before,
        started,
        sampling_end.clone(),
    ));
    let handed = gateway::hand_over(broadcaster.address(), plan).await?;
    let took_ns = clock::mono_ns() - started;
    let cpu = (broadcaster.cpu()?, system::own_cpu()?);
    let all_there = crowd.wait_for(handed.len() as u64, PATIENCE).await;
    let told = broadcaster.clients().await?;
    sampling_end.begin();
    let samples = samples.await.context("failed to watch the broadcaster's memory")?;
    let seen = crowd.disperse().await?;
    broadcaster.stop().await?;
    let pushes = collector.end();
    Ok(Measured {
        plan: plan.clone(),
        took_ns,
        all_there,
        memory: Memory { idle_bytes, samples },
        broadcaster_cpu: (cpu.0 - cpu_before.0) / measured::seconds(took_ns),
        own_cpu: (cpu.1 - cpu_before.1) / measured::seconds(took_ns),
        way: measured::way(&seen, &handed),
        push: Spread::of(pushes),
        answer: Spread::of(handed.iter().map(gateway::Handed::round_trip).collect()),
        pages: measured::pages(seen, &told)?,
    })
}
