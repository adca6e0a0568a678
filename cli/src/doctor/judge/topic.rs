//! Of the topic: who publishes, what, and whether it arrives.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::Looked;
use crate::doctor::look::memory::Memory;
use hopwatch_wire::look::{Look, LookPublisher, LookTopic, LookedAt};
use std::collections::BTreeMap;

const TOPIC: Area = Area("topic");

/// So many names stand in a sentence.
const MOST: usize = 8;

/// Topics that every node has.
const OF_EVERY_NODE: [&str; 2] = ["/rosout", "/parameter_events"];

/// All of it. `asked` is the topic that the user named.
pub(crate) fn judge(asked: Option<&str>, looked: &Looked, memory: &Memory) -> Vec<Finding> {
    let look = match looked {
        Looked::Seen(look) => look,
        Looked::NotBuilt => {
            let why = "no hopwatch-gateway lies beside this program";
            return vec![
                TOPIC
                    .unknown("topic", "topics and publishers", why)
                    .todo("build it where ROS is: ./hopwatch prepare"),
            ];
        }
        Looked::Failed(_) => {
            let why = "the gateway can't look at ROS (see above)";
            return vec![TOPIC.unknown("topic", "topics and publishers", why)];
        }
    };
    if let Some(failure) = &look.failure {
        return vec![
            TOPIC
                .problem("topic", format!("ROS refused to be looked at: {failure}"))
                .why("the gateway would be refused as well")
                .todo("mend what the message names: topic, domain or type"),
        ];
    }
    match (&look.topic, asked) {
        (Some(topic), _) => of_topic(topic, look, memory),
        (None, _) => vec![topics(look)],
    }
}

/// What there is, when no topic was asked for.
fn topics(look: &Look) -> Finding {
    let of_robots = |topic: &&LookTopic| !OF_EVERY_NODE.contains(&topic.name.as_str());
    let named = look.topics.iter().filter(of_robots).map(in_words).collect::<Vec<_>>();
    if named.is_empty() {
        return TOPIC
            .note("topics", "nobody publishes anything in this ROS domain")
            .todo("start the robot, then look again; --topic /T looks at one topic closely");
    }
    TOPIC
        .note("topics", format!("published here: {}", listed(&named)))
        .todo("look at one of them with --topic /T: types, QoS, whether messages arrive")
}

fn of_topic(topic: &LookedAt, look: &Look, memory: &Memory) -> Vec<Finding> {
    let mut all = Vec::new();
    if topic.publishers.is_empty() {
        all.push(nobody(topic, look));
    }
    all.extend(types(topic));
    let wrong = |publisher: &&LookPublisher| {
        topic.topic_type.as_ref().is_some_and(|ours| publisher.topic_type != *ours)
    };
    let several = all.iter().any(|finding| finding.name == "two_types");
    if !several {
        all.extend(topic.publishers.iter().filter(wrong).map(|of| other_type(topic, of)));
    }
    if let Some(error) = &topic.no_type_support {
        all.push(no_type_support(topic, error));
        return all;
    }
    let right = || topic.publishers.iter().filter(|publisher| !wrong(publisher));
    all.extend(right().filter(|of| !of.misfits.is_empty()).map(|of| misfit(topic, of)));
    all.extend(right().filter(|of| of.other_definition).map(|of| other_definition(topic, of)));
    let fitting: Vec<&LookPublisher> = right().filter(|of| of.misfits.is_empty()).collect();
    let (heard, mute): (Vec<_>, Vec<_>) = fitting.iter().copied().partition(|of| of.messages > 0);
    all.extend(heard.iter().map(|publisher| arrives(topic, publisher)));
    if !mute.is_empty() {
        all.push(silent(topic, &mute, fitting.len(), memory));
    }
    all
}

fn nobody(topic: &LookedAt, look: &Look) -> Finding {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let alike = |other: &&LookTopic| {
        other.name != topic.name
            && (last(&other.name) == last(&topic.name)
                || topic.topic_type.as_ref().is_some_and(|ours| other.types.contains(ours)))
    };
    let alike: Vec<String> = look.topics.iter().filter(alike).map(in_words).collect();
    let others = look.topics.iter().filter(|of| !OF_EVERY_NODE.contains(&of.name.as_str()));
    let others: Vec<String> = others.map(in_words).collect();
    let todo = if !alike.is_empty() {
        format!("this may be meant: {}; name it with --topic, or remap the robot", listed(&alike))
    } else if others.is_empty() {
        "check that the robot runs, and that ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE are \
         the same there and here; nobody else publishes in this domain"
            .to_owned()
    } else {
        format!("published in this domain: {}; name one with --topic", listed(&others))
    };
    TOPIC
        .problem("no_publisher", format!("{}: nobody publishes on it", topic.name))
        .why("the gateway would wait for ever")
        .todo(todo)
}

/// More than one type is published.
fn types(topic: &LookedAt) -> Option<Finding> {
    let mut by_type: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for publisher in &topic.publishers {
        by_type.entry(&publisher.topic_type).or_default().push(&publisher.name);
    }
    if by_type.len() < 2 {
        return None;
    }
    let told: Vec<String> =
        by_type.iter().map(|(of, who)| format!("{of} by {}", who.join(", "))).collect();
    let what = format!("{}: carries {} types: {}", topic.name, by_type.len(), told.join("; "));
    Some(
        TOPIC
            .problem("two_types", what)
            .why("a subscription takes one type; what is of another one never arrives")
            .todo(
                "rename the topic of one of them (ros2 run … --ros-args -r old:=new), or choose \
                 the type that is meant with --type",
            ),
    )
}

