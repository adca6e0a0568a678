//! What a lane's messages hold: from their bytes to a trace, and to the bodies that services get.

use crate::forms::{AiBody, AiForm, Answer, LONGEST_WHOLE, TopicForm, WebBody, WebForm};
use crate::intake::Arrival;
use crate::message::{self, clipped};
use crate::template::Template;
use bytes::Bytes;
use hopwatch_kit::config::Refused;
use hopwatch_link::{CallError, Reply};
use hopwatch_model::census::SEQUENCE_PERIOD;
use hopwatch_model::{ClockId, Failure, Hop, Outcome, Stage, Trace};
use hopwatch_rosmsg::{CdrError, Count, Element, FieldPath, JsonOptions, Primitive, Schema, Value};
use hopwatch_wire::headers::is_json;
use hopwatch_wire::robot_message::{ROBOT_MESSAGE, oddity, published_ns};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many robots of a topic are told apart; a field that names more than that is no name.
const MOST_ROBOTS: usize = 1000;
/// What is shorter is made JSON of in no time, in bytes.
const LIGHT: usize = 64 << 10;

/// How the messages of a lane are read, and what is made of them.
#[derive(Debug)]
pub struct Contents {
    kind: Kind,
    ai: AiBody,
    ai_template: Option<Template>,
    web: WebBody,
    web_template: Option<Template>,
    answer: Answer,
}

#[derive(Debug)]
enum Kind {
    /// `hopwatch_msgs/msg/RobotMessage`.
    Robot,
    /// Any other type.
    Own(Box<Own>),
}

/// A topic of somebody's own.
#[derive(Debug)]
pub(crate) struct Own {
    /// The type's definition; `None` where nothing of it is read.
    pub(crate) schema: Option<Schema>,
    topic: String,
    message_type: String,
    sequence: Option<FieldPath>,
    stamp: Option<FieldPath>,
    robot: String,
    robot_field: Option<FieldPath>,
    /// The names that it told so far.
    robots: Mutex<HashSet<String>>,
    /// Messages so far, where nothing numbers them.
    unnumbered: AtomicI64,
    options: JsonOptions,
}

/// Why there is nothing to send.
enum Unsent {
    /// It is no message of the type.
    Undecodable(String),
    /// The template doesn't fit it.
    NotMade(String),
}

/// A message that was read.
pub(crate) struct Opened {
    /// What the AI service gets.
    pub(crate) ai: Bytes,
    /// What the web service gets of it; JSON.
    pub(crate) message: Bytes,
}

/// What a template may ask for beside the message.
#[derive(Serialize)]
struct Context<'a> {
    message: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    ai: Option<serde_json::Value>,
    robot: &'a str,
    sequence: i32,
    lane: &'a str,
}

impl Contents {
    /// Robot messages as JSON, to services of ours.
    pub fn of_robots() -> Self {
        Self {
            kind: Kind::Robot,
            ai: AiBody::Json,
            ai_template: None,
            web: WebBody::Whole,
            web_template: None,
            answer: Answer::Json,
        }
    }

    /// Robot messages (`None`) or those of a topic of one's own, to services as configured.
    pub(crate) fn new(own: Option<Own>, ai: &AiForm, web: &WebForm) -> Result<Self, Refused> {
        let template =
            |table, asked: bool, text: &str| asked.then(|| Template::new(table, text)).transpose();
        Ok(Self {
            kind: own.map_or(Kind::Robot, |own| Kind::Own(Box::new(own))),
            ai: ai.body,
            ai_template: template("ai", ai.body == AiBody::Template, &ai.template)?,
            web: ai.web_body(web.body),
            web_template: template("web", web.body == WebBody::Template, &web.template)?,
            answer: ai.answer,
        })
    }

    /// The trace of a message that goes no further.
    pub(crate) fn identify(&self, arrival: &Arrival, lane: &str, clock: &ClockId) -> Trace {
        let mut trace = message::bare(arrival, lane, clock);
        let read = match &self.kind {
            Kind::Robot => message::read(&mut trace, &arrival.bytes).map(drop),
            Kind::Own(own) => own.read(&mut trace, &arrival.bytes),
        };
        if let Err(why) = read {
            undecodable(&mut trace, why);
        }
        trace
    }

