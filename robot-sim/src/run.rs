//! A run from the first node to the last census.

use crate::census::{self, Counts, Teller};
use crate::config::{Config, Reliability};
use crate::content::{Content, robot_id};
use crate::pace::{self, Speaker};
use crate::schedule::{Lateness, Schedule};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::{clock_id, mono_ns};
use hopwatch_model::Ns;
use r2r::hopwatch_msgs::msg::{Census, RobotMessage};
use r2r::{Context, Node, Publisher};
use serde::Serialize;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Robots.
    pub robots: u32,
    /// Messages handed to `publish()` without an error.
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
        qos: Reliability,
    },
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
    /// Whether the topic's name is what ROS 2 refused.
    pub fn is_wrong_usage(&self) -> bool {
        matches!(self, Self::Ros { source: r2r::Error::RCL_RET_TOPIC_NAME_INVALID, .. })
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
    messages: Publisher<RobotMessage>,
    census: Publisher<Census>,
    counts: Arc<Counts>,
    // Owns both publishers.
    _node: Node,
}

fn run_blocking(config: &Config, shutdown: &Shutdown) -> Result<Summary, SimError> {
    let limit = config.limit();
    if limit == Some(0) {
        return Err(SimError::NothingDue { rate_hz: config.rate.hz() });
    }
    let context = Context::create().map_err(ros(|| "initialise ROS 2".to_owned()))?;
    let count = config.robots.get();
    let robots: Vec<Robot> =
        (0..count).map(|robot| robot_of(&context, config, robot)).collect::<Result<_, _>>()?;
    if !config.no_wait {
        wait_for_subscribers(config, &robots, shutdown)?;
    }

    let lead_ns = Ns::try_from(LEAD.as_nanos()).unwrap_or(0);
    let schedule = Schedule::new(mono_ns() + lead_ns, config.rate.hz(), count);
    let mut tellers: Vec<Teller> = (0..count)
        .zip(&robots)
        .map(|(at, robot)| {
            let publisher = robot.census.clone();
            let start = schedule.start_of(at);
            Teller::new(publisher, robot.id.clone(), &clock_id(), start, config.rate.hz())
        })
        .collect();
    for (teller, robot) in tellers.iter_mut().zip(&robots) {
        teller.tell(&robot.counts, Instant::now());
    }
    tracing::info!(robots = count, rate_hz = config.rate.hz(), topic = config.topic, "publishing");
    let lateness = publish(config, &robots, &mut tellers, schedule, shutdown);
    for (teller, robot) in tellers.iter_mut().zip(&robots) {
        teller.tell_last(&robot.counts, Instant::now());
    }
    linger(config.linger.0, shutdown);
    let (published, failed) = robots
        .iter()
        .map(|robot| robot.counts.read())
        .fold((0, 0), |(published, failed), (p, f)| {
            (published + p.unsigned_abs(), failed + f.unsigned_abs())
        });
    Ok(Summary { robots: count, published, failed, lateness: lateness? })
}

/// A node with its two publishers.
fn robot_of(context: &Context, config: &Config, robot: u32) -> Result<Robot, SimError> {
    let id = robot_id(robot);
    let mut node =
        Node::create(context.clone(), &id, "").map_err(ros(|| format!("create node {id}")))?;
    let messages = node
        .create_publisher(&config.topic, config.profile())
        .map_err(ros(|| format!("create a publisher on {}", config.topic)))?;
    let census = node
        .create_publisher(census::TOPIC, census::profile())
        .map_err(ros(|| format!("create a publisher on {}", census::TOPIC)))?;
    Ok(Robot { id, messages, census, counts: Arc::default(), _node: node })
}

/// Waits until every robot's messages have a subscriber; who reads the census doesn't matter.
fn wait_for_subscribers(
    config: &Config,
    robots: &[Robot],
    shutdown: &Shutdown,
) -> Result<(), SimError> {
    let deadline = Instant::now() + config.wait_timeout.0;
    for robot in robots {
        let subscribers = || {
            robot
                .messages
                .get_inter_process_subscription_count()
                .map_err(ros(|| format!("count the subscribers of {}", config.topic)))
        };
        while subscribers()? == 0 && !shutdown.has_begun() {
            if Instant::now() >= deadline {
                return Err(SimError::NoSubscriber {
                    topic: config.topic.clone(),
                    waited: config.wait_timeout,
                    domain: std::env::var(crate::domain::VARIABLE).unwrap_or_else(|_| "0".into()),
                    qos: config.qos,
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
    tellers: &mut [Teller],
    schedule: Schedule,
    shutdown: &Shutdown,
) -> Result<Lateness, SimError> {
    let mut speakers: Vec<Speaker> = (0..config.robots.get())
        .zip(robots)
        .map(|(at, robot)| Speaker {
            publisher: robot.messages.clone(),
            content: Content::new(
                at,
                config.seed,
                usize::try_from(config.payload_bytes).unwrap_or(usize::MAX),
            ),
            counts: Arc::clone(&robot.counts),
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
        for (teller, robot) in tellers.iter_mut().zip(robots) {
            teller.tell(&robot.counts, Instant::now());
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
