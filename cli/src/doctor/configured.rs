//! What a run's configuration says of where the doctor is to look.

use crate::args::Usage;
use crate::settings::Settings;
use hopwatch_kit::config;
use hopwatch_model::lane::{self, LaneSpec};
use hopwatch_wire::robot_message::ROBOT_MESSAGE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The gateway's topic, when nothing says another.
const USUAL_TOPIC: &str = "/robot_messages";
/// What its publishers offer is asked for.
const MATCH: &str = "match";

/// What a configuration says of where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Configured {
    /// What the lanes subscribe to, each once, in their order; nothing: no topic is spoken of.
    subscribed: Vec<Subscribed>,
    /// The QoS of the only lane, whatever its topic.
    qos: Option<String>,
    forms: BTreeMap<String, TopicForm>,
    /// The AI service.
    pub(super) ai_url: Option<String>,
    /// Its answer need not be JSON.
    pub(super) takes_any: bool,
}

/// A subscription of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subscribed {
    pub(super) topic: String,
    /// `None`: as its publishers have it.
    pub(super) topic_type: Option<String>,
    /// As `--qos` has it.
    pub(super) qos: String,
}

/// The gateway's keys that matter here; it reads all of them itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Keys {
    topic: Option<String>,
    qos: Option<String>,
    lanes: Option<String>,
    topics: BTreeMap<String, TopicForm>,
    ai_url: Option<String>,
    ai: AiForm,
}

/// `[gateway.topics."/T"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct TopicForm {
    /// Empty: as its publishers have it.
    #[serde(rename = "type")]
    message_type: String,
    qos: TopicQos,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TopicQos {
    #[default]
    Lane,
    Match,
}

/// `[gateway.ai]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AiForm {
    answer: Answer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    #[default]
    Json,
    Any,
}

impl Configured {
    /// From the file and the environment, as a run would be configured by them.
    pub(super) fn load(file: Option<&Path>) -> Result<Self, Usage> {
        let none = BTreeMap::<String, String>::new();
        let keys: Keys = config::load("gateway", file, config::environment(), &none)
            .map_err(|error| Usage(error.to_string()))?;
        let own = Settings::written_lanes(file)?;
        // `hopwatch` hands its own lanes to the gateway as flags, which win.
        let (table, specs) = match keys.lanes.as_deref().filter(|lanes| !lanes.is_empty()) {
            _ if !own.is_empty() => ("hopwatch", own),
            Some(lanes) => (
                "gateway",
                LaneSpec::parse_all(lanes)
                    .map_err(|error| Usage(format!("configuration: gateway.lanes: {error}")))?,
            ),
            None => ("gateway", Vec::new()),
        };
        let topic = lane::absolute(keys.topic.as_deref().unwrap_or(USUAL_TOPIC));
        let is_spoken_of = keys.topic.is_some() || keys.qos.is_some() || !keys.topics.is_empty();
        let mut configured = Self {
            subscribed: Vec::new(),
            qos: keys.qos.filter(|_| specs.is_empty()),
            forms: keys.topics,
            ai_url: keys.ai_url,
            takes_any: keys.ai.answer == Answer::Any,
        };
        let lanes: Vec<(String, &str)> = if !specs.is_empty() {
            let lanes = lane::resolve(&specs, &topic)
                .map_err(|error| Usage(format!("configuration: {table}.lanes: {error}")))?;
            lanes.into_iter().map(|lane| (lane.topic, lane.qos.name())).collect()
        } else if is_spoken_of {
            let usual = lane::LaneQos::default().name();
            vec![(topic, configured.qos.as_deref().unwrap_or(usual))]
        } else {
            Vec::new()
        };
        let forms = configured.forms.keys();
        if let Some(unused) = forms.into_iter().find(|of| lanes.iter().all(|lane| lane.0 != **of)) {
            let topics: Vec<&str> = lanes.iter().map(|(topic, _)| topic.as_str()).collect();
            return Err(Usage(format!(
                "configuration: gateway.topics.{unused:?}: no lane has this topic (lanes have {})",
                topics.join(", ")
            )));
        }
        let all = lanes.iter().map(|(topic, qos)| configured.subscription(topic, qos));
        let mut subscribed: Vec<Subscribed> = Vec::new();
        for of in all {
            if !subscribed.contains(&of) {
                subscribed.push(of);
            }
        }
        configured.subscribed = subscribed;
        Ok(configured)
    }

    /// What the gateway would subscribe to; of one topic, if one is named.
    pub(super) fn subscribed(&self, named: Option<&str>) -> Vec<Subscribed> {
        let Some(named) = named else { return self.subscribed.clone() };
        let topic = lane::absolute(named);
        let of_topic = self.subscribed.iter().filter(|of| of.topic == topic);
        let of_topic: Vec<Subscribed> = of_topic.cloned().collect();
        if !of_topic.is_empty() {
            return of_topic;
        }
        // Who names a topic of nobody's lane wants to know what there is.
        let qos = self.qos.clone().unwrap_or_else(|| MATCH.to_owned());
        vec![Subscribed { topic, topic_type: None, qos }]
    }