    /// The trace of a message, and what goes to the services, when it can be read.
    pub(crate) fn open(
        &self,
        arrival: &Arrival,
        lane: &str,
        clock: &ClockId,
    ) -> (Trace, Option<Opened>) {
        let mut trace = message::bare(arrival, lane, clock);
        match self.bodies(&mut trace, arrival) {
            Ok(opened) => (trace, Some(opened)),
            Err(Unsent::Undecodable(why)) => {
                undecodable(&mut trace, why);
                (trace, None)
            }
            Err(Unsent::NotMade(why)) => {
                trace.outcome = Outcome::ServiceFailed(Stage::Ai, Failure::NotMade);
                trace.detail = Some(why);
                (trace, None)
            }
        }
    }

    /// Whether opening it takes so long that nobody else may wait for it.
    pub(crate) fn is_heavy(&self, arrival: &Arrival) -> bool {
        self.needs_json() && !Self::is_light(&arrival.bytes)
    }

    /// Whether it may be begun where others wait for it.
    pub(crate) fn is_light(bytes: &Bytes) -> bool {
        bytes.len() <= LIGHT
    }

    fn json(&self, trace: &mut Trace, arrival: &Arrival) -> Result<Option<Bytes>, String> {
        Ok(match &self.kind {
            Kind::Robot => Some(message::read(trace, &arrival.bytes)?.json()?),
            Kind::Own(own) => {
                own.read(trace, &arrival.bytes)?;
                self.needs_json().then(|| own.json(trace, &arrival.bytes)).transpose()?
            }
        })
    }

    fn bodies(&self, trace: &mut Trace, arrival: &Arrival) -> Result<Opened, Unsent> {
        let json = self.json(trace, arrival).map_err(Unsent::Undecodable)?;
        let ai = match (self.ai, &json) {
            (AiBody::Json, Some(json)) => json.clone(),
            (AiBody::Template, Some(json)) => {
                let filled = filled(self.ai_template.as_ref(), "ai", trace, json, None);
                filled.map_err(Unsent::NotMade)?
            }
            _ => arrival.bytes.clone(),
        };
        let message = match json {
            Some(json) if self.takes_whole(&json) => json,
            _ => self.brief(trace, arrival.bytes.len()),
        };
        Ok(Opened { ai, message })
    }

    fn takes_whole(&self, json: &Bytes) -> bool {
        match self.web {
            WebBody::Auto => json.len() <= LONGEST_WHOLE,
            WebBody::Whole | WebBody::Template => true,
            WebBody::Brief => false,
        }
    }

    fn needs_json(&self) -> bool {
        self.ai != AiBody::Cdr || self.web != WebBody::Brief
    }

    /// Who, which and how long.
    fn brief(&self, trace: &Trace, bytes: usize) -> Bytes {
        let (topic, message_type) = match &self.kind {
            Kind::Robot => (None, ROBOT_MESSAGE),
            Kind::Own(own) => (Some(own.topic.as_str()), own.message_type.as_str()),
        };
        let brief = json!({
            "topic": topic,
            "type": message_type,
            "robot": trace.robot_id,
            "sequence": trace.sequence,
            "bytes": bytes,
        });
        Bytes::from(brief.to_string())
    }

    /// Whether making what the web service gets takes so long that nobody else may wait for it.
    pub(crate) fn is_heavy_for_web(&self, message: &Bytes) -> bool {
        self.web_template.is_some() && !Self::is_light(message)
    }

    /// What the web service gets.
    pub(crate) fn web_body(
        &self,
        trace: &Trace,
        message: &Bytes,
        answer: &RawValue,
    ) -> Result<Bytes, String> {
        match &self.web_template {
            None => Ok(message::web_body(message, answer)),
            template => filled(template.as_ref(), "web", trace, message, Some(answer)),
        }
    }

