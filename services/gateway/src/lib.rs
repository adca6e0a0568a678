//! The gateway: takes each ROS 2 message to the AI service and on to the broadcaster, stamps
//! every hop, and records what became of it.
//!
//! `source → queue → worker: link.call(ai) → link.call(web) → trace`. The source is the ROS tap
//! (module `ros`); the core ([`pipeline`]) takes arrivals from anywhere. Each lane has a core of its
//! own: queue, workers, connections, counters. Lanes that share a topic get the same messages.

pub mod config;
pub mod contents;
mod deferred;
mod definitions;
pub mod forms;
pub mod intake;
mod links;
pub mod look;
mod message;
mod peers;
pub mod pipeline;
pub mod probes;
mod recording;
mod ros;
mod scout;
mod shared_memory;
mod silence;
mod template;
mod told_time;
mod topic;

pub use config::{Config, Flags};

use anyhow::Context;
use axum::Router;
use config::Lane;
use contents::{Contents, Own};
use forms::TopicForm;
use hopwatch_kit::config::Refused;
use hopwatch_kit::net::{self, Token};
use hopwatch_kit::service::Identity;
use hopwatch_kit::tls::{ServerTls, Trust};
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{
    Http1, Http1Config, HttpForm, Link, LinkKind, Peer, RecordSender, RecordSenderConfig, Target,
};
use hopwatch_model::Stage;
use hopwatch_tap::TapError;
use hopwatch_wire::record::{LaneRecord, Record};
use hopwatch_wire::robot_message::ROBOT_MESSAGE;
use intake::Intake;
use pipeline::{Pipeline, UnderWay};
use probes::{Bodies, Probed, Prober};
use recording::Recording;
use ros::Source;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Who this service is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-gateway",
    about: "Takes each ROS 2 message to the AI service and on to the broadcaster, and stamps every hop",
    section: "gateway",
    version: env!("CARGO_PKG_VERSION"),
};

/// The whole program: the service, or its look at ROS for the doctor.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == look::WORD) {
        return look::main();
    }
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, run)
}

