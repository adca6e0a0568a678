//! What a lane's messages hold: from their bytes to a trace, and to the bodies that services get.

use crate::forms::{AiBody, AiForm, Answer, BytesAs, TopicForm, WebBody, WebForm};
use crate::intake::Arrival;
use crate::message::{self, clipped};
use crate::template::Template;
use bytes::Bytes;
use hopwatch_kit::config::Refused;
use hopwatch_link::{CallError, Reply};
use hopwatch_model::census::SEQUENCE_PERIOD;
use hopwatch_model::{ClockId, Failure, Hop, Outcome, Trace};
use hopwatch_rosmsg::{FieldPath, JsonOptions, Schema, Value};
use hopwatch_wire::robot_message::{oddity, published_ns};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

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
    options: JsonOptions,
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
            Err(why) => {
                undecodable(&mut trace, why);
                (trace, None)
            }
        }
    }

    fn bodies(&self, trace: &mut Trace, arrival: &Arrival) -> Result<Opened, String> {
        let json = match &self.kind {
            Kind::Robot => Some(message::read(trace, &arrival.bytes)?.json()?),
            Kind::Own(own) => {
                own.read(trace, &arrival.bytes)?;
                self.needs_json().then(|| own.json(trace, &arrival.bytes)).transpose()?
            }
        };
        let ai = match (self.ai, &json) {
            (AiBody::Json, Some(json)) => json.clone(),
            (AiBody::Template, Some(json)) => {
                filled(self.ai_template.as_ref(), "ai", trace, json, None)?
            }
            _ => arrival.bytes.clone(),
        };
        let message = match json {
            Some(json) if self.web != WebBody::Brief => json,
            _ => self.brief(trace, arrival.bytes.len()),
        };
        Ok(Opened { ai, message })
    }

    fn needs_json(&self) -> bool {
        self.ai != AiBody::Cdr || self.web != WebBody::Brief
    }

    /// Who, which and how long.
    fn brief(&self, trace: &Trace, bytes: usize) -> Bytes {
        let (topic, message_type) = match &self.kind {
            Kind::Robot => (None, message::ROBOT_MESSAGE),
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
    if reply.media_type != "application/json" && !reply.media_type.ends_with("+json") {
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
        bytes: BytesAs,
        schema: Option<Schema>,
    ) -> Result<Self, Refused> {
        let field = |key: &str, path: &str| match &schema {
            _ if path.is_empty() => Ok(None),
            None => Err(Refused(format!("topics.{topic:?}.{key}: there is no definition"))),
            Some(schema) => schema
                .path(path)
                .map(Some)
                .map_err(|error| Refused(format!("topics.{topic:?}.{key}: {error}"))),
        };
        let robot =
            if form.robot.is_empty() { topic.trim_start_matches('/') } else { form.robot.as_str() };
        Ok(Self {
            sequence: field("sequence", &form.sequence)?,
            stamp: field("stamp", &form.stamp)?,
            robot_field: field("robot_field", &form.robot_field)?,
            schema,
            topic: topic.to_owned(),
            message_type: message_type.to_owned(),
            robot: clipped(robot),
            options: JsonOptions {
                base64_bytes: bytes == BytesAs::Base64,
                ..JsonOptions::default()
            },
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
        let value = |path: &FieldPath| path.read(cdr).map_err(|error| self.unreadable(&error));
        trace.sequence = match &self.sequence {
            None => turn(i128::from(trace.publication_sequence.unwrap_or(0))),
            Some(path) => match value(path)? {
                Value::Int(number) => turn(i128::from(number)),
                Value::UInt(number) => turn(i128::from(number)),
                other => return Err(format!("its sequence is no whole number: {other:?}")),
            },
        };
        trace.robot_id = match &self.robot_field {
            None => self.robot.clone(),
            Some(path) => match value(path)? {
                Value::Text(name) => clipped(&name),
                Value::Int(number) => number.to_string(),
                Value::UInt(number) => number.to_string(),
                other => return Err(format!("its robot has no name: {other:?}")),
            },
        };
        let Some(path) = &self.stamp else { return Ok(()) };
        let (sec, nanosec) = match value(path)? {
            Value::Time { sec, nanosec } => (i64::from(sec), i64::from(nanosec)),
            Value::Int(ns) => (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000)),
            Value::UInt(ns) => {
                let ns = i64::try_from(ns).unwrap_or(i64::MAX);
                (ns / 1_000_000_000, ns % 1_000_000_000)
            }
            other => return Err(format!("its stamp is no time: {other:?}")),
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

    fn unreadable(&self, error: &dyn std::fmt::Display) -> String {
        format!("no {}: {error}", self.message_type)
    }
}

/// A number as the sequence of messages has it, which begins anew after 2³¹ − 1.
fn turn(number: i128) -> i32 {
    i32::try_from(number.rem_euclid(i128::from(SEQUENCE_PERIOD))).unwrap_or(0)
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;
