//! From lanes as they are written to names, topics and depths.

use super::{BadLane, LaneQos, LaneSpec};
use std::collections::BTreeMap;

/// The most lanes: each costs the machine that it shares with the others.
const MOST: usize = 16;

/// A lane with everything that is known of it without asking for links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its name in reports; no other lane has it.
    pub name: String,
    /// Its topic, beginning with `/`.
    pub topic: String,
    /// The topic's QoS.
    pub qos: LaneQos,
    /// The topic's history depth.
    pub depth: u32,
    /// The link to both services, if the lane has one of its own.
    pub link: Option<String>,
    /// The size of its messages, if the lane has one of its own.
    pub payload_bytes: Option<u32>,
}

/// What a simulated robot publishes for one or several lanes: one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    /// The topic.
    pub topic: String,
    /// What its publisher offers.
    pub qos: LaneQos,
    /// How many messages the publisher keeps.
    pub depth: u32,
    /// The size that messages are padded to, if the lanes say.
    pub payload_bytes: Option<u32>,
}

/// A topic's name from its root. A relative one belongs to the root here: no program of ours has a
/// namespace. Nothing stays nothing, for ROS to refuse.
pub fn absolute(topic: &str) -> String {
    let is_whole = topic.is_empty() || topic.starts_with('/');
    if is_whole { topic.to_owned() } else { format!("/{topic}") }
}

/// Gives each lane its name and its topic.
///
/// Lanes without a topic of their own that agree in QoS, depth and payload share one: what differs
/// between them, the link, begins behind the take, so they get the very same message. The first of
/// them has `topic`, those that differ a name below it (`/robot_messages/reliable`).
///
/// A lane without a name is called by its QoS, and by what is written in it and differs among those
/// of the same QoS.
///
/// # Errors
/// When there are none or too many, or two would have one name.
pub fn resolve(specs: &[LaneSpec], topic: &str) -> Result<Vec<Lane>, BadLane> {
    if !(1..=MOST).contains(&specs.len()) {
        let what = format!("there are 1 to {MOST} lanes, not {}", specs.len());
        return Err(BadLane::new(LaneSpec::join(specs), what));
    }
    let first = specs.iter().find(|spec| spec.topic.is_none()).map(condition);
    let mut lanes: Vec<Lane> = Vec::new();
    for spec in specs {
        let lane = Lane {
            name: spec.name.clone().unwrap_or_else(|| name(spec, specs)),
            topic: match (&spec.topic, first) {
                (Some(own), _) => absolute(own),
                (None, Some(first)) => derived(&absolute(topic), first, condition(spec)),
                (None, None) => absolute(topic),
            },
            qos: spec.qos,
            depth: spec.depth.unwrap_or_else(|| spec.qos.depth()),
            link: spec.link.clone(),
            payload_bytes: spec.payload_bytes,
        };
        if lanes.iter().any(|other| other.name == lane.name) {
            let what = format!("another lane is called {:?}, too: give one a name=", lane.name);
            return Err(BadLane::new(spec, what));
        }
        lanes.push(lane);
    }
    Ok(lanes)
}

/// What a topic is made by.
type Condition = (LaneQos, u32, Option<u32>);

fn condition(spec: &LaneSpec) -> Condition {
    (spec.qos, spec.depth.unwrap_or_else(|| spec.qos.depth()), spec.payload_bytes)
}

/// The topic of a condition: of another one than the first, what differs is added. Names of topics
/// have no '-' (`rmw_validate_full_topic_name`).
fn derived(topic: &str, first: Condition, own: Condition) -> String {
    let (qos, depth, payload) = own;
    let mut words = Vec::new();
    if qos != first.0 {
        words.push(qos.name().replace('-', "_"));
    }
    let usual = if qos == first.0 { first.1 } else { qos.depth() };
    if depth != usual {
        words.push(format!("depth_{depth}"));
    }
    if payload != first.2 {
        words.push(payload.map_or("usual_payload".to_owned(), |bytes| format!("payload_{bytes}")));
    }
    if words.is_empty() { topic.to_owned() } else { format!("{topic}/{}", words.join("_")) }
}

/// The QoS, and what tells the lane apart.
fn name(spec: &LaneSpec, all: &[LaneSpec]) -> String {
    let alike = || all.iter().filter(|other| other.name.is_none() && other.qos == spec.qos);
    let mut name = spec.qos.name().to_owned();
    let mut add = |own: Option<String>, differs: bool| {
        if let Some(own) = own.filter(|_| differs) {
            name.push('-');
            name.push_str(&own);
        }
    };
    add(spec.link.clone(), alike().any(|other| other.link != spec.link));
    let depth = spec.depth.map(|depth| format!("depth{depth}"));
    add(depth, alike().any(|other| condition(other).1 != condition(spec).1));
    let payload = spec.payload_bytes.map(|bytes| format!("{bytes}B"));
    add(payload, alike().any(|other| other.payload_bytes != spec.payload_bytes));
    let topic = spec.topic.as_ref().map(|topic| topic.trim_matches('/').replace('/', "."));
    add(topic, alike().any(|other| other.topic != spec.topic));
    name
}

/// What robots publish so that every lane has its messages: each topic once, in the order of the
/// lanes.
///
/// # Errors
/// When lanes of one topic want different things of its publisher.
pub fn outlets(lanes: &[Lane]) -> Result<Vec<Outlet>, BadLane> {
    let mut outlets: Vec<Outlet> = Vec::new();
    let mut first_of: BTreeMap<&str, &str> = BTreeMap::new();
    for lane in lanes {
        let outlet = Outlet {
            topic: lane.topic.clone(),
            qos: lane.qos,
            depth: lane.depth,
            payload_bytes: lane.payload_bytes,
        };
        match outlets.iter().find(|other| other.topic == outlet.topic) {
            None => {
                first_of.insert(&lane.topic, &lane.name);
                outlets.push(outlet);
            }
            Some(other) if *other == outlet => {}
            Some(_) => {
                let other = first_of.get(lane.topic.as_str()).unwrap_or(&"another");
                let what = format!(
                    "lane {other:?} has {} too, with another qos, depth or payload: simulated \
                     robots publish a topic in one way; give them different topics, or none",
                    lane.topic
                );
                return Err(BadLane::new(&lane.name, what));
            }
        }
    }
    Ok(outlets)
}

/// The order in which `count` lanes have their turn with the `index`-th message: as given and
/// reversed in turn, and of more than two, everyone at every place. Over 2 × `count` messages (of
/// two: over two) each is before each other equally often, so that being first or last favours
/// none.
pub fn turn(index: u64, count: usize) -> impl Iterator<Item = usize> + use<> {
    let reversed = index % 2 == 1;
    let count_wide = u64::try_from(count).unwrap_or(u64::MAX).max(1);
    let rotated = if count > 2 { usize::try_from(index / 2 % count_wide).unwrap_or(0) } else { 0 };
    (0..count).map(move |place| {
        let place = if reversed { count - 1 - place } else { place };
        (place + rotated) % count
    })
}