/// Serves until the shutdown begins, or ROS fails.
pub async fn run(config: Config, shutdown: Shutdown) -> anyhow::Result<()> {
    config.check()?;
    let tls = ServerTls::load(&config.tls_cert, &config.tls_key)?;
    let trust = Trust::load(&config.tls_ca)?;
    let token = Token::from_environment()?;
    let clock = Arc::new(SystemClock::default());
    let peers = Peer::parse_all(&config.clock_peers)
        .map_err(|error| Refused(format!("clock_peers: {error}")))?;
    let listener = net::bind(config.listen, &token).await?;
    let mut lanes = config.lanes()?;
    let forms = scout::complete(&config, &mut lanes, &shutdown).await.map_err(told)?;
    let any_clock: Arc<dyn Clock> = Arc::<SystemClock>::clone(&clock);
    let records_end = Shutdown::new();
    let source_id = format!("gateway-{}", uuid::Uuid::new_v4());
    let (records, sending) = RecordSender::start(
        to_collector(&config, &trust, &token, &any_clock)?,
        RecordSenderConfig::new(source_id),
        records_end.clone(),
    );
    let recording = Arc::new(Recording::new(config.record_traces, records.clone()));
    let mut pipelines = Vec::new();
    let bodies: Arc<Bodies> = Arc::default();
    let current = lanes.first().map_or(config.link, |lane| lane.link);
    let prober =
        prober(&config, current, &trust, &token, &any_clock, Arc::clone(&bodies), &records)?;
    let open =
        |lane: Lane| Ok((links(&config, lane.link, None, &trust, &token, &any_clock)?, lane));
    let opened = lanes.into_iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let each = opened.iter().flat_map(|(links, _)| [("AI", &*links.ai), ("web", &*links.web)]);
    links::warm(each, &shutdown).await;
    for (links, lane) in opened {
        let pipeline = assemble(
            &config,
            &lane,
            contents(&config, &lane, forms.get(&lane.topic))?,
            Arc::clone(&clock),
            links,
            Arc::clone(&recording),
            // Probes carry what goes over the first lane's link.
            (config.probes_hz > 0.0 && pipelines.is_empty()).then(|| Arc::clone(&bodies)),
        );
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
    let source = Source::new(&config, &pipelines, records).map_err(of_ros)?;
    let source = Arc::new(source);
    let (tap, tap_ended) = source.start(&config).map_err(of_ros)?;
    net::announce("gateway", &listener)?;

    let health_end = Shutdown::new();
    let serving =
        tokio::spawn(net::serve_by(tls, listener, health(&source, recording), health_end.clone()));
    let counting_end = Shutdown::new();
    let reporting = tokio::spawn(report_counters(Arc::clone(&source), counting_end.clone()));
    let watching_end = Shutdown::new();
    let watching = tokio::spawn(Arc::clone(&source).watch(tap.graph(), watching_end.clone()));
    let probing_end = Shutdown::new();
    let probing = prober.map(|prober| tokio::spawn(prober.run(probing_end.clone())));
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
    let watched = watching.await.context("the watch of the ROS graph panicked");
    // In the order of the way: no more messages, then those under way, then their records.
    let tapped =
        tokio::task::spawn_blocking(move || tap.stop()).await.context("the tap panicked")?;
    probing_end.begin();
    let probed = match probing {
        Some(probing) => probing.await.context("the probes panicked"),
        None => Ok(()),
    };
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
    // What only looks on is told of when the messages and their records are safe.
    watched?;
    probed?;
    tapped.context("failed to take from ROS 2")?;
    anyhow::ensure!(!failed, "the subscription to ROS 2 ended by itself");
    Ok(())
}

/// What ROS refuses is the user's to mend.
fn of_ros(error: TapError) -> anyhow::Error {
    if error.is_wrong_usage() {
        return Refused(error.to_string()).into();
    }
    anyhow::Error::new(error).context("failed to subscribe to ROS 2")
}

/// The same of an error that may be one of ROS.
fn told(error: anyhow::Error) -> anyhow::Error {
    error.downcast::<TapError>().map_or_else(|other| other, of_ros)
}

/// What a lane's messages hold; with a form, they are of a topic of one's own.
fn contents(config: &Config, lane: &Lane, form: Option<&TopicForm>) -> anyhow::Result<Contents> {
    let own = |form: &TopicForm| {
        let of = lane.message_type.as_str();
        if of == ROBOT_MESSAGE {
            return form.is_of_robots(&lane.topic).map(|()| None);
        }
        let schema = Own::needs_schema(form, &config.ai, &config.web)
            .then(|| definitions::schema(of))
            .transpose()?;
        let base64 = config.ai.base64(&config.web);
        Own::new(&lane.topic, of, form, base64, schema).map(Some)
    };
    let own = form.map(own).transpose()?.flatten();
    Ok(Contents::new(own, &config.ai, &config.web)?)
}

/// The links to the AI service and to the broadcaster.
struct Links {
    ai: Arc<dyn Link>,
    web: Arc<dyn Link>,
}

/// Opens links of a kind: nothing else shares their connections. The services' paths are replaced
/// where one is given.
fn links(
    config: &Config,
    kind: LinkKind,
    path: Option<&str>,
    trust: &Trust,
    token: &Token,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<Links> {
    let open = |url: &str, token: &Token, form: HttpForm, content_type: &'static str| {
        links::open(kind, url, path, trust, clock, |link| {
            link.max_reply_bytes = config.max_reply_bytes;
            link.token = token.clone();
            link.form = form;
            link.content_type = content_type;
        })
    };
    let environment = |name: &str| std::env::var(name).ok();
    // Echo handlers are ours, and take what they get.
    let form = |own: Result<HttpForm, Refused>| path.map_or(own, |_| Ok(HttpForm::default()));
    // Somebody else's service must not get our token.
    let shown = |is_ours: bool| if is_ours { token.clone() } else { Token::none() };
    let (ai_token, web_token) = (shown(config.ai_gets_token), shown(config.web_is_ours()));
    let media_type = config.ai.content_type();
    let ai = open(&config.ai_url, &ai_token, form(config.ai.http(&environment))?, media_type)?;
    let web_form = form(config.web.http(&environment))?;
    let web = open(&config.web_url, &web_token, web_form, "application/json")?;
    // Echo handlers tell their time as all of ours do.
    let ai = if path.is_none() { told_time::told_time(ai, &config.ai) } else { ai };
    Ok(Links { ai, web })
}

fn to_collector(
    config: &Config,
    trust: &Trust,
    token: &Token,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<Http1> {
    let target =
        Target::parse(&config.collector_url).map_err(|error| Refused(error.to_string()))?;
    let target = target.trusting(trust);
    let max_reply_bytes = config.max_reply_bytes;
    let link = Http1Config { max_reply_bytes, token: token.clone(), ..Http1Config::new(target) };
    Ok(Http1::new(link, Arc::clone(clock))?)
}

/// What probes the links; `None` when nobody wants that.
fn prober(
    config: &Config,
    current: LinkKind,
    trust: &Trust,
    token: &Token,
    clock: &Arc<dyn Clock>,
    bodies: Arc<Bodies>,
    records: &RecordSender,
) -> anyhow::Result<Option<Prober>> {
    if config.probes_hz <= 0.0 {
        return Ok(None);
    }
    let mut probed = Vec::new();
    for kind in config.probe_links(current)? {
        let is_current = kind == current;
        let Links { ai, web } =
            links(config, kind, Some(hopwatch_link::ECHO), trust, token, clock)?;
        // Nobody else's service has an echo handler.
        if config.ai_gets_token {
            probed.push(Probed { kind, stage: Stage::Ai, link: ai, is_current });
        }
        if config.web_is_ours() {
            probed.push(Probed { kind, stage: Stage::Web, link: web, is_current });
        }
    }
    let records = records.clone();
    Ok(Some(Prober {
        rate_hz: config.probes_hz,
        links: probed,
        bodies,
        deadline: config.web_timeout(),
        record: Box::new(move |probe| records.send(Record::Probe(Box::new(probe)))),
    }))
}

fn assemble(
    config: &Config,
    lane: &Lane,
    contents: Contents,
    clock: Arc<SystemClock>,
    links: Links,
    recording: Arc<Recording>,
    bodies: Option<Arc<Bodies>>,
) -> Arc<Pipeline> {
    let (workers, queue) = config.capacity(lane.qos);
    let bytes = |mb: u64| usize::try_from(mb.saturating_mul(1_000_000)).unwrap_or(usize::MAX);
    let (waiting, working) = (bytes(config.queue_mb), bytes(config.in_flight_mb));
    Arc::new(Pipeline {
        lane: lane.name.clone(),
        contents,
        clock,
        intake: Arc::new(
            Intake::new(workers, queue, config.drop_policy).of_bytes(waiting, working),
        ),
        ai: links.ai,
        web: links.web,
        ai_timeout: config.ai_timeout(),
        web_timeout: config.web_timeout(),
        under_way: UnderWay::default(),
        drain: Duration::from_millis(config.drain_ms),
        record: Box::new(move |trace| recording.take(trace)),
        bodies,
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
