//! HTTP/1.1: `http1` keeps connections open between requests, `http1-fresh` opens one each.

use crate::call::{Answer, Call, CallError, Link, Reply, Request, in_time};
use crate::names;
use crate::pool::Pool;
use crate::progress::Progress;
use crate::target::{Target, TargetError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::Clock;
use hopwatch_kit::net::Token;
use hopwatch_kit::tls::{HTTP1, Stream};
use hopwatch_model::{ClockId, Failure, Ns};
use hopwatch_wire::headers;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

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
    /// What else a service wants of its requests.
    pub form: HttpForm,
}

/// What requests of a service look like that isn't ours: over HTTP only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpForm {
    /// The method. GET and DELETE carry no body.
    pub method: Method,
    /// Further headers; of names that Hopwatch sends too, these are sent.
    pub headers: HeaderMap,
}

impl Default for HttpForm {
    fn default() -> Self {
        Self { method: Method::POST, headers: HeaderMap::new() }
    }
}

impl HttpForm {
    /// The headers that are the same in each request.
    pub(crate) fn dress(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
    }

    /// A request of this form, without what differs between links.
    pub(crate) fn request(&self, body: &Bytes) -> http::Request<Full<Bytes>> {
        let bare = matches!(self.method, Method::GET | Method::DELETE);
        let body = if bare { Bytes::new() } else { body.clone() };
        let mut request = http::Request::new(Full::new(body));
        *request.method_mut() = self.method.clone();
        request
    }
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
            form: HttpForm::default(),
        }
    }
}

/// A connection that is driven by the request that uses it, on the task of that request.
///
/// On a task of its own it would have to be woken for each request and each reply: two hand-overs
/// between threads that a message would wait for. Nobody looks at an idle one, so what the
/// service did to it meanwhile shows when it is taken up again.
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
}

/// What reads and writes; gone when the connection has ended, which tells all who wait for it.
type Driver = Option<Pin<Box<http1::Connection<TokioIo<Stream>, Full<Bytes>>>>>;

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self, CallError> {
        let stream = target.connect(HTTP1).await?;
        let peer = stream.peer_addr().map_err(|error| target.unreachable(&error))?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| target.unreachable(&error))?;
        Ok(Self { peer, sender, driver: Some(Box::pin(driver)) })
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn answer(
        &mut self,
        message: http::Request<Full<Bytes>>,
        max_reply_bytes: usize,
    ) -> Result<Answered, CallError> {
        let replying = self.sender.try_send_request(message);
        let work = async {
            match replying.await {
                Ok(reply) => {
                    let (parts, body) = reply.into_parts();
                    Ok(Answered::Whole(parts, read(body, max_reply_bytes).await?))
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) => Ok(Answered::Unsent(unsent, error.into_error())),
                    None => Err(broken(&error.into_error())),
                },
            }
        };
        drive(&mut self.driver, work).await
    }

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
    pool: Pool<Connection>,
}

/// What came of a request on one connection.
pub(crate) enum Answered {
    /// The whole reply.
    Whole(http::response::Parts, Bytes),
    /// Not a byte of it was sent.
    Unsent(http::Request<Full<Bytes>>, hyper::Error),
}

