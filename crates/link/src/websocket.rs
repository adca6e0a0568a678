//! `websocket`: an [envelope](hopwatch_wire::envelope) in a binary message each way (RFC 6455).
//!
//! Connections are kept, and each is used by one request at a time, on that request's task: as
//! with `http1`, no other thread has to be woken for it.

use crate::asking::{Asking, frame, judge};
use crate::call::{Call, CallError, Link, Reply, Request, in_time};
use crate::kind::LinkConfig;
use crate::pool::Pool;
use crate::progress::Progress;
use crate::target::{Target, TargetError};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, SinkExt, StreamExt};
use hopwatch_kit::Clock;
use hopwatch_kit::net::Token;
use hopwatch_kit::tls::{HTTP1, Stream};
use hopwatch_model::{Failure, Ns};
use hopwatch_wire::envelope::{Envelope, LONGEST_HEAD, RequestId};
use http::Uri;
use std::sync::Arc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

/// Where the services take it.
pub(crate) const PATH: &str = "/v1/link";
/// Why a service of ours leaves, which it does only between requests.
pub(crate) const LEAVING: &str = "the service stops";
/// Room for what is read and written at once; larger messages take several turns.
const BUFFER: usize = 16 << 10;

type Socket = WebSocketStream<Stream>;

/// A link over WebSocket.
pub(crate) struct WebSocket {
    target: Target,
    uri: Uri,
    asking: Asking,
    token: Token,
    max_reply_bytes: usize,
    clock: Arc<dyn Clock>,
    pool: Pool<Socket>,
}

/// What came instead of a reply.
enum NoReply {
    /// The service went away (1001) for our own reason: it began nothing.
    Away,
    /// Whatever became of it can't be known, or it can't be sent at all.
    Failed(CallError),
}

impl WebSocket {
    pub(crate) fn new(config: &LinkConfig, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let target = config.target.clone();
        let scheme = if target.is_secure() { "wss" } else { "ws" };
        let uri = Uri::builder().scheme(scheme).authority(target.authority()).path_and_query(PATH);
        Ok(Self {
            uri: uri.build().map_err(|error| target.refuse(&error.to_string()))?,
            target,
            asking: Asking::new(config, &*clock),
            token: config.token.clone(),
            max_reply_bytes: config.max_reply_bytes,
            clock,
            pool: Pool::new(config.max_idle),
        })
    }

    async fn connect(&self) -> Result<Socket, CallError> {
        let stream = self.target.connect(HTTP1).await?;
        let limit = self.max_reply_bytes.saturating_add(LONGEST_HEAD + 8);
        let mut config = WebSocketConfig::default();
        config.read_buffer_size = BUFFER;
        config.write_buffer_size = BUFFER;
        config.max_message_size = Some(limit);
        config.max_frame_size = Some(limit);
        let mut request = ClientRequestBuilder::new(self.uri.clone());
        if let Some(authorization) = self.token.authorization() {
            request = request.with_header("authorization", authorization);
        }
        let opened =
            tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
        opened.map(|(socket, _)| socket).map_err(|error| match error {
            Error::Http(reply) => {
                let (at, status) = (self.target.authority(), reply.status().as_u16());
                if status == 401 {
                    let detail = format!("{at} wants to be shown another token (GET {PATH}: 401)");
                    let failure = Failure::Refused;
                    return CallError { failure, detail, status: Some(status) };
                }
                let body = reply.body().as_deref().unwrap_or_default();
                let said = String::from_utf8_lossy(&body[..body.len().min(120)]).trim().to_owned();
                let said = if said.is_empty() { said } else { format!(" {said:?}") };
                let detail = format!("{at} offers no websocket link (GET {PATH}: {status}{said})");
                CallError::new(Failure::Unreachable, detail)
            }
            error => self.target.unreachable(&error),
        })
    }

