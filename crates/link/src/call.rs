//! One request to a service and what came of it.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hopwatch_model::{Failure, Ns, TraceId};
use hopwatch_wire::headers::ServiceStamps;
use std::time::Duration;
use thiserror::Error;

/// A transport to one service.
pub trait Link: Send + Sync {
    /// Sends one request and reads the whole reply. Never waits longer than the request's
    /// deadline, and always comes back with what was stamped so far.
    fn call(&self, request: Request) -> BoxFuture<'_, Call>;
}

/// What is sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// The message it is about, if it is about one.
    pub trace: Option<TraceId>,
    /// The body, JSON.
    pub body: Bytes,
    /// How long the whole call may take, opening a connection included.
    pub deadline: Duration,
}

/// What came of a request. Times are of the caller's monotonic clock.
#[derive(Debug)]
pub struct Call {
    /// When opening a connection began, if one had to be opened.
    pub connecting: Option<Ns>,
    /// When the request went out, if it did.
    pub sent: Option<Ns>,
    /// When the whole reply had been read, or the call had failed.
    pub ended: Ns,
    /// The reply.
    pub result: Result<Reply, CallError>,
}

/// A reply with a status of success.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The body.
    pub body: Bytes,
    /// Its media type, without parameters, in lower case; empty when none was given.
    pub media_type: String,
    /// The service's stamps, if it sent any.
    pub stamps: Option<ServiceStamps>,
    /// The service's own time in ns (waiting line, everything else), if it told.
    pub served_ns: Option<(Ns, Ns)>,
}

/// Why there is no usable reply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{detail}")]
pub struct CallError {
    /// The kind, for the ledger.
    pub failure: Failure,
    /// What happened, in a sentence.
    pub detail: String,
    /// The HTTP status, if the service answered.
    pub status: Option<u16>,
}

impl CallError {
    /// A failure with its sentence.
    pub fn new(failure: Failure, detail: impl Into<String>) -> Self {
        Self { failure, detail: detail.into(), status: None }
    }
}
