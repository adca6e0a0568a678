//! One subscription: its messages into the queues of its lanes, and why none come.

use crate::config::Lane;
use crate::intake::Arrival;
use crate::pipeline::Pipeline;
use crate::shared_memory;
use crate::silence::{Account, Flows, Ours, Silence};
use hopwatch_kit::clock::mono_ns;
use hopwatch_model::census::due_ns;
use hopwatch_model::lane::turn;
use hopwatch_model::{Census, GatewayCounters, Ns, PublisherId};
use hopwatch_tap::{EndpointInfo, Picture, Qos, Subscription, Taken, TapError, TypeSupport};
use hopwatch_wire::record::EventRecord;
use hopwatch_wire::robot_message::ROBOT_MESSAGE;
use r2r::hopwatch_msgs::msg::RobotMessage;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;

/// Messages that come faster than this leave the tap's thread alone: the reader's history is short,
/// and the runtime's threads are awake anyway.
const QUIET_NS: Ns = 5_000_000;

/// A subscription, and what the tap's thread shares of it with the rest of the gateway.
pub(crate) struct Topic {
    /// Its name, from the root.
    pub(crate) name: String,
    message: TypeSupport,
    /// What it asks for.
    qos: Qos,
    /// Its lanes: each gets every message.
    pub(crate) lanes: Vec<Arc<Pipeline>>,
    pub(crate) message_lost: AtomicU64,
    missed: AtomicI64,
    silence: Mutex<Silence>,
    /// Apart from it, since this one the tap's thread needs at each message.
    flows: Mutex<Flows>,
}

impl Topic {
    /// The subscriptions that these lanes need, in their order; lanes of one topic and QoS share
    /// one. `place` is where in ROS this gateway is, in words.
    pub(crate) fn all(
        lanes: &[(Lane, Arc<Pipeline>)],
        silence_ms: u64,
        place: &str,
    ) -> Result<Vec<Self>, TapError> {
        let after_ns = Ns::try_from(silence_ms).unwrap_or(Ns::MAX).saturating_mul(1_000_000);
        let mut topics: Vec<Self> = Vec::new();
        for (lane, pipeline) in lanes {
            let pipeline = Arc::clone(pipeline);
            let is_of = |topic: &&mut Self| topic.name == lane.topic && topic.qos == lane.qos;
            match topics.iter_mut().find(is_of) {
                Some(topic) => topic.lanes.push(pipeline),
                None => topics.push(Self::new(lane, pipeline, after_ns, place)?),
            }
        }
        Ok(topics)
    }

    fn new(
        lane: &Lane,
        pipeline: Arc<Pipeline>,
        after_ns: Ns,
        place: &str,
    ) -> Result<Self, TapError> {
        let message = match lane.message_type.as_str() {
            ROBOT_MESSAGE => TypeSupport::of::<RobotMessage>(),
            own => TypeSupport::named(own)?,
        };
        let ours = Ours {
            topic: lane.topic.clone(),
            topic_type: message.name().to_owned(),
            type_hash: message.hash(),
            qos: lane.qos,
            place: place.to_owned(),
        };
        Ok(Self {
            name: lane.topic.clone(),
            message,
            qos: lane.qos,
            lanes: vec![pipeline],
            message_lost: AtomicU64::new(0),
            missed: AtomicI64::new(0),
            silence: Mutex::new(Silence::new(ours, after_ns, mono_ns())),
            flows: Mutex::default(),
        })
    }

    pub(crate) fn subscription(&self) -> Subscription {
        Subscription { topic: self.name.clone(), type_support: self.message.clone(), qos: self.qos }
    }

    /// "/robot_messages (lanes a, b)"
    pub(crate) fn in_words(&self) -> String {
        let names: Vec<&str> = self.lanes.iter().map(|lane| lane.lane.as_str()).collect();
        let lanes = if names.len() == 1 { "lane" } else { "lanes" };
        format!("{} ({lanes} {})", self.name, names.join(", "))
    }

