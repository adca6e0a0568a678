//! The tap as the gateway's source: messages into the lanes of their topic, everything else into
//! records.

use crate::config::{Config, Lane};
use crate::pipeline::Pipeline;
use crate::topic::{self, Topic};
use hopwatch_clocksync::{WallBracket, WallMap};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_link::RecordSender;
use hopwatch_model::lane::absolute;
use hopwatch_model::{Census as Told, GatewayCounters, Ns};
use hopwatch_tap::{
    Durability, Graph, Qos, Subscription, Taken, Tap, TapConfig, TapError, TapEvent, TypeSupport,
};
use hopwatch_wire::record::{CensusRecord, EventRecord, Record};
use hopwatch_wire::robot_message::decode_census;
use r2r::hopwatch_msgs::msg::Census;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The topic of the robots' own counts.
const CENSUS_TOPIC: &str = "/hopwatch/census";

/// An event that comes with every message is told so often: what matters is in the counters.
const EVENT_PAUSE_NS: Ns = 1_000_000_000;

/// So many topics that robots count and that are no lane's are told of.
const MOST_OTHER_TOPICS: usize = 10;

/// What the tap's thread remembers from message to message.
struct Seen {
    wall: WallMap,
    /// Of each topic.
    topics: Vec<topic::Seen>,
    /// Topics of which something was taken in this round, in the order of the takes.
    came: Vec<usize>,
    /// When an event of a kind was told last of a subscription, monotonic ns.
    told: HashMap<(&'static str, usize), Ns>,
    /// Topics that robots count and that are no lane's.
    other_topics: BTreeSet<String>,
}

impl Seen {
    fn new(topics: usize) -> Self {
        Self {
            wall: WallMap::default(),
            topics: std::iter::repeat_with(topic::Seen::default).take(topics).collect(),
            came: Vec::new(),
            told: HashMap::new(),
            other_topics: BTreeSet::new(),
        }
    }

    /// Whether an event of this kind may be told again of this subscription.
    fn may_tell(&mut self, event: &'static str, subscription: usize) -> bool {
        let now = mono_ns();
        let key = (event, subscription);
        let told = self.told.get(&key).is_none_or(|last| now - last >= EVENT_PAUSE_NS);
        if told {
            self.told.insert(key, now);
        }
        told
    }
}

/// What the tap's thread shares with the rest of the gateway.
pub(crate) struct Source {
    /// A subscription each, in the tap's order. The censuses are behind them.
    topics: Vec<Topic>,
    pub(crate) records: RecordSender,
    /// When this gateway started, on its monotonic clock.
    started_ms: i64,
    /// Censuses of topics that are no lane's.
    of_other_topics: AtomicU64,
    /// The graph changed, or a match, since somebody looked.
    graph_changed: AtomicBool,
}

/// How often is asked whether it is time to look at the graph.
const LOOK: Duration = Duration::from_millis(250);

impl Source {
    pub(crate) fn new(
        config: &Config,
        lanes: &[(Lane, Arc<Pipeline>)],
        records: RecordSender,
    ) -> Result<Self, TapError> {
        Ok(Self {
            topics: Topic::all(lanes, config.silence_ms, &place(config))?,
            records,
            started_ms: mono_ns() / 1_000_000,
            of_other_topics: AtomicU64::new(0),
            graph_changed: AtomicBool::new(false),
        })
    }

    /// Each lane's counters.
    pub(crate) fn counters(&self, last: bool) -> Vec<GatewayCounters> {
        let told = |counters| GatewayCounters {
            started_ms: self.started_ms,
            records_dropped: self.records.dropped(),
            last,
            ..counters
        };
        self.topics.iter().flat_map(Topic::counters).map(told).collect()
    }

    pub(crate) fn censuses_of_other_topics(&self) -> u64 {
        self.of_other_topics.load(Ordering::Relaxed)
    }

