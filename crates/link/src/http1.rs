//! HTTP/1.1: `http1` keeps connections open between requests, `http1-fresh` opens one each.

use crate::call::{Call, CallError, Link, Reply, Request};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::Clock;
use hopwatch_kit::net::Token;
use hopwatch_model::{Failure, Ns};
use hopwatch_wire::headers::{self, ServiceStamps};
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpStream;

/// Where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
    path: String,
}

/// A URL that names no service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{url:?} can't be called: {why}")]
pub struct TargetError {
    url: String,
    why: String,
}

impl Target {
    /// From an `http://host:port/path` URL.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let refuse = |why: &str| TargetError { url: url.to_owned(), why: why.to_owned() };
        let parsed = url::Url::parse(url).map_err(|error| refuse(&error.to_string()))?;
        if parsed.scheme() != "http" {
            return Err(refuse("only http:// is spoken here"));
        }
        let host = parsed.host_str().ok_or_else(|| refuse("it names no host"))?;
        let path = match parsed.query() {
            Some(query) => format!("{}?{query}", parsed.path()),
            None => parsed.path().to_owned(),
        };
        let port = parsed.port_or_known_default().unwrap_or(80);
        // A resolver wants an IPv6 address without its brackets.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port, path })
    }

    fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// How a link behaves.
#[derive(Clone, Debug)]
pub struct Http1Config {
    /// The service.
    pub target: Target,
    /// A connection for each request (S1's way), instead of keeping them.
    pub fresh: bool,
    /// A longer reply is refused, in bytes.
    pub max_reply_bytes: usize,
    /// A connection that was idle for longer is not used again; must be below the service's
    /// own keep-alive time, or requests race its closing.
    pub max_idle: Duration,
    /// What the service wants to be shown.
    pub token: Token,
    /// Media type of the request's body.
    pub content_type: &'static str,
}

impl Http1Config {
    /// The defaults for `target`.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            fresh: false,
            max_reply_bytes: 16 << 20,
            // uvicorn and Node close after 5 s.
            max_idle: Duration::from_secs(4),
            token: Token::none(),
            content_type: "application/json",
        }
    }
}

/// How long to wait for a connection ahead of the first request.
const WARM: Duration = Duration::from_secs(2);

/// A connection that is driven by the request that uses it, on the task of that request.
///
/// On a task of its own it would have to be woken for each request and each reply: two hand-overs
/// between threads that a message would wait for. Nobody looks at an idle one, so what the
/// service did to it meanwhile shows when it is taken up again.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
}

/// What reads and writes; gone when the connection has ended, which tells all who wait for it.
type Driver = Option<Pin<Box<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>>>;

impl Connection {
    /// Whether it can take a request, once the reply before has been dealt with.
    async fn is_ready(&mut self) -> bool {
        drive(&mut self.driver, self.sender.ready()).await.is_ok()
    }
}

/// Drives a connection until `work` is done, which waits for something of it.
async fn drive<T>(driver: &mut Driver, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        // First, so that what was handed to it is written before anybody waits. How it ended is
        // told to whoever waits for a reply.
        if driver.as_mut().is_some_and(|driver| driver.poll_unpin(context).is_ready()) {
            *driver = None;
        }
        work.as_mut().poll(context)
    })
    .await
}

/// A link over HTTP/1.1 with `TCP_NODELAY`.
pub struct Http1 {
    config: Http1Config,
    path: http::Uri,
    fixed_headers: HeaderMap,
    clock: Arc<dyn Clock>,
    idle: Mutex<Vec<(Connection, Ns)>>,
}

/// What came of a request on one connection.
enum Answered {
    /// The whole reply.
    Whole(http::response::Parts, Bytes),
    /// Not a byte of it was sent.
    Unsent(http::Request<Full<Bytes>>, hyper::Error),
}

/// The stamps of a call under way: they survive a timeout.
#[derive(Default)]
struct Progress {
    connecting: Option<Ns>,
    sent: Option<Ns>,
}

