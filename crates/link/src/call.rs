//! One request to a service and what came of it.

use crate::names;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_model::{Failure, Ns, TraceId};
use hopwatch_wire::envelope::ReplyHead;
use hopwatch_wire::headers::{self, ServiceStamps};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use std::future::Future;
use std::time::Duration;
use thiserror::Error;

/// A transport to one service.
pub trait Link: Send + Sync {
    /// Sends one request and reads the whole reply. Never waits longer than the request's
    /// deadline, and always comes back with what was stamped so far.
    fn call(&self, request: Request) -> BoxFuture<'_, Call>;

    /// Opens what can be opened ahead of the first request, so that it finds it there; nothing,
    /// where there is nothing to open.
    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        async { Ok(()) }.boxed()
    }

    /// The datagrams that came and were no reply to what was asked.
    fn ignored(&self) -> Ignored {
        Ignored::default()
    }
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
    /// When the request went out for the first time, if that one was lost.
    pub first_sent: Option<Ns>,
    /// When the request went out, if it did: the one that arrived, if it was sent several times.
    pub sent: Option<Ns>,
    /// How often it was sent beyond the first time.
    pub retries: u32,
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

    pub(crate) fn long_reply(limit: usize) -> Self {
        Self::new(Failure::BadReply, format!("the reply exceeds {limit} bytes"))
    }
}

/// Datagrams that came and were passed over, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Ignored {
    /// No envelope, or not one that is meant for this end.
    pub garbage: u64,
    /// From somewhere else than what they belong to.
    pub foreign: u64,
    /// The same attempt of a request again.
    pub duplicate: u64,
    /// A reply to a request that is no longer waited for, or was answered.
    pub late: u64,
    /// Requests beyond those that are worked on at once.
    pub overload: u64,
    /// Requests without the token. Nobody knows where they come from, so they get no answer that
    /// is longer than they are: the service is no means against others.
    pub stranger: u64,
}

/// What a service answered, by whatever link.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) media_type: String,
    pub(crate) stamps: Option<ServiceStamps>,
    pub(crate) served_ns: Option<(Ns, Ns)>,
}

impl Answer {
    pub(crate) fn of_http(parts: &http::response::Parts, body: Bytes) -> Self {
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        Self::new(
            parts.status.as_u16(),
            body,
            text(CONTENT_TYPE),
            text(names::STAMPS),
            text(names::SERVER_TIMING),
        )
    }

    pub(crate) fn of_envelope(head: &ReplyHead, body: Bytes) -> Self {
        let timing = head.server_timing.as_deref();
        Self::new(head.status, body, Some(&head.media_type), head.stamps.as_deref(), timing)
    }

    pub(crate) fn new(
        status: u16,
        body: Bytes,
        media_type: Option<&str>,
        stamps: Option<&str>,
        server_timing: Option<&str>,
    ) -> Self {
        Self {
            status,
            body,
            media_type: headers::media_type(media_type),
            stamps: stamps.and_then(ServiceStamps::parse),
            served_ns: server_timing.and_then(headers::served_ns),
        }
    }

    /// A reply, if the status says so.
    pub(crate) fn judge(self) -> Result<Reply, CallError> {
        let Self { status, body, media_type, stamps, served_ns } = self;
        let failure = match status {
            200..=299 => return Ok(Reply { body, media_type, stamps, served_ns }),
            400..=499 | 503 => Failure::Refused,
            500..=599 => Failure::Failed,
            _ => Failure::BadReply,
        };
        let said = String::from_utf8_lossy(&body[..body.len().min(120)]).trim().to_owned();
        let name = StatusCode::from_u16(status).map_or(status.to_string(), |s| s.to_string());
        let detail = format!("the service answered {name}: {said:?}");
        Err(CallError { failure, detail, status: Some(status) })
    }
}

/// How long to wait for what is opened ahead of the first request.
const WARM: Duration = Duration::from_secs(2);

/// What is opened ahead, if it can be opened soon.
pub(crate) async fn in_time<T>(
    opening: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let late = |_| CallError::new(Failure::TimedOut, "no connection within 2 s");
    tokio::time::timeout(WARM, opening).await.map_err(late)?
}
