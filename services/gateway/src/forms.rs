//! How topics and services that aren't ours are configured: the tables within `[gateway]`.

use hopwatch_kit::config::Refused;
use hopwatch_link::HttpForm;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A topic of one's own: `[gateway.topics."/camera/image_raw"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TopicForm {
    /// `package/msg/Type`; empty: as its publishers have it, which must be there at the start.
    #[serde(rename = "type")]
    pub message_type: String,
    /// What the subscription asks for.
    pub qos: TopicQos,
    /// The field that holds a number which grows by one from message to message; empty: the number
    /// that the DDS writer gives.
    pub sequence: String,
    /// The field that holds the time of publication (or of the measurement); empty: none does.
    pub stamp: String,
    /// The robot's name; empty: the topic's.
    pub robot: String,
    /// The field that holds the robot's name, instead.
    pub robot_field: String,
}

/// What a subscription asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TopicQos {
    /// What its lane says.
    #[default]
    Lane,
    /// What its publishers offer, looked up once at the start; the depth is the lane's.
    Match,
}

/// The AI service of one's own: `[gateway.ai]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AiForm {
    /// GET, POST, PUT, PATCH or DELETE; empty: POST.
    pub method: String,
    /// Further headers. `${NAME}` in a value is the environment variable: no secret has to stand in
    /// a file.
    pub headers: BTreeMap<String, String>,
    /// What it is sent.
    pub body: AiBody,
    /// The body, when it is `template`.
    pub template: String,
    /// How bytes (`uint8[]`, `byte[]`, `char[]`) are written in JSON.
    pub bytes: BytesAs,
    /// What its answer must be.
    pub answer: Answer,
    /// Where it tells its own time.
    pub server_time: ServerTime,
    /// The field of its JSON answer, when that is `field`: `timing.inference`.
    pub server_time_field: String,
    /// The unit of that field.
    pub server_time_unit: TimeUnit,
}

/// The web service of one's own: `[gateway.web]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebForm {
    /// As of the AI service.
    pub method: String,
    /// As of the AI service.
    pub headers: BTreeMap<String, String>,
    /// What it is sent.
    pub body: WebBody,
    /// The body, when it is `template`.
    pub template: String,
}

/// What the AI service is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AiBody {
    /// The message as JSON.
    #[default]
    Json,
    /// The message's CDR, unchanged, as `application/octet-stream`.
    Cdr,
    /// JSON of one's own.
    Template,
}

/// What the web service is sent, beside the AI's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebBody {
    /// The whole message where the AI service gets JSON and it isn't longer than
    /// 1 MiB as such, else who, which and how long.
    #[default]
    Auto,
    /// The whole message.
    Whole,
    /// Who, which and how long.
    Brief,
    /// JSON of one's own.
    Template,
}

/// The longest message that goes to the web service without being asked for, as JSON, in bytes.
pub(crate) const LONGEST_WHOLE: usize = 1 << 20;

/// How bytes are written in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BytesAs {
    /// In templates as Base64, else as numbers.
    #[default]
    Auto,
    /// A number each: `[255, 216]`.
    Numbers,
    /// One string (RFC 4648, 4): a third longer than the bytes instead of three to four times.
    Base64,
}

/// What an AI service's answer must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// JSON; it goes on to the web service.
    #[default]
    Json,
    /// Anything; what isn't JSON goes on as its media type and its length.
    Any,
}

/// Where a service tells its own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerTime {
    /// In `hopwatch-stamps` or `Server-Timing`, if it sends one of them.
    #[default]
    Headers,
    /// In a field of its JSON answer.
    Field,
    /// Nowhere: what it sends is no time of its own.
    None,
}

/// The unit of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[default]
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl TimeUnit {
    /// So many ns.
    pub(crate) const fn ns(self) -> f64 {
        match self {
            Self::Seconds => 1e9,
            Self::Milliseconds => 1e6,
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1.0,
        }
    }
}

impl TopicForm {
    /// What can be seen to be wrong without a look at ROS.
    pub(crate) fn check(&self, topic: &str) -> Result<(), Refused> {
        if !topic.starts_with('/') {
            let why = format!("topics.{topic:?}: a topic's name begins with /");
            return Err(Refused(why));
        }
        if !self.robot.is_empty() && !self.robot_field.is_empty() {
            return Err(Refused(format!(
                "topics.{topic:?}: robot and robot_field exclude each other"
            )));
        }
        Ok(())
    }
}

impl TopicForm {
    /// Whether it is one of robot messages, which tell their number, time and robot themselves.
    pub(crate) fn is_of_robots(&self, topic: &str) -> Result<(), Refused> {
        let keys = [
            ("sequence", &self.sequence),
            ("stamp", &self.stamp),
            ("robot", &self.robot),
            ("robot_field", &self.robot_field),
        ];
        match keys.iter().find(|(_, given)| !given.is_empty()) {
            None => Ok(()),
            Some((key, _)) => Err(Refused(format!(
                "topics.{topic:?}.{key}: hopwatch_msgs/msg/RobotMessage tells that itself: leave the \
                 key out"
            ))),
        }
    }
}