impl Http1 {
    /// A link to the configured service; nothing is opened yet.
    pub fn new(config: Http1Config, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let refuse = |what: &str| TargetError {
            url: config.target.authority(),
            why: format!("{what} can't be put into a header"),
        };
        let value = |text: &str, what| HeaderValue::from_str(text).map_err(|_| refuse(what));
        let mut fixed_headers = HeaderMap::new();
        fixed_headers.insert(HOST, value(&config.target.authority(), "the host")?);
        fixed_headers.insert(CONTENT_TYPE, HeaderValue::from_static(config.content_type));
        fixed_headers.insert(headers::CLOCK, value(clock.id().as_str(), "the clock's name")?);
        if let Some(authorization) = config.token.authorization() {
            fixed_headers.insert(AUTHORIZATION, value(&authorization, "the token")?);
        }
        if config.fresh {
            fixed_headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let path = config.target.path.parse().map_err(|_| TargetError {
            url: config.target.authority(),
            why: format!("{:?} is no path", config.target.path),
        })?;
        Ok(Self { config, path, fixed_headers, clock, idle: Mutex::default() })
    }

    /// Opens a connection ahead of the first request, so that it finds a warm one.
    pub async fn warm(&self) -> Result<(), CallError> {
        if !self.config.fresh {
            let connecting = tokio::time::timeout(WARM, self.connect());
            let late = |_| CallError::new(Failure::TimedOut, "no connection within 2 s");
            self.keep(connecting.await.map_err(late)??);
        }
        Ok(())
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Connection, Ns)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection for the next request, and closes those that were idle for too long:
    /// the service may have closed its side, and nobody would look at them again while fewer are
    /// needed at once.
    fn keep(&self, connection: Connection) {
        let now = self.clock.now();
        let mut idle = self.idle();
        let stale = idle.partition_point(|(_, since)| *since < self.oldest(now));
        idle.drain(..stale);
        idle.push((connection, now));
    }

    /// What has been idle since before then isn't used again.
    fn oldest(&self, now: Ns) -> Ns {
        now.saturating_sub(Ns::try_from(self.config.max_idle.as_nanos()).unwrap_or(Ns::MAX))
    }

    /// The connection used last, if it is still good: the longest idle ones age out.
    async fn reuse(&self) -> Option<Connection> {
        while let Some(mut connection) = self.take_idle() {
            if connection.is_ready().await {
                return Some(connection);
            }
        }
        None
    }

    fn take_idle(&self) -> Option<Connection> {
        let oldest = self.oldest(self.clock.now());
        let mut idle = self.idle();
        while let Some((connection, since)) = idle.pop() {
            if since < oldest {
                // What lies below was idle for even longer.
                idle.clear();
            } else {
                return Some(connection);
            }
        }
        None
    }

    async fn connect(&self) -> Result<Connection, CallError> {
        let target = &self.config.target;
        let unreachable = |error: &dyn std::fmt::Display| {
            let at = target.authority();
            CallError::new(Failure::Unreachable, format!("failed to connect to {at}: {error}"))
        };
        let tcp = TcpStream::connect((target.host.as_str(), target.port))
            .await
            .map_err(|error| unreachable(&error))?;
        tcp.set_nodelay(true).map_err(|error| unreachable(&error))?;
        let (sender, driver) =
            http1::handshake(TokioIo::new(tcp)).await.map_err(|error| unreachable(&error))?;
        Ok(Connection { sender, driver: Some(Box::pin(driver)) })
    }

    async fn exchange(
        &self,
        request: &Request,
        progress: &Mutex<Progress>,
    ) -> Result<(Reply, Ns), CallError> {
        let note = |change: &dyn Fn(&mut Progress)| {
            change(&mut progress.lock().unwrap_or_else(PoisonError::into_inner));
        };
        let mut outgoing = Some(self.outgoing(request));
        let mut reused = if self.config.fresh { None } else { self.reuse().await };
        loop {
            let is_reused = reused.is_some();
            let mut connection = if let Some(connection) = reused.take() {
                connection
            } else {
                let now = self.clock.now();
                note(&|p| p.connecting = Some(now));
                self.connect().await?
            };
            let Some(message) = outgoing.take() else {
                return Err(CallError::new(Failure::Broken, "the request was already sent"));
            };
            let now = self.clock.now();
            note(&|p| p.sent = Some(now));
            match self.answer(&mut connection, message).await? {
                Answered::Whole(parts, body) => {
                    let ended = self.clock.now();
                    if !self.config.fresh {
                        self.keep(connection);
                    }
                    return accept(&parts, body).map(|reply| (reply, ended));
                }
                // The service closed an idle connection while we took it up: not a byte of the
                // request was sent, so it can be sent again without doing it twice.
                Answered::Unsent(message, _) if is_reused => outgoing = Some(message),
                Answered::Unsent(_, error) => return Err(broken(&error)),
            }
        }
    }

    /// Sends a request and reads the whole reply.
    async fn answer(
        &self,
        connection: &mut Connection,
        message: http::Request<Full<Bytes>>,
    ) -> Result<Answered, CallError> {
        let replying = connection.sender.try_send_request(message);
        let work = async {
            match replying.await {
                Ok(reply) => {
                    let (parts, body) = reply.into_parts();
                    Ok(Answered::Whole(parts, self.read(body).await?))
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) => Ok(Answered::Unsent(unsent, error.into_error())),
                    None => Err(broken(&error.into_error())),
                },
            }
        };
        drive(&mut connection.driver, work).await
    }

