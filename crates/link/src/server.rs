//! The server side: one handler, whatever the transport.

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::post;
use bytes::Bytes;
use hopwatch_kit::Clock;
use hopwatch_kit::net::Token;
use hopwatch_model::{Ns, TraceId};
use hopwatch_wire::headers::{self, ServiceStamps};
use std::future::Future;
use std::sync::Arc;

/// What a service does with a request.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request.
    fn handle(&self, request: Inbound) -> impl Future<Output = Outbound> + Send;
}

/// A request as a service gets it.
#[derive(Debug)]
pub struct Inbound {
    /// The message it is about, if the caller told.
    pub trace: Option<TraceId>,
    /// When the whole request was there, on the service's clock.
    pub received: Ns,
    /// The body.
    pub body: Bytes,
}

/// A service's answer.
#[derive(Debug)]
pub struct Outbound {
    /// 200, or why not.
    pub status: StatusCode,
    /// JSON.
    pub body: Bytes,
    /// When work on it began, for a service that has a waiting line.
    pub begun: Option<Ns>,
    /// When it was done.
    pub done: Ns,
}

struct Served<H> {
    handler: H,
    clock: Arc<dyn Clock>,
    token: Token,
}

/// `POST path` answered by `handler`, with the stamps and durations in the reply's headers.
/// Bodies beyond `max_body_bytes` get 413.
pub fn http1_routes<H: Handler>(
    path: &str,
    handler: H,
    clock: Arc<dyn Clock>,
    token: Token,
    max_body_bytes: usize,
) -> Router {
    Router::new()
        .route(path, post(answer::<H>))
        .layer(DefaultBodyLimit::max(max_body_bytes))
        .with_state(Arc::new(Served { handler, clock, token }))
}

async fn answer<H: Handler>(
    State(served): State<Arc<Served<H>>>,
    request_headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let received = served.clock.now();
    if !served.token.admits(&request_headers) {
        return plain(StatusCode::UNAUTHORIZED, "a token is needed (HOPWATCH_TOKEN)\n");
    }
    let parent = request_headers.get(headers::TRACEPARENT).and_then(|v| v.to_str().ok());
    let trace = parent.and_then(headers::trace_id);
    let Outbound { status, body, begun, done } =
        served.handler.handle(Inbound { trace, received, body }).await;
    let stamps = ServiceStamps { clock: served.clock.id().clone(), received, begun, done };
    let mut reply = Response::new(Body::from(body));
    *reply.status_mut() = status;
    let to = reply.headers_mut();
    to.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, text) in
        [(headers::STAMPS, stamps.header()), (headers::SERVER_TIMING, stamps.server_timing())]
    {
        if let Ok(value) = HeaderValue::from_str(&text) {
            to.insert(name, value);
        }
    }
    reply
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut reply = Response::new(Body::from(text));
    *reply.status_mut() = status;
    reply
}
