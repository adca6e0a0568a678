//! What the ROS graph tells of topics of one's own before they are subscribed to: their types, and
//! what their publishers offer.

use crate::config::{Config, Lane};
use crate::forms::{TopicForm, TopicQos};
use hopwatch_kit::Shutdown;
use hopwatch_kit::config::Refused;
use hopwatch_tap::{EndpointInfo, Qos, Reliability, Tap, TapConfig};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often the graph is asked.
const LOOK: Duration = Duration::from_millis(100);
/// After the first publisher of a topic was seen: others of it may still be on their way.
const SETTLING: Duration = Duration::from_secs(1);

/// Completes the forms: afterwards each has a type, and each lane the QoS that it subscribes with.
pub(crate) async fn complete(
    config: &Config,
    lanes: &mut [Lane],
    end: &Shutdown,
) -> anyhow::Result<BTreeMap<String, TopicForm>> {
    let used: BTreeSet<&str> = lanes.iter().map(|lane| lane.topic.as_str()).collect();
    if let Some(unused) = config.topics.keys().find(|topic| !used.contains(topic.as_str())) {
        let topics = used.into_iter().collect::<Vec<_>>().join(", ");
        let why = format!("topics.{unused:?}: no lane has this topic (lanes have {topics})");
        return Err(Refused(why).into());
    }
    let mut forms = config.topics.clone();
    let asks = |form: &TopicForm| form.message_type.is_empty() || form.qos == TopicQos::Match;
    if !forms.values().any(asks) {
        return Ok(forms);
    }
    let tap = Tap::start(
        TapConfig {
            node_name: "hopwatch_scout".to_owned(),
            namespace: String::new(),
            domain_id: config.domain().unwrap_or_default(),
            subscriptions: Vec::new(),
        },
        |_| {},
    )?;
    let deadline = Instant::now() + Duration::from_millis(config.discovery_ms);
    for (topic, form) in forms.iter_mut().filter(|(_, form)| asks(form)) {
        let found = publishers(&tap, topic, &form.message_type, deadline, end).await?;
        if form.message_type.is_empty() {
            form.message_type = type_of(topic, &found)?;
            tracing::info!("{topic} is of type {}, as its publishers have it", form.message_type);
            for lane in lanes.iter_mut().filter(|lane| lane.topic == *topic) {
                lane.message_type.clone_from(&form.message_type);
            }
        }
        if form.qos == TopicQos::Match {
            let mut own: Vec<&mut Lane> =
                lanes.iter_mut().filter(|lane| lane.topic == *topic).collect();
            match_lanes(topic, &found, &mut own)?;
        }
    }
    let stopped = tokio::task::spawn_blocking(move || tap.stop()).await?;
    stopped?;
    Ok(forms)
}

/// The topic's publishers, of this type if there is one to look for, once some are there and no more
/// come.
async fn publishers(
    tap: &Tap,
    topic: &str,
    message_type: &str,
    deadline: Instant,
    end: &Shutdown,
) -> anyhow::Result<Vec<EndpointInfo>> {
    let mut settled: Option<Instant> = None;
    loop {
        let (found, others): (Vec<_>, Vec<_>) = tap
            .publishers(topic)?
            .into_iter()
            .partition(|of| message_type.is_empty() || of.topic_type == message_type);
        let now = Instant::now();
        if !found.is_empty() && now >= *settled.get_or_insert(now + SETTLING) {
            return Ok(found);
        }
        if let (true, [other, ..]) = (now >= deadline && found.is_empty(), &others[..]) {
            let (name, of) = (other.name(), &other.topic_type);
            let why = format!("{topic} has no publisher of {message_type}: {name} publishes {of}");
            return Err(Refused(why).into());
        }
        if now >= deadline && found.is_empty() {
            let why = format!(
                "{topic} has no publisher, so its type and its QoS aren't known: start the robot \
                 first, or write `type = \"package/msg/Type\"` (and no `qos = \"match\"`) into \
                 [gateway.topics.{topic:?}]; a longer wait: discovery_ms"
            );
            return Err(Refused(why).into());
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = end.begun() => anyhow::bail!("stopped while waiting for publishers of {topic}"),
        }
    }
}

/// The only type of the topic.
fn type_of(topic: &str, publishers: &[EndpointInfo]) -> Result<String, Refused> {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for publisher in publishers {
        types.entry(&publisher.topic_type).or_default().push(publisher.name());
    }
    if let [(only, _)] = types.iter().collect::<Vec<_>>().as_slice() {
        return Ok((**only).to_owned());
    }
    let types: Vec<String> =
        types.iter().map(|(of, from)| format!("{of} ({})", from.join(", "))).collect();
    Err(Refused(format!(
        "{topic} has publishers of several types: {}. Stop the wrong ones, or write which is meant: \
         `type = …` in [gateway.topics.{topic:?}]",
        types.join("; ")
    )))
}

/// Gives the lanes of a topic what every publisher offers.
fn match_lanes(
    topic: &str,
    publishers: &[EndpointInfo],
    lanes: &mut [&mut Lane],
) -> Result<(), Refused> {
    if let [first, rest @ ..] = &lanes[..]
        && rest.iter().any(|lane| lane.qos.reliability != first.qos.reliability)
    {
        return Err(Refused(format!(
            "topics.{topic:?}: qos = \"match\" makes its lanes the same, which ask for different QoS"
        )));
    }
    for lane in lanes {
        lane.qos = Qos { reliability: offer(publishers), ..lane.qos };
        tracing::info!(
            "lane {} subscribes to {topic} with {}, as its publishers offer",
            lane.name,
            lane.qos
        );
    }
    Ok(())
}

/// What all of them offer: RELIABLE would match with some only where one doesn't. What isn't told
/// counts as not offered.
///
/// Durability is not matched: what a publisher has kept from before was published before anybody
/// measured, and would come as messages that took so long.
pub(crate) fn offer(publishers: &[EndpointInfo]) -> Reliability {
    let all = publishers.iter().all(|of| of.reliability == Some(Reliability::Reliable));
    if all && !publishers.is_empty() { Reliability::Reliable } else { Reliability::BestEffort }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_model::PublisherId;
    use hopwatch_tap::Durability;

    fn publisher(of: &str, reliability: Option<Reliability>) -> EndpointInfo {
        EndpointInfo {
            node: Some(format!("/{of}")),
            topic_type: format!("p/msg/{of}"),
            type_hash: None,
            id: PublisherId([1; 16]),
            reliability,
            durability: Some(Durability::TransientLocal),
            deadline: None,
            liveliness: None,
            lease: None,
        }
    }

    #[test]
    fn what_all_publishers_offer_is_asked_for() {
        use Reliability::{BestEffort, Reliable};
        let of = |all: &[Option<Reliability>]| {
            offer(&all.iter().map(|offered| publisher("T", *offered)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[Some(Reliable), Some(Reliable)]), Reliable);
        assert_eq!(of(&[Some(Reliable), Some(BestEffort)]), BestEffort);
        assert_eq!(of(&[Some(Reliable), None]), BestEffort);
        assert_eq!(of(&[]), BestEffort);
    }

    #[test]
    fn a_topic_of_two_types_is_refused_by_both_names() {
        let one = publisher("T", None);
        let other = publisher("U", None);
        assert_eq!(type_of("/t", &[one.clone(), one.clone()]).unwrap(), "p/msg/T");
        let why = type_of("/t", &[one, other]).unwrap_err().0;
        assert!(why.contains("p/msg/T (publisher /T)") && why.contains("p/msg/U"), "{why}");
    }
}