impl AiForm {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        has_template("ai", self.body == AiBody::Template, &self.template)?;
        let is_field = self.server_time == ServerTime::Field;
        if is_field == self.server_time_field.is_empty() {
            return Err(Refused(
                "ai: server_time = \"field\" and server_time_field go together".to_owned(),
            ));
        }
        if self.body != AiBody::Json
            && matches!(self.method.to_ascii_uppercase().as_str(), "GET" | "DELETE")
        {
            return Err(Refused(format!("ai: {} carries no body: leave out ai.body", self.method)));
        }
        if self.body == AiBody::Cdr && self.bytes != BytesAs::Auto {
            return Err(Refused("ai: bytes is about JSON, and body = \"cdr\" is none".to_owned()));
        }
        if self.answer == Answer::Any && is_field {
            return Err(Refused(
                "ai: server_time_field is read from a JSON answer: leave out answer = \"any\""
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// The requests' method and headers. The variables of the environment are asked for.
    pub(crate) fn http(&self, environment: Environment<'_>) -> Result<HttpForm, Refused> {
        http_form("ai", &self.method, &self.headers, environment)
    }

    /// The media type of what it is sent.
    pub(crate) fn content_type(&self) -> &'static str {
        if self.body == AiBody::Cdr { "application/octet-stream" } else { "application/json" }
    }

    /// What the web service is sent: never the whole where the AI service gets no JSON.
    pub(crate) fn web_body(&self, asked: WebBody) -> WebBody {
        match asked {
            WebBody::Auto if self.body == AiBody::Cdr => WebBody::Brief,
            asked => asked,
        }
    }

    /// Whether bytes are written as Base64.
    pub(crate) fn base64(&self, web: &WebForm) -> bool {
        let templates = self.body == AiBody::Template || web.body == WebBody::Template;
        self.bytes == BytesAs::Base64 || self.bytes == BytesAs::Auto && templates
    }
}

impl WebForm {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        has_template("web", self.body == WebBody::Template, &self.template)
    }

    /// As of [`AiForm::http`].
    pub(crate) fn http(&self, environment: Environment<'_>) -> Result<HttpForm, Refused> {
        http_form("web", &self.method, &self.headers, environment)
    }
}

/// Gives a variable of the environment.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

fn has_template(table: &str, asked: bool, template: &str) -> Result<(), Refused> {
    if asked == template.trim().is_empty() {
        let why = format!("{table}: body = \"template\" and template go together");
        return Err(Refused(why));
    }
    Ok(())
}

fn http_form(
    table: &str,
    method: &str,
    headers: &BTreeMap<String, String>,
    environment: Environment<'_>,
) -> Result<HttpForm, Refused> {
    let method = match method.to_ascii_uppercase().as_str() {
        "" | "POST" => Method::POST,
        "GET" => Method::GET,
        "PUT" => Method::PUT,
        "PATCH" => Method::PATCH,
        "DELETE" => Method::DELETE,
        _ => {
            let why = format!("{table}.method is GET, POST, PUT, PATCH or DELETE, not {method:?}");
            return Err(Refused(why));
        }
    };
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let at = format!("{table}.headers.{name}");
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| Refused(format!("{at}: that is no name of a header")))?;
        if OURS.contains(&name.as_str()) {
            return Err(Refused(format!("{at}: this header is Hopwatch's, or the connection's")));
        }
        let value = filled(&at, value, environment)?;
        // The value may be a secret: it isn't repeated.
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| Refused(format!("{at}: its value can't be a header's")))?;
        value.set_sensitive(true);
        all.insert(name, value);
    }
    Ok(HttpForm { method, headers: all })
}

/// Headers that can't be one's own: the connection's, and what Hopwatch measures by.
const OURS: [&str; 10] = [
    "host",
    "keep-alive",
    "proxy-connection",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "traceparent",
    "hopwatch-clock",
];

/// A text with each `${NAME}` replaced by the variable.
fn filled(at: &str, text: &str, environment: Environment<'_>) -> Result<String, Refused> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let unclosed = || Refused(format!("{at}: ${{ without }}"));
        let (name, behind) = after.split_once('}').ok_or_else(unclosed)?;
        let missing = || Refused(format!("{at}: the environment has no variable {name}"));
        whole.push_str(before);
        whole.push_str(&environment(name).ok_or_else(missing)?);
        rest = behind;
    }
    whole.push_str(rest);
    Ok(whole)
}

#[cfg(test)]
#[path = "forms_tests.rs"]
mod tests;
