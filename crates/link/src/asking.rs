//! What goes into the envelopes of a link's requests.

use crate::call::{Answer, CallError, Reply, Request};
use crate::kind::LinkConfig;
use hopwatch_kit::Clock;
use hopwatch_model::Failure;
use hopwatch_wire::envelope::{ReplyHead, RequestHead, RequestId};
use std::sync::atomic::{AtomicU64, Ordering};

/// The asker's end of the links that have no headers.
pub(crate) struct Asking {
    asker: u64,
    last: AtomicU64,
    path: String,
    clock: String,
    authorization: Option<String>,
    media_type: String,
}

impl Asking {
    pub(crate) fn new(config: &LinkConfig, clock: &dyn Clock) -> Self {
        Self {
            asker: rand::random(),
            last: AtomicU64::new(0),
            path: config.target.path.clone(),
            clock: clock.id().to_string(),
            authorization: config.token.authorization(),
            media_type: config.content_type.to_owned(),
        }
    }

    /// The head of a new request, to be sent for the first time.
    pub(crate) fn head(&self, request: &Request) -> RequestHead {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        RequestHead {
            id: RequestId { asker: self.asker, number },
            attempt: 1,
            retries: false,
            age_ns: 0,
            deadline_ns: u64::try_from(request.deadline.as_nanos()).unwrap_or(u64::MAX),
            path: self.path.clone(),
            trace: request.trace,
            clock: Some(self.clock.clone()),
            authorization: self.authorization.clone(),
            media_type: self.media_type.clone(),
        }
    }
}

/// The envelope of a request.
pub(crate) fn frame(head: &RequestHead, request: &Request) -> Result<Vec<u8>, CallError> {
    let unwritable = |error| {
        let cause = std::error::Error::source(&error).map(|c| format!(": {c}")).unwrap_or_default();
        CallError::new(Failure::Refused, format!("the request can't be sent: {error}{cause}"))
    };
    head.frame(&request.body).map_err(unwritable)
}

/// The reply in an envelope.
pub(crate) fn judge(
    head: &ReplyHead,
    body: bytes::Bytes,
    max_reply_bytes: usize,
) -> Result<Reply, CallError> {
    if let Some(size) = head.oversized {
        let detail = format!(
            "the reply makes a message of {size} bytes, more than this link carries: have a \
             shorter one answered, or use another link (http1, quic)"
        );
        return Err(CallError::new(Failure::BadReply, detail));
    }
    if body.len() > max_reply_bytes {
        return Err(CallError::long_reply(max_reply_bytes));
    }
    Answer::of_envelope(head, body).judge()
}
