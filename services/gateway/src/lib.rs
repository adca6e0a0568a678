//! The gateway: takes each ROS 2 message to the AI service and on to the broadcaster, stamps
//! every hop, and records what became of it.
//!
//! `source → queue → worker: link.call(ai) → link.call(web) → trace`. The source is the ROS tap
//! (module `ros`); the core ([`pipeline`]) takes arrivals from anywhere. Each lane has a core of its
//! own: queue, workers, connections, counters. Lanes that share a topic get the same messages.

pub mod config;
mod deferred;
pub mod intake;
mod message;
mod peers;
pub mod pipeline;
mod recording;
mod ros;
mod shared_memory;
mod silence;
mod topic;

pub use config::{Config, Flags};

use anyhow::Context;
use axum::Router;
use config::{Lane, LinkKind};
use hopwatch_kit::config::Refused;
use hopwatch_kit::net::{self, Token};
use hopwatch_kit::service::Identity;
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{Http1, Http1Config, Link, Peer, RecordSender, RecordSenderConfig, Target};
use hopwatch_wire::record::{LaneRecord, Record};
use intake::Intake;
use pipeline::{Pipeline, UnderWay};
use recording::Recording;
use ros::Source;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Who this service is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-gateway",
    about: "Takes each ROS 2 message to the AI service and on to the broadcaster, and stamps every hop",
    section: "gateway",
    version: env!("CARGO_PKG_VERSION"),
};

/// Serves until the shutdown begins, or ROS fails.
pub async fn run(config: Config, shutdown: Shutdown) -> anyhow::Result<()> {
    config.check()?;
    let token = Token::from_environment();
    let clock = Arc::new(SystemClock::default());
    let peers = Peer::parse_all(&config.clock_peers)
        .map_err(|error| Refused(format!("clock_peers: {error}")))?;
    let listener = net::bind(config.listen, &token).await?;
    let lanes = config.lanes()?;
    let records_end = Shutdown::new();
    let source_id = format!("gateway-{}", uuid::Uuid::new_v4());
    let (records, sending) = RecordSender::start(
        http1(&config, &config.collector_url, false, &token, &clock)?,
        RecordSenderConfig::new(source_id),
        records_end.clone(),
    );
    let recording = Arc::new(Recording::new(config.record_traces, records.clone()));
    let mut pipelines = Vec::new();
    for lane in lanes {
        let links = links(&config, lane.link, &token, &clock).await?;
        let pipeline = assemble(&config, &lane, Arc::clone(&clock), links, Arc::clone(&recording));
        let (workers, _) = config.capacity(lane.qos);
        records.send(Record::Lane(LaneRecord {
            lane: lane.name.clone(),
            topic: lane.topic.clone(),
            qos: lane.qos.to_string(),
            transport: lane.link.name().to_owned(),
            workers: u32::try_from(workers).unwrap_or(u32::MAX),
            clock: clock.id().to_string(),
        }));
        pipelines.push((lane, pipeline));
    }
    peers::ask(peers, &clock, &records, &shutdown);
    let source = Arc::new(Source::new(&config, &pipelines, records));
    let (tap, tap_ended) = source.start(&config).map_err(|error| {
        if error.is_wrong_usage() {
            return Refused(error.to_string()).into();
        }
        anyhow::Error::new(error).context("failed to subscribe to ROS 2")
    })?;
    net::announce("gateway", &listener)?;

    let health_end = Shutdown::new();
    let serving =
        tokio::spawn(net::serve(listener, health(&source, recording), health_end.clone()));
    let counting_end = Shutdown::new();
    let reporting = tokio::spawn(report_counters(Arc::clone(&source), counting_end.clone()));
    let watching_end = Shutdown::new();
    let watching = tokio::spawn(Arc::clone(&source).watch(tap.graph(), watching_end.clone()));
    let stop = Shutdown::new();
    let working: Vec<_> = pipelines
        .into_iter()
        .map(|(_, pipeline)| tokio::spawn(pipeline.run(stop.clone())))
        .collect();
    let failed = tokio::select! {
        () = shutdown.begun() => false,
        _ = tap_ended => true,
    };
    watching_end.begin();
    watching.await.context("the watch of the ROS graph panicked")?;
    // In the order of the way: no more messages, then those under way, then their records.
    let tapped =
        tokio::task::spawn_blocking(move || tap.stop()).await.context("the tap panicked")?;
    stop.begin();
    for lane in working {
        lane.await.context("the pipeline panicked")?;
    }
    counting_end.begin();
    reporting.await.context("the report of counters panicked")?;
    records_end.begin();
    let _delivered = sending.await;
    health_end.begin();
    serving.await.context("the health service panicked")??;
    tapped.context("failed to take from ROS 2")?;
    anyhow::ensure!(!failed, "the subscription to ROS 2 ended by itself");
    Ok(())
}

