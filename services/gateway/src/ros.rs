//! The tap as the gateway's source: messages into the intake, everything else into records.

use crate::config::Config;
use crate::intake::Arrival;
use crate::pipeline::Pipeline;
use crate::shared_memory;
use crate::silence::{Account, Flows, Ours, Silence};
use hopwatch_clocksync::WallMap;
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_link::RecordSender;
use hopwatch_model::census::due_ns;
use hopwatch_model::{Ns, PublisherId};
use hopwatch_tap::{
    Durability, EndpointInfo, Graph, Qos, Subscription, Taken, Tap, TapConfig, TapError, TapEvent,
    TypeSupport,
};
use hopwatch_wire::record::{CensusRecord, EventRecord, Record};
use hopwatch_wire::robot_message::decode_census;
use r2r::hopwatch_msgs::msg::{Census, RobotMessage};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The topic of the robots' own counts.
const CENSUS_TOPIC: &str = "/hopwatch/census";
const MESSAGES: usize = 0;

/// What the tap's thread remembers from message to message.
#[derive(Default)]
struct Seen {
    wall: WallMap,
    /// What is known of each writer's numbers.
    writers: HashMap<PublisherId, Numbers>,
    /// Writers of which something came.
    heard: HashSet<PublisherId>,
    /// When the newest message was taken, and whether none had come for a while before it.
    taken_ns: Ns,
    is_quiet: bool,
    /// When an event of a kind was told last, monotonic ns.
    told: HashMap<&'static str, Ns>,
}

/// Messages that come faster than this leave the tap's thread alone: the reader's history is short,
/// and the runtime's threads are awake anyway.
const QUIET_NS: Ns = 5_000_000;

/// An event that comes with every message is told so often: what matters is in the counters.
const EVENT_PAUSE_NS: Ns = 1_000_000_000;

impl Seen {
    /// Whether an event of this kind may be told again.
    fn may_tell(&mut self, event: &'static str) -> bool {
        let now = mono_ns();
        let told = self.told.get(event).is_none_or(|last| now - last >= EVENT_PAUSE_NS);
        if told {
            self.told.insert(event, now);
        }
        told
    }

    /// Whether a message comes after one that its writer published later, and by how much it
    /// changes the count of messages that were missed.
    fn place(&mut self, message: &Taken) -> (bool, i64) {
        let Some(number) = message.publication_sequence else { return (false, 0) };
        let start = || Numbers { highest: number, gaps: BTreeSet::new() };
        let numbers = self.writers.entry(message.publisher).or_insert_with(start);
        if number <= numbers.highest {
            let late = numbers.gaps.remove(&number);
            return (number < numbers.highest, -i64::from(late));
        }
        let missed = number - numbers.highest - 1;
        numbers.gaps.extend((numbers.highest + 1..number).rev().take(REMEMBERED));
        while numbers.gaps.len() > REMEMBERED {
            numbers.gaps.pop_first();
        }
        numbers.highest = number;
        (false, i64::try_from(missed).unwrap_or(i64::MAX))
    }
}

/// The numbers of one writer's messages.
struct Numbers {
    highest: u64,
    /// Those that were passed over: they may still come.
    gaps: BTreeSet<u64>,
}

/// Gaps of a writer that may still close.
const REMEMBERED: usize = 10_000;

/// What the tap's thread shares with the rest of the gateway.
pub(crate) struct Source {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) records: RecordSender,
    /// When this gateway started, on its monotonic clock.
    pub(crate) started_ms: i64,
    pub(crate) message_lost: AtomicU64,
    pub(crate) missed: AtomicI64,
    silence: Mutex<Silence>,
    /// Apart from it, since this one the tap's thread needs at each message.
    flows: Mutex<Flows>,
    /// The graph changed, or a match, since somebody looked.
    graph_changed: AtomicBool,
}

/// How often is asked whether it is time to look at the graph.
const LOOK: Duration = Duration::from_millis(250);

impl Source {
    pub(crate) fn new(config: &Config, pipeline: Arc<Pipeline>, records: RecordSender) -> Self {
        let message = TypeSupport::of::<RobotMessage>();
        let ours = Ours {
            topic: config.topic.clone(),
            topic_type: message.name().to_owned(),
            type_hash: message.hash(),
            qos: config.qos(),
            place: place(config),
        };
        let after_ns = Ns::try_from(config.silence_ms).unwrap_or(Ns::MAX).saturating_mul(1_000_000);
        Self {
            pipeline,
            records,
            started_ms: mono_ns() / 1_000_000,
            message_lost: AtomicU64::new(0),
            missed: AtomicI64::new(0),
            silence: Mutex::new(Silence::new(ours, after_ns, mono_ns())),
            flows: Mutex::default(),
            graph_changed: AtomicBool::new(false),
        }
    }

