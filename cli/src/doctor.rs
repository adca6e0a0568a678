//! `hopwatch doctor`: why it doesn't work, or doesn't measure well, and what to do.
//!
//! [`look`] gathers, [`judge`] says what it means (pure), [`mod@print`] says it.

mod clean;
mod finding;
mod judge;
mod look;
mod print;

use crate::args::Usage;
use crate::report::print as print_out;
use anyhow::Context;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use finding::Severity;
use hopwatch_kit::config;
use hopwatch_kit::service::exit;
use hopwatch_model::lane::{self, LaneSpec};
use hopwatch_wire::robot_message::{Header, RobotMessage};
use http::Method;
use look::{Facts, Looked, Question, Ros};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its own exit code: problems were found.
const PROBLEMS: u8 = 1;
/// Topics of one configuration that are looked at, each for some seconds.
const MOST_TOPICS: usize = 4;

#[derive(Clone, Debug, Args)]
#[command(after_help = crate::help::DOCTOR)]
pub(crate) struct Doctor {
    /// ROS topic to look at and to take from [default: those of the configuration, else none]
    #[arg(long, value_name = "/T")]
    topic: Option<String>,
    /// Its message type, package/msg/Type [default: what is published]
    #[arg(long = "type", value_name = "TYPE", requires = "topic")]
    topic_type: Option<String>,
    /// QoS to subscribe with; match: what all publishers offer [default: of the configuration, else
    /// match]
    #[arg(long, value_enum)]
    qos: Option<AskedQos>,
    /// ROS domain [default: as ROS_DOMAIN_ID says, else 0]
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=232))]
    domain: Option<u8>,
    /// How long to wait for publishers, and then for messages, at most
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = wait)]
    wait: Duration,
    /// AI service to ask: up to 20 requests are sent to it, over one connection
    #[arg(long, value_name = "URL")]
    ai_url: Option<String>,
    /// Method of these requests
    #[arg(long, value_name = "METHOD", default_value = "POST", requires = "ai_url", value_parser = method)]
    ai_method: Method,
    /// File with the body of these requests [default: a robot's message as JSON; of GET and HEAD none]
    #[arg(long, value_name = "FILE", requires = "ai_url")]
    ai_body: Option<PathBuf>,
    /// Print JSON (schema hopwatch.doctor/1) instead of text
    #[arg(long)]
    json: bool,
    /// Remove what killed processes left in /dev/shm: this user's own, and only when no DDS
    /// participant is alive
    #[arg(long)]
    clean: bool,
    /// TOML file that a run would get: topics, QoS and AI service are taken from it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AskedQos {
    Match,
    Reliable,
    BestEffort,
}

fn wait(text: &str) -> Result<Duration, String> {
    let wait = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let limits = Duration::from_millis(100)..=Duration::from_secs(60);
    if limits.contains(&wait) {
        Ok(wait)
    } else {
        Err("must lie between 100ms and 1min".to_owned())
    }
}

fn method(text: &str) -> Result<Method, String> {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT];
    let method = known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(text));
    method.ok_or_else(|| "must be GET, HEAD, POST or PUT".to_owned())
}

/// Looks, judges, prints.
pub(crate) async fn run(doctor: Doctor) -> anyhow::Result<u8> {
    let configured = Configured::load(doctor.config.as_deref())?;
    let cleaned = doctor.clean.then(|| clean::clean(Path::new(look::memory::FOLDER)));
    let facts = gather(&doctor, configured).await?;
    let findings = judge::judge(&facts, cleaned.as_ref());
    let text = if doctor.json {
        print::json(&findings, cleaned.as_ref()).context("failed to write JSON")?
    } else {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        print::text(&findings, std::io::stdout().is_terminal() && !plain)
    };
    print_out(|out| out.write_all(text.as_bytes()))?;
    let problems = print::count(&findings, Severity::Problem);
    Ok(if problems > 0 { PROBLEMS } else { exit::OK })
}

async fn gather(doctor: &Doctor, configured: Configured) -> anyhow::Result<Facts> {
    // Before anything else is under way here.
    let clocks = look::host::Clocks::look().await;
    let question = service_question(doctor)?;
    let topics = match &doctor.topic {
        Some(topic) => vec![Some(topic.clone())],
        None if configured.topics.is_empty() => vec![None],
        None => configured.topics.into_iter().map(Some).collect(),
    };
    let asked = doctor.qos.map(|qos| crate::args::name(&qos)).or(configured.qos);
    let mut looked = Vec::new();
    for topic in topics {
        let question = Question {
            topic: topic.clone(),
            topic_type: doctor.topic_type.clone(),
            qos: asked.clone(),
            domain: doctor.domain,
            wait: doctor.wait,
        };
        looked.push((topic, look::ask(&question).await));
        if matches!(looked.last(), Some((_, Looked::NotBuilt | Looked::Failed(_)))) {
            break;
        }
    }
    let service = match &question {
        Some(question) => {
            let (most, of) = (look::service::REQUESTS, &question.method);
            tell!("sending up to {most} {of} requests to {}", question.url);
            Some(look::service::ask(question).await)
        }
        None => None,
    };
    let blocking = tokio::task::spawn_blocking(|| {
        let memory = look::memory::Memory::look(Path::new(look::memory::FOLDER));
        (memory, look::ports::look(&look::ports::USUAL), look::loss::Impairment::look())
    });
    let (memory, ports, impairment) = blocking.await.context("the look at this host panicked")?;
    Ok(Facts {
        ros: Ros::look(|name| std::env::var(name).ok(), doctor.domain),
        topics: looked,
        memory,
        clocks,
        processors: look::host::Processors::look(),
        ports,
        configured_service: configured.ai_url.filter(|_| service.is_none()),
        service,
        place: look::place::Place::look(),
        impairment,
    })
}

