//! Records to the collector: at-least-once, in batches, with a bounded spool.

use crate::call::{Link, Request};
use crate::http1::Http1;
use bytes::Bytes;
use hopwatch_kit::Shutdown;
use hopwatch_wire::record::{EntryRef, Record};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How records are sent.
#[derive(Clone, Debug)]
pub struct RecordSenderConfig {
    /// This start of the process, unlike any other's.
    pub source: String,
    /// So many records are kept while the collector can't be reached; then new ones are dropped
    /// and counted.
    pub spool: usize,
    /// At most so many records a request.
    pub batch: usize,
    /// How long a request may take.
    pub deadline: Duration,
    /// How long to gather records before a request.
    pub linger: Duration,
    /// How long to go on trying after the wish to end.
    pub drain: Duration,
}

impl RecordSenderConfig {
    /// The defaults for a process called `source`.
    pub fn new(source: String) -> Self {
        Self {
            source,
            spool: 100_000,
            batch: 500,
            deadline: Duration::from_secs(5),
            // A request costs both ends a third of a millisecond of processor time in all, even
            // with one record; what a process has not sent is lost when it is killed.
            linger: Duration::from_millis(200),
            drain: Duration::from_secs(3),
        }
    }
}

/// Takes records and brings them to the collector in the background. Clones share the spool.
#[derive(Clone)]
pub struct RecordSender(Arc<Spool>);

struct Spool {
    config: RecordSenderConfig,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, Arc<Record>)>,
    last_number: u64,
    dropped: u64,
    /// Told by the collector's silence, once per silence.
    complained: bool,
}

impl RecordSender {
    /// Starts sending over `link`; the handle ends after the shutdown has begun and the spool is
    /// empty, or the drain time is over.
    pub fn start(
        link: Http1,
        config: RecordSenderConfig,
        shutdown: Shutdown,
    ) -> (Self, JoinHandle<()>) {
        let sender =
            Self(Arc::new(Spool { config, state: Mutex::default(), changed: Notify::new() }));
        let background = sender.clone();
        (sender, tokio::spawn(async move { background.0.run(link, shutdown).await }))
    }

    /// Takes a record. Never waits; a full spool drops it and counts.
    pub fn send(&self, record: Record) {
        let mut state = self.0.state();
        if state.waiting.len() >= self.0.config.spool {
            state.dropped += 1;
            return;
        }
        state.last_number += 1;
        let number = state.last_number;
        state.waiting.push_back((number, Arc::new(record)));
        if state.waiting.len() == 1 || state.waiting.len() == self.0.config.batch {
            self.0.changed.notify_one();
        }
    }

    /// How many records were dropped because the spool was full.
    pub fn dropped(&self) -> u64 {
        self.0.state().dropped
    }
}

impl Spool {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(&self, link: Http1, shutdown: Shutdown) {
        let ending = async {
            shutdown.begun().await;
            tokio::time::sleep(self.config.drain).await;
        };
        tokio::pin!(ending);
        let mut pause = Duration::from_millis(50);
        loop {
            let batch = self.batch();
            if batch.is_empty() {
                if shutdown.has_begun() {
                    return;
                }
                tokio::select! {
                    () = self.changed.notified() => {}
                    () = shutdown.begun() => {}
                }
                // Gathers what comes together; the live page is not asked for more often.
                if !shutdown.has_begun() {
                    tokio::time::sleep(self.config.linger).await;
                }
                continue;
            }
            let sent = tokio::select! {
                sent = self.deliver(&link, &batch) => sent,
                () = &mut ending => { self.give_up(); return }
            };
            if sent {
                pause = Duration::from_millis(50);
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(1)),
                () = &mut ending => { self.give_up(); return }
            }
        }
    }

    fn batch(&self) -> Vec<(u64, Arc<Record>)> {
        self.state().waiting.iter().take(self.config.batch).cloned().collect()
    }

    /// Sends a batch; true when the collector has it, or will never take it.
    async fn deliver(&self, link: &Http1, batch: &[(u64, Arc<Record>)]) -> bool {
        // About what a trace takes.
        let mut body = Vec::with_capacity(batch.len() * 1024);
        for (number, record) in batch {
            let entry = EntryRef { source: &self.config.source, number: *number, record };
            if serde_json::to_writer(&mut body, &entry).is_ok() {
                body.push(b'\n');
            }
        }
        let request =
            Request { trace: None, body: Bytes::from(body), deadline: self.config.deadline };
        let result = link.call(request).await.result;
        let mut state = self.state();
        match result {
            Ok(_) => {
                if std::mem::take(&mut state.complained) {
                    tracing::info!("the collector takes records again");
                }
                state.waiting.drain(..batch.len());
                true
            }
            // Refused for what it is (4xx): it would be refused for ever.
            Err(error) if error.status.is_some_and(|status| (400..500).contains(&status)) => {
                tracing::error!(records = batch.len(), "the collector refused records: {error}");
                state.dropped += batch.len() as u64;
                state.waiting.drain(..batch.len());
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut state.complained, true) {
                    tracing::warn!("the collector can't be reached, records are kept: {error}");
                }
                false
            }
        }
    }

    fn give_up(&self) {
        let mut state = self.state();
        let left = state.waiting.len();
        if left > 0 {
            state.dropped += left as u64;
            state.waiting.clear();
            tracing::error!(records = left, "records were not delivered to the collector");
        }
    }
}
