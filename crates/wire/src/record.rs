//! Records: what the gateway and the broadcaster tell the collector (`POST /v1/records`).
//!
//! NDJSON, one [`Entry`] a line. Delivery is at-least-once: an entry is known by its source and
//! its number at that source, and the collector passes over what it already has.

use crate::{ns_text, stamps_by_clock};
use hopwatch_analysis::Account;
use hopwatch_model::{
    BroadcasterCounters, Census, ClientCounters, ClientTrace, ClockId, GatewayCounters,
    PeerExchange, Probe, PublisherId, Stamp, Stamps, Trace, TraceId,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One line of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// This start of the process that tells it.
    pub source: String,
    /// Its number at that source, from 1, without gaps.
    pub number: u64,
    /// What is told.
    #[serde(flatten)]
    pub record: Record,
}

/// An [`Entry`] to be written, of a record that stays where it is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EntryRef<'a> {
    /// As in [`Entry`].
    pub source: &'a str,
    /// As in [`Entry`].
    pub number: u64,
    /// As in [`Entry`].
    #[serde(flatten)]
    pub record: &'a Record,
}

/// What a service tells the collector.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A lane begins: how it is measured.
    Lane(LaneRecord),
    /// What became of one message.
    Trace(Box<TraceRecord>),
    /// One message at one browser.
    Client(Box<ClientRecord>),
    /// A robot's own count.
    Census(CensusRecord),
    /// The gateway's counters.
    Gateway(GatewayCounters),
    /// The broadcaster's counters.
    Broadcaster(BroadcasterCounters),
    /// What a clock responder answered.
    Peer(Box<PeerRecord>),
    /// A shadow probe of a link.
    Probe(Box<Probe>),
    /// The same for each page.
    Clients(ClientsRecord),
    /// Something that the user should know of.
    Event(EventRecord),
    /// The account of messages whose traces the collector no longer keeps.
    Gone(GoneRecord),
}

/// What became of the messages for each page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientsRecord {
    /// The pages: at most 64 and the sum of the others.
    pub clients: Vec<ClientCounters>,
}

/// The account of messages of a lane whose traces are no longer kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoneRecord {
    /// The lane.
    pub lane: String,
    /// What is known of them.
    pub account: Account,
}

/// How a lane is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneRecord {
    /// The lane.
    pub lane: String,
    /// The ROS topic.
    pub topic: String,
    /// As "RELIABLE VOLATILE KEEP_LAST 10".
    pub qos: String,
    /// The link to the services.
    pub transport: String,
    /// How many messages the gateway works on at once.
    pub workers: u32,
    /// The gateway's clock.
    pub clock: String,
}

/// What became of one message: the wire's form of [`Trace`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    lane: String,
    trace_id: String,
    robot_id: String,
    sequence: i32,
    message_id: String,
    publisher: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    publication_sequence: Option<u64>,
    outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(with = "stamps_by_clock")]
    stamps: Stamps,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ai_served_ns: Option<(i64, i64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    web_served_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    ai_retries: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    web_retries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wall_offset_ns: Option<NsText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    header_time: Option<(NsText, NsText)>,
    wall_half_width_ns: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    oddities: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A stamp's nanoseconds, a decimal string in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NsText(#[serde(with = "ns_text")] pub(crate) i64);

/// One message at one browser: the wire's form of [`ClientTrace`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRecord {
    trace_id: String,
    client: String,
    server_clock: String,
    #[serde(with = "ns_text")]
    frame_sent: i64,
    #[serde(with = "ns_text")]
    received: i64,
    #[serde(with = "ns_text::option", default)]
    painted: Option<i64>,
    #[serde(with = "ns_text")]
    ack_sent: i64,
    #[serde(with = "ns_text")]
    ack_received: i64,
    resolution_ns: i64,
}

