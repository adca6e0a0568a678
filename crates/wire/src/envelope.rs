//! A request or a reply in one piece, for links that have no headers: `websocket`, `quic`, `udp`.
//!
//! | bytes | value |
//! |---|---|
//! | 0–3 | `HOPW` |
//! | 4 | version: 1 |
//! | 5 | 1 request, 2 reply, 3 taken |
//! | 6–7 | length of the head, big-endian, at most [`LONGEST_HEAD`] |
//! | then | the head: a MessagePack map by the names of the fields |
//! | then | the body, up to the end |
//!
//! The fields say what the headers of HTTP say ([`crate::headers`]), in the same texts. A reader
//! passes over fields that it doesn't know.

use bytes::Bytes;
use hopwatch_model::TraceId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

const MAGIC: &[u8; 4] = b"HOPW";
const VERSION: u8 = 1;
/// Bytes before the head; the last two are its length.
pub const PREFIX: usize = 8;
/// A longer head is refused, in bytes.
pub const LONGEST_HEAD: usize = 4096;

/// Which request: the asker's own number, and its count. An asker takes its number at random when
/// it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId {
    /// The asker.
    pub asker: u64,
    /// Its request.
    pub number: u64,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestHead {
    /// Which request.
    pub id: RequestId,
    /// Which time it is sent, from 1.
    pub attempt: u32,
    /// The asker sends it again when nothing comes (`udp-retry`), and wants to be told that it was
    /// taken when the reply takes its time.
    pub retries: bool,
    /// How long ago it was sent for the first time, in ns.
    pub age_ns: u64,
    /// How long it waits for the reply, in ns; nobody wants it later.
    pub deadline_ns: u64,
    /// What is asked for: the path of the URL.
    pub path: String,
    /// The message it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// The asker's clock by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// As the header of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<String>,
    /// Media type of the body.
    #[serde(default)]
    pub media_type: String,
}

/// The head of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyHead {
    /// To which request.
    pub id: RequestId,
    /// Which of the request's attempts was executed.
    pub attempt: u32,
    /// A status of HTTP.
    pub status: u16,
    /// Media type of the body.
    #[serde(default)]
    pub media_type: String,
    /// As the header `hopwatch-stamps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<String>,
    /// As the header `server-timing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_timing: Option<String>,
    /// The reply would have had so many bytes, more than this link carries; its body isn't here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oversized: Option<u64>,
}

/// Word that a request was taken, and that its reply takes its time (as CoAP's empty
/// acknowledgement, RFC 7252, 5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenHead {
    /// Which request.
    pub id: RequestId,
    /// Which of its attempts is executed.
    pub attempt: u32,
}

/// What came in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// A request and its body.
    Request(RequestHead, Bytes),
    /// A reply and its body.
    Reply(ReplyHead, Bytes),
    /// A request was taken.
    Taken(TakenHead),
}

/// Bytes that are no envelope, or something that doesn't go into one.
#[derive(Debug, Error)]
pub enum EnvelopeError {
    /// It doesn't begin as one.
    #[error("it isn't an envelope of Hopwatch")]
    Foreign,
    /// Another version.
    #[error("version {0} of the envelope isn't known, only 1")]
    Version(u8),
    /// Neither request nor reply nor taken.
    #[error("kind {0} of an envelope isn't known")]
    Kind(u8),
    /// It ends too early.
    #[error("the envelope ends inside its head")]
    Cut,
    /// The head is too long.
    #[error("the head has {0} bytes, more than {LONGEST_HEAD}")]
    Long(usize),
    /// The head is no map of the fields that it should have.
    #[error("the head can't be read")]
    Head(#[source] rmp_serde::decode::Error),
    /// The head can't be written.
    #[error("the head can't be written")]
    Write(#[source] rmp_serde::encode::Error),
}

impl Envelope {
    /// Reads one. The body is a part of `frame`, not a copy.
    pub fn read(frame: &Bytes) -> Result<Self, EnvelopeError> {
        let Some((prefix, rest)) = frame.split_first_chunk::<PREFIX>() else {
            return Err(EnvelopeError::Foreign);
        };
        let [a, b, c, d, version, kind, high, low] = *prefix;
        if [a, b, c, d] != *MAGIC {
            return Err(EnvelopeError::Foreign);
        }
        if version != VERSION {
            return Err(EnvelopeError::Version(version));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > LONGEST_HEAD {
            return Err(EnvelopeError::Long(length));
        }
        let head = rest.get(..length).ok_or(EnvelopeError::Cut)?;
        let body = || frame.slice(PREFIX + length..);
        match kind {
            1 => Ok(Self::Request(read(head)?, body())),
            2 => Ok(Self::Reply(read(head)?, body())),
            3 => Ok(Self::Taken(read(head)?)),
            other => Err(EnvelopeError::Kind(other)),
        }
    }
}

/// Heads are flat: whatever is nested more deeply isn't one.
const DEPTH: usize = 16;

fn read<T: DeserializeOwned>(head: &[u8]) -> Result<T, EnvelopeError> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(head);
    reader.set_max_depth(DEPTH);
    T::deserialize(&mut reader).map_err(EnvelopeError::Head)
}

impl RequestHead {
    /// The envelope.
    pub fn frame(&self, body: &[u8]) -> Result<Vec<u8>, EnvelopeError> {
        frame(1, self, body)
    }
}

impl ReplyHead {
    /// The envelope.
    pub fn frame(&self, body: &[u8]) -> Result<Vec<u8>, EnvelopeError> {
        frame(2, self, body)
    }
}

impl TakenHead {
    /// The envelope.
    pub fn frame(&self) -> Result<Vec<u8>, EnvelopeError> {
        frame(3, self, &[])
    }
}

/// Room for a head with all its fields: a name of a clock has 50 bytes.
const USUAL_HEAD: usize = 384;

fn frame(kind: u8, head: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, EnvelopeError> {
    let mut frame = Vec::with_capacity(PREFIX + USUAL_HEAD + body.len());
    frame.extend_from_slice(MAGIC);
    frame.extend_from_slice(&[VERSION, kind, 0, 0]);
    let mut writer = rmp_serde::Serializer::new(&mut frame).with_struct_map();
    head.serialize(&mut writer).map_err(EnvelopeError::Write)?;
    let length = frame.len() - PREFIX;
    let told = u16::try_from(length).ok().filter(|_| length <= LONGEST_HEAD);
    let told = told.ok_or(EnvelopeError::Long(length))?;
    frame[6..PREFIX].copy_from_slice(&told.to_be_bytes());
    frame.extend_from_slice(body);
    Ok(frame)
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
