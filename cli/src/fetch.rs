//! Asking the collector.

use anyhow::Context;
use hopwatch_analysis::{Dataset, Event, LaneInfo};
use hopwatch_kit::net::Token;
use hopwatch_model::{Census, ClientTrace, GatewayCounters, Trace};
use hopwatch_wire::record::{Entry, Record};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// What the collector says of the run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Status {
    pub(crate) run_id: String,
    pub(crate) state: String,
    pub(crate) lanes: BTreeMap<String, LedgerSummary>,
    pub(crate) messages_not_kept: u64,
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
}

impl Collector {
    pub(crate) fn at(address: SocketAddr) -> anyhow::Result<Self> {
        let mut headers = reqwest::header::HeaderMap::new();
        if let Some(authorization) = Token::from_environment().authorization() {
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
        Ok(Self { base: format!("http://{address}"), client })
    }

    pub(crate) async fn status(&self) -> anyhow::Result<Status> {
        let text = self.get("/v1/status").await?;
        serde_json::from_str(&text).context("failed to read the collector's status")
    }

    /// Everything that was recorded, as NDJSON.
    pub(crate) async fn records(&self) -> anyhow::Result<String> {
        self.get("/v1/dataset").await
    }

    async fn get(&self, path: &str) -> anyhow::Result<String> {
        let url = format!("{}{path}", self.base);
        let reply =
            self.client.get(&url).send().await.and_then(reqwest::Response::error_for_status);
        let text = reply.with_context(|| format!("failed to ask {url}"))?.text().await;
        text.with_context(|| format!("failed to read the reply of {url}"))
    }
}

/// Records as a dataset for the report.
pub(crate) fn dataset(lines: &str) -> anyhow::Result<Dataset> {
    let mut data = Dataset::default();
    for (number, line) in lines.lines().enumerate() {
        let at = || format!("record {} can't be read", number + 1);
        let entry: Entry = serde_json::from_str(line).with_context(at)?;
        match entry.record {
            Record::Lane(lane) => {
                let info = LaneInfo {
                    name: lane.lane.clone(),
                    topic: lane.topic,
                    qos: lane.qos,
                    transport: lane.transport,
                    workers: lane.workers,
                    clock: lane.clock,
                };
                data.lanes.insert(lane.lane, info);
            }
            Record::Trace(record) => {
                let trace = Trace::try_from(*record).with_context(at)?;
                data.traces.push(Trace { gateway: entry.source, ..trace });
            }
            Record::Client(record) => {
                data.clients.push(ClientTrace::try_from(*record).with_context(at)?);
            }
            Record::Census(record) => {
                data.census.push((record.lane.clone(), Census::from(record)));
            }
            Record::Gateway(counters) => {
                data.counters.push(GatewayCounters { gateway: entry.source, ..counters });
            }
            Record::Broadcaster(counters) => data.broadcasters.push(counters),
            Record::Clients(record) => data.pages.extend(record.clients),
            Record::Gone(record) => data.gone.push((record.lane, record.account)),
            Record::Event(event) => {
                data.events.push(Event { kind: event.event, text: event.text });
            }
        }
    }
    Ok(data)
}