    /// A kept connection, if one is still good.
    fn reuse(&self) -> Option<Socket> {
        while let Some(mut socket) = self.pool.take(self.clock.now()) {
            // Nobody looked at it since: what the service did meanwhile shows now.
            loop {
                match socket.next().now_or_never() {
                    None => return Some(socket),
                    Some(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                    Some(_) => break,
                }
            }
        }
        None
    }

    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Reply, Ns), CallError> {
        let head = self.asking.head(request);
        let message = Bytes::from(frame(&head, request)?);
        loop {
            let reused = self.reuse();
            let is_reused = reused.is_some();
            let mut socket = if let Some(socket) = reused {
                socket
            } else {
                progress.connecting(self.clock.now());
                self.connect().await?
            };
            progress.sent(self.clock.now());
            match self.answer(&mut socket, message.clone(), head.id).await {
                Ok((reply, ended)) => {
                    self.pool.keep(socket, ended);
                    return reply.map(|reply| (reply, ended));
                }
                Err(NoReply::Away) if is_reused => {}
                Err(NoReply::Away) => {
                    return Err(CallError::new(Failure::Broken, "the service went away"));
                }
                Err(NoReply::Failed(error)) => return Err(error),
            }
        }
    }

    async fn answer(
        &self,
        socket: &mut Socket,
        message: Bytes,
        id: RequestId,
    ) -> Result<(Result<Reply, CallError>, Ns), NoReply> {
        // What the service said on leaving may lie there, although writing fails.
        let written = socket.send(Message::Binary(message)).await;
        loop {
            let came = match socket.next().await {
                Some(Ok(came)) => came,
                Some(Err(Error::Capacity(_))) => {
                    return Err(NoReply::Failed(CallError::long_reply(self.max_reply_bytes)));
                }
                Some(Err(error)) => {
                    return Err(NoReply::Failed(broken(&written.err().unwrap_or(error))));
                }
                None => return Err(NoReply::Failed(broken(&Error::ConnectionClosed))),
            };
            match came {
                Message::Binary(frame) => {
                    let ended = self.clock.now();
                    match Envelope::read(&frame) {
                        Ok(Envelope::Reply(head, body)) if head.id == id => {
                            return Ok((judge(&head, body, self.max_reply_bytes), ended));
                        }
                        // A reply to what nobody waits for.
                        Ok(Envelope::Reply(..)) => {}
                        Ok(_) | Err(_) => {
                            let detail = "the service's message is no reply";
                            let error = CallError::new(Failure::BadReply, detail);
                            return Err(NoReply::Failed(error));
                        }
                    }
                }
                Message::Close(frame) => return Err(left(frame.as_ref())),
                _ => {}
            }
        }
    }
}

fn left(frame: Option<&CloseFrame>) -> NoReply {
    let (code, reason) = frame.map_or((CloseCode::Status, ""), |f| (f.code, f.reason.as_str()));
    let failure = match code {
        // Ours: others may leave with that code in the middle of a request.
        CloseCode::Away if reason == LEAVING => return NoReply::Away,
        CloseCode::Size => Failure::Refused,
        _ => Failure::Broken,
    };
    let detail = format!("the service closed the connection: {} {reason:?}", u16::from(code));
    NoReply::Failed(CallError::new(failure, detail))
}

fn broken(error: &Error) -> CallError {
    CallError::new(Failure::Broken, format!("the connection broke: {error}"))
}

impl Link for WebSocket {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let exchange = async |progress: &Progress| self.exchange(&request, progress).await;
            Progress::of(request.deadline, &*self.clock, exchange).await
        }
        .boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        async {
            let socket = in_time(self.connect()).await?;
            self.pool.keep(socket, self.clock.now());
            Ok(())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy that is stopped, or any other program, may leave when it has passed a request on.
    #[test]
    fn only_our_own_leaving_is_known_to_have_begun_nothing() {
        let leaving = |reason: &'static str| {
            left(Some(&CloseFrame { code: CloseCode::Away, reason: reason.into() }))
        };
        assert!(matches!(leaving(LEAVING), NoReply::Away));
        for reason in ["", "Going away", "the service stops, after all"] {
            let NoReply::Failed(error) = leaving(reason) else { panic!("{reason}") };
            assert_eq!(error.failure, Failure::Broken, "{reason}");
        }
    }
}
