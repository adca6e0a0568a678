//! `hopwatch-gateway look`: what ROS shows of a topic from here, as one JSON document. For
//! `hopwatch doctor`, which doesn't need ROS itself.
//!
//! It looks as the gateway would: with its middleware, its environment and its user. It takes from
//! the topic for some seconds and hands nothing on.

use crate::scout;
use crate::shared_memory;
use clap::{Parser, ValueEnum};
use hopwatch_kit::logging::{self, LogFormat};
use hopwatch_kit::service::exit;
use hopwatch_model::PublisherId;
use hopwatch_tap::{
    Durability, EndpointInfo, Qos, Subscription, Tap, TapConfig, TapError, TapEvent, TypeSupport,
    misfits,
};
use hopwatch_wire::look::{Look, LookPublisher, LookTopic, LookedAt};
use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The word on the command line that asks for it.
pub const WORD: &str = "look";

/// How often is looked again.
const PAUSE: Duration = Duration::from_millis(50);
/// Discovery is taken to be over when nothing new came for so long.
const SETTLED: Duration = Duration::from_millis(700);
/// The longest that each of the two waits may take.
const LONGEST_MS: u64 = 60_000;

/// Looks at ROS 2 and prints one JSON document of what there is (for `hopwatch doctor`)
#[derive(Debug, Parser)]
#[command(name = "hopwatch-gateway look")]
struct Arguments {
    /// Topic to look at; without it, only the topics are listed
    #[arg(long)]
    topic: Option<String>,
    /// Its type, package/msg/Type; default: what is published on it
    #[arg(long = "type", value_name = "TYPE")]
    topic_type: Option<String>,
    /// What to ask of publishers; `match` asks for what all of them offer
    #[arg(long, value_enum, default_value_t = Asked::Match)]
    qos: Asked,
    /// ROS domain; default: as ROS_DOMAIN_ID says
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=232))]
    domain: Option<u8>,
    /// How long to wait for publishers, and then for messages, in ms
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(100..=LONGEST_MS))]
    wait_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Asked {
    Match,
    Reliable,
    BestEffort,
}

/// Looks, and prints what there is.
pub fn main() -> ExitCode {
    let words = std::env::args_os().enumerate().filter(|(at, _)| *at != 1).map(|(_, word)| word);
    let arguments = Arguments::parse_from(words);
    logging::init(LogFormat::Auto);
    let mut look = Look {
        middleware: hopwatch_tap::middleware(),
        distro: hopwatch_tap::ROS_DISTRO.to_owned(),
        ..Look::default()
    };
    if let Err(error) = fill(&mut look, &arguments) {
        look.failure = Some(error.to_string());
    }
    let written = serde_json::to_string(&look)
        .map_err(std::io::Error::from)
        .and_then(|text| writeln!(std::io::stdout(), "{text}"));
    let well = written.is_ok() && look.failure.is_none();
    ExitCode::from(if well { exit::OK } else { exit::FAILED })
}

fn fill(look: &mut Look, arguments: &Arguments) -> Result<(), TapError> {
    let config = |subscriptions| TapConfig {
        node_name: "hopwatch_doctor".to_owned(),
        namespace: String::new(),
        domain_id: arguments.domain.map(usize::from),
        subscriptions,
    };
    let wait = Duration::from_millis(arguments.wait_ms);
    let tap = Tap::start(config(Vec::new()), |_| {})?;
    let seen = discover(&tap, arguments.topic.as_deref(), wait);
    let topics = tap.topics();
    let stopped = tap.stop();
    look.topics = topics?
        .into_iter()
        .map(|topic| LookTopic { name: topic.topic, types: topic.types })
        .collect();
    look.topics.sort_by(|a, b| a.name.cmp(&b.name));
    let publishers = seen?;
    stopped?;
    let Some(topic) = &arguments.topic else { return Ok(()) };
    let looked = look.topic.insert(LookedAt {
        name: hopwatch_model::lane::absolute(topic),
        topic_type: arguments.topic_type.clone().or_else(|| usual_type(&publishers)),
        publishers: publishers.iter().map(|of| described(of, None)).collect(),
        ..LookedAt::default()
    });
    let Some(topic_type) = looked.topic_type.clone() else { return Ok(()) };
    let type_support = match TypeSupport::named(&topic_type) {
        Ok(type_support) => type_support,
        Err(error) => {
            looked.no_type_support = Some(error.to_string());
            return Ok(());
        }
    };
    let qos = asked(arguments.qos, &publishers, &topic_type);
    let hash = type_support.hash();
    let wanted = Subscription { topic: topic.clone(), type_support, qos };
    let came: Arc<Mutex<HashMap<PublisherId, Came>>> = Arc::default();
    let noting = Arc::clone(&came);
    let tap = Tap::start(config(vec![wanted]), move |event| {
        if let TapEvent::Taken { message, .. } = event {
            let mut came = noting.lock().unwrap_or_else(PoisonError::into_inner);
            let of = came.entry(message.publisher).or_default();
            of.messages += 1;
            of.bytes = message.bytes.len() as u64;
        }
    })?;
    let ours = Ours { topic_type, hash, qos, known: publishers };
    let began = Instant::now();
    let taken = take(&tap, &ours, &came, wait, looked);
    looked.waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tap.stop()?;
    taken
}

