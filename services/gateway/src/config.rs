//! The gateway's configuration.

use anyhow::ensure;
use clap::ValueEnum;
use hopwatch_kit::config::Refused;
use hopwatch_link::LinkKind;
use hopwatch_tap::Qos;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;

/// The topic's QoS, by the two names that S1 compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum QosKind {
    /// RELIABLE, KEEP_LAST 10.
    Reliable,
    /// BEST_EFFORT, KEEP_LAST 1.
    BestEffort,
}

impl QosKind {
    /// The name of the lane that it makes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::BestEffort => "best-effort",
        }
    }
}

/// Which message a full queue gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DropPolicy {
    /// The one that waited longest: what is shown stays fresh.
    Oldest,
    /// The one that just came: what was taken is finished.
    Newest,
}

/// When traces are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum RecordTraces {
    /// All of them.
    Always,
    /// None: the collector is told of counters, censuses and events only.
    Never,
    /// Those of every other phase of 2 s.
    Alternate,
}

hopwatch_kit::config! {
    /// Configuration of the gateway.
    pub struct Config, Flags {
        /// Address to listen on (health only)
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8000)),
        /// ROS topic of hopwatch_msgs/msg/RobotMessage
        topic: String = "/robot_messages".to_owned(),
        /// QoS of the subscription
        qos: QosKind = QosKind::BestEffort,
        /// History depth of the subscription; 0: as the QoS has it (10 or 1)
        depth: usize = 0,
        /// ROS domain; -1: as ROS_DOMAIN_ID says
        domain: i64 = -1,
        /// Name of the lane in reports; empty: the QoS
        lane: String = String::new(),
        /// Link to both services
        link: LinkKind = LinkKind::Http1,
        /// The AI service
        ai_url: String = "http://127.0.0.1:5000/v1/infer".to_owned(),
        /// Show the AI service HOPWATCH_TOKEN: only for one of ours
        @switch ai_gets_token: bool = false,
        /// The web service
        web_url: String = "http://127.0.0.1:8001/v1/messages".to_owned(),
        /// Where records go
        collector_url: String = "http://127.0.0.1:8002/v1/records".to_owned(),
        /// When the collector is told what became of each message; reports are of what it is told,
        /// so anything but `always` is for measuring what recording costs
        record_traces: RecordTraces = RecordTraces::Always,
        /// Clock responders (`hopwatch respond`) on robots' hosts, with commas between:
        /// ADDRESS:PORT, or ROBOT+ROBOT@ADDRESS:PORT for robots that send no census
        clock_peers: String = String::new(),
        /// How long the AI service may take, in ms
        ai_timeout_ms: u64 = 5000,
        /// How long the web service may take, in ms
        web_timeout_ms: u64 = 2000,
        /// Messages that are worked on at once
        in_flight: usize = 64,
        /// Messages that may wait for a worker
        queue: usize = 1024,
        /// Which message a full queue gives up
        drop_policy: DropPolicy = DropPolicy::Oldest,
        /// One message after the other, with a queue as deep as the subscription's history:
        /// what a callback that blocks its executor does
        @switch serial: bool = false,
        /// How long messages under way may take to end when the gateway is stopped, in ms
        drain_ms: u64 = 2000,
        /// How long nothing may come before it is told why, in ms
        silence_ms: u64 = 5000,
        /// Longest reply that is read, in bytes
        max_reply_bytes: usize = 16 << 20,
    }
}

/// The most workers: each holds a connection to both services.
const MOST_WORKERS: usize = 4096;
/// The longest timeout, an hour.
const LONGEST_MS: u64 = 3_600_000;

impl Config {
    /// Refuses what can't work, naming the key.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (1..=MOST_WORKERS).contains(&self.in_flight),
            Refused(format!(
                "in_flight must lie between 1 and {MOST_WORKERS}, not {}",
                self.in_flight
            ))
        );
        ensure!(self.queue > 0, Refused("queue must be at least 1".to_owned()));
        ensure!(
            self.depth <= 1 << 20,
            Refused(format!("depth must be at most {}, not {}", 1 << 20, self.depth))
        );
        for (key, ms) in [
            ("ai_timeout_ms", self.ai_timeout_ms),
            ("web_timeout_ms", self.web_timeout_ms),
            ("silence_ms", self.silence_ms),
        ] {
            ensure!(
                (1..=LONGEST_MS).contains(&ms),
                Refused(format!("{key} must lie between 1 and {LONGEST_MS}, not {ms}"))
            );
        }
        self.domain()?;
        Ok(())
    }

    /// The subscription's QoS.
    pub(crate) fn qos(&self) -> Qos {
        let mut qos = match self.qos {
            QosKind::Reliable => Qos::RELIABLE,
            QosKind::BestEffort => Qos::BEST_EFFORT,
        };
        if self.depth > 0 {
            qos.depth = self.depth;
        }
        qos
    }

    /// The ROS domain, if it isn't left to the environment.
    pub(crate) fn domain(&self) -> Result<Option<usize>, Refused> {
        if self.domain == -1 {
            return Ok(None);
        }
        let domain = usize::try_from(self.domain).ok().filter(|domain| *domain <= 232);
        let refused = || Refused(format!("domain must lie between 0 and 232, not {}", self.domain));
        domain.map(Some).ok_or_else(refused)
    }

    /// The lane's name.
    pub(crate) fn lane(&self) -> String {
        if self.lane.is_empty() { self.qos.name().to_owned() } else { self.lane.clone() }
    }

    /// (workers, places in the queue).
    pub(crate) fn capacity(&self) -> (usize, usize) {
        if self.serial { (1, self.qos().depth) } else { (self.in_flight, self.queue) }
    }

    pub(crate) fn ai_timeout(&self) -> Duration {
        Duration::from_millis(self.ai_timeout_ms)
    }

    pub(crate) fn web_timeout(&self) -> Duration {
        Duration::from_millis(self.web_timeout_ms)
    }
}