fn other_type(topic: &LookedAt, publisher: &LookPublisher) -> Finding {
    let ours = topic.topic_type.as_deref().unwrap_or_default();
    TOPIC
        .problem(
            "other_type",
            format!(
                "{}: {} publishes {}, not {ours}",
                topic.name, publisher.name, publisher.topic_type
            ),
        )
        .why("nothing of it can arrive")
        .todo(format!(
            "subscribe as {} (--type), or choose the topic that carries {ours}",
            publisher.topic_type
        ))
}

fn no_type_support(topic: &LookedAt, error: &str) -> Finding {
    let of = topic.topic_type.as_deref().unwrap_or_default();
    let package = of.split('/').next().unwrap_or_default();
    TOPIC
        .problem("no_type_support", format!("{}: {error}", topic.name))
        .why("without its package's type support nothing can subscribe to a type")
        .todo(format!(
            "apt install ros-<distro>-{}, or build {package} and source its install/setup.bash \
             before hopwatch is started; `ros2 interface show {of}` tells whether it is there",
            package.replace('_', "-")
        ))
}

fn misfit(topic: &LookedAt, publisher: &LookPublisher) -> Finding {
    let asked = topic.asked.as_deref().unwrap_or("something else");
    TOPIC
        .problem(
            "incompatible_qos",
            format!(
                "{}: {} offers {}, the subscription asks for {asked}",
                topic.name, publisher.name, publisher.offer
            ),
        )
        .why("DDS matches only an offer that is at least as strong as the request: nothing arrives")
        .todo(publisher.misfits.join("; "))
}

fn other_definition(topic: &LookedAt, publisher: &LookPublisher) -> Finding {
    TOPIC
        .warning(
            "other_definition",
            format!(
                "{}: {} has another definition of {} than there is here",
                topic.name, publisher.name, publisher.topic_type
            ),
        )
        .why("its messages may be misread, or not be read at all")
        .todo("build both sides against the same version of the message package")
}

fn arrives(topic: &LookedAt, publisher: &LookPublisher) -> Finding {
    let LookPublisher { name, topic_type, offer, messages, bytes, .. } = publisher;
    let (n, time) = (messages, seconds(topic.waited_ms));
    let messages = if *n == 1 { "message" } else { "messages" };
    TOPIC.ok(
        "messages_arrive",
        format!(
            "{}: {n} {messages} of {name} in {time} ({topic_type}, {bytes} bytes; it offers {offer})",
            topic.name
        ),
    )
}

/// Publishers fit, and nothing came of them.
fn silent(topic: &LookedAt, mute: &[&LookPublisher], fitting: usize, memory: &Memory) -> Finding {
    let names: Vec<String> = mute.iter().map(|publisher| publisher.name.clone()).collect();
    let (names, time) = (listed(&names), seconds(topic.waited_ms));
    if topic.matched < fitting {
        return TOPIC
            .problem(
                "not_matched",
                format!(
                    "{}: type and QoS of {names} fit, and DDS matched it not in {time}",
                    topic.name
                ),
            )
            .why("nothing arrives without a match")
            .todo(
                "likely causes, in this order: DDS partitions that differ (<partition> in the XML \
                 profiles of both sides); DDS security, or participants that ignore each other; \
                 discovery that gets through one way only (open UDP from 7400 + 250 × domain both \
                 ways)",
            );
    }
    let what = format!("{}: matched, and nothing came within {time}: {names}", topic.name);
    let evidence = &topic.evidence;
    let is_memory = evidence.iter().any(|clause| {
        ["belong to user", "runs as user", "another /dev/shm", "bytes free"]
            .iter()
            .any(|word| clause.contains(word))
    });
    if !is_memory {
        let seen = if evidence.is_empty() {
            "perhaps it publishes nothing (ros2 topic hz beside it tells)".to_owned()
        } else {
            format!("seen from here: {}", evidence.join("; "))
        };
        return TOPIC.warning("matched_no_samples", what).why(seen).todo(format!(
            "if it does publish: a container without --ipc=host on one side has another shared \
             memory, which can't be seen from here: --ipc=host, or, on both sides, {}; else look for a \
             firewall or network namespace that lets discovery through and not data (UDP from 7410 + 250 \
             × domain)",
            super::BY_UDP
        ));
    }
    TOPIC
        .problem("matched_no_samples", what)
        .why(format!(
            "Fast DDS takes both for one host's and hands data over by shared memory, which can't \
             be opened from here: {}",
            evidence.join("; ")
        ))
        .todo(format!(
            "run gateway and robot as one user: {}; or, on both sides, {}; \
             containers that are to share memory also need --ipc=host on both sides",
            as_one(memory),
            super::BY_UDP
        ))
}

/// Who would have to be whom.
fn as_one(memory: &Memory) -> String {
    let own = memory.own_user;
    let robot = format!("the robot as user {own} (of a container: docker run --user {own} …)");
    match super::memory::closed(memory).keys().next() {
        Some(user) => format!("the gateway as user {user}, or {robot}"),
        None => robot,
    }
}

fn in_words(topic: &LookTopic) -> String {
    format!("{} ({})", topic.name, topic.types.join(", "))
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST);
    let text = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// As "1.5 s".
fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms / 100 % 10)
}

#[cfg(test)]
#[path = "topic_tests.rs"]
mod tests;
