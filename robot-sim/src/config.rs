//! What the robots are to do.

use hopwatch_model::lane::{self, BadLane, LaneQos, LaneSpec, Outlet};
use r2r::QosProfile;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;
use std::time::Duration;

hopwatch_kit::config! {
    /// What the robots are to do.
    pub struct Config, Flags {
        /// How many robots, at most 1000: each is a node of its own.
        robots: NonZeroU32 = NonZeroU32::MIN,
        /// Messages a second, for each robot.
        rate: Rate = Rate(1.0),
        /// What the publishers offer: reliable (KEEP_LAST 10) or best-effort (KEEP_LAST 1).
        qos: Reliability = Reliability::BestEffort,
        /// Messages that a publisher keeps, instead of what `qos` says.
        depth: Option<NonZeroU32> = None,
        /// Serialized size that messages are padded to (in `error_message`), in bytes.
        payload_bytes: u32 = 0,
        /// Messages for each robot; without it and `for`, publishing goes on until a signal.
        count: Option<NonZeroU64> = None,
        /// Time to publish for, such as 60s, 2m or 500ms: rate × time messages for each robot.
        r#for: Option<Span> = None,
        /// The topic of the messages.
        topic: String = "/robot_messages".to_owned(),
        /// Lanes with `;` between, as the gateway has them, instead of `qos` and `depth`: each
        /// message is published on each of their topics, in changing order
        lanes: String = String::new(),
        /// What the messages' contents are drawn from: the same seed gives the same contents.
        seed: u64 = 1,
        /// How long to wait for a subscriber before giving up.
        wait_timeout: Span = Span(Duration::from_secs(30)),
        /// Publish without waiting for a subscriber.
        @switch no_wait: bool = false,
        /// How long to stay after the last message, so that what was lost can be sent again.
        linger: Span = Span(Duration::from_secs(1)),
        /// The ROS domain, instead of ROS_DOMAIN_ID.
        domain: Option<Domain> = None,
        /// Address where rate and payload can be set while the robots publish; none without it.
        control: Option<SocketAddr> = None,
        /// Certificate to serve that by TLS with, and those between it and its CA: a PEM file; empty:
        /// no TLS
        tls_cert: String = String::new(),
        /// Its private key: a PEM file
        tls_key: String = String::new(),
        /// Origins of pages elsewhere that may set them, separated by commas.
        allowed_origins: String = String::new(),
    }
}

/// Larger messages overrun what DDS fragments here (`hopwatch` has the same limit), in bytes.
pub const MOST_BYTES: u32 = 4_000_000;

impl Config {
    /// Messages for each robot; `None`: endless. When both `count` and `for` are given, the
    /// fewer.
    pub fn limit(&self) -> Option<u64> {
        self.limit_from(0, self.rate, Duration::ZERO)
    }

    /// The same when each has published `sent` after `elapsed`, and goes on at another rate.
    pub fn limit_from(&self, sent: u64, rate: Rate, elapsed: Duration) -> Option<u64> {
        let left = |span: Span| span.0.saturating_sub(elapsed);
        let by_time = self.r#for.map(|span| sent.saturating_add(rate.messages_in(left(span))));
        let by_count = self.count.map(NonZeroU64::get);
        by_time.into_iter().chain(by_count).min()
    }

    /// The topics, each of which gets every message.
    ///
    /// # Errors
    /// When the lanes contradict each other or other keys.
    pub fn topics(&self) -> Result<Vec<Topic>, BadLane> {
        let bytes = |bytes: u32| usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.lanes.is_empty() {
            return Ok(vec![Topic {
                name: lane::absolute(&self.topic),
                qos: self.qos,
                depth: self.depth.map_or_else(|| self.qos.lane().depth(), NonZeroU32::get),
                payload_bytes: bytes(self.payload_bytes),
                own_payload: false,
            }]);
        }
        let lanes = lane::resolve(&LaneSpec::parse_all(&self.lanes)?, &self.topic)?;
        let topic = |outlet: Outlet| Topic {
            name: outlet.topic,
            qos: Reliability::of(outlet.qos),
            depth: outlet.depth,
            payload_bytes: bytes(outlet.payload_bytes.unwrap_or(self.payload_bytes)),
            own_payload: outlet.payload_bytes.is_some(),
        };
        Ok(lane::outlets(&lanes)?.into_iter().map(topic).collect())
    }

