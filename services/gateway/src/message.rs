//! From an arrival to a trace, and robot messages to the bodies that the services get.

use crate::intake::Arrival;
use bytes::Bytes;
use hopwatch_model::{ClockId, Hop, Outcome, REORDERED, Stamps, Trace, TraceId};
use hopwatch_wire::robot_message::RobotMessage;
use serde_json::value::RawValue;

/// The trace of an arrival, stamped up to taken, with nothing of its contents.
///
/// The robot's own stamps stay what they are, readings of its host's wall clock: only the analysis
/// knows whether that is ours. The reader's is ours, and is mapped by the bracket of this very
/// take (METHOD 5); the offset goes along, and the half-width says how far it may be off.
pub(crate) fn bare(arrival: &Arrival, lane: &str, clock: &ClockId) -> Trace {
    let (wall_offset, half_width) = arrival.bracket.offset();
    let mut stamps = Stamps::new();
    if arrival.source_wall_ns > 0 {
        stamps.set(Hop::Written, &ClockId::wall(), arrival.source_wall_ns);
    }
    if arrival.received_wall_ns > 0 {
        stamps.set(Hop::Received, clock, arrival.bracket.to_mono(arrival.received_wall_ns).0);
    }
    stamps.set(Hop::Taken, clock, arrival.taken_ns);
    Trace {
        lane: lane.to_owned(),
        // The collector knows it by the record's source.
        gateway: String::new(),
        id: TraceId(rand::random()),
        robot_id: String::new(),
        sequence: 0,
        message_id: String::new(),
        publisher: arrival.publisher,
        publication_sequence: arrival.publication_sequence,
        outcome: Outcome::Abandoned,
        detail: None,
        stamps,
        ai_served_ns: None,
        web_served_ns: None,
        ai_retries: 0,
        web_retries: 0,
        wall_offset_ns: Some(wall_offset),
        header_time: None,
        wall_half_width_ns: half_width,
        oddities: if arrival.reordered { vec![REORDERED] } else { Vec::new() },
    }
}

/// Reads a robot message, and puts into the trace who published it, which one it is and when.
pub(crate) fn read<'a>(trace: &mut Trace, cdr: &'a [u8]) -> Result<Read<'a>, String> {
    let (message, oddities) =
        RobotMessage::decode(cdr).map_err(|error| format!("no RobotMessage: {error}"))?;
    trace.oddities.extend(oddities);
    trace.sequence = message.header.sequence;
    trace.robot_id = clipped(&message.header.robot_id);
    trace.message_id = clipped(&message.header.message_id);
    match message.header.published_ns() {
        Some(published) => trace.stamps.set(Hop::Published, &ClockId::wall(), published),
        None => {
            trace.header_time = Some((message.header.timestamp_sec, message.header.timestamp_nsec));
        }
    }
    Ok(Read(message))
}

/// A robot message that was read.
pub(crate) struct Read<'a>(RobotMessage<'a>);

impl Read<'_> {
    /// As JSON.
    pub(crate) fn json(&self) -> Result<Bytes, String> {
        let json = serde_json::to_vec(&self.0);
        json.map(Bytes::from).map_err(|error| format!("it can't be written as JSON: {error}"))
    }
}

/// An id is a name, not a load: the whole of it still goes to the services.
pub(crate) fn clipped(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// What the web service gets: the message and the AI's answer, both unchanged.
pub(crate) fn web_body(message: &Bytes, answer: &RawValue) -> Bytes {
    let mut body = Vec::with_capacity(message.len() + answer.get().len() + 24);
    body.extend_from_slice(br#"{"message":"#);
    body.extend_from_slice(message);
    body.extend_from_slice(br#","ai":"#);
    body.extend_from_slice(answer.get().as_bytes());
    body.push(b'}');
    Bytes::from(body)
}
