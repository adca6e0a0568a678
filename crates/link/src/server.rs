//! The server side: one handler, whatever the transport.

mod grpc;
mod memory;
mod quic;
mod udp;
mod websocket;

use crate::call::Ignored;
use crate::counts::Counts;
use crate::names;
use crate::offers::{PATH as LINKS_PATH, Ports};
use anyhow::Context;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::app::{App, Direct};
use hopwatch_kit::net::{DRAIN, Token};
use hopwatch_kit::tls::ServerTls;
use hopwatch_kit::{Clock, Shutdown};
use hopwatch_model::{Ns, TraceId};
use hopwatch_wire::envelope::{ReplyHead, RequestHead, RequestId};
use hopwatch_wire::headers::{self, ServiceStamps};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Path at which every service answers with what it got.
pub const ECHO: &str = "/v1/echo";

/// The answer to who shows no token, or another.
const NO_TOKEN: &str = "a token is needed (HOPWATCH_TOKEN)\n";

/// How long the reading of one request may take. Whoever sends a byte now and then would keep what
/// has come in memory for ever.
const READING: Duration = Duration::from_secs(30);

/// How long the other ends may take to see that a service leaves.
const LEAVING: Duration = Duration::from_millis(200);

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

/// A handler of any type.
trait Answers: Send + Sync {
    fn answer(&self, request: Inbound) -> BoxFuture<'_, Outbound>;
}

impl<H: Handler> Answers for H {
    fn answer(&self, request: Inbound) -> BoxFuture<'_, Outbound> {
        self.handle(request).boxed()
    }
}

/// Answers with what it got.
struct Echo(Arc<dyn Clock>);

impl Handler for Echo {
    async fn handle(&self, request: Inbound) -> Outbound {
        let (status, done) = (StatusCode::OK, self.0.now());
        Outbound { status, body: request.body, begun: None, done }
    }
}

/// What a service answers at its paths, on all links.
pub struct Server {
    core: Core,
}

/// What the links of a service share.
struct Core {
    paths: Vec<(String, Arc<dyn Answers>)>,
    clock: Arc<dyn Clock>,
    token: Token,
    max_body_bytes: usize,
    counts: Counts,
}

/// A request, by whatever link it came.
struct Asked<'a> {
    path: &'a str,
    trace: Option<TraceId>,
    authorization: Option<&'a [u8]>,
    received: Ns,
    body: Bytes,
}

/// What is answered, by whatever link.
#[derive(Clone, Debug)]
struct Answered {
    status: StatusCode,
    media_type: &'static str,
    body: Bytes,
    stamps: Option<ServiceStamps>,
}

impl Server {
    /// A service with its clock and the token that it wants to be shown. Bodies beyond
    /// `max_body_bytes` get 413. It answers [`ECHO`] already.
    pub fn new(clock: Arc<dyn Clock>, token: Token, max_body_bytes: usize) -> Self {
        let echo: Arc<dyn Answers> = Arc::new(Echo(Arc::clone(&clock)));
        let paths = vec![(ECHO.to_owned(), echo)];
        Self { core: Core { paths, clock, token, max_body_bytes, counts: Counts::default() } }
    }

    /// `handler` answers at `path`, too.
    #[must_use]
    pub fn answer(mut self, path: &str, handler: impl Handler) -> Self {
        self.core.paths.push((path.to_owned(), Arc::new(handler)));
        self
    }

    /// The links over TCP alone, as routes for the service's listener.
    pub fn routes(self) -> Router {
        routes(&Arc::new(self.core), Ports { udp: None, quic: None }, &Shutdown::new())
    }