    pub(crate) fn silence(&self) -> MutexGuard<'_, Silence> {
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each lane's counters at one moment; what was lost before they got it is the same for all.
    pub(crate) fn counters(&self) -> impl Iterator<Item = GatewayCounters> {
        self.lanes.iter().map(|lane| GatewayCounters {
            message_lost: self.message_lost.load(Ordering::Relaxed),
            missed: u64::try_from(self.missed.load(Ordering::Relaxed)).unwrap_or(0),
            ..lane.intake.counters(&lane.lane)
        })
    }

    /// Whether nothing has come so far.
    pub(crate) fn is_mute(&self) -> bool {
        self.lanes.iter().all(|lane| lane.intake.counters("").taken == 0)
    }

    /// Whether it is time to look at the graph.
    pub(crate) fn is_due(&self) -> bool {
        // A copy: the tap's thread waits for neither of the two.
        let flows = self.flows().clone();
        self.silence().is_due(mono_ns(), &flows)
    }

    /// What is to be told of what the graph shows.
    pub(crate) fn look(&self, picture: &Picture) -> Vec<EventRecord> {
        let flows = self.flows().clone();
        let evidence = |late: &[&EndpointInfo]| shared_memory::evidence(late);
        self.silence().look(mono_ns(), picture, &flows, evidence)
    }

    /// A robot's own count of what it published here.
    pub(crate) fn census(&self, writer: PublisherId, census: &Census) {
        let account = Account {
            published: census.published,
            pause_ns: due_ns(0, census.rate_hz, 1),
            last: census.last,
        };
        self.silence().census(writer, &census.instance, account);
    }

    /// Gives a message to each lane, on the tap's thread. What is to be told of it comes back.
    pub(crate) fn message(
        &self,
        message: Taken,
        seen: &mut Seen,
        runtime: &Handle,
    ) -> Vec<EventRecord> {
        seen.is_quiet = message.taken_mono_ns.saturating_sub(seen.taken_ns) >= QUIET_NS;
        seen.taken_ns = message.taken_mono_ns;
        self.flows().entry(message.publisher).or_default().note(message.taken_mono_ns);
        let is_first = seen.heard.insert(message.publisher);
        let (reordered, missed) = seen.place(&message);
        self.missed.fetch_add(missed, Ordering::Relaxed);
        let (publisher, taken_ns) = (message.publisher, message.taken_mono_ns);
        let arrival = Arrival {
            bytes: message.bytes,
            source_wall_ns: message.source_wall_ns,
            received_wall_ns: message.received_wall_ns,
            publication_sequence: message.publication_sequence,
            publisher,
            reordered,
            taken_ns,
            bracket: message.bracket,
        };
        seen.taken += 1;
        for lane in self.in_turn(seen) {
            lane.offer(arrival.clone(), runtime);
        }
        if is_first { self.silence().heard(taken_ns, publisher) } else { Vec::new() }
    }

    /// No more are there for now: what waits alone is begun here, anything else by the runtime.
    pub(crate) fn idle(&self, seen: &Seen, runtime: &Handle) {
        for lane in self.in_turn(seen) {
            if seen.is_quiet { lane.start_here(runtime) } else { lane.intake.wake() }
        }
    }

    /// The lanes in the order in which they get the newest message: none is first more often.
    fn in_turn(&self, seen: &Seen) -> impl Iterator<Item = &Arc<Pipeline>> {
        turn(seen.taken, self.lanes.len()).filter_map(|at| self.lanes.get(at))
    }
}

/// What the tap's thread remembers of a subscription from message to message.
#[derive(Default)]
pub(crate) struct Seen {
    /// What is known of each writer's numbers.
    writers: HashMap<PublisherId, Numbers>,
    /// Writers of which something came.
    heard: HashSet<PublisherId>,
    /// Messages so far.
    taken: u64,
    /// When the newest message was taken, and whether none had come for a while before it.
    taken_ns: Ns,
    is_quiet: bool,
}

impl Seen {
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

#[cfg(test)]
#[path = "topic_tests.rs"]
mod tests;