/// A robot's own count: the wire's form of [`Census`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CensusRecord {
    /// The lane whose messages are counted.
    pub lane: String,
    robot_id: String,
    instance: String,
    clock: String,
    #[serde(with = "ns_text")]
    schedule_start_ns: i64,
    rate_hz: f64,
    first_sequence: i32,
    published: u64,
    failed: u64,
    last: bool,
}

/// What a clock responder answered: the wire's form of [`PeerExchange`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRecord {
    peer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    robots: Vec<String>,
    near: String,
    far: String,
    #[serde(with = "ns_text")]
    near_sent: i64,
    /// Monotonic, wall.
    far_received: (NsText, NsText),
    far_sent: (NsText, NsText),
    #[serde(with = "ns_text")]
    near_received: i64,
}

impl From<&PeerExchange> for PeerRecord {
    fn from(exchange: &PeerExchange) -> Self {
        let both = |(mono, wall)| (NsText(mono), NsText(wall));
        Self {
            peer: exchange.peer.clone(),
            robots: exchange.robots.clone(),
            near: exchange.near.to_string(),
            far: exchange.far.to_string(),
            near_sent: exchange.near_sent,
            far_received: both(exchange.far_received),
            far_sent: both(exchange.far_sent),
            near_received: exchange.near_received,
        }
    }
}

impl From<PeerRecord> for PeerExchange {
    fn from(record: PeerRecord) -> Self {
        let both = |(mono, wall): (NsText, NsText)| (mono.0, wall.0);
        Self {
            peer: record.peer,
            robots: record.robots,
            near: ClockId::new(record.near),
            far: ClockId::new(record.far),
            near_sent: record.near_sent,
            far_received: both(record.far_received),
            far_sent: both(record.far_sent),
            near_received: record.near_received,
        }
    }
}

/// Something that the user should know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// The kind, a word ("incompatible_qos").
    pub event: String,
    /// What, where and what to do.
    pub text: String,
}

/// A record that can't be what it says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} of a {kind} record is {text:?}, which is no {field}")]
pub struct BadRecord {
    kind: &'static str,
    field: &'static str,
    text: String,
}

fn bad(kind: &'static str, field: &'static str, text: &str) -> BadRecord {
    BadRecord { kind, field, text: text.chars().take(80).collect() }
}

/// The oddities that this version knows; others that arrive are called "other".
const ODDITIES: &[&str] = {
    use crate::robot_message::oddity::{
        BAD_TIME, HOLDS_NUL, LEFT_OVER, NOT_FINITE, NOT_UTF8, NOT_UTF16, UNTERMINATED,
    };
    use hopwatch_model::{IMPOSSIBLE_TIMING, REORDERED};
    &[
        BAD_TIME,
        HOLDS_NUL,
        LEFT_OVER,
        NOT_FINITE,
        NOT_UTF8,
        NOT_UTF16,
        UNTERMINATED,
        REORDERED,
        IMPOSSIBLE_TIMING,
    ]
};

impl From<Trace> for TraceRecord {
    fn from(trace: Trace) -> Self {
        Self {
            lane: trace.lane,
            trace_id: trace.id.to_string(),
            robot_id: trace.robot_id,
            sequence: trace.sequence,
            message_id: trace.message_id,
            publisher: trace.publisher.to_string(),
            publication_sequence: trace.publication_sequence,
            outcome: trace.outcome.to_string(),
            detail: trace.detail,
            stamps: trace.stamps,
            ai_served_ns: trace.ai_served_ns,
            web_served_ns: trace.web_served_ns,
            ai_retries: trace.ai_retries,
            web_retries: trace.web_retries,
            wall_offset_ns: trace.wall_offset_ns.map(NsText),
            header_time: trace.header_time.map(|(sec, nsec)| (NsText(sec), NsText(nsec))),
            wall_half_width_ns: trace.wall_half_width_ns,
            oddities: trace.oddities.iter().map(|odd| (*odd).to_owned()).collect(),
        }
    }
}

/// No service works longer on a message: 11 days. Sums of longer ones might not fit.
const LONGEST_SERVED_NS: i64 = 1_000_000_000_000_000;