    /// All links at the listener's address: those over TCP are the routes for it, UDP (at the
    /// same port if it is free) and QUIC are open already, until the shutdown begins. With a
    /// certificate, QUIC shows it, and there is no UDP: it would carry token and messages
    /// unencrypted.
    pub async fn open(
        self,
        listener: &TcpListener,
        tls: Option<&ServerTls>,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Opened> {
        let core = Arc::new(self.core);
        let address = listener.local_addr().context("failed to ask for the own address")?;
        let socket = if tls.is_some() {
            None
        } else {
            let bound = udp::bind(address).await;
            let ip = address.ip();
            Some(bound.with_context(|| format!("failed to open a UDP socket at {ip}"))?)
        };
        let quic = quic::bind(SocketAddr::new(address.ip(), 0), tls)
            .with_context(|| format!("failed to listen for QUIC at {}", address.ip()))?;
        let port = |address: std::io::Result<SocketAddr>| address.map(|address| address.port());
        let ports = Ports {
            udp: socket
                .as_ref()
                .map(|socket| port(socket.local_addr()))
                .transpose()
                .context("failed to ask for the UDP port")?,
            quic: Some(port(quic.local_addr()).context("failed to ask for the QUIC port")?),
        };
        let tasks = TaskTracker::new();
        if let Some(socket) = socket {
            tasks.spawn(udp::serve(Arc::clone(&core), socket, shutdown.clone(), tasks.clone()));
        }
        tasks.spawn(quic::serve(Arc::clone(&core), quic, shutdown.clone()));
        let routes = routes(&core, ports, shutdown);
        let routes = App::with(Arc::<Core>::clone(&core), routes);
        Ok(Opened { routes, core, tasks, shutdown: shutdown.clone() })
    }
}

/// A service's links while it serves.
pub struct Opened {
    /// Those over TCP.
    pub routes: App,
    core: Arc<Core>,
    tasks: TaskTracker,
    shutdown: Shutdown,
}

impl Opened {
    /// Tells the datagrams that were passed over, by why.
    pub fn ignored(&self) -> impl Fn() -> Ignored + Clone + Send + Sync + 'static {
        let core = Arc::clone(&self.core);
        move || core.counts.now()
    }

    /// Waits for the shutdown, then lets requests under way end for at most [`DRAIN`] and a moment
    /// for the words of leaving. To be waited for beside what serves [`Opened::routes`]: behind it,
    /// a service would take twice as long to end.
    pub fn ending(&self) -> impl Future<Output = ()> + Send + 'static {
        let (tasks, begun) = (self.tasks.clone(), self.shutdown.begun());
        async move {
            begun.await;
            tasks.close();
            // Whoever still waits has waited for long enough.
            let _all_ended = tokio::time::timeout(DRAIN + LEAVING, tasks.wait()).await;
        }
    }
}

fn routes(core: &Arc<Core>, ports: Ports, shutdown: &Shutdown) -> Router {
    let mut router = Router::new()
        .route(LINKS_PATH, get(move || async move { Json(ports) }))
        .merge(websocket::route(core, shutdown))
        .merge(grpc::route(core));
    for (at, (path, _)) in core.paths.iter().enumerate() {
        let core = Arc::clone(core);
        router =
            router.route(path, post(async move |request: Request| http(core, at, request).await));
    }
    router
}

/// The same on the way of HTTP/1.1 and HTTP/2 that leads past the router.
impl Direct for Core {
    fn place(&self, request: &hyper::Request<Incoming>) -> Option<usize> {
        let path = request.uri().path();
        let is_post = *request.method() == Method::POST;
        self.paths.iter().position(|(known, _)| known == path).filter(|_| is_post)
    }

    fn reply(
        self: Arc<Self>,
        place: usize,
        request: hyper::Request<Incoming>,
    ) -> BoxFuture<'static, Result<Response<Body>, Infallible>> {
        http(self, place, request).map(Ok).boxed()
    }
}