    /// A lane's.
    fn subscription(&self, topic: &str, qos: &str) -> Subscribed {
        let form = self.forms.get(topic);
        let topic_type = match form {
            Some(form) => Some(form.message_type.clone()).filter(|of| !of.is_empty()),
            None => Some(ROBOT_MESSAGE.to_owned()),
        };
        let matches = form.is_some_and(|form| form.qos == TopicQos::Match);
        let qos = if matches { MATCH } else { qos };
        Subscribed { topic: topic.to_owned(), topic_type, qos: qos.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Configured, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Configured::load(Some(file.path())).map_err(|error| error.to_string())
    }

    /// As "topic type qos", each.
    fn told(all: &[Subscribed]) -> Vec<String> {
        let of = |of: &Subscribed| {
            let topic_type = of.topic_type.as_deref().unwrap_or("any");
            format!("{} {topic_type} {}", of.topic, of.qos)
        };
        all.iter().map(of).collect()
    }

    #[test]
    fn a_run_says_where_to_look() {
        let of = load("[gateway]\ntopic = \"t\"\nqos = \"reliable\"\nai_url = \"http://a/b\"\n")
            .unwrap();
        assert_eq!(told(&of.subscribed), [format!("/t {ROBOT_MESSAGE} reliable")]);
        assert_eq!((of.ai_url.as_deref(), of.takes_any), (Some("http://a/b"), false));
        // As the gateway asks for it when nothing is said.
        let of = load("[gateway]\ntopic = \"t\"\n").unwrap();
        assert_eq!(told(&of.subscribed), [format!("/t {ROBOT_MESSAGE} best-effort")]);
        let of = load("[gateway]\nlanes = \"reliable,topic=/a;best-effort,topic=/b\"\n").unwrap();
        let expected =
            [format!("/a {ROBOT_MESSAGE} reliable"), format!("/b {ROBOT_MESSAGE} best-effort")];
        assert_eq!(told(&of.subscribed), expected);
        assert_eq!(load("").unwrap(), Configured::default());
        assert!(load("[gateway.ai]\nanswer = \"any\"\n").unwrap().takes_any);
    }

    #[test]
    fn lanes_and_forms_are_those_that_the_documentation_teaches() {
        let of = load(
            "[hopwatch]\nlanes = [\"name=camera,best-effort,depth=5,topic=/camera/image_raw\", \
             \"reliable,topic=/odom\", \"link=udp,reliable,topic=/odom\", \
             \"name=weak,best-effort,topic=/odom\", \"name=own,topic=/own\"]\n\
             [gateway]\nlanes = \"topic=/not/these\"\n\
             [gateway.topics.\"/camera/image_raw\"]\nqos = \"match\"\nstamp = \"header.stamp\"\n\
             [gateway.topics.\"/odom\"]\ntype = \"nav_msgs/msg/Odometry\"\n",
        )
        .unwrap();
        let own = format!("/own {ROBOT_MESSAGE} best-effort");
        let expected = [
            "/camera/image_raw any match",
            "/odom nav_msgs/msg/Odometry reliable",
            "/odom nav_msgs/msg/Odometry best-effort",
            &own,
        ];
        assert_eq!(told(&of.subscribed(None)), expected);
        assert_eq!(told(&of.subscribed(Some("odom"))), expected[1..3]);
        assert_eq!(told(&of.subscribed(Some("/elsewhere"))), ["/elsewhere any match"]);
        let of = load("[gateway]\nqos = \"reliable\"\n").unwrap();
        assert_eq!(told(&of.subscribed(Some("/elsewhere"))), ["/elsewhere any reliable"]);
    }

    #[test]
    fn what_a_run_would_refuse_is_refused() {
        for (text, words) in [
            ("[gateway]\nlanes = \"speed=9\"\n", "gateway.lanes"),
            ("[hopwatch]\nlanes = [\"speed=9\"]\n", "hopwatch.lanes"),
            ("[hopwatch]\nlanes = [\"reliable\", \"reliable\"]\n", "hopwatch.lanes"),
            ("[gateway.topics.\"/a\"]\nqos = \"mach\"\n", "gateway.topics./a.qos"),
            ("[gateway.topics.\"/a\"]\n", "no lane has this topic (lanes have /robot_messages)"),
            ("[gateway.ai]\nanswer = \"xml\"\n", "gateway.ai.answer"),
            ("[gateway\n", "configuration"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        // Certificates are for programs that are started by themselves, and the doctor looks there, too.
        assert!(load("[collector]\ntls_cert = \"a.pem\"\n").is_ok());
    }
}