    /// What goes on of the AI service's answer.
    pub(crate) fn answer(&self, reply: &Reply) -> Result<Box<RawValue>, CallError> {
        match (json_of(reply), self.answer) {
            (Err(_), Answer::Any) => {
                let brief = json!({ "media_type": reply.media_type, "bytes": reply.body.len() });
                RawValue::from_string(brief.to_string())
                    .map_err(|error| CallError::new(Failure::BadReply, error.to_string()))
            }
            (answer, _) => answer,
        }
    }
}

fn filled(
    template: Option<&Template>,
    table: &str,
    trace: &Trace,
    json: &Bytes,
    ai: Option<&RawValue>,
) -> Result<Bytes, String> {
    let message = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let ai = ai.map(|answer| serde_json::from_str(answer.get())).transpose();
    let ai = ai.map_err(|error| error.to_string())?;
    let (robot, sequence, lane) = (trace.robot_id.as_str(), trace.sequence, trace.lane.as_str());
    let context = Context { message, ai, robot, sequence, lane };
    let template = template.ok_or_else(|| "there is no template".to_owned())?;
    template.fill(context).map(Bytes::from).map_err(|why| format!("{table}.template: {why}"))
}

fn undecodable(trace: &mut Trace, why: String) {
    trace.outcome = Outcome::Undecodable;
    trace.detail = Some(why);
}

/// The AI's answer must be JSON, and say so: an error page with status 200 is no answer.
fn json_of(reply: &Reply) -> Result<Box<RawValue>, CallError> {
    let bad = |detail: String| Err(CallError::new(Failure::BadReply, detail));
    if !is_json(&reply.media_type) {
        return bad(format!("the AI service answered {:?}, not JSON", reply.media_type));
    }
    match serde_json::from_slice(&reply.body) {
        Ok(answer) => Ok(answer),
        Err(error) => bad(format!("the AI service's answer is no JSON: {error}")),
    }
}

impl Own {
    /// The messages of a topic. The fields that its form names are looked up now.
    pub(crate) fn new(
        topic: &str,
        message_type: &str,
        form: &TopicForm,
        base64_bytes: bool,
        schema: Option<Schema>,
    ) -> Result<Self, Refused> {
        let refuse = |key: &str, why: &dyn std::fmt::Display| {
            Refused(format!("topics.{topic:?}.{key}: {why}"))
        };
        let field = |key: &str, path: &str, fits: Fits, wanted: &str| match &schema {
            _ if path.is_empty() => Ok(None),
            None => Err(refuse(key, &"there is no definition")),
            Some(schema) => {
                let path = schema.path(path).map_err(|error| refuse(key, &error))?;
                if fits(&path) {
                    return Ok(Some(path));
                }
                Err(refuse(key, &format!("{:?} is not {wanted}", path.field().name)))
            }
        };
        let robot =
            if form.robot.is_empty() { topic.trim_start_matches('/') } else { form.robot.as_str() };
        Ok(Self {
            sequence: field("sequence", &form.sequence, is_integer, "a whole number")?,
            stamp: field(
                "stamp",
                &form.stamp,
                is_stamp,
                "a builtin_interfaces/msg/Time, nor an int64 or uint64 of ns",
            )?,
            robot_field: field(
                "robot_field",
                &form.robot_field,
                is_name,
                "a text or a whole number",
            )?,
            robots: Mutex::default(),
            unnumbered: AtomicI64::new(0),
            schema,
            topic: topic.to_owned(),
            message_type: message_type.to_owned(),
            robot: clipped(robot),
            options: JsonOptions { base64_bytes, ..JsonOptions::default() },
        })
    }

    /// Whether the definition of the type is needed.
    pub(crate) fn needs_schema(form: &TopicForm, ai: &AiForm, web: &WebForm) -> bool {
        let fields = [&form.sequence, &form.stamp, &form.robot_field];
        ai.body != AiBody::Cdr
            || ai.web_body(web.body) != WebBody::Brief
            || fields.iter().any(|path| !path.is_empty())
    }

