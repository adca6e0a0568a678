//! The gateway: takes each ROS 2 message to the AI service and on to the broadcaster, stamps
//! every hop, and records what became of it.
//!
//! `source → queue → worker: link.call(ai) → link.call(web) → trace`. The source is the ROS tap
//! (module `ros`); the core ([`pipeline`]) takes arrivals from anywhere.

pub mod config;
mod deferred;
pub mod intake;
mod links;
mod message;
mod peers;
pub mod pipeline;
mod recording;
mod ros;
mod shared_memory;
mod silence;

pub use config::{Config, Flags};

use anyhow::Context;
use axum::Router;
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
use std::sync::atomic::Ordering;
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
    let any_clock: Arc<dyn Clock> = Arc::<SystemClock>::clone(&clock);
    let link = |url: &str, token: &Token| {
        links::open(config.link, url, token, config.max_reply_bytes, &any_clock)
    };
    // Somebody else's AI service must not get our token.
    let ai_token = if config.ai_gets_token { token.clone() } else { Token::none() };
    let ai = link(&config.ai_url, &ai_token)?;
    let web = link(&config.web_url, &token)?;
    links::warm("AI", &*ai).await;
    links::warm("web", &*web).await;
    let records_end = Shutdown::new();
    let source_id = format!("gateway-{}", uuid::Uuid::new_v4());
    let (records, sending) = RecordSender::start(
        to_collector(&config, &token, &any_clock)?,
        RecordSenderConfig::new(source_id),
        records_end.clone(),
    );
    let recording = Arc::new(Recording::new(config.record_traces, records.clone()));
    let pipeline = assemble(&config, Arc::clone(&clock), ai, web, Arc::clone(&recording));
    let (workers, _) = config.capacity();
    records.send(Record::Lane(LaneRecord {
        lane: pipeline.lane.clone(),
        topic: config.topic.clone(),
        qos: config.qos().to_string(),
        transport: config.link.name().to_owned(),
        workers: u32::try_from(workers).unwrap_or(u32::MAX),
        clock: clock.id().to_string(),
    }));
    peers::ask(peers, &clock, &records, &shutdown);
    let source = Arc::new(Source::new(&config, Arc::clone(&pipeline), records));
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
    let working = tokio::spawn(Arc::clone(&pipeline).run(stop.clone()));
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
    working.await.context("the pipeline panicked")?;
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

fn to_collector(config: &Config, token: &Token, clock: &Arc<dyn Clock>) -> anyhow::Result<Http1> {
    let target =
        Target::parse(&config.collector_url).map_err(|error| Refused(error.to_string()))?;
    let max_reply_bytes = config.max_reply_bytes;
    let link = Http1Config { max_reply_bytes, token: token.clone(), ..Http1Config::new(target) };
    Ok(Http1::new(link, Arc::clone(clock))?)
}

fn assemble(
    config: &Config,
    clock: Arc<SystemClock>,
    ai: Arc<dyn Link>,
    web: Arc<dyn Link>,
    recording: Arc<Recording>,
) -> Arc<Pipeline> {
    let (workers, queue) = config.capacity();
    Arc::new(Pipeline {
        lane: config.lane(),
        clock,
        intake: Arc::new(Intake::new(workers, queue, config.drop_policy)),
        ai,
        web,
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
        let mut detail = json!(counters(&source, false));
        detail["taken_to_acked"] = json!(recording.taken_to_acked());
        detail
    })
}

fn counters(source: &Source, last: bool) -> hopwatch_model::GatewayCounters {
    hopwatch_model::GatewayCounters {
        started_ms: source.started_ms,
        message_lost: source.message_lost.load(Ordering::Relaxed),
        missed: u64::try_from(source.missed.load(Ordering::Relaxed)).unwrap_or(0),
        records_dropped: source.records.dropped(),
        last,
        ..source.pipeline.intake.counters(&source.pipeline.lane)
    }
}

/// Tells the collector how things stand, when they changed, and at the very end.
async fn report_counters(source: Arc<Source>, end: Shutdown) {
    let mut told = None;
    loop {
        let last = end.has_begun();
        let now = counters(&source, last);
        if told.as_ref() != Some(&now) {
            source.records.send(Record::Gateway(now.clone()));
            told = Some(now);
        }
        if last {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(250)) => {}
            () = end.begun() => {}
        }
    }
}