/// Its gateway is the source of the entry that it came in, which isn't part of the record.
impl TryFrom<TraceRecord> for Trace {
    type Error = BadRecord;

    fn try_from(record: TraceRecord) -> Result<Self, BadRecord> {
        let id = |field, text: &str| bad("trace", field, text);
        let served = record.ai_served_ns.map(|(wait, rest)| [wait, rest]);
        let served = served.iter().flatten().map(|ns| ("ai_served_ns", *ns));
        let mut served = served.chain(record.web_served_ns.map(|ns| ("web_served_ns", ns)));
        if let Some((field, ns)) = served.find(|(_, ns)| !(0..=LONGEST_SERVED_NS).contains(ns)) {
            return Err(id(field, &ns.to_string()));
        }
        Ok(Self {
            lane: record.lane,
            gateway: String::new(),
            id: record.trace_id.parse().map_err(|_| id("trace_id", &record.trace_id))?,
            robot_id: record.robot_id,
            sequence: record.sequence,
            message_id: record.message_id,
            publisher: record
                .publisher
                .parse::<PublisherId>()
                .map_err(|_| id("publisher", &record.publisher))?,
            publication_sequence: record.publication_sequence,
            outcome: record.outcome.parse().map_err(|_| id("outcome", &record.outcome))?,
            detail: record.detail,
            stamps: record.stamps,
            ai_served_ns: record.ai_served_ns,
            web_served_ns: record.web_served_ns,
            ai_retries: record.ai_retries,
            web_retries: record.web_retries,
            wall_offset_ns: record.wall_offset_ns.map(|ns| ns.0),
            header_time: record.header_time.map(|(sec, nsec)| (sec.0, nsec.0)),
            wall_half_width_ns: record.wall_half_width_ns,
            oddities: record
                .oddities
                .iter()
                .map(|odd| ODDITIES.iter().copied().find(|known| known == odd).unwrap_or("other"))
                .collect(),
        })
    }
}

impl From<&ClientTrace> for ClientRecord {
    fn from(trace: &ClientTrace) -> Self {
        Self {
            trace_id: trace.id.to_string(),
            client: trace.client.clone(),
            server_clock: trace.frame_sent.clock.to_string(),
            frame_sent: trace.frame_sent.ns,
            received: trace.received.ns,
            painted: trace.painted.as_ref().map(|stamp| stamp.ns),
            ack_sent: trace.ack_sent.ns,
            ack_received: trace.ack_received.ns,
            resolution_ns: trace.resolution_ns,
        }
    }
}

impl TryFrom<ClientRecord> for ClientTrace {
    type Error = BadRecord;

    fn try_from(record: ClientRecord) -> Result<Self, BadRecord> {
        let server = ClockId::new(record.server_clock);
        let browser = ClockId::browser(&record.client);
        let at = |ns| Stamp::new(browser.clone(), ns);
        Ok(Self {
            id: record
                .trace_id
                .parse::<TraceId>()
                .map_err(|_| bad("client", "trace_id", &record.trace_id))?,
            frame_sent: Stamp::new(server.clone(), record.frame_sent),
            received: at(record.received),
            painted: record.painted.map(at),
            ack_sent: at(record.ack_sent),
            ack_received: Stamp::new(server, record.ack_received),
            resolution_ns: record.resolution_ns,
            client: record.client,
        })
    }
}

impl CensusRecord {
    /// The wire's form of a census of `lane`.
    pub fn new(lane: &str, census: &Census) -> Self {
        Self {
            lane: lane.to_owned(),
            robot_id: census.robot_id.clone(),
            instance: census.instance.clone(),
            clock: census.clock.to_string(),
            schedule_start_ns: census.schedule_start_ns,
            rate_hz: census.rate_hz,
            first_sequence: census.first_sequence,
            published: census.published,
            failed: census.failed,
            last: census.last,
        }
    }
}