    /// Who published it, which one it is and when.
    fn read(&self, trace: &mut Trace, cdr: &[u8]) -> Result<(), String> {
        // An element that the message doesn't have tells nothing; it is a good message all the same.
        let value = |path: &Option<FieldPath>| match path.as_ref().map(|path| path.read(cdr)) {
            None | Some(Err(CdrError::NoElement { .. })) => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(error)) => Err(self.unreadable(&error)),
        };
        let told = match value(&self.sequence)? {
            Some(Value::Int(number)) => Some(i128::from(number)),
            Some(Value::UInt(number)) => Some(i128::from(number)),
            _ => trace.publication_sequence.map(i128::from),
        };
        trace.sequence = turn(told.unwrap_or_else(|| self.number().into()));
        trace.robot_id = match value(&self.robot_field)? {
            Some(Value::Text(name)) if !name.is_empty() => self.known(clipped(&name)),
            Some(Value::Int(number)) => self.known(number.to_string()),
            Some(Value::UInt(number)) => self.known(number.to_string()),
            _ => self.robot.clone(),
        };
        let (sec, nanosec) = match value(&self.stamp)? {
            Some(Value::Time { sec, nanosec }) => (i64::from(sec), i64::from(nanosec)),
            Some(Value::Int(ns)) => (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000)),
            Some(Value::UInt(ns)) => {
                let ns = i64::try_from(ns).unwrap_or(i64::MAX);
                (ns / 1_000_000_000, ns % 1_000_000_000)
            }
            _ => return Ok(()),
        };
        if let Some(published) = published_ns(sec, nanosec) {
            trace.stamps.set(Hop::Published, &ClockId::wall(), published);
        } else {
            trace.header_time = Some((sec, nanosec));
            trace.oddities.push(oddity::BAD_TIME);
        }
        Ok(())
    }

    fn json(&self, trace: &mut Trace, cdr: &[u8]) -> Result<Bytes, String> {
        let schema = self.schema.as_ref().ok_or_else(|| "there is no definition".to_owned())?;
        let mut json = Vec::with_capacity(2 * cdr.len() + 64);
        let odd = schema
            .to_json(cdr, &mut json, self.options)
            .map_err(|error| self.unreadable(&error))?;
        trace.oddities.extend(odd.names());
        Ok(Bytes::from(json))
    }

    /// The number of a message that neither DDS nor a field numbers. It tells nothing of what was
    /// lost, which is said once.
    fn number(&self) -> i64 {
        let before = self.unnumbered.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            tracing::warn!(
                topic = self.topic,
                "this middleware does not number messages: what was lost can't be known, unless \
                 `sequence` names a field that counts them"
            );
        }
        before + 1
    }

    /// A robot's name, while there aren't too many of them.
    fn known(&self, name: String) -> String {
        let mut robots = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
        if robots.contains(&name) {
            return name;
        }
        if robots.len() >= MOST_ROBOTS {
            return "others".to_owned();
        }
        if robots.len() + 1 == MOST_ROBOTS {
            let topic = &self.topic;
            tracing::warn!(
                topic,
                "robot_field tells a thousand names: further ones are \"others\""
            );
        }
        robots.insert(name.clone());
        name
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> String {
        format!("no {}: {error}", self.message_type)
    }
}

/// Whether a field can be read as what is wanted.
type Fits = fn(&FieldPath) -> bool;

fn is_one(path: &FieldPath) -> bool {
    // Of an array, the path names an element.
    matches!(path.field().count, Count::One) || path.names_element()
}

fn is_integer(path: &FieldPath) -> bool {
    let is =
        |of: Primitive| !matches!(of, Primitive::Bool | Primitive::Float32 | Primitive::Float64);
    is_one(path) && matches!(path.field().element, Element::Primitive(of) if is(of))
}

fn is_name(path: &FieldPath) -> bool {
    let is_text = matches!(path.field().element, Element::Text { .. } | Element::WideText { .. });
    is_integer(path) || is_one(path) && is_text
}

fn is_stamp(path: &FieldPath) -> bool {
    let ns = Element::Primitive(Primitive::Int64);
    let unsigned = Element::Primitive(Primitive::Uint64);
    let element = &path.field().element;
    is_one(path) && (path.is_time() || *element == ns || *element == unsigned)
}

/// A number as the sequence of messages has it, which begins anew after 2³¹ − 1.
fn turn(number: i128) -> i32 {
    i32::try_from(number.rem_euclid(i128::from(SEQUENCE_PERIOD))).unwrap_or(0)
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;
