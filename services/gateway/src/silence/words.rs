//! The sentences on a silence: what, where, and what to do.

use super::Ours;
use hopwatch_model::Ns;
use hopwatch_tap::{Elsewhere, EndpointInfo};

/// So many names stand in a sentence.
const MOST_NAMES: usize = 5;

/// What it tells when a publisher's node isn't known.
pub(super) const NAMELESS: &str =
    "not even the name of its node came, which travels as data do (plain DDS writers have none)";

pub(super) fn nobody(ours: &Ours, waited: &str, elsewhere: &[Elsewhere]) -> String {
    let Ours { topic, topic_type, place, .. } = ours;
    let (right_type, others): (Vec<_>, Vec<_>) =
        elsewhere.iter().partition(|other| other.types.contains(topic_type));
    let hint = if !right_type.is_empty() {
        let names = listed(right_type.iter().map(|other| other.topic.clone()));
        format!("the same type is published on {names}: choose it with --topic, or remap the robot")
    } else if !others.is_empty() {
        let named = |other: &&Elsewhere| format!("{} ({})", other.topic, other.types.join(", "));
        let names = listed(others.iter().map(named));
        format!("topics of the same last name carry another type: {names}")
    } else {
        "no topic like it has a publisher there: check that the robot runs, and its ROS_DOMAIN_ID \
         and ROS_AUTOMATIC_DISCOVERY_RANGE (ros2 topic list)"
            .to_owned()
    };
    format!("{topic}: nobody publishes {topic_type} on it within {waited}, in {place}; {hint}")
}

pub(super) fn other_type(ours: &Ours, publisher: &EndpointInfo) -> String {
    let Ours { topic, topic_type, .. } = ours;
    format!(
        "{topic}: {} publishes {} on this topic, the subscription takes {topic_type}: nothing of \
         it can arrive; choose the topic that carries {topic_type} (--topic), or publish that type \
         here",
        publisher.name(),
        publisher.topic_type,
    )
}

pub(super) fn other_definition(
    topic: &str,
    publisher: &EndpointInfo,
    ours: [u8; 32],
    theirs: [u8; 32],
) -> String {
    format!(
        "{topic}: {} has another definition of {} (hash {} instead of {}): its messages may be \
         misread or not be read at all; build both sides against the same message package",
        publisher.name(),
        publisher.topic_type,
        short(theirs),
        short(ours),
    )
}

pub(super) fn not_matched(topic: &str, names: &str, unmatched: usize, waited: &str) -> String {
    format!(
        "{topic}: in the ROS graph for {waited}, fitting in type and QoS, and {unmatched} of them \
         not matched: {names}. Likely causes, in this order: DDS partitions that differ (look for \
         <partition> in the XML profiles of both sides); DDS security, or participants that ignore \
         each other; discovery that gets through in one direction only (a firewall: UDP ports from \
         7400 + 250 × domain must be open both ways)"
    )
}

pub(super) fn matched_no_samples(
    topic: &str,
    names: &str,
    census: Option<u64>,
    waited: &str,
    found: &[String],
) -> String {
    let count = census.map_or_else(String::new, |n| format!(", though the robots published {n}"));
    let found = match found {
        [] => String::new(),
        found => format!(" Seen from here: {}.", found.join("; ")),
    };
    let idle =
        if census.is_some() { "" } else { "; it publishes nothing (ros2 topic hz beside it)" };
    format!(
        "{topic}: matched, and nothing came within {waited}{count}: {names}.{found} Likely causes, \
         in this order: shared memory that isn't shared, with another user or a container (ls -l \
         /dev/shm/fastrtps_* on both sides; run both as one user, containers with --ipc=host, or \
         set FASTDDS_BUILTIN_TRANSPORTS=UDPv4 on both sides, which takes \
         ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET); a full /dev/shm (df /dev/shm); a \
         firewall or network namespace that lets discovery through and not data (UDP ports from \
         7410 + 250 × domain){idle}"
    )
}

pub(super) fn went_silent(
    topic: &str,
    name: &str,
    taken: u64,
    census: Option<u64>,
    waited: &str,
) -> String {
    let count = census.map_or_else(String::new, |n| {
        format!("; its process counts {n} messages published, and doesn't say that it is over")
    });
    format!(
        "{topic}: {name} is still in the ROS graph, and nothing has come from it for {waited}, \
         after {taken} messages{count}. Likely causes, in this order: it stopped publishing (ros2 \
         topic hz beside it); its process hangs or died a moment ago; the way for data was closed \
         (a full /dev/shm, a firewall, a network that is gone)"
    )
}

/// As "1.5 s".
pub(super) fn seconds(ns: Ns) -> String {
    format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10)
}

/// The beginning of a hash.
fn short(hash: [u8; 32]) -> String {
    let [a, b, c, d, ..] = hash;
    format!("{a:02x}{b:02x}{c:02x}{d:02x}")
}

pub(super) fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let text = names.take(MOST_NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}
