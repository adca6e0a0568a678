//! What came out, and what it is worth.

use crate::Plan;
use crate::broadcaster::Told;
use crate::gateway::Handed;
use crate::page::Seen;
use crate::system::Sample;
use anyhow::{Context, ensure};
use hopwatch_model::Ns;
use hopwatch_stats::quantile;
use std::collections::HashMap;
use std::fmt;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was asked for.
    pub plan: Plan,
    /// From the first request to the last answer, in ns.
    pub took_ns: Ns,
    /// Every page that reads received every message.
    pub all_there: bool,
    /// Of each page that reads and each message: from the broadcaster having the message to the
    /// page having it (fanout + push).
    pub way: Spread,
    /// The leg push (frame_sent → browser_received) of the pages that the broadcaster records.
    pub push: Spread,
    /// From a request to its reply: what the gateway waits for.
    pub answer: Spread,
    /// The broadcaster's memory.
    pub memory: Memory,
    /// The broadcaster's processor time, in cores.
    pub broadcaster_cpu: f64,
    /// That of everything else here, which shares the machine with it.
    pub own_cpu: f64,
    /// Each page.
    pub pages: Vec<Page>,
}

/// Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub n: usize,
    /// Quantiles by nearest rank; `None` of nothing.
    pub p50_ns: Option<Ns>,
    /// The same.
    pub p99_ns: Option<Ns>,
    /// The same.
    pub p999_ns: Option<Ns>,
    /// The longest.
    pub max_ns: Option<Ns>,
}

impl Spread {
    /// Of these times.
    pub(crate) fn of(mut times: Vec<Ns>) -> Self {
        times.sort_unstable();
        Self {
            n: times.len(),
            p50_ns: quantile(&times, 500),
            p99_ns: quantile(&times, 990),
            p999_ns: quantile(&times, 999),
            max_ns: times.last().copied(),
        }
    }
}

/// The broadcaster's memory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Resident before the first page came.
    pub idle_bytes: u64,
    /// While messages were handed over.
    pub samples: Vec<Sample>,
}

impl Memory {
    /// The most that was resident.
    pub fn most_bytes(&self) -> u64 {
        self.samples.iter().map(|sample| sample.resident_bytes).max().unwrap_or(0)
    }

    /// The most that sockets held in the kernel.
    pub fn most_socket_bytes(&self) -> u64 {
        self.samples.iter().map(|sample| sample.socket_bytes).max().unwrap_or(0)
    }
}

/// One page: what it saw, beside what the broadcaster says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// It never read.
    pub stalled: bool,
    /// Messages that it received.
    pub received: u64,
    /// Messages that it was told it lost.
    pub told_dropped: u64,
    /// Messages that came twice, or of nobody.
    pub odd: u64,
    /// Messages that the broadcaster had for it.
    pub offered: u64,
    /// Those that it wrote.
    pub sent: u64,
    /// Those that it dropped.
    pub dropped: u64,
    /// Those that it had not written at the end.
    pub waiting: u64,
    /// Acknowledgements that it took.
    pub acked: u64,
    /// Frames that were no acknowledgement.
    pub rubbish: u64,
    /// It was still connected at the end.
    pub connected: bool,
}

/// Both sides of each page.
pub(crate) fn pages(seen: Vec<Seen>, told: &[Told]) -> anyhow::Result<Vec<Page>> {
    let told: HashMap<&str, &Told> = told.iter().map(|told| (&*told.client, told)).collect();
    let page = |seen: Seen| {
        let told = told.get(&*seen.client);
        let told = told.with_context(|| format!("the broadcaster forgot page {}", seen.client))?;
        ensure!(told.connected <= 1, "several pages are called {}", seen.client);
        Ok(Page {
            stalled: seen.stalled,
            received: seen.messages,
            told_dropped: seen.told_dropped,
            odd: seen.odd,
            offered: told.offered,
            sent: told.frames_sent,
            dropped: told.frames_dropped,
            waiting: told.waiting,
            acked: told.acked,
            rubbish: told.rubbish,
            connected: told.connected == 1,
        })
    };
    seen.into_iter().map(page).collect()
}

/// From the broadcaster having a message to each page that reads having it.
pub(crate) fn way(seen: &[Seen], handed: &[Handed]) -> Spread {
    let of = |seen: &Seen| {
        let both = seen.received_ns.iter().zip(handed);
        let there = both.filter(|(received, _)| **received > 0);
        there.map(|(received, handed)| received - handed.received).collect::<Vec<_>>()
    };
    Spread::of(seen.iter().filter(|seen| !seen.stalled).flat_map(of).collect())
}

/// What the broadcaster promises.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// P99 of the way to a page that reads.
    pub p99_ns: Ns,
    /// Resident memory for each page, beside the ring and what is there without pages.
    pub page_bytes: u64,
    /// Messages in the ring.
    pub ring: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { p99_ns: 50_000_000, page_bytes: 64 << 10, ring: 256 }
    }
}

impl Limits {
    /// How much memory the broadcaster may take: what it takes by itself, the ring, its pages.
    pub fn memory_bytes(&self, measured: &Measured) -> u64 {
        let longest = measured.plan.body_bytes.iter().copied().max().unwrap_or(0) as u64;
        let pages = measured.plan.pages as u64 * self.page_bytes;
        // Records on their way, and what an allocator keeps.
        let records = 64 << 20;
        measured.memory.idle_bytes + self.ring * (longest + 1024) + pages + records
    }
}

