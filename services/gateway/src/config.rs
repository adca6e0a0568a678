//! The gateway's configuration.

use crate::forms::{AiForm, TopicForm, WebForm};
use anyhow::ensure;
use clap::ValueEnum;
use hopwatch_kit::config::Refused;
use hopwatch_link::LinkKind;
use hopwatch_model::lane::{self, BadLane, LaneQos, LaneSpec};
use hopwatch_tap::Qos;
use hopwatch_wire::robot_message::ROBOT_MESSAGE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

    const fn of_topic(self) -> Qos {
        match self {
            Self::Reliable => Qos::RELIABLE,
            Self::BestEffort => Qos::BEST_EFFORT,
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

/// One lane: what is subscribed to, and over which link it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Its name in reports.
    pub(crate) name: String,
    /// Its topic, from the root.
    pub(crate) topic: String,
    /// The type of its messages.
    pub(crate) message_type: String,
    /// What the subscription asks for.
    pub(crate) qos: Qos,
    /// The link to both services.
    pub(crate) link: LinkKind,
}

/// `hopwatch` waits for 30 s until a program is there.
const MOST_DISCOVERY_MS: u64 = 25_000;

hopwatch_kit::config! {
    /// Configuration of the gateway.
    pub struct Config, Flags {
        [
            /// Topics of one's own, by their names
            topics: BTreeMap<String, TopicForm>,
            /// The AI service, where it isn't ours
            ai: AiForm,
            /// The web service, where it isn't ours
            web: WebForm,
        ]
        /// Address to listen on (health only)
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8000)),
        /// Certificate to serve by TLS with, and those between it and its CA: a PEM file; empty: no
        /// TLS
        tls_cert: String = String::new(),
        /// Its private key: a PEM file
        tls_key: String = String::new(),
        /// CA of the services that are asked for by https://: a PEM file; empty: the system's CAs
        tls_ca: String = String::new(),
        /// ROS topic; of hopwatch_msgs/msg/RobotMessage, unless a file says otherwise
        /// ([gateway.topics."/T"])
        topic: String = "/robot_messages".to_owned(),
        /// QoS of the subscription
        qos: QosKind = QosKind::BestEffort,
        /// History depth of the subscription; 0: as the QoS has it (10 or 1)
        depth: usize = 0,
        /// How long publishers of a topic may take to appear whose type or QoS has to be asked of
        /// them, in ms
        discovery_ms: u64 = 10_000,
        /// ROS domain; -1: as ROS_DOMAIN_ID says
        domain: i64 = -1,
        /// Name of the lane in reports; empty: the QoS
        lane: String = String::new(),
        /// Several lanes, with `;` between, instead of `qos`, `depth` and `lane`: words as in
        /// best-effort,name=NAME,depth=N,link=LINK,topic=/T,payload=BYTES
        lanes: String = String::new(),
        /// Link to both services; of lanes, of those that name none
        link: LinkKind = LinkKind::Http1,
        /// The AI service
        ai_url: String = "http://127.0.0.1:5000/v1/infer".to_owned(),
        /// Show the AI service HOPWATCH_TOKEN: only for one of ours
        @switch ai_gets_token: bool = false,
        /// The same for the web service
        @switch web_gets_token: bool = false,
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
        /// Messages that are worked on at once, in each lane
        in_flight: usize = 64,
        /// Messages that may wait for a worker, in each lane
        queue: usize = 1024,
        /// What waits may be so long in all, in each lane, in MB (10⁶ bytes); a single message may be
        /// longer
        queue_mb: u64 = 256,
        /// The same for what is worked on, in each lane, as it came: bodies made of it come on top
        in_flight_mb: u64 = 64,
        /// Which message a full queue gives up
        drop_policy: DropPolicy = DropPolicy::Oldest,
        /// One message after the other in each lane, with a queue as deep as the subscription's
        /// history: what a callback that blocks its executor does
        @switch serial: bool = false,
        /// How long messages under way may take to end when the gateway is stopped, in ms
        drain_ms: u64 = 2000,
        /// How long nothing may come before it is told why, in ms
        silence_ms: u64 = 5000,
        /// Shadow probes a second, of all links and services together; 0: none
        probes_hz: f64 = 0.0,
        /// Links that are probed beside the first lane's, with commas between; empty: all
        /// (behind https:// all but UDP)
        probe_links: String = String::new(),
        /// Longest reply that is read, in bytes
        max_reply_bytes: usize = 16 << 20,
    }
}

