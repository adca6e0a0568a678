//! Asking the collector.

use crate::network::Inside;
use anyhow::Context;
use hopwatch_kit::net::Token;
use hopwatch_wire::record::{EntryRef, EventRecord, Record};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the collector says of the run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Status {
    pub(crate) state: String,
    pub(crate) lanes: BTreeMap<String, LedgerSummary>,
}

/// The parts of a ledger that progress shows.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct LedgerSummary {
    pub(crate) published: u64,
    pub(crate) delivered: u64,
    pub(crate) in_flight: u64,
}

/// The collector at an address.
pub(crate) struct Collector {
    base: String,
    client: reqwest::Client,
    /// What this process tells it: its name as a source, and how many entries there were.
    source: String,
    told: AtomicU64,
    /// Where it can be reached from, if not from here.
    inside: Option<Inside>,
}

impl Collector {
    pub(crate) fn at(
        address: SocketAddr,
        token: &Token,
        inside: Option<Inside>,
    ) -> anyhow::Result<Self> {
        let mut headers = reqwest::header::HeaderMap::new();
        if let Some(authorization) = token.authorization() {
            let value =
                authorization.parse().context("HOPWATCH_TOKEN can't be put into a header")?;
            headers.insert(reqwest::header::AUTHORIZATION, value);
        }
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(15))
            .no_proxy()
            .default_headers(headers)
            .build()
            .context("failed to make an HTTP client")?;
        let source = format!("hopwatch-{}", uuid::Uuid::new_v4());
        Ok(Self {
            base: format!("http://{address}"),
            client,
            source,
            told: AtomicU64::new(0),
            inside,
        })
    }

    pub(crate) async fn status(&self) -> anyhow::Result<Status> {
        let text = self.get("/v1/status").await?;
        serde_json::from_str(&text).context("failed to read the collector's status")
    }

    /// Tells it an event.
    pub(crate) async fn tell(&self, event: &str, text: String) -> anyhow::Result<()> {
        let record = Record::Event(EventRecord { event: event.to_owned(), text });
        let number = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = EntryRef { source: &self.source, number, record: &record };
        let line = serde_json::to_string(&entry).context("failed to write a record")?;
        let url = format!("{}/v1/records", self.base);
        let telling = post(self.client.clone(), url, line);
        match &self.inside {
            Some(inside) => inside.run(telling).await?,
            None => telling.await,
        }
    }

    async fn get(&self, path: &str) -> anyhow::Result<String> {
        let url = format!("{}{path}", self.base);
        let asking = ask(self.client.clone(), url);
        match &self.inside {
            Some(inside) => inside.run(asking).await?,
            None => asking.await,
        }
    }
}

async fn ask(client: reqwest::Client, url: String) -> anyhow::Result<String> {
    let reply = client.get(&url).send().await.and_then(reqwest::Response::error_for_status);
    let text = reply.with_context(|| format!("failed to ask {url}"))?.text().await;
    text.with_context(|| format!("failed to read the reply of {url}"))
}

async fn post(client: reqwest::Client, url: String, body: String) -> anyhow::Result<()> {
    let reply = client.post(&url).body(body).send().await;
    let reply = reply.and_then(reqwest::Response::error_for_status);
    reply.map(drop).with_context(|| format!("failed to tell {url}"))
}
