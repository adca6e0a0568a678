//! A run from the first node to the last census.

use crate::census::{self, Counts, Teller};
use crate::config::{Config, Topic};
use crate::content::{Content, robot_id};
use crate::pace::{self, Outlet, Speaker};
use crate::schedule::{Lateness, Schedule};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::{clock_id, mono_ns};
use hopwatch_model::Ns;
use hopwatch_model::lane::BadLane;
use r2r::hopwatch_msgs::msg::{Census, RobotMessage};
use r2r::{Context, Node, Publisher};
use serde::Serialize;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Robots.
    pub robots: u32,
    /// Messages handed to `publish()` without an error; with several topics, on all of them.
    pub published: u64,
    /// Messages that `publish()` refused.
    pub failed: u64,
    /// How late they were.
    #[serde(flatten)]
    pub lateness: Lateness,
}

/// Why the robots could not do what they were to.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// Nobody subscribed in time.
    #[error(
        "no subscriber of {topic} within {waited}: is one running in ROS domain {domain}, and \
         does it accept {qos} publishers? (--no-wait publishes regardless)"
    )]
    NoSubscriber {
        /// The topic.
        topic: String,
        /// How long was waited.
        waited: crate::config::Span,
        /// The domain.
        domain: String,
        /// What the publishers offer.
        qos: crate::config::Reliability,
    },
    /// The lanes contradict each other.
    #[error("configuration: lanes: {0}")]
    Lanes(#[from] BadLane),
    /// The time is too short for the rate.
    #[error("nothing to publish: in the time given, no message is due at {rate_hz} Hz")]
    NothingDue {
        /// The rate.
        rate_hz: f64,
    },
    /// ROS 2 refused or failed.
    #[error("failed to {what}: {source}")]
    Ros {
        /// What was attempted.
        what: String,
        /// r2r's error.
        source: r2r::Error,
    },
    /// The operating system gave no thread.
    #[error("failed to start the publishing thread")]
    Thread(#[source] std::io::Error),
    /// The publishing thread panicked.
    #[error("the publishing thread panicked")]
    Panicked,
}

impl SimError {
    /// Whether the lanes are at fault, or the topic's name is what ROS 2 refused.
    pub fn is_wrong_usage(&self) -> bool {
        matches!(
            self,
            Self::Ros { source: r2r::Error::RCL_RET_TOPIC_NAME_INVALID, .. } | Self::Lanes(_)
        )
    }
}

/// After a match, the time before the first message: the subscriber may learn of the publisher a
/// little later than the publisher of it, and the first census should be there before.
const LEAD: Duration = Duration::from_millis(300);

/// The longest linger when the robots were told to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How often a match is looked for, and the census is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Publishes what `config` says, or until `shutdown` begins.
///
/// # Errors
/// When ROS 2 refuses, when nobody subscribes in time, when nothing is due.
pub async fn run(config: Config, shutdown: Shutdown) -> Result<Summary, SimError> {
    tokio::task::spawn_blocking(move || run_blocking(&config, &shutdown))
        .await
        .unwrap_or(Err(SimError::Panicked))
}

struct Robot {
    id: String,
    /// This start of it.
    instance: String,
    outlets: Vec<Published>,
    // Owns all publishers.
    _node: Node,
}

/// What a robot publishes on a topic, and what it says of that.
struct Published {
    topic: Topic,
    messages: Publisher<RobotMessage>,
    census: Publisher<Census>,
    counts: Arc<Counts>,
}

fn run_blocking(config: &Config, shutdown: &Shutdown) -> Result<Summary, SimError> {
    let limit = config.limit();
    if limit == Some(0) {
        return Err(SimError::NothingDue { rate_hz: config.rate.hz() });
    }
    let topics = config.topics()?;
    let context = Context::create().map_err(ros(|| "initialise ROS 2".to_owned()))?;
    let count = config.robots.get();
    let robots: Vec<Robot> =
        (0..count).map(|robot| robot_of(&context, &topics, robot)).collect::<Result<_, _>>()?;
    if !config.no_wait {
        wait_for_subscribers(config, &robots, shutdown)?;
    }

    let lead_ns = Ns::try_from(LEAD.as_nanos()).unwrap_or(0);
    let schedule = Schedule::new(mono_ns() + lead_ns, config.rate.hz(), count);
    let mut tellers = tellers(&robots, schedule, config.rate.hz());
    for (teller, counts) in &mut tellers {
        teller.tell(counts, Instant::now());
    }
    let names = topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>().join(" ");
    tracing::info!(robots = count, rate_hz = config.rate.hz(), topics = names, "publishing");
    let lateness = publish(config, &robots, &mut tellers, schedule, shutdown);
    for (teller, counts) in &mut tellers {
        teller.tell_last(counts, Instant::now());
    }
    linger(config.linger.0, shutdown);
    let (published, failed) = tellers
        .iter()
        .map(|(_, counts)| counts.read())
        .fold((0, 0), |(published, failed), (p, f)| {
            (published + p.unsigned_abs(), failed + f.unsigned_abs())
        });
    Ok(Summary { robots: count, published, failed, lateness: lateness? })
}

/// Who tells the census of each robot and topic, and what there is to tell.
fn tellers(robots: &[Robot], schedule: Schedule, rate_hz: f64) -> Vec<(Teller, Arc<Counts>)> {
    let mut tellers = Vec::new();
    for (at, robot) in (0..).zip(robots) {
        for outlet in &robot.outlets {
            let teller = Teller::new(
                outlet.census.clone(),
                (robot.id.clone(), robot.instance.clone()),
                outlet.topic.name.clone(),
                &clock_id(),
                schedule.start_of(at),
                rate_hz,
            );
            tellers.push((teller, Arc::clone(&outlet.counts)));
        }
    }
    tellers
}

/// A node with two publishers for each topic. Each topic has a census publisher of its own, which
/// keeps the newest for who comes late.
fn robot_of(context: &Context, topics: &[Topic], robot: u32) -> Result<Robot, SimError> {
    let id = robot_id(robot);
    let mut node =
        Node::create(context.clone(), &id, "").map_err(ros(|| format!("create node {id}")))?;
    let mut outlets = Vec::new();
    for topic in topics {
        let messages = node
            .create_publisher(&topic.name, topic.profile())
            .map_err(ros(|| format!("create a publisher on {}", topic.name)))?;
        let census = node
            .create_publisher(census::TOPIC, census::profile())
            .map_err(ros(|| format!("create a publisher on {}", census::TOPIC)))?;
        let topic = topic.clone();
        outlets.push(Published { topic, messages, census, counts: Arc::default() });
    }
    Ok(Robot { id, instance: Uuid::new_v4().to_string(), outlets, _node: node })
}

/// Waits until every robot's messages have a subscriber on every topic; who reads the census
/// doesn't matter.
fn wait_for_subscribers(
    config: &Config,
    robots: &[Robot],
    shutdown: &Shutdown,
) -> Result<(), SimError> {
    let deadline = Instant::now() + config.wait_timeout.0;
    for outlet in robots.iter().flat_map(|robot| &robot.outlets) {
        let topic = &outlet.topic;
        let subscribers = || {
            outlet
                .messages
                .get_inter_process_subscription_count()
                .map_err(ros(|| format!("count the subscribers of {}", topic.name)))
        };
        while subscribers()? == 0 && !shutdown.has_begun() {
            if Instant::now() >= deadline {
                return Err(SimError::NoSubscriber {
                    topic: topic.name.clone(),
                    waited: config.wait_timeout,
                    domain: std::env::var(crate::domain::VARIABLE).unwrap_or_else(|_| "0".into()),
                    qos: topic.qos,
                });
            }
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Runs the publishing thread to its end, telling censuses meanwhile.
fn publish(
    config: &Config,
    robots: &[Robot],
    tellers: &mut [(Teller, Arc<Counts>)],
    schedule: Schedule,
    shutdown: &Shutdown,
) -> Result<Lateness, SimError> {
    let mut speakers: Vec<Speaker> = (0..config.robots.get())
        .zip(robots)
        .map(|(at, robot)| Speaker {
            content: Content::new(at, config.seed),
            outlets: robot
                .outlets
                .iter()
                .map(|outlet| Outlet {
                    publisher: outlet.messages.clone(),
                    payload_bytes: outlet.topic.payload_bytes,
                    counts: Arc::clone(&outlet.counts),
                })
                .collect(),
        })
        .collect();
    let limit = config.limit();
    let thread = thread::Builder::new()
        .name("robots".to_owned())
        .spawn({
            let shutdown = shutdown.clone();
            move || pace::publish_all(&mut speakers, schedule, limit, &shutdown)
        })
        .map_err(SimError::Thread)?;
    while !thread.is_finished() {
        thread::sleep(LOOK);
        for (teller, counts) in tellers.iter_mut() {
            teller.tell(counts, Instant::now());
        }
    }
    let lateness = thread.join().map_err(|_| SimError::Panicked)?;
    lateness.map_err(ros(|| "make a message".to_owned()))
}

/// Keeps the nodes for those who missed something: messages or the last census. (r2r doesn't tell
/// whether all have been acknowledged.) A wish to end cuts it short.
fn linger(time: Duration, shutdown: &Shutdown) {
    let asked_before = shutdown.has_begun();
    let time = if asked_before { time.min(LAST_WORDS) } else { time };
    let deadline = Instant::now() + time;
    while Instant::now() < deadline && (asked_before || !shutdown.has_begun()) {
        thread::sleep(LOOK.min(deadline.saturating_duration_since(Instant::now())));
    }
}

fn ros(what: impl FnOnce() -> String) -> impl FnOnce(r2r::Error) -> SimError {
    |source| SimError::Ros { what: what(), source }
}