/// The most workers: each holds a connection to both services.
const MOST_WORKERS: usize = 4096;
/// Probes are a look aside, no load; and no wait between two of them is longer than a time can be.
const PROBES_HZ: std::ops::RangeInclusive<f64> = 0.001..=100.0;
/// The longest timeout, an hour.
const LONGEST_MS: u64 = 3_600_000;

/// The names of all links.
fn known_links() -> String {
    let names: Vec<&str> = LinkKind::value_variants().iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

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
        for (key, mb) in [("queue_mb", self.queue_mb), ("in_flight_mb", self.in_flight_mb)] {
            ensure!(
                (1..=1 << 20).contains(&mb),
                Refused(format!("{key} must lie between 1 and {}, not {mb}", 1 << 20))
            );
        }
        ensure!(
            self.discovery_ms <= MOST_DISCOVERY_MS,
            Refused(format!(
                "discovery_ms must be at most {MOST_DISCOVERY_MS}, not {}: whoever starts a gateway \
                 waits no longer",
                self.discovery_ms
            ))
        );
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
        for (topic, form) in &self.topics {
            form.check(topic)?;
        }
        self.ai.check()?;
        self.web.check()?;
        ensure!(
            self.probes_hz == 0.0 || PROBES_HZ.contains(&self.probes_hz),
            Refused(format!(
                "probes_hz must be 0, or lie between {} and {}, not {}",
                PROBES_HZ.start(),
                PROBES_HZ.end(),
                self.probes_hz
            ))
        );
        self.domain()?;
        Ok(())
    }

    /// The lanes: those of `lanes`, else the one that the other keys describe.
    pub(crate) fn lanes(&self) -> Result<Vec<Lane>, Refused> {
        if self.lanes.is_empty() {
            let name = if self.lane.is_empty() { self.qos.name() } else { &self.lane };
            let topic = lane::absolute(&self.topic);
            let usual = self.qos.of_topic();
            let depth = if self.depth > 0 { self.depth } else { usual.depth };
            let qos = Qos { depth, ..usual };
            let (name, message_type) = (name.to_owned(), self.message_type(&topic));
            return Ok(vec![Lane { name, topic, message_type, qos, link: self.link }]);
        }
        let default = Self::default();
        for (key, given) in [
            ("qos", self.qos != default.qos),
            ("depth", self.depth != default.depth),
            ("lane", self.lane != default.lane),
        ] {
            if given {
                let why = format!("{key} and lanes exclude each other: write it into each lane");
                return Err(Refused(why));
            }
        }
        let refused = |error: BadLane| Refused(format!("lanes: {error}"));
        let specs = LaneSpec::parse_all(&self.lanes).map_err(refused)?;
        let lanes = lane::resolve(&specs, &self.topic).map_err(refused)?;
        lanes.into_iter().map(|lane| self.lane_of(lane)).collect()
    }

    fn lane_of(&self, lane: lane::Lane) -> Result<Lane, Refused> {
        let usual = match lane.qos {
            LaneQos::Reliable => Qos::RELIABLE,
            LaneQos::BestEffort => Qos::BEST_EFFORT,
        };
        let depth = usize::try_from(lane.depth).unwrap_or(usize::MAX);
        let link = match &lane.link {
            None => self.link,
            Some(link) => LinkKind::from_str(link, false).map_err(|_| {
                let name = &lane.name;
                Refused(format!(
                    "lanes: {link:?} of lane {name:?} is no link ({}) and no QoS \
                     (best-effort, reliable)",
                    known_links()
                ))
            })?,
        };
        let message_type = self.message_type(&lane.topic);
        let qos = Qos { depth, ..usual };
        Ok(Lane { name: lane.name, topic: lane.topic, message_type, qos, link })
    }

    /// As far as it is known without ROS.
    fn message_type(&self, topic: &str) -> String {
        let own = self.topics.get(topic);
        own.map_or_else(|| ROBOT_MESSAGE.to_owned(), |own| own.message_type.clone())
    }

    /// The links that are probed: the current one among them, each once. Where all are and a service
    /// is asked for by TLS, those that can't be encrypted are left out.
    pub(crate) fn probe_links(&self, current: LinkKind) -> Result<Vec<LinkKind>, Refused> {
        let names = self.probe_links.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut kinds = names
            .map(|name| {
                LinkKind::from_str(name, false).map_err(|_| {
                    Refused(format!("probe_links: {name:?} is no link ({})", known_links()))
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if kinds.is_empty() {
            let secure = [&self.ai_url, &self.web_url].iter().any(|url| {
                hopwatch_link::Target::parse(url).is_ok_and(|target| target.is_secure())
            });
            kinds = LinkKind::value_variants().to_vec();
            kinds.retain(|kind| !secure || kind.can_be_secure());
        }
        kinds.push(current);
        let mut once = Vec::new();
        for kind in kinds {
            if !once.contains(&kind) {
                once.push(kind);
            }
        }
        Ok(once)
    }

    /// Whether the web service is ours: it is shown the token, and probed.
    pub(crate) fn web_is_ours(&self) -> bool {
        self.web_gets_token || self.web_url == Self::default().web_url
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

    /// (workers, places in the queue) of a lane with this QoS.
    ///
    /// Serial, each lane has a worker of its own: lanes are conditions that are measured beside
    /// each other, each as if it were alone, and one's backlog must not be another's.
    pub(crate) fn capacity(&self, qos: Qos) -> (usize, usize) {
        if self.serial { (1, qos.depth) } else { (self.in_flight, self.queue) }
    }

    pub(crate) fn ai_timeout(&self) -> Duration {
        Duration::from_millis(self.ai_timeout_ms)
    }

    pub(crate) fn web_timeout(&self) -> Duration {
        Duration::from_millis(self.web_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_lanes_the_other_keys_make_one() {
        let config = Config { depth: 3, qos: QosKind::Reliable, ..Config::default() };
        let qos = Qos { depth: 3, ..Qos::RELIABLE };
        let (topic, link) = ("/robot_messages".to_owned(), LinkKind::Http1);
        let message_type = ROBOT_MESSAGE.to_owned();
        let lane = Lane { name: "reliable".to_owned(), topic, message_type, qos, link };
        assert_eq!(config.lanes().unwrap(), [lane]);
        let named = Config { lane: "mine".to_owned(), topic: "a".to_owned(), ..Config::default() };
        let lanes = named.lanes().unwrap();
        assert_eq!((&*lanes[0].name, &*lanes[0].topic, lanes[0].qos.depth), ("mine", "/a", 1));
    }

    #[test]
    fn lanes_are_made_of_their_words_and_the_rest_of_the_keys() {
        let config = Config {
            lanes: "http1;http1-fresh;reliable,depth=4".to_owned(),
            link: LinkKind::Http1Fresh,
            ..Config::default()
        };
        let lanes = config.lanes().unwrap();
        let told = |lane: &Lane| (lane.name.clone(), lane.topic.clone(), lane.link.name());
        assert_eq!(
            lanes.iter().map(told).collect::<Vec<_>>(),
            [
                ("best-effort-http1".to_owned(), "/robot_messages".to_owned(), "http1"),
                ("best-effort-http1-fresh".to_owned(), "/robot_messages".to_owned(), "http1-fresh"),
                (
                    "reliable".to_owned(),
                    "/robot_messages/reliable_depth_4".to_owned(),
                    "http1-fresh"
                ),
            ]
        );
        assert_eq!(lanes[2].qos, Qos { depth: 4, ..Qos::RELIABLE });
        let serial = Config { serial: true, ..config };
        assert_eq!(serial.capacity(lanes[2].qos), (1, 4));
    }

    #[test]
    fn a_rate_of_probes_has_a_time_between_two() {
        let at = |probes_hz| Config { probes_hz, ..Config::default() }.check();
        for fine in [0.0, 0.001, 2.0, 100.0] {
            assert!(at(fine).is_ok(), "{fine}");
        }
        for bad in [1e-20, f64::MIN_POSITIVE, -1.0, 100.5, f64::INFINITY, f64::NAN] {
            let why = at(bad).unwrap_err().to_string();
            assert!(why.contains("probes_hz must be 0, or lie between 0.001 and 100"), "{why}");
        }
    }

    #[test]
    fn lanes_that_cannot_be_are_refused() {
        let why = |config: &Config| config.lanes().unwrap_err().to_string();
        let of = |lanes: &str| Config { lanes: lanes.to_owned(), ..Config::default() };
        for (lanes, words) in [
            ("relaible", ["\"relaible\"", "no link (http1"]),
            ("reliable;reliable", ["reliable", "give one a name="]),
            ("reliable,speed=1", ["speed", "name, qos"]),
        ] {
            let why = why(&of(lanes));
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
        }
        let both = Config { qos: QosKind::Reliable, ..of("reliable") };
        assert!(why(&both).contains("qos and lanes exclude each other"));
        let named = Config { lane: "x".to_owned(), ..of("reliable") };
        assert!(why(&named).contains("lane and lanes"));
    }
}
