//! What `hopwatch-gateway look` finds of a topic, for `hopwatch doctor`: one JSON document.

use serde::{Deserialize, Serialize};

/// One look at ROS 2 from where the gateway would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Look {
    /// Why ROS could not be looked at, or not to the end.
    pub failure: Option<String>,
    /// What this program talks through (`rmw_fastrtps_cpp`).
    pub middleware: String,
    /// The ROS 2 that it was built against (`jazzy`).
    pub distro: String,
    /// Topics that have publishers.
    pub topics: Vec<LookTopic>,
    /// The topic that was looked at; `None`: none was asked for.
    pub topic: Option<LookedAt>,
}

/// A topic that has publishers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookTopic {
    /// Its full name.
    pub name: String,
    /// Its types, subscribers' included.
    pub types: Vec<String>,
}

/// What was tried with one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LookedAt {
    /// Its full name.
    pub name: String,
    /// The type that was subscribed to, or would have been; `None`: nobody said one.
    pub topic_type: Option<String>,
    /// Why that type can't be had here.
    pub no_type_support: Option<String>,
    /// What the subscription asked for, in words; `None`: there was no subscription.
    pub asked: Option<String>,
    /// Its publishers.
    pub publishers: Vec<LookPublisher>,
    /// How many of them the subscription was matched with.
    pub matched: usize,
    /// How long messages were waited for, in ms.
    pub waited_ms: u64,
    /// What this machine shows of publishers that fit and of which nothing came, each a clause.
    pub evidence: Vec<String>,
}

/// A publisher of the topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LookPublisher {
    /// "publisher /robot_001", or with its id.
    pub name: String,
    /// The 16 bytes of its GUID in hexadecimal.
    pub id: String,
    /// What it publishes.
    pub topic_type: String,
    /// What it offers, in words.
    pub offer: String,
    /// What of its settings doesn't fit, each with what to do on either side.
    pub misfits: Vec<String>,
    /// Its type has the name of ours and another definition.
    pub other_definition: bool,
    /// Messages that came of it.
    pub messages: u64,
    /// The size of the newest one, serialized, in bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_goes_there_and_back_and_what_is_missing_is_empty() {
        let publisher = LookPublisher { name: "publisher /a".into(), ..LookPublisher::default() };
        let topic = LookedAt { publishers: vec![publisher], matched: 1, ..LookedAt::default() };
        let look = Look { topic: Some(topic), distro: "jazzy".into(), ..Look::default() };
        let text = serde_json::to_string(&look).unwrap();
        assert_eq!(serde_json::from_str::<Look>(&text).unwrap(), look);
        let short: Look = serde_json::from_str(r#"{"failure":"no","more":1}"#).unwrap();
        assert_eq!((short.failure.as_deref(), short.topics.len()), (Some("no"), 0));
    }
}
