//! `hopwatch doctor`: why it doesn't work, or doesn't measure well, and what to do.
//!
//! [`look`] gathers, [`judge`] says what it means (pure), [`mod@print`] says it.

mod clean;
mod configured;
mod finding;
mod judge;
mod look;
mod print;

pub(crate) use look::memory;

use crate::args::Usage;
use crate::report::print as print_out;
use anyhow::Context;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use configured::{Configured, Subscribed};
use finding::Severity;
use hopwatch_kit::service::exit;
use hopwatch_wire::robot_message::{Header, RobotMessage};
use http::Method;
use look::{Facts, Looked, Question, Ros};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its own exit code: problems were found.
const PROBLEMS: u8 = 1;
/// Subscriptions of one configuration that are looked at, each for some seconds.
const MOST_LOOKS: usize = 8;

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
    let cleaned = doctor.clean.then(|| clean::clean(Path::new(memory::FOLDER)));
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
    let question = service_question(doctor, configured.takes_any)?;
    let mut looked = Vec::new();
    for question in questions(doctor, &configured) {
        looked.push((question.topic.clone(), look::ask(&question).await));
        if matches!(looked.last(), Some((_, Looked::NotBuilt | Looked::Failed(_)))) {
            break;
        }
    }
    let service = match &question {
        Some(question) => {
            let (most, of) = (look::service::REQUESTS, &question.method);
            if !question.is_secure() {
                tell!("sending up to {most} {of} requests to {}", question.url);
            }
            Some(look::service::ask(question).await)
        }
        None => None,
    };
    let blocking = tokio::task::spawn_blocking(|| {
        let memory = memory::Memory::look(Path::new(memory::FOLDER));
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

/// What ROS is asked: of each topic and QoS that flags or configuration name, else what there is.
fn questions(doctor: &Doctor, configured: &Configured) -> Vec<Question> {
    let (domain, wait) = (doctor.domain, doctor.wait);
    let own = doctor.qos.map(|qos| crate::args::name(&qos));
    let mut all: Vec<Question> = Vec::new();
    for Subscribed { topic, topic_type, qos } in configured.subscribed(doctor.topic.as_deref()) {
        let question = Question {
            topic: Some(topic),
            topic_type: doctor.topic_type.clone().or(topic_type),
            qos: Some(own.clone().unwrap_or(qos)),
            domain,
            wait,
        };
        if !all.contains(&question) {
            all.push(question);
        }
    }
    if all.is_empty() {
        all.push(Question { domain, wait, ..Question::default() });
    }
    if all.len() > MOST_LOOKS {
        tell!(
            "the lanes have {} subscriptions: the first {MOST_LOOKS} are looked at; the others one by \
             one with --topic",
            all.len()
        );
        all.truncate(MOST_LOOKS);
    }
    all
}

/// What the AI service is asked, if anything.
fn service_question(
    doctor: &Doctor,
    takes_any: bool,
) -> anyhow::Result<Option<look::service::Question>> {
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
    Ok(Some(look::service::Question { url, method, body, takes_any }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named() {
        assert_eq!(wait("1s"), Ok(Duration::from_secs(1)));
        assert!(wait("2h").unwrap_err().contains("100ms and 1min"));
        assert_eq!(method("head"), Ok(Method::HEAD));
        assert!(method("DELETE").unwrap_err().contains("GET, HEAD, POST or PUT"));
    }
}