    /// Why lanes and other keys exclude each other, if they do.
    pub fn contradiction(&self) -> Option<String> {
        let default = Self::default();
        let besides = [("qos", self.qos != default.qos), ("depth", self.depth.is_some())];
        let (key, _) = besides.into_iter().find(|(_, given)| *given && !self.lanes.is_empty())?;
        Some(format!("{key} and lanes exclude each other: write it into each lane"))
    }
}

/// What is published on one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, from the root.
    pub name: String,
    /// Whether lost messages are sent again.
    pub qos: Reliability,
    /// Messages that a publisher keeps.
    pub depth: u32,
    /// The size that messages are padded to, in bytes.
    pub payload_bytes: usize,
    /// Its lane says so: what is set for all while they publish doesn't change it.
    pub own_payload: bool,
}

impl Topic {
    /// What a publisher offers. VOLATILE, `KEEP_LAST`.
    pub fn profile(&self) -> QosProfile {
        let profile = QosProfile::default()
            .volatile()
            .keep_last(usize::try_from(self.depth).unwrap_or(usize::MAX));
        match self.qos {
            Reliability::Reliable => profile.reliable(),
            Reliability::BestEffort => profile.best_effort(),
        }
    }
}

/// Whether lost messages are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// RELIABLE: they are, while the publisher still has them.
    Reliable,
    /// BEST_EFFORT: they stay lost.
    #[serde(alias = "best_effort")]
    #[value(alias = "best_effort")]
    BestEffort,
}

impl Reliability {
    /// The same, of a lane.
    const fn lane(self) -> LaneQos {
        match self {
            Self::Reliable => LaneQos::Reliable,
            Self::BestEffort => LaneQos::BestEffort,
        }
    }

    const fn of(qos: LaneQos) -> Self {
        match qos {
            LaneQos::Reliable => Self::Reliable,
            LaneQos::BestEffort => Self::BestEffort,
        }
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reliable => "RELIABLE",
            Self::BestEffort => "BEST_EFFORT",
        })
    }
}

/// Messages a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

impl Rate {
    /// Faster than that nothing can be paced here.
    const MAX_HZ: f64 = 100_000.0;

    /// Messages a second.
    pub fn hz(self) -> f64 {
        self.0
    }

    /// Messages that are due in `time`, rounded.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rounded positive number; `as` saturates"
    )]
    fn messages_in(self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.0).round() as u64
    }
}

impl TryFrom<f64> for Rate {
    type Error = String;

    fn try_from(hz: f64) -> Result<Self, String> {
        if hz.is_finite() && hz > 0.0 && hz <= Self::MAX_HZ {
            Ok(Self(hz))
        } else {
            Err(format!("a rate is above 0 and at most {} Hz, not {hz}", Self::MAX_HZ))
        }
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hz: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
        Self::try_from(hz)
    }
}

/// A length of time, written as a number with its unit: ms, s, m or h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("{text:?} is no length of time: write it as 500ms, 60s, 2m or 1h");
        let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(refuse)?;
        let (number, unit) = text.split_at(unit_at);
        let number: f64 = number.trim().parse().map_err(|_| refuse())?;
        let seconds = match unit {
            "ms" => number / 1e3,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(refuse()),
        };
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| refuse())
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{}s", self.0.as_secs())
        } else {
            write!(f, "{}ms", self.0.as_secs_f64() * 1e3)
        }
    }
}

/// A ROS domain: 0 to 232 (DDS-RTPS 2.3, 9.6.1.1: their UDP ports are below 65536).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Domain(u32);

impl TryFrom<u32> for Domain {
    type Error = String;

    fn try_from(id: u32) -> Result<Self, String> {
        if id <= 232 { Ok(Self(id)) } else { Err(format!("ROS domains are 0 to 232, not {id}")) }
    }
}

impl From<Domain> for u32 {
    fn from(domain: Domain) -> Self {
        domain.0
    }
}