impl Http1 {
    /// A link to the configured service; nothing is opened yet.
    pub fn new(config: Http1Config, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let target = &config.target;
        let mut fixed_headers = fixed(target, &config.token, clock.id())?;
        let host = HeaderValue::from_str(&target.authority());
        fixed_headers.insert(HOST, host.map_err(|_| target.refuse("the host is no header"))?);
        fixed_headers.insert(CONTENT_TYPE, HeaderValue::from_static(config.content_type));
        config.form.dress(&mut fixed_headers);
        if config.fresh {
            fixed_headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let path = target.path.parse().map_err(|_| target.refuse("its path is none"))?;
        let pool = Pool::new(config.max_idle);
        Ok(Self { config, path, fixed_headers, clock, pool })
    }

    /// The connection used last, if it is still good: the longest idle ones age out.
    async fn reuse(&self) -> Option<Connection> {
        while let Some(mut connection) = self.pool.take(self.clock.now()) {
            if connection.is_ready().await {
                return Some(connection);
            }
        }
        None
    }

    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Reply, Ns), CallError> {
        let mut outgoing = Some(self.outgoing(request));
        let mut reused = if self.config.fresh { None } else { self.reuse().await };
        loop {
            let is_reused = reused.is_some();
            let mut connection = if let Some(connection) = reused.take() {
                connection
            } else {
                progress.connecting(self.clock.now());
                Connection::open(&self.config.target).await?
            };
            let Some(message) = outgoing.take() else {
                return Err(CallError::new(Failure::Broken, "the request was already sent"));
            };
            progress.sent(self.clock.now());
            match connection.answer(message, self.config.max_reply_bytes).await? {
                Answered::Whole(parts, body) => {
                    let ended = self.clock.now();
                    if !self.config.fresh {
                        self.pool.keep(connection, ended);
                    }
                    let answer = Answer::of_http(&parts, body);
                    return answer.judge().map(|reply| (reply, ended));
                }
                // The service closed an idle connection while we took it up: not a byte of the
                // request was sent, so it can be sent again without doing it twice.
                Answered::Unsent(message, _) if is_reused => outgoing = Some(message),
                Answered::Unsent(_, error) => return Err(broken(&error)),
            }
        }
    }

    fn outgoing(&self, request: &Request) -> http::Request<Full<Bytes>> {
        let mut outgoing = self.config.form.request(&request.body);
        *outgoing.uri_mut() = self.path.clone();
        *outgoing.headers_mut() = self.fixed_headers.clone();
        if let Some(parent) = traceparent(request) {
            outgoing.headers_mut().insert(names::TRACEPARENT, parent);
        }
        outgoing
    }
}

impl Link for Http1 {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let exchange = async |progress: &Progress| self.exchange(&request, progress).await;
            Progress::of(request.deadline, &*self.clock, exchange).await
        }
        .boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        async {
            if !self.config.fresh {
                let connection = in_time(Connection::open(&self.config.target)).await?;
                self.pool.keep(connection, self.clock.now());
            }
            Ok(())
        }
        .boxed()
    }
}

/// The headers that are the same in each request over HTTP, whatever its version.
pub(crate) fn fixed(
    target: &Target,
    token: &Token,
    clock: &ClockId,
) -> Result<HeaderMap, TargetError> {
    let mut fixed = HeaderMap::new();
    let name = HeaderValue::from_str(clock.as_str());
    fixed.insert(names::CLOCK, name.map_err(|_| target.refuse("the clock's name is no header"))?);
    if let Some(authorization) = token.authorization() {
        let value = HeaderValue::from_str(&authorization);
        fixed.insert(AUTHORIZATION, value.map_err(|_| target.refuse("the token is no header"))?);
    }
    Ok(fixed)
}

pub(crate) async fn read(body: Incoming, limit: usize) -> Result<Bytes, CallError> {
    let whole = Limited::new(body, limit).collect().await;
    whole.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            CallError::long_reply(limit)
        } else {
            let detail = format!("the connection ended inside the reply: {error}");
            CallError::new(Failure::Broken, detail)
        }
    })
}

pub(crate) fn broken(error: &hyper::Error) -> CallError {
    // hyper hides the cause behind its own words ("connection error").
    let cause = std::error::Error::source(error).map(|c| format!(": {c}")).unwrap_or_default();
    CallError::new(Failure::Broken, format!("the connection broke: {error}{cause}"))
}

/// The header that tells the message, if there is one to tell.
pub(crate) fn traceparent(request: &Request) -> Option<HeaderValue> {
    HeaderValue::try_from(headers::traceparent(request.trace?)).ok()
}
