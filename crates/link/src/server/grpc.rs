//! gRPC: the unary method of `docs/link.proto`.

use super::{Asked, Core, NO_TOKEN, READING};
use crate::grpc::FRAMING;
use crate::grpc_message::{CallReply, CallRequest, METHOD};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::routing::post;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_wire::headers;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tonic::metadata::MetadataMap;
use tonic::server::UnaryService;
use tonic::{Code, Status};

pub(super) fn route(core: &Arc<Core>) -> Router {
    Router::new().route(METHOD, post(call)).with_state(Arc::clone(core))
}

async fn call(State(core): State<Arc<Core>>, request: Request) -> Response<Body> {
    let limit = core.max_body_bytes.saturating_add(FRAMING);
    let codec = tonic_prost::ProstCodec::<CallReply, CallRequest>::default();
    let mut server = tonic::server::Grpc::new(codec).max_decoding_message_size(limit);
    // The metadata are headers: what has no token isn't read.
    if !core.token.admits(request.headers()) {
        return Status::unauthenticated(NO_TOKEN).into_http();
    }
    let read = Arc::new(AtomicBool::new(false));
    let method = Method { core, read: Arc::clone(&read) };
    let mut reply = tokio::select! {
        reply = server.unary(method, request) => reply,
        () = unread_for_too_long(&read) => {
            return Status::deadline_exceeded("the body takes too long").into_http();
        }
    };
    // tonic's word for it is also what its clients say of a reply that they don't want.
    let too_long = HeaderValue::from(Code::OutOfRange as i32);
    if reply.headers().get(Status::GRPC_STATUS) == Some(&too_long) {
        reply = Status::resource_exhausted("the body is too long (max_body_bytes)").into_http();
    }
    reply.map(Body::new)
}

/// Ends when a request wasn't read in time, and never when it was.
async fn unread_for_too_long(read: &AtomicBool) {
    tokio::time::sleep(READING).await;
    if read.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

struct Method {
    core: Arc<Core>,
    /// The whole request is there.
    read: Arc<AtomicBool>,
}

impl UnaryService<CallRequest> for Method {
    type Response = CallReply;
    type Future = BoxFuture<'static, Result<tonic::Response<CallReply>, Status>>;

    fn call(&mut self, request: tonic::Request<CallRequest>) -> Self::Future {
        self.read.store(true, Ordering::Relaxed);
        let core = Arc::clone(&self.core);
        async move { Ok(answer(&core, request).await) }.boxed()
    }
}

async fn answer(core: &Core, request: tonic::Request<CallRequest>) -> tonic::Response<CallReply> {
    let received = core.clock.now();
    let (metadata, _, CallRequest { path, body, media_type: _ }) = request.into_parts();
    let metadata = metadata.into_headers();
    let parent = metadata.get(headers::TRACEPARENT).and_then(|value| value.to_str().ok());
    let asked = Asked {
        path: &path,
        trace: parent.and_then(headers::trace_id),
        authorization: metadata.get(header::AUTHORIZATION).map(HeaderValue::as_bytes),
        received,
        body,
    };
    let answered = core.answer(asked).await;
    let mut reply = tonic::Response::new(CallReply {
        status: u32::from(answered.status.as_u16()),
        media_type: answered.media_type.to_owned(),
        body: answered.body,
    });
    let mut told = HeaderMap::new();
    super::put_stamps(&mut told, answered.stamps.as_ref());
    *reply.metadata_mut() = MetadataMap::from_headers(told);
    reply
}