/// What the AI service is asked, if anything.
fn service_question(doctor: &Doctor) -> anyhow::Result<Option<look::service::Question>> {
    let Some(url) = doctor.ai_url.clone() else { return Ok(None) };
    hopwatch_link::Target::parse(&url).map_err(|error| Usage(format!("--ai-url: {error}")))?;
    let method = doctor.ai_method.clone();
    let body = match &doctor.ai_body {
        Some(file) => std::fs::read(file).map(Bytes::from).map_err(|error| {
            Usage(format!("--ai-body: failed to read {}: {error}", file.display()))
        })?,
        None if method == Method::GET || method == Method::HEAD => Bytes::new(),
        None => serde_json::to_vec(&message()).context("failed to write a message")?.into(),
    };
    Ok(Some(look::service::Question { url, method, body }))
}

/// What a robot would have sent.
fn message() -> RobotMessage<'static> {
    RobotMessage {
        header: Header {
            message_id: "00000000-0000-4000-8000-000000000000".into(),
            timestamp_sec: hopwatch_kit::clock::wall_ns() / 1_000_000_000,
            timestamp_nsec: 0,
            robot_id: "hopwatch_doctor".into(),
            message_type: "status".into(),
            priority: 3,
            sequence: 0,
        },
        battery: 97.5,
        robot_status: "running".into(),
        command: "".into(),
        error_message: "".into(),
    }
}

/// What a configuration says of where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Configured {
    topics: Vec<String>,
    qos: Option<String>,
    ai_url: Option<String>,
}

/// The gateway's keys that matter here; it reads all of them itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Keys {
    topic: Option<String>,
    qos: Option<String>,
    lanes: Option<String>,
    ai_url: Option<String>,
}

impl Configured {
    /// From the file and the environment, as the gateway would be configured by them.
    fn load(file: Option<&Path>) -> Result<Self, Usage> {
        let none = BTreeMap::<String, String>::new();
        let keys: Keys = config::load("gateway", file, config::environment(), &none)
            .map_err(|error| Usage(error.to_string()))?;
        let specs = match keys.lanes.as_deref().filter(|lanes| !lanes.is_empty()) {
            Some(lanes) => LaneSpec::parse_all(lanes)
                .map_err(|error| Usage(format!("configuration: gateway.lanes: {error}")))?,
            None => Vec::new(),
        };
        let mut topics = Vec::new();
        if !specs.is_empty() {
            let topic = keys.topic.as_deref().unwrap_or("/robot_messages");
            let lanes = lane::resolve(&specs, topic)
                .map_err(|error| Usage(format!("configuration: gateway.lanes: {error}")))?;
            topics.extend(lanes.into_iter().map(|lane| lane.topic));
            topics.sort();
            topics.dedup();
            topics.truncate(MOST_TOPICS);
        } else if let Some(topic) = keys.topic {
            topics.push(lane::absolute(&topic));
        }
        // Lanes that share a topic may ask for different things: then it is matched.
        let qos = keys.qos.filter(|_| specs.is_empty());
        Ok(Self { topics, qos, ai_url: keys.ai_url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_says_where_to_look() {
        let load = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            Configured::load(Some(file.path())).map_err(|error| error.to_string())
        };
        let of = load("[gateway]\ntopic = \"t\"\nqos = \"reliable\"\nai_url = \"http://a/b\"\n")
            .unwrap();
        assert_eq!((of.topics, of.qos.as_deref()), (vec!["/t".to_owned()], Some("reliable")));
        assert_eq!(of.ai_url.as_deref(), Some("http://a/b"));
        let of = load("[gateway]\nlanes = \"reliable,topic=/a;best-effort,topic=/b\"\n").unwrap();
        assert_eq!((of.topics, of.qos), (vec!["/a".to_owned(), "/b".to_owned()], None));
        assert_eq!(load("").unwrap(), Configured::default());
        assert!(load("[gateway]\nlanes = \"speed=9\"\n").unwrap_err().contains("gateway.lanes"));
        assert!(load("[gateway\n").unwrap_err().contains("configuration"));
    }

    #[test]
    fn limits_are_named() {
        assert_eq!(wait("1s"), Ok(Duration::from_secs(1)));
        assert!(wait("2h").unwrap_err().contains("100ms and 1min"));
        assert_eq!(method("head"), Ok(Method::HEAD));
        assert!(method("DELETE").unwrap_err().contains("GET, HEAD, POST or PUT"));
    }
}