/// The links to the AI service and to the broadcaster, warm if these are there already.
struct Links {
    ai: Arc<dyn Link>,
    web: Arc<dyn Link>,
}

/// Opens a lane's links: no other lane shares their connections.
async fn links(
    config: &Config,
    kind: LinkKind,
    token: &Token,
    clock: &Arc<SystemClock>,
) -> anyhow::Result<Links> {
    let fresh = kind == LinkKind::Http1Fresh;
    // Somebody else's AI service must not get our token.
    let ai_token = if config.ai_gets_token { token.clone() } else { Token::none() };
    let ai = http1(config, &config.ai_url, fresh, &ai_token, clock)?;
    let web = http1(config, &config.web_url, fresh, token, clock)?;
    for (name, link) in [("AI", &ai), ("web", &web)] {
        // Not yet there is no error: each message says so for itself.
        if let Err(error) = link.warm().await {
            tracing::warn!("the {name} service can't be reached yet: {error}");
        }
    }
    Ok(Links { ai: Arc::new(ai), web: Arc::new(web) })
}

fn http1(
    config: &Config,
    url: &str,
    fresh: bool,
    token: &Token,
    clock: &Arc<SystemClock>,
) -> anyhow::Result<Http1> {
    let target = Target::parse(url).map_err(|error| Refused(error.to_string()))?;
    let max_reply_bytes = config.max_reply_bytes;
    let link =
        Http1Config { fresh, max_reply_bytes, token: token.clone(), ..Http1Config::new(target) };
    Ok(Http1::new(link, Arc::clone(clock) as Arc<dyn Clock>)?)
}

fn assemble(
    config: &Config,
    lane: &Lane,
    clock: Arc<SystemClock>,
    links: Links,
    recording: Arc<Recording>,
) -> Arc<Pipeline> {
    let (workers, queue) = config.capacity(lane.qos);
    Arc::new(Pipeline {
        lane: lane.name.clone(),
        clock,
        intake: Arc::new(Intake::new(workers, queue, config.drop_policy)),
        ai: links.ai,
        web: links.web,
        ai_timeout: config.ai_timeout(),
        web_timeout: config.web_timeout(),
        under_way: UnderWay::default(),
        drain: Duration::from_millis(config.drain_ms),
        record: Box::new(move |trace| recording.take(trace)),
    })
}

fn health(source: &Arc<Source>, recording: Arc<Recording>) -> Router {
    let source = Arc::clone(source);
    net::healthz("gateway", move || {
        json!({
            "lanes": source.counters(false),
            "censuses_of_other_topics": source.censuses_of_other_topics(),
            "taken_to_acked": recording.taken_to_acked(),
        })
    })
}

/// Tells the collector how things stand in each lane, when they changed, and at the very end.
async fn report_counters(source: Arc<Source>, end: Shutdown) {
    let mut told = Vec::new();
    loop {
        let last = end.has_begun();
        let now = source.counters(last);
        for counters in now.iter().filter(|now| !told.contains(*now)) {
            source.records.send(Record::Gateway(counters.clone()));
        }
        told = now;
        if last {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(250)) => {}
            () = end.begun() => {}
        }
    }
}
