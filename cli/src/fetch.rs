//! Asking the collector.

use crate::network::Inside;
use anyhow::Context;
use hopwatch_kit::net::Token;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
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
        Ok(Self { base: format!("http://{address}"), client, inside })
    }

    pub(crate) async fn status(&self) -> anyhow::Result<Status> {
        let text = self.get("/v1/status").await?;
        serde_json::from_str(&text).context("failed to read the collector's status")
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
