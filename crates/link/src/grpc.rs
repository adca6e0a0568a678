//! `grpc`: one unary method for everything (`docs/link.proto`), over the connection of `http2`.

use crate::call::{Answer, Call, CallError, Link, Reply, Request, in_time};
use crate::grpc_message::{CallReply, CallRequest, METHOD};
use crate::http1::{fixed, traceparent};
use crate::http2::{causes, connect, uri, was_refused};
use crate::kind::LinkConfig;
use crate::progress::Progress;
use crate::shared::{Connected, Shared};
use crate::target::{Target, TargetError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::Clock;
use hopwatch_model::{Failure, Ns};
use hopwatch_wire::headers;
use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

/// A link over gRPC.
pub(crate) struct Grpc {
    target: Target,
    origin: Uri,
    fixed_headers: HeaderMap,
    content_type: &'static str,
    max_reply_bytes: usize,
    clock: Arc<dyn Clock>,
    shared: Shared<SendRequest<Body>>,
}

/// The connection as tonic wants it.
struct Sender {
    connection: SendRequest<Body>,
    /// Not a byte of the request was sent.
    unsent: Arc<AtomicBool>,
}

impl tower_service::Service<http::Request<Body>> for Sender {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, Result<Self::Response, hyper::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let replying = self.connection.try_send_request(request);
        let unsent = Arc::clone(&self.unsent);
        let note = move |mut error: hyper::client::conn::TrySendError<http::Request<Body>>| {
            unsent.store(error.take_message().is_some(), Ordering::Relaxed);
            error.into_error()
        };
        async move { replying.await.map_err(note) }.boxed()
    }
}

impl Grpc {
    pub(crate) fn new(config: &LinkConfig, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let target = config.target.clone();
        Ok(Self {
            origin: uri(&target, "/")?,
            fixed_headers: fixed(&target, &config.token, clock.id())?,
            target,
            content_type: config.content_type,
            max_reply_bytes: config.max_reply_bytes,
            clock,
            shared: Shared::new(config.max_idle),
        })
    }

    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Reply, Ns), CallError> {
        loop {
            let open = || connect(&self.target);
            let (kept, is_new) = self.shared.take(&*self.clock, progress, open).await?;
            let unsent = Arc::new(AtomicBool::new(false));
            let sender =
                Sender { connection: kept.connection.clone(), unsent: Arc::clone(&unsent) };
            // The limit is of the whole message: path and media type are small beside it.
            let mut client = tonic::client::Grpc::with_origin(sender, self.origin.clone())
                .max_decoding_message_size(self.max_reply_bytes.saturating_add(FRAMING));
            let message = self.outgoing(request);
            let sent = self.clock.now();
            progress.sent(sent);
            let waiting = self.shared.waiting(&kept, sent);
            let codec = tonic_prost::ProstCodec::<CallRequest, CallReply>::default();
            let path = PathAndQuery::from_static(METHOD);
            let status = match client.unary(message, path, codec).await {
                Ok(reply) => {
                    let ended = self.clock.now();
                    waiting.heard(ended);
                    return self.answer(reply)?.judge().map(|reply| (reply, ended));
                }
                Err(status) => status,
            };
            let unsent = unsent.load(Ordering::Relaxed);
            if !is_new && (unsent || was_refused(&status)) {
                self.shared.discard(&kept);
                continue;
            }
            if !kept.connection.is_open() {
                self.shared.discard(&kept);
            } else if status.source().is_none() {
                waiting.heard(self.clock.now());
            }
            return Err(self.failed(&status));
        }
    }

    fn outgoing(&self, request: &Request) -> tonic::Request<CallRequest> {
        let mut outgoing = tonic::Request::new(CallRequest {
            path: self.target.path.clone(),
            media_type: self.content_type.to_owned(),
            body: request.body.clone(),
        });
        let mut headers = self.fixed_headers.clone();
        if let Some(parent) = traceparent(request) {
            headers.insert(headers::TRACEPARENT, parent);
        }
        *outgoing.metadata_mut() = MetadataMap::from_headers(headers);
        outgoing
    }

    fn answer(&self, reply: tonic::Response<CallReply>) -> Result<Answer, CallError> {
        let (metadata, CallReply { status, media_type, body }, _) = reply.into_parts();
        if body.len() > self.max_reply_bytes {
            return Err(CallError::long_reply(self.max_reply_bytes));
        }
        let text = |name: &str| metadata.get(name).and_then(|value| value.to_str().ok());
        let (stamps, timing) = (text(headers::STAMPS), text(headers::SERVER_TIMING));
        let status = u16::try_from(status).unwrap_or(0);
        Ok(Answer::new(status, body, Some(&media_type), stamps, timing))
    }

    fn failed(&self, status: &Status) -> CallError {
        let failure = match status.code() {
            // So tonic calls a reply that it won't read; ours is RESOURCE_EXHAUSTED.
            Code::OutOfRange => return CallError::long_reply(self.max_reply_bytes),
            Code::ResourceExhausted
            | Code::Unauthenticated
            | Code::PermissionDenied
            | Code::InvalidArgument
            | Code::NotFound
            | Code::Unimplemented => Failure::Refused,
            // What broke below has a source; a service that said so has none.
            _ if status.source().is_some() => Failure::Broken,
            Code::DeadlineExceeded | Code::Internal | Code::Aborted => Failure::Failed,
            _ => Failure::Broken,
        };
        let (name, said) = (status.code().description(), status.message());
        let cause = status.source().and_then(|source| causes(source).last());
        let cause = cause.map(|error| format!(": {error}")).unwrap_or_default();
        let refused = (status.code() == Code::Unauthenticated).then_some(401);
        let detail = format!("gRPC ended with {name:?}: {said:?}{cause}");
        CallError { failure, detail, status: refused }
    }
}

/// What a message has beside its body, at most, in bytes.
pub(crate) const FRAMING: usize = 8192;

impl Link for Grpc {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let exchange = async |progress: &Progress| self.exchange(&request, progress).await;
            Progress::of(request.deadline, &*self.clock, exchange).await
        }
        .boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        async {
            let progress = Progress::default();
            let opening = self.shared.take(&*self.clock, &progress, || connect(&self.target));
            in_time(opening).await.map(drop)
        }
        .boxed()
    }
}