/// What came of a publisher.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    messages: u64,
    bytes: u64,
}

/// What is subscribed with.
struct Ours {
    topic_type: String,
    hash: Option<[u8; 32]>,
    qos: Qos,
    /// Publishers as they were seen before.
    known: Vec<EndpointInfo>,
}

impl Ours {
    /// A publisher, with the name of its node if that was known before: it comes later than the
    /// rest.
    fn named(&self, publisher: EndpointInfo) -> EndpointInfo {
        let before = self.known.iter().find(|known| known.id == publisher.id);
        let node = publisher.node.or_else(|| before.and_then(|known| known.node.clone()));
        EndpointInfo { node, ..publisher }
    }
}

/// The topic's publishers, once no more come and their nodes are known; after `wait` at the latest.
fn discover(tap: &Tap, topic: Option<&str>, wait: Duration) -> Result<Vec<EndpointInfo>, TapError> {
    let began = Instant::now();
    let (mut last, mut changed) = ((0, Vec::new()), began);
    loop {
        let publishers = topic.map_or_else(|| Ok(Vec::new()), |topic| tap.publishers(topic))?;
        let seen = (tap.topics()?.len(), publishers);
        if seen != last {
            (last, changed) = (seen, Instant::now());
        }
        let named = last.1.iter().all(|publisher| publisher.node.is_some());
        let found = topic.is_some() && named && !last.1.is_empty();
        if began.elapsed() >= wait || (found && changed.elapsed() >= SETTLED) {
            return Ok(last.1);
        }
        sleep(PAUSE);
    }
}

/// The type that most publishers have.
fn usual_type(publishers: &[EndpointInfo]) -> Option<String> {
    let count = |of: &str| publishers.iter().filter(|p| p.topic_type == of).count();
    let types = publishers.iter().map(|publisher| publisher.topic_type.as_str());
    types.max_by_key(|of| (count(of), std::cmp::Reverse(*of))).map(str::to_owned)
}

/// What to ask for: the strongest that all publishers of the type offer, if nothing is said.
fn asked(asked: Asked, publishers: &[EndpointInfo], topic_type: &str) -> Qos {
    match asked {
        Asked::Reliable => Qos::RELIABLE,
        Asked::BestEffort => Qos::BEST_EFFORT,
        Asked::Match => {
            let of_type: Vec<_> =
                publishers.iter().filter(|p| p.topic_type == topic_type).cloned().collect();
            // What is kept from before shows that messages arrive; nobody measures it here.
            let lasting = |of: &EndpointInfo| of.durability == Some(Durability::TransientLocal);
            let durability = if !of_type.is_empty() && of_type.iter().all(lasting) {
                Durability::TransientLocal
            } else {
                Durability::Volatile
            };
            Qos { reliability: scout::offer(&of_type), durability, ..Qos::RELIABLE }
        }
    }
}