    /// Tells why nothing comes, when nothing comes. While messages come and nobody comes or goes,
    /// the tap's thread isn't asked for anything.
    pub(crate) async fn watch(self: Arc<Self>, graph: Graph, end: Shutdown) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = end.begun() => break,
            }
            let changed = self.graph_changed.swap(false, Ordering::Relaxed);
            for (at, topic) in self.topics.iter().enumerate() {
                if (changed || topic.is_due()) && !self.look(&graph, at).await {
                    return;
                }
            }
        }
        // Nothing came at all: what is known of it by now must not be kept back.
        for (at, topic) in self.topics.iter().enumerate().filter(|(_, topic)| topic.is_mute()) {
            topic.silence().hurry();
            self.look(&graph, at).await;
        }
    }

    /// Looks at what the graph has to do with a topic. False when the tap has ended.
    async fn look(self: &Arc<Self>, graph: &Graph, at: usize) -> bool {
        let (source, graph) = (Arc::clone(self), graph.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let picture = match graph.look(at) {
                Ok(picture) => picture,
                Err(TapError::Ended) => return false,
                Err(error) => {
                    tracing::warn!("{error}");
                    return true;
                }
            };
            if let Some(topic) = source.topics.get(at) {
                source.tell(topic.look(&picture));
            }
            true
        });
        looked.await.unwrap_or(false)
    }

    fn tell(&self, news: Vec<EventRecord>) {
        for EventRecord { event, text } in news {
            self.event(&event, text);
        }
    }

    /// Subscribes. The receiver is told when the tap's thread ends, however it ends.
    pub(crate) fn start(
        self: &Arc<Self>,
        config: &Config,
    ) -> Result<(Tap, oneshot::Receiver<()>), TapError> {
        let census = Qos { durability: Durability::TransientLocal, depth: 100, ..Qos::RELIABLE };
        let mut subscriptions: Vec<_> = self.topics.iter().map(Topic::subscription).collect();
        subscriptions.push(Subscription {
            topic: CENSUS_TOPIC.to_owned(),
            type_support: TypeSupport::of::<Census>(),
            qos: census,
        });
        let tap_config = TapConfig {
            node_name: "hopwatch_gateway".to_owned(),
            namespace: String::new(),
            domain_id: config.domain().unwrap_or_default(),
            subscriptions,
        };
        // Dropped with the sink, which tells that the tap has ended.
        let (alive, ended) = oneshot::channel();
        let source = Arc::clone(self);
        let mut seen = Seen::new(self.topics.len());
        let runtime = Handle::current();
        let tap = Tap::start(tap_config, move |event| {
            let _alive = &alive;
            source.take(event, &mut seen, &runtime);
        })?;
        Ok((tap, ended))
    }

    /// Runs on the tap's thread: nothing here waits.
    fn take(&self, event: TapEvent, seen: &mut Seen, runtime: &Handle) {
        let of = event.subscription();
        let topic = of.and_then(|of| Some((of, self.topics.get(of)?)));
        match (event, topic) {
            (TapEvent::Taken { message, .. }, Some((at, topic))) => {
                self.wall(message.bracket, seen);
                if !seen.came.contains(&at) {
                    seen.came.push(at);
                }
                if let Some(seen) = seen.topics.get_mut(at) {
                    self.tell(topic.message(message, seen, runtime));
                }
            }
            (TapEvent::Taken { message, .. }, None) => self.census(&message, seen),
            (TapEvent::Idle, _) => {
                for at in seen.came.drain(..) {
                    if let (Some(topic), Some(seen)) = (self.topics.get(at), seen.topics.get(at)) {
                        topic.idle(seen, runtime);
                    }
                }
            }
            (TapEvent::MessageLost { total, .. }, Some((at, topic))) => {
                topic.message_lost.store(total as u64, Ordering::Relaxed);
                if seen.may_tell("message_lost", at) {
                    let on = topic.in_words();
                    let text = format!("DDS reports {total} messages lost so far on {on}");
                    self.event("message_lost", text);
                }
            }
            (TapEvent::IncompatibleQos { advice, offered, .. }, Some((_, topic))) => {
                let news = topic.silence().unfit(mono_ns(), &offered, &advice);
                self.tell(news);
            }
            (TapEvent::TakeFailed { subscription, total, detail }, _)
                if seen.may_tell("take_failed", subscription) =>
            {
                let on = topic.map_or(CENSUS_TOPIC.to_owned(), |(_, topic)| topic.in_words());
                let text = format!("{total} messages of {on} could not be taken: {detail}");
                self.event("take_failed", text);
            }
            (TapEvent::Matched { current, .. }, Some((_, topic))) => {
                tracing::info!(publishers = current, topic = topic.name, "matched");
                self.graph_changed.store(true, Ordering::Relaxed);
            }
            (TapEvent::GraphChanged, _) => self.graph_changed.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Looks whether somebody set the wall clock.
    fn wall(&self, bracket: WallBracket, seen: &mut Seen) {
        if let Some(step) = seen.wall.observe(bracket) {
            let ms = step.by / 1_000_000;
            self.event(
                "wall_clock_step",
                format!(
                    "this host's wall clock was set by {ms} ms: legs before taken of messages \
                     that were on their way are off by as much"
                ),
            );
        }
    }

    fn census(&self, message: &Taken, seen: &mut Seen) {
        let census = self.topics.len();
        match decode_census(&message.bytes) {
            Ok(Some((of, told))) => {
                let of = absolute(&of);
                let mut is_ours = false;
                for topic in self.topics.iter().filter(|topic| topic.name == of) {
                    is_ours = true;
                    topic.census(message.publisher, &told);
                    for lane in &topic.lanes {
                        self.records.send(Record::Census(CensusRecord::new(&lane.lane, &told)));
                    }
                }
                if !is_ours {
                    self.of_other_topics.fetch_add(1, Ordering::Relaxed);
                    self.other_topic(of, &told, seen);
                }
            }
            Ok(None) if seen.may_tell("bad_census", census) => {
                self.event("bad_census", "a census has impossible counts".to_owned());
            }
            Err(error) if seen.may_tell("bad_census", census) => {
                self.event("bad_census", format!("a census can't be read: {error}"));
            }
            Ok(None) | Err(_) => {}
        }
    }

    /// A robot counts what it publishes elsewhere: none of that is published on a lane.
    fn other_topic(&self, of: String, census: &Told, seen: &mut Seen) {
        if seen.other_topics.len() >= MOST_OTHER_TOPICS || seen.other_topics.contains(&of) {
            return;
        }
        let robot = &census.robot_id;
        let ours: Vec<&str> = self.topics.iter().map(|topic| topic.name.as_str()).collect();
        let ours = ours.join(", ");
        let text = if of.is_empty() {
            format!(
                "{robot} does not say which topic its census counts: it is passed over; let it \
                 fill in Census.topic (measured here: {ours})"
            )
        } else {
            format!(
                "{robot} counts what it publishes on {of}, and no lane takes from there: it is \
                 passed over (measured here: {ours})"
            )
        };
        self.event("other_topic", text);
        seen.other_topics.insert(of);
    }

    fn event(&self, event: &str, text: String) {
        tracing::warn!(event, "{text}");
        self.records.send(Record::Event(EventRecord { event: event.to_owned(), text }));
    }
}

/// Where in ROS this gateway is, in words.
fn place(config: &Config) -> String {
    let of = |name: &str, default: &str| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.unwrap_or_else(|| default.to_owned())
    };
    let domain = config.domain().ok().flatten().map(|domain| domain.to_string());
    let domain = domain.unwrap_or_else(|| of("ROS_DOMAIN_ID", "0"));
    format!(
        "ROS domain {domain}, discovery range {}",
        of("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    )
}