/// HTTP/1.1 and HTTP/2.
async fn http<B>(core: Arc<Core>, at: usize, request: hyper::Request<B>) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (Parts { headers: request_headers, .. }, body) = request.into_parts();
    if !core.token.admits(&request_headers) {
        return http_reply(Answered::no_token());
    }
    // No layer and no extractor for the limit: each would be a box and a copy of the route.
    let reading = Limited::new(body, core.max_body_bytes).collect();
    let body = match tokio::time::timeout(READING, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return http_reply(Answered::too_large());
        }
        Err(_elapsed) => {
            let slow = Answered::plain(StatusCode::REQUEST_TIMEOUT, "the body takes too long\n");
            return http_reply(slow);
        }
        Ok(Err(_)) => {
            let broken = Answered::plain(StatusCode::BAD_REQUEST, "the body broke off\n");
            return http_reply(broken);
        }
    };
    let received = core.clock.now();
    let value = |name: &HeaderName| request_headers.get(name).and_then(|v| v.to_str().ok());
    let asked = Asked {
        path: core.paths.get(at).map_or("", |(path, _)| path),
        trace: value(&names::TRACEPARENT).and_then(headers::trace_id),
        authorization: request_headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes),
        received,
        body,
    };
    let answered = core.answer(asked).await;
    http_reply(answered)
}

fn http_reply(answered: Answered) -> Response<Body> {
    let Answered { status, media_type, body, stamps } = answered;
    let mut reply = Response::new(Body::from(body));
    *reply.status_mut() = status;
    let to = reply.headers_mut();
    to.reserve(4);
    to.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    put_stamps(to, stamps.as_ref());
    reply
}

/// The headers that tell the service's stamps and durations.
fn put_stamps(to: &mut HeaderMap, stamps: Option<&ServiceStamps>) {
    let Some(stamps) = stamps else { return };
    for (name, text) in
        [(names::STAMPS, stamps.header()), (names::SERVER_TIMING, stamps.server_timing())]
    {
        if let Ok(value) = HeaderValue::try_from(text) {
            to.insert(name, value);
        }
    }
}

impl Core {
    /// Each link shows this the token before it reads a body.
    async fn answer(&self, asked: Asked<'_>) -> Answered {
        if !self.token.admits_value(asked.authorization) {
            return Answered::no_token();
        }
        let Some((_, handler)) = self.paths.iter().find(|(path, _)| path == asked.path) else {
            return Answered::plain(StatusCode::NOT_FOUND, "nothing is answered at this path\n");
        };
        let Asked { trace, received, body, .. } = asked;
        if body.len() > self.max_body_bytes {
            return Answered::too_large();
        }
        let work = handler.answer(Inbound { trace, received, body });
        let Ok(Outbound { status, body, begun, done }) =
            AssertUnwindSafe(work).catch_unwind().await
        else {
            return Answered::plain(StatusCode::INTERNAL_SERVER_ERROR, "the service panicked\n");
        };
        let clock = self.clock.id().clone();
        let stamps = Some(ServiceStamps { clock, received, begun, done, resent: None });
        Answered { status, media_type: "application/json", body, stamps }
    }

    /// The same for a request in an envelope.
    async fn answer_envelope(&self, head: &RequestHead, body: Bytes, received: Ns) -> Answered {
        let asked = Asked {
            path: &head.path,
            trace: head.trace,
            authorization: head.authorization.as_deref().map(str::as_bytes),
            received,
            body,
        };
        self.answer(asked).await
    }
}

impl Answered {
    fn plain(status: StatusCode, text: &'static str) -> Self {
        let body = Bytes::from_static(text.as_bytes());
        Self { status, media_type: "text/plain", body, stamps: None }
    }

    fn no_token() -> Self {
        Self::plain(StatusCode::UNAUTHORIZED, NO_TOKEN)
    }

    fn too_large() -> Self {
        Self::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long (max_body_bytes)\n")
    }

    /// The head of its envelope.
    fn head(&self, id: RequestId, attempt: u32, resent: Option<Ns>) -> ReplyHead {
        let stamps = self.stamps.clone().map(|stamps| ServiceStamps { resent, ..stamps }.header());
        ReplyHead {
            id,
            attempt,
            status: self.status.as_u16(),
            media_type: self.media_type.to_owned(),
            stamps,
            server_timing: None,
            oversized: None,
        }
    }

    /// The envelope, for links that carry bodies of any size.
    fn frame(&self, id: RequestId) -> Vec<u8> {
        self.head(id, 1, None).frame(&self.body).unwrap_or_default()
    }
}