/// Takes until something came of each publisher that fits, and notes how things stand.
fn take(
    tap: &Tap,
    ours: &Ours,
    came: &Mutex<HashMap<PublisherId, Came>>,
    wait: Duration,
    looked: &mut LookedAt,
) -> Result<(), TapError> {
    let (graph, began) = (tap.graph(), Instant::now());
    looked.asked = Some(ours.qos.to_string());
    loop {
        let picture = graph.look(0)?;
        let publishers = picture.publishers.into_iter().map(|publisher| ours.named(publisher));
        let publishers: Vec<EndpointInfo> = publishers.collect();
        let came = came.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let fits =
            |p: &&EndpointInfo| p.topic_type == ours.topic_type && misfits(ours.qos, p).is_empty();
        let fitting: Vec<&EndpointInfo> = publishers.iter().filter(fits).collect();
        let mute: Vec<&EndpointInfo> =
            fitting.iter().filter(|p| !came.contains_key(&p.id)).copied().collect();
        // What was seen before is here again, and heard.
        let whole = publishers.len() >= looked.publishers.len();
        let done = whole && mute.is_empty() && began.elapsed() >= SETTLED;
        if done || began.elapsed() >= wait {
            looked.name.clone_from(&picture.topic);
            looked.matched = picture.matched;
            if !mute.is_empty() {
                looked.evidence = shared_memory::evidence(&mute);
            }
            let described = publishers.iter().map(|publisher| {
                let Came { messages, bytes } = came.get(&publisher.id).copied().unwrap_or_default();
                LookPublisher { messages, bytes, ..described(publisher, Some(ours)) }
            });
            looked.publishers = described.collect();
            return Ok(());
        }
        sleep(PAUSE);
    }
}

fn described(publisher: &EndpointInfo, ours: Option<&Ours>) -> LookPublisher {
    let same_type = ours.filter(|ours| ours.topic_type == publisher.topic_type);
    let misfits = same_type.map(|ours| misfits(ours.qos, publisher)).unwrap_or_default();
    let hashes = same_type.and_then(|ours| ours.hash.zip(publisher.type_hash));
    LookPublisher {
        name: publisher.name(),
        id: publisher.id.to_string(),
        topic_type: publisher.topic_type.clone(),
        offer: publisher.offer(),
        misfits: misfits.into_iter().map(|(_, fix)| fix).collect(),
        other_definition: hashes.is_some_and(|(ours, theirs)| ours != theirs),
        messages: 0,
        bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_tap::Reliability;

    fn publisher(
        topic_type: &str,
        reliability: Reliability,
        durability: Durability,
    ) -> EndpointInfo {
        EndpointInfo {
            node: Some("/a".to_owned()),
            topic_type: topic_type.to_owned(),
            type_hash: None,
            id: PublisherId([0; 16]),
            reliability: Some(reliability),
            durability: Some(durability),
            deadline: None,
            liveliness: None,
            lease: None,
        }
    }

    #[test]
    fn what_is_asked_for_fits_all_publishers_of_the_type() {
        use Durability::{TransientLocal, Volatile};
        use Reliability::{BestEffort, Reliable};
        let of = |publishers: &[EndpointInfo]| {
            let qos = asked(Asked::Match, publishers, "a/msg/A");
            assert!(publishers[..1].iter().all(|publisher| misfits(qos, publisher).is_empty()));
            (qos.reliability, qos.durability)
        };
        let latched = publisher("a/msg/A", Reliable, TransientLocal);
        let weak = publisher("a/msg/A", BestEffort, Volatile);
        let other = publisher("b/msg/B", BestEffort, Volatile);
        assert_eq!(of(std::slice::from_ref(&latched)), (Reliable, TransientLocal));
        assert_eq!(of(&[latched.clone(), weak]), (BestEffort, Volatile));
        assert_eq!(of(&[latched.clone(), other]), (Reliable, TransientLocal));
        let told = asked(Asked::Reliable, &[latched], "a/msg/A");
        assert_eq!(told, Qos::RELIABLE);
        // Without any, what anybody would fit.
        assert_eq!(asked(Asked::Match, &[], "a/msg/A").reliability, BestEffort);
    }

    #[test]
    fn the_type_is_that_of_most_publishers() {
        let of = |name| publisher(name, Reliability::Reliable, Durability::Volatile);
        assert_eq!(usual_type(&[]), None);
        let some = [of("b/msg/B"), of("a/msg/A"), of("b/msg/B")];
        assert_eq!(usual_type(&some).as_deref(), Some("b/msg/B"));
        assert_eq!(usual_type(&some[..2]).as_deref(), Some("a/msg/A"));
    }

    #[test]
    fn the_command_line_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