impl From<CensusRecord> for Census {
    fn from(record: CensusRecord) -> Self {
        Self {
            robot_id: record.robot_id,
            instance: record.instance,
            clock: ClockId::new(record.clock),
            schedule_start_ns: record.schedule_start_ns,
            rate_hz: record.rate_hz,
            first_sequence: record.first_sequence,
            published: record.published,
            failed: record.failed,
            last: record.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_model::{Failure, Hop, Outcome, Stage};

    fn trace() -> Trace {
        let gateway = ClockId::new("boot/1");
        let ai = ClockId::new("boot/2");
        let mut stamps = Stamps::new();
        stamps.set(Hop::Taken, &gateway, 9_007_199_254_740_993);
        stamps.set(Hop::AiReceived, &ai, -5);
        Trace {
            lane: "reliable".into(),
            gateway: String::new(),
            id: TraceId([7; 16]),
            robot_id: "robot_001".into(),
            sequence: -1,
            message_id: "m".into(),
            publisher: PublisherId([9; 16]),
            publication_sequence: Some(3),
            outcome: Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut),
            detail: Some("no reply within 5 s".into()),
            stamps,
            ai_served_ns: Some((1, 2)),
            web_served_ns: None,
            ai_retries: 0,
            web_retries: 0,
            wall_offset_ns: Some(1_700_000_000_000_000_000),
            header_time: Some((0, -7)),
            wall_half_width_ns: 40,
            oddities: vec!["not_finite"],
        }
    }

    #[test]
    fn a_trace_round_trips_through_json() {
        let entry = Entry {
            source: "gateway-1".into(),
            number: 1,
            record: Record::Trace(Box::new(TraceRecord::from(trace()))),
        };
        let line = serde_json::to_string(&entry).unwrap();
        let stamps =
            r#""stamps":{"boot/1":{"taken":"9007199254740993"},"boot/2":{"ai_received":"-5"}}"#;
        assert!(line.contains(stamps), "{line}");
        let borrowed =
            EntryRef { source: &entry.source, number: entry.number, record: &entry.record };
        assert_eq!(serde_json::to_string(&borrowed).unwrap(), line);
        let back: Entry = serde_json::from_str(&line).unwrap();
        let Record::Trace(record) = back.record else { panic!("{line}") };
        assert_eq!(Trace::try_from(*record), Ok(trace()));
    }

    #[test]
    fn a_time_that_no_service_takes_is_refused() {
        let read = |ai, web| {
            let trace = Trace { ai_served_ns: ai, web_served_ns: web, ..trace() };
            Trace::try_from(TraceRecord::from(trace)).map(drop).map_err(|error| error.to_string())
        };
        let longest = 1_000_000_000_000_000;
        assert_eq!(read(Some((0, longest)), Some(longest)), Ok(()));
        for (ai, web, field) in [
            (Some((i64::MIN, 0)), None, "ai_served_ns"),
            (Some((0, -1)), None, "ai_served_ns"),
            (Some((longest + 1, 0)), None, "ai_served_ns"),
            (None, Some(-1), "web_served_ns"),
            (None, Some(i64::MAX), "web_served_ns"),
        ] {
            let error = read(ai, web).unwrap_err();
            assert!(error.starts_with(&format!("{field} of a trace record is ")), "{error}");
        }
    }

    /// Append-only: lines that an earlier version wrote stay readable for ever.
    #[test]
    fn old_fixtures_stay_readable() {
        let lines = include_str!("../fixtures/records-v1.ndjson");
        let mut kinds = std::collections::HashSet::new();
        for line in lines.lines() {
            let entry: Entry = serde_json::from_str(line).unwrap();
            kinds.insert(std::mem::discriminant(&entry.record));
            match entry.record {
                Record::Trace(record) => drop(Trace::try_from(*record).unwrap()),
                Record::Client(record) => drop(ClientTrace::try_from(*record).unwrap()),
                _ => {}
            }
        }
        assert_eq!(kinds.len(), 11, "one of each kind");
    }
}