impl FromStr for Domain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id: u32 = text.parse().map_err(|_| format!("{text:?} is no ROS domain (0 to 232)"))?;
        Self::try_from(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Option<Duration> {
        text.parse::<Span>().ok().map(|span| span.0)
    }

    #[test]
    fn spans_have_units_and_round_trip() {
        assert_eq!(span("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(span("60s"), Some(Duration::from_secs(60)));
        assert_eq!(span("1.5m"), Some(Duration::from_secs(90)));
        assert_eq!(span("0s"), Some(Duration::ZERO));
        for text in ["", "60", "s", "-1s", "1d", "1 s s", "NaNs", "infs", "1e300h"] {
            assert_eq!(span(text), None, "{text}");
        }
        for text in ["60s", "1250ms", "0.5ms"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }

    #[test]
    fn rates_and_domains_have_limits() {
        assert!("0".parse::<Rate>().is_err());
        assert!("-1".parse::<Rate>().is_err());
        assert!("NaN".parse::<Rate>().is_err());
        assert!("1e9".parse::<Rate>().is_err());
        assert!("0.1".parse::<Rate>().is_ok());
        assert!("232".parse::<Domain>().is_ok());
        assert!("233".parse::<Domain>().is_err());
    }

    #[test]
    fn the_fewer_of_count_and_time_ends_the_run() {
        let limit = |rate: f64, count: Option<u64>, time: Option<&str>| {
            Config {
                rate: Rate(rate),
                count: count.and_then(NonZeroU64::new),
                r#for: time.map(|text| text.parse().unwrap()),
                ..Config::default()
            }
            .limit()
        };
        assert_eq!(limit(1.0, None, None), None);
        assert_eq!(limit(1.0, Some(5), None), Some(5));
        assert_eq!(limit(20.0, None, Some("60s")), Some(1200));
        assert_eq!(limit(0.3, None, Some("10s")), Some(3));
        assert_eq!(limit(20.0, Some(7), Some("60s")), Some(7));
        assert_eq!(limit(20.0, Some(7), Some("100ms")), Some(2));
    }

    #[test]
    fn time_ends_a_run_whatever_the_rate_is_set_to() {
        let time = Config { r#for: "10s".parse().ok(), ..Config::default() };
        let count = Config { count: NonZeroU64::new(30), ..Config::default() };
        let after = |config: &Config, seconds| {
            config.limit_from(20, Rate(4.0), Duration::from_secs(seconds))
        };
        assert_eq!((after(&time, 4), after(&time, 11)), (Some(44), Some(20)));
        assert_eq!((after(&count, 4), after(&Config::default(), 4)), (Some(30), None));
    }

    #[test]
    fn lanes_become_topics() {
        let topics = |lanes: &str| {
            let config = Config { lanes: lanes.to_owned(), payload_bytes: 7, ..Config::default() };
            assert_eq!(config.contradiction(), None);
            config.topics()
        };
        let one = &topics("").unwrap()[0];
        assert_eq!((&*one.name, one.depth, one.payload_bytes), ("/robot_messages", 1, 7));
        let two = topics("best-effort,udp;reliable,payload=9;http1").unwrap();
        assert_eq!(two.len(), 2);
        assert_eq!(two[0], *one);
        let name = "/robot_messages/reliable_payload_9".to_owned();
        let qos = Reliability::Reliable;
        assert_eq!(two[1], Topic { name, qos, depth: 10, payload_bytes: 9, own_payload: true });
        assert!(topics("topic=/a;reliable,topic=/a").is_err());
        let both =
            Config { lanes: "reliable".to_owned(), depth: NonZeroU32::new(3), ..Config::default() };
        assert!(both.contradiction().is_some_and(|why| why.contains("depth")));
    }

    #[test]
    fn the_environment_becomes_configuration() {
        let environment = [("RATE", "20"), ("FOR", "60s"), ("DOMAIN", "5"), ("QOS", "best_effort")]
            .map(|(key, value)| (format!("HOPWATCH_ROBOT_SIM_{key}"), value.to_owned()));
        let config: Config =
            hopwatch_kit::config::load("robot_sim", None, environment, &Flags::default()).unwrap();
        assert_eq!((config.limit(), config.domain), (Some(1200), Some(Domain(5))));
        assert_eq!(config.qos, Reliability::BestEffort);
    }

    #[test]
    fn flags_become_configuration() {
        use clap::{Args, FromArgMatches};
        let command = Flags::augment_args(clap::Command::new("test"));
        let matches = command
            .try_get_matches_from([
                "test",
                "--robots",
                "3",
                "--rate",
                "0.5",
                "--qos",
                "best-effort",
                "--for",
                "2m",
                "--domain",
                "70",
                "--no-wait",
                "--linger",
                "0s",
                "--depth",
                "4",
            ])
            .unwrap();
        let flags = Flags::from_arg_matches(&matches).unwrap();
        let config: Config = hopwatch_kit::config::load("robot_sim", None, [], &flags).unwrap();
        assert_eq!(
            (config.robots.get(), config.rate, config.qos),
            (3, Rate(0.5), Reliability::BestEffort)
        );
        assert_eq!(
            (config.limit(), config.domain, config.no_wait),
            (Some(60), Some(Domain(70)), true)
        );
        assert_eq!((config.linger, config.depth), (Span(Duration::ZERO), NonZeroU32::new(4)));
        assert_eq!(config.topic, "/robot_messages");
    }
}