    fn outgoing(&self, request: &Request) -> http::Request<Full<Bytes>> {
        let mut outgoing = http::Request::new(Full::new(request.body.clone()));
        *outgoing.method_mut() = http::Method::POST;
        *outgoing.uri_mut() = self.path.clone();
        *outgoing.headers_mut() = self.fixed_headers.clone();
        let parent = request.trace.map(headers::traceparent);
        if let Some(Ok(parent)) = parent.as_deref().map(HeaderValue::from_str) {
            outgoing.headers_mut().insert(headers::TRACEPARENT, parent);
        }
        outgoing
    }

    async fn read(&self, body: hyper::body::Incoming) -> Result<Bytes, CallError> {
        let limit = self.config.max_reply_bytes;
        let whole = Limited::new(body, limit).collect().await;
        whole.map(http_body_util::Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() {
                CallError::new(Failure::BadReply, format!("the reply exceeds {limit} bytes"))
            } else {
                CallError::new(
                    Failure::Broken,
                    format!("the connection ended inside the reply: {error}"),
                )
            }
        })
    }
}

impl Link for Http1 {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let progress = Mutex::new(Progress::default());
            let exchange = self.exchange(&request, &progress);
            let result = match tokio::time::timeout(request.deadline, exchange).await {
                Ok(result) => result,
                Err(_elapsed) => {
                    let ms = request.deadline.as_millis();
                    let text = format!("no whole reply within {ms} ms");
                    Err(CallError::new(Failure::TimedOut, text))
                }
            };
            let Progress { connecting, sent } =
                progress.into_inner().unwrap_or_else(PoisonError::into_inner);
            match result {
                Ok((reply, ended)) => Call { connecting, sent, ended, result: Ok(reply) },
                Err(error) => {
                    Call { connecting, sent, ended: self.clock.now(), result: Err(error) }
                }
            }
        }
        .boxed()
    }
}

fn broken(error: &hyper::Error) -> CallError {
    // hyper hides the cause behind its own words ("connection error").
    let cause = std::error::Error::source(error).map(|c| format!(": {c}")).unwrap_or_default();
    CallError::new(Failure::Broken, format!("the connection broke: {error}{cause}"))
}

/// Judges the status and reads what the service told about itself.
fn accept(parts: &http::response::Parts, body: Bytes) -> Result<Reply, CallError> {
    let status = parts.status;
    if !status.is_success() {
        let refused = status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE;
        let failure = if refused {
            Failure::Refused
        } else if status.is_server_error() {
            Failure::Failed
        } else {
            Failure::BadReply
        };
        let said = String::from_utf8_lossy(&body[..body.len().min(120)]).trim().to_owned();
        let detail = format!("the service answered {status}: {said:?}");
        return Err(CallError { failure, detail, status: Some(status.as_u16()) });
    }
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let media_type = text("content-type").and_then(|t| t.split(';').next()).unwrap_or_default();
    Ok(Reply {
        body,
        media_type: media_type.trim().to_ascii_lowercase(),
        stamps: text(headers::STAMPS).and_then(ServiceStamps::parse),
        served_ns: text(headers::SERVER_TIMING).and_then(headers::served_ns),
    })
}