    fn silence(&self) -> MutexGuard<'_, Silence> {
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
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
            if (changed || self.is_due()) && !self.look(&graph).await {
                return;
            }
        }
        // Nothing came at all: what is known of it by now must not be kept back.
        if self.pipeline.intake.counters("").taken == 0 {
            self.silence().hurry();
            self.look(&graph).await;
        }
    }

    fn is_due(&self) -> bool {
        // A copy: the tap's thread waits for neither of the two.
        let flows = self.flows().clone();
        self.silence().is_due(mono_ns(), &flows)
    }

    /// False when the tap has ended.
    async fn look(self: &Arc<Self>, graph: &Graph) -> bool {
        let (source, graph) = (Arc::clone(self), graph.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let picture = match graph.look(MESSAGES) {
                Ok(picture) => picture,
                Err(TapError::Ended) => return false,
                Err(error) => {
                    tracing::warn!("{error}");
                    return true;
                }
            };
            let flows = source.flows().clone();
            let evidence = |late: &[&EndpointInfo]| shared_memory::evidence(late);
            let news = source.silence().look(mono_ns(), &picture, &flows, evidence);
            source.tell(news);
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
        let subscriptions = vec![
            Subscription {
                topic: config.topic.clone(),
                type_support: TypeSupport::of::<RobotMessage>(),
                qos: config.qos(),
            },
            Subscription {
                topic: CENSUS_TOPIC.to_owned(),
                type_support: TypeSupport::of::<Census>(),
                qos: census,
            },
        ];
        let tap_config = TapConfig {
            node_name: "hopwatch_gateway".to_owned(),
            namespace: String::new(),
            domain_id: config.domain().unwrap_or_default(),
            subscriptions,
        };
        // Dropped with the sink, which tells that the tap has ended.
        let (alive, ended) = oneshot::channel();
        let source = Arc::clone(self);
        let mut seen = Seen::default();
        let runtime = Handle::current();
        let tap = Tap::start(tap_config, move |event| {
            let _alive = &alive;
            match event {
                TapEvent::Idle if seen.is_quiet => source.pipeline.start_here(&runtime),
                TapEvent::Idle => source.pipeline.intake.wake(),
                event => source.take(event, &mut seen, &runtime),
            }
        })?;
        Ok((tap, ended))
    }

    /// Runs on the tap's thread: nothing here waits.
    fn take(&self, event: TapEvent, seen: &mut Seen, runtime: &Handle) {
        match event {
            TapEvent::Taken { subscription: MESSAGES, message } => {
                self.message(message, seen, runtime);
            }
            TapEvent::Taken { message, .. } => self.census(&message, seen),
            TapEvent::MessageLost { subscription: MESSAGES, total, .. } => {
                self.message_lost.store(total as u64, Ordering::Relaxed);
                let text = format!("DDS reports {total} messages lost so far on the topic");
                if seen.may_tell("message_lost") {
                    self.event("message_lost", text);
                }
            }
            TapEvent::IncompatibleQos { subscription: MESSAGES, advice, offered, .. } => {
                let news = self.silence().unfit(mono_ns(), &offered, &advice);
                self.tell(news);
            }
            TapEvent::TakeFailed { total, detail, .. } if seen.may_tell("take_failed") => {
                self.event("take_failed", format!("{total} messages could not be taken: {detail}"));
            }
            TapEvent::Matched { subscription: MESSAGES, current, .. } => {
                tracing::info!(publishers = current, "matched");
                self.graph_changed.store(true, Ordering::Relaxed);
            }
            TapEvent::GraphChanged => self.graph_changed.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    fn message(&self, message: Taken, seen: &mut Seen, runtime: &Handle) {
        seen.is_quiet = message.taken_mono_ns.saturating_sub(seen.taken_ns) >= QUIET_NS;
        seen.taken_ns = message.taken_mono_ns;
        if let Some(step) = seen.wall.observe(message.bracket) {
            let ms = step.by / 1_000_000;
            self.event(
                "wall_clock_step",
                format!(
                    "this host's wall clock was set by {ms} ms: legs before taken of messages \
                     that were on their way are off by as much"
                ),
            );
        }
        self.flows().entry(message.publisher).or_default().note(message.taken_mono_ns);
        if seen.heard.insert(message.publisher) {
            let news = self.silence().heard(message.taken_mono_ns, message.publisher);
            self.tell(news);
        }
        let (reordered, missed) = seen.place(&message);
        self.missed.fetch_add(missed, Ordering::Relaxed);
        let arrival = Arrival {
            bytes: message.bytes,
            source_wall_ns: message.source_wall_ns,
            received_wall_ns: message.received_wall_ns,
            publication_sequence: message.publication_sequence,
            publisher: message.publisher,
            reordered,
            taken_ns: message.taken_mono_ns,
            bracket: message.bracket,
        };
        self.pipeline.offer(arrival, runtime);
    }

    fn census(&self, message: &Taken, seen: &mut Seen) {
        match decode_census(&message.bytes) {
            Ok(Some(census)) => {
                let account = Account {
                    published: census.published,
                    pause_ns: due_ns(0, census.rate_hz, 1),
                    last: census.last,
                };
                self.silence().census(message.publisher, &census.instance, account);
                let record = CensusRecord::new(&self.pipeline.lane, &census);
                self.records.send(Record::Census(record));
            }
            Ok(None) if seen.may_tell("bad_census") => {
                self.event("bad_census", "a census has impossible counts".to_owned());
            }
            Err(error) if seen.may_tell("bad_census") => {
                self.event("bad_census", format!("a census can't be read: {error}"));
            }
            Ok(None) | Err(_) => {}
        }
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
