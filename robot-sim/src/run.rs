//! A run from the first node to the last census.

use crate::census::{self, Counts, Teller};
use crate::config::{Config, Topic};
use crate::content::{Content, robot_id};
use crate::control::Wanted;
use crate::pace::{self, Changes, Leg, NAP_NS, Outlet, Speaker};
use crate::schedule::{Lateness, Schedule, sequence};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::{clock_id, mono_ns};
use hopwatch_kit::tls::ServerTls;
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
    /// Rate and payload can't be set at the control address.
    #[error("failed to listen on the control address: {0:#}")]
    Control(anyhow::Error),
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

/// From the wish for another rate to the first message that is due by it: until then the publishing
/// thread, which may sleep, has noticed, and the census is there.
const CHANGE_LEAD_NS: Ns = NAP_NS + 50_000_000;

/// How long a schedule holds at least. Of a census that is lost and replaced at once, nobody would
/// know.
const SCHEDULE_HOLDS_NS: Ns = 1_000_000_000;

/// Publishes what `config` says, or until `shutdown` begins.
///
/// # Errors
/// When ROS 2 refuses, when nobody subscribes in time, when nothing is due.
pub async fn run(config: Config, shutdown: Shutdown) -> Result<Summary, SimError> {
    let (wanted, over) = (Wanted::new(&config), Shutdown::new());
    if let Some(address) = config.control {
        let tls = ServerTls::load(&config.tls_cert, &config.tls_key)
            .map_err(|refused| SimError::Control(refused.into()))?;
        let serving = wanted.serve(address, tls, &config.allowed_origins, over.clone());
        serving.await.map_err(SimError::Control)?;
    }
    let summary =
        tokio::task::spawn_blocking(move || run_blocking(&config, &wanted, &shutdown)).await;
    over.begin();
    summary.unwrap_or(Err(SimError::Panicked))
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

fn run_blocking(
    config: &Config,
    wanted: &Wanted,
    shutdown: &Shutdown,
) -> Result<Summary, SimError> {
    if config.limit() == Some(0) {
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
    let rate = wanted.rate();
    let schedule = Schedule::new(mono_ns() + lead_ns, rate.hz(), count);
    let limit = config.limit_from(0, rate, Duration::ZERO);
    let mut tellers = tellers(&robots, schedule);
    for told in &mut tellers {
        told.teller.tell(&told.counts, Instant::now());
    }
    let names = topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>().join(" ");
    tracing::info!(robots = count, rate_hz = rate.hz(), topics = names, "publishing");
    let lateness =
        publish(config, wanted, &robots, &mut tellers, Leg { schedule, limit }, shutdown);
    for told in &mut tellers {
        told.teller.tell_last(&told.counts, Instant::now());
    }
    linger(config.linger.0, shutdown);
    let (published, failed) = tellers
        .iter()
        .map(|told| told.counts.read())
        .fold((0, 0), |(published, failed), (p, f)| {
            (published + p.unsigned_abs(), failed + f.unsigned_abs())
        });
    Ok(Summary { robots: count, published, failed, lateness: lateness? })
}

/// Who tells the census of a robot (from 0) and topic, and what there is to tell.
struct Told {
    robot: u32,
    teller: Teller,
    counts: Arc<Counts>,
}

fn tellers(robots: &[Robot], schedule: Schedule) -> Vec<Told> {
    let mut tellers = Vec::new();
    for (at, robot) in (0..).zip(robots) {
        for outlet in &robot.outlets {
            let teller = Teller::new(
                outlet.census.clone(),
                (robot.id.clone(), robot.instance.clone()),
                outlet.topic.name.clone(),
                &clock_id(),
                schedule.first_of(at).0,
                schedule.rate_hz(),
            );
            tellers.push(Told { robot: at, teller, counts: Arc::clone(&outlet.counts) });
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

/// Runs the publishing thread to its end, telling censuses and changing the rate meanwhile.
fn publish(
    config: &Config,
    wanted: &Wanted,
    robots: &[Robot],
    tellers: &mut [Told],
    leg: Leg,
    shutdown: &Shutdown,
) -> Result<Lateness, SimError> {
    let payload = |topic: &Topic| topic.own_payload.then_some(topic.payload_bytes);
    let mut speakers: Vec<Speaker> = (0..config.robots.get())
        .zip(robots)
        .map(|(at, robot)| Speaker {
            content: Content::new(at, config.seed),
            outlets: robot
                .outlets
                .iter()
                .map(|outlet| Outlet {
                    publisher: outlet.messages.clone(),
                    payload_bytes: payload(&outlet.topic),
                    counts: Arc::clone(&outlet.counts),
                })
                .collect(),
        })
        .collect();
    let changes = Changes::default();
    let thread = thread::Builder::new()
        .name("robots".to_owned())
        .spawn({
            let (shutdown, wanted, changes) = (shutdown.clone(), wanted.clone(), changes.clone());
            move || pace::publish_all(&mut speakers, leg, &changes, &wanted, &shutdown)
        })
        .map_err(SimError::Thread)?;
    let mut schedule = leg.schedule;
    while !thread.is_finished() {
        thread::sleep(LOOK);
        if let Some(changed) = change(config, wanted, (leg.schedule, schedule), &changes) {
            schedule = changed;
            tracing::info!(rate_hz = schedule.rate_hz(), "the rate changes");
            for told in tellers.iter_mut() {
                let (start_ns, index) = schedule.first_of(told.robot);
                let first = (start_ns, sequence(index));
                let now = Instant::now();
                told.teller.change_schedule(first, schedule.rate_hz(), &told.counts, now);
            }
        }
        for told in tellers.iter_mut() {
            told.teller.tell(&told.counts, Instant::now());
        }
    }
    let lateness = thread.join().map_err(|_| SimError::Panicked)?;
    lateness.map_err(ros(|| "make a message".to_owned()))
}

/// The schedule that is to take over from the newest one, if another rate is wanted; and when all
/// are to end is counted from the very first one.
fn change(
    config: &Config,
    wanted: &Wanted,
    (first, newest): (Schedule, Schedule),
    changes: &Changes,
) -> Option<Schedule> {
    let rate = wanted.rate();
    let holds = mono_ns() < newest.start_ns().saturating_add(SCHEDULE_HOLDS_NS);
    if holds || rate.hz().total_cmp(&newest.rate_hz()).is_eq() {
        return None;
    }
    let leg = changes.add(|now| {
        let schedule = newest.changed(now + CHANGE_LEAD_NS, rate.hz());
        let (start_ns, sent) = schedule.first_of(0);
        let elapsed = u64::try_from(start_ns - first.start_ns()).unwrap_or(0);
        let limit = config.limit_from(sent, rate, Duration::from_nanos(elapsed));
        Leg { schedule, limit }
    });
    Some(leg.schedule)
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