impl Measured {
    /// What doesn't add up or was promised in vain, in sentences; none: all is well.
    ///
    /// Counts are exact: a page's own and the broadcaster's must be the same.
    pub fn accounts(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let messages = self.plan.messages();
        for (index, page) in self.pages.iter().enumerate() {
            let mut fault = |what: &str| faults.push(format!("page {index} {what}: {page:?}"));
            if page.offered != page.sent + page.dropped + page.waiting {
                fault("has messages that nobody accounts for");
            }
            if page.rubbish + page.odd > 0 {
                fault("got or sent what is odd");
            }
            if page.connected && page.offered != messages {
                fault("was connected all the time, and not offered everything");
            }
            if page.waiting > 0 && page.connected && !page.stalled && self.all_there {
                fault("has everything, and the broadcaster still holds something");
            }
            if !page.stalled && !page.connected {
                fault("reads, and was thrown out");
            }
            if !page.stalled && (page.received, page.told_dropped) != (page.sent, page.dropped) {
                fault("saw something else than the broadcaster says");
            }
        }
        faults
    }

    /// What falls short of the limits, in sentences.
    pub fn shortcomings(&self, limits: &Limits) -> Vec<String> {
        let mut short = Vec::new();
        let lost: u64 = self.readers().map(|page| page.dropped).sum();
        if lost > 0 {
            short.push(format!("pages that read lost {lost} messages"));
        } else if !self.all_there {
            short.push("some messages had not reached everybody 10 s later".to_owned());
        }
        if self.way.p99_ns.is_none_or(|p99| p99 >= limits.p99_ns) {
            let p99 = millis(self.way.p99_ns);
            short.push(format!(
                "P99 of the way to a page is {p99}, not below {}",
                millis(Some(limits.p99_ns))
            ));
        }
        let (most, allowed) = (self.memory.most_bytes(), limits.memory_bytes(self));
        if most > allowed {
            short.push(format!("the broadcaster took {}, more than {}", mib(most), mib(allowed)));
        }
        short
    }

    /// The pages that read.
    pub fn readers(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| !page.stalled)
    }

    /// Those that never read.
    pub fn stalled(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| page.stalled)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { pages, stalled, rate_hz, body_bytes, .. } = &self.plan;
        let (messages, seconds) = (self.plan.messages(), seconds(self.took_ns));
        writeln!(
            f,
            "{pages} pages, {stalled} of which never read; {messages} messages in {seconds:.1} s ({rate_hz} Hz) of {body_bytes:?} bytes in turn"
        )?;
        writeln!(
            f,
            "\n{:<44}{:>10}{:>11}{:>11}{:>11}{:>11}",
            "", "n", "P50", "P99", "P99.9", "max"
        )?;
        for (name, spread) in [
            ("handed over → received by a page that reads", &self.way),
            ("push of recorded pages", &self.push),
            ("request → reply, as the gateway waits", &self.answer),
        ] {
            let [p50, p99, p999, max] =
                [spread.p50_ns, spread.p99_ns, spread.p999_ns, spread.max_ns].map(millis);
            writeln!(f, "{name:<44}{:>10}{p50:>11}{p99:>11}{p999:>11}{max:>11}", spread.n)?;
        }
        writeln!(
            f,
            "\n{:<16}{:>7}{:>13}{:>13}{:>11}{:>11}{:>13}{:>14}{:>10}",
            "pages",
            "",
            "offered",
            "sent",
            "dropped",
            "waiting",
            "acknowledged",
            "least dropped",
            "gone"
        )?;
        for (name, of) in [("that read", false), ("that never read", true)] {
            let group = || self.pages.iter().filter(move |page| page.stalled == of);
            let sum = |field: fn(&Page) -> u64| group().map(field).sum::<u64>();
            writeln!(
                f,
                "{name:<16}{:>7}{:>13}{:>13}{:>11}{:>11}{:>13}{:>14}{:>10}",
                group().count(),
                sum(|page| page.offered),
                sum(|page| page.sent),
                sum(|page| page.dropped),
                sum(|page| page.waiting),
                sum(|page| page.acked),
                group().map(|page| page.dropped).min().unwrap_or(0),
                group().filter(|page| !page.connected).count(),
            )?;
        }
        writeln!(
            f,
            "\n{:<28}{:>12}{:>25}",
            "the broadcaster", "resident", "sockets' in the kernel"
        )?;
        writeln!(f, "{:<28}{:>12}", "  without pages", mib(self.memory.idle_bytes))?;
        let samples = &self.memory.samples;
        for part in [1, 2, 3, 4] {
            if let Some(Sample { at_ns, resident_bytes, socket_bytes }) =
                samples.get((samples.len() * part / 4).saturating_sub(1))
            {
                let at = format!("  after {:.1} s", crate::measured::seconds(*at_ns));
                writeln!(f, "{at:<28}{:>12}{:>25}", mib(*resident_bytes), mib(*socket_bytes))?;
            }
        }
        write!(
            f,
            "\nprocessors: broadcaster {:.2}, pages, gateway and collector {:.2}",
            self.broadcaster_cpu, self.own_cpu
        )
    }
}

/// Nanoseconds in seconds.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(crate) fn seconds(ns: Ns) -> f64 {
    ns as f64 / 1e9
}

fn millis(ns: Option<Ns>) -> String {
    ns.map_or("–".to_owned(), |ns| format!("{:.2} ms", seconds(ns) * 1e3))
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
#[path = "measured_tests.rs"]
mod tests;
