//! `http2`: HTTP/2 by prior knowledge (RFC 9113, 3.3), or over TLS where the service is asked for by
//! `https://` (3.2); one connection for all requests.

use crate::call::{Answer, Call, CallError, Link, Reply, Request, in_time};
use crate::http1::{HttpForm, broken, fixed, read, traceparent};
use crate::kind::LinkConfig;
use crate::progress::Progress;
use crate::shared::{Connected, Shared};
use crate::target::{Target, TargetError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::Clock;
use hopwatch_kit::net::WINDOW;
use hopwatch_kit::tls::HTTP2;
use hopwatch_model::Ns;
use hopwatch_wire::headers;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Uri};
use http_body_util::Full;
use hyper::body::Body;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::error::Error;
use std::sync::Arc;

/// A connection, driven by a task of its own: all requests share it.
pub(crate) async fn connect<B>(target: &Target) -> Result<SendRequest<B>, CallError>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let stream = target.connect(HTTP2).await?;
    let (sender, driver) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| target.unreachable(&error))?;
    // How it ended is told to whoever waits for a reply.
    tokio::spawn(driver.map(drop));
    Ok(sender)
}

impl<B: Send> Connected for SendRequest<B> {
    fn is_open(&self) -> bool {
        !self.is_closed()
    }
}

/// The absolute URI of a path at the target.
pub(crate) fn uri(target: &Target, path: &str) -> Result<Uri, TargetError> {
    let uri =
        Uri::builder().scheme(target.scheme()).authority(target.authority()).path_and_query(path);
    uri.build().map_err(|error| target.refuse(&error.to_string()))
}

/// A link over HTTP/2.
pub(crate) struct Http2 {
    target: Target,
    uri: Uri,
    fixed_headers: HeaderMap,
    form: HttpForm,
    max_reply_bytes: usize,
    clock: Arc<dyn Clock>,
    shared: Shared<SendRequest<Full<Bytes>>>,
}

impl Http2 {
    pub(crate) fn new(config: &LinkConfig, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let target = config.target.clone();
        let mut fixed_headers = fixed(&target, &config.token, clock.id())?;
        fixed_headers.insert(CONTENT_TYPE, HeaderValue::from_static(config.content_type));
        config.form.dress(&mut fixed_headers);
        Ok(Self {
            uri: uri(&target, &target.path)?,
            target,
            fixed_headers,
            form: config.form.clone(),
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
        let mut message = self.outgoing(request);
        loop {
            let open = || connect(&self.target);
            let (kept, is_new) = self.shared.take(&*self.clock, progress, open).await?;
            let sent = self.clock.now();
            progress.sent(sent);
            let waiting = self.shared.waiting(&kept, sent);
            let mut error = match kept.connection.clone().try_send_request(message).await {
                Ok(reply) => {
                    let (parts, body) = reply.into_parts();
                    let body = read(body, self.max_reply_bytes).await?;
                    let ended = self.clock.now();
                    waiting.heard(ended);
                    return Answer::of_http(&parts, body).judge().map(|reply| (reply, ended));
                }
                Err(error) => error,
            };
            self.shared.discard(&kept);
            // Nothing of it was sent, or the service says that it looked at nothing of it: it can
            // be sent again without doing it twice.
            let unsent = error.take_message();
            let error = error.into_error();
            message = match unsent {
                _ if is_new => return Err(broken(&error)),
                Some(unsent) => unsent,
                None if was_refused(&error) => self.outgoing(request),
                None => return Err(broken(&error)),
            };
        }
    }

    fn outgoing(&self, request: &Request) -> http::Request<Full<Bytes>> {
        let mut outgoing = self.form.request(&request.body);
        *outgoing.uri_mut() = self.uri.clone();
        *outgoing.headers_mut() = self.fixed_headers.clone();
        if let Some(parent) = traceparent(request) {
            outgoing.headers_mut().insert(headers::TRACEPARENT, parent);
        }
        outgoing
    }
}

/// Whether the service gave a request back unread: `REFUSED_STREAM` (RFC 9113, 8.7).
pub(crate) fn was_refused(error: &(dyn Error + 'static)) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<h2::Error>())
        .any(|error| error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// An error, what caused it, what caused that, …
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error: &'a (dyn Error + 'static) = next?;
        next = error.source();
        Some(error)
    })
}

impl Link for Http2 {
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
