//! Listening and serving HTTP, the same way in every service.

use crate::app::{Answers, App};
use crate::config::Refused;
pub use crate::connection::Limits;
use crate::connection::{Connection, Gate};
pub use crate::pages::{AllowedOrigins, for_pages};
use crate::shutdown::Shutdown;
use crate::tls::ServerTls;
use anyhow::Context;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use axum::{Json, Router, routing::get};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::task::TaskTracker;

/// How long open connections may go on after the wish to end.
pub const DRAIN: Duration = Duration::from_secs(2);

/// Requests at once on a connection that carries several; further ones wait at the asker's.
pub const STREAMS: u32 = 4096;

/// How much of a body may be under way, in bytes: a message of 4 MB waits for no window.
pub const WINDOW: u32 = 8 << 20;

/// The token that others must show (`authorization: Bearer …`); from the environment, so that it
/// stands in no process list and no file of ours.
#[derive(Clone)]
pub struct Token(Option<Arc<str>>);

impl Token {
    /// `HOPWATCH_TOKEN`, else what stands in the file that `HOPWATCH_TOKEN_FILE` names, as
    /// containers share secrets.
    ///
    /// # Errors
    /// When that file can't be read or holds no token: a service that was to have one must not run
    /// without.
    pub fn from_environment() -> Result<Self, Refused> {
        let given = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        match (given("HOPWATCH_TOKEN"), given("HOPWATCH_TOKEN_FILE")) {
            (Some(token), _) => Ok(Self::some(&token)),
            (None, Some(file)) => Self::in_file(Path::new(&file)),
            (None, None) => Ok(Self::none()),
        }
    }

    /// The one that stands in a file, alone.
    ///
    /// # Errors
    /// When the file can't be read or holds no token.
    pub fn in_file(file: &Path) -> Result<Self, Refused> {
        let refused = |why: &str| {
            let file = file.display();
            Refused(format!("HOPWATCH_TOKEN_FILE names {file}, which {why}"))
        };
        let text = std::fs::read_to_string(file)
            .map_err(|error| refused(&format!("can't be read: {error}")))?;
        match text.trim() {
            "" => Err(refused("is empty: write a long random token into it")),
            // It goes into a header.
            token if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(refused("holds more than a token: one word of ASCII is needed"))
            }
            token => Ok(Self::some(token)),
        }
    }

    /// None: everything on loopback is let in.
    pub fn none() -> Self {
        Self(None)
    }

    /// This one.
    pub fn some(token: &str) -> Self {
        Self(Some(token.into()))
    }

    /// The header that shows it, if there is one to show.
    pub fn authorization(&self) -> Option<String> {
        self.0.as_ref().map(|token| format!("Bearer {token}"))
    }

    /// Itself, to hand it on to a program of ours.
    pub fn secret(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Whether a request with these headers may come in.
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        self.admits_value(headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes))
    }

    /// The same by the value of `authorization` alone. Compared in constant time.
    pub fn admits_value(&self, authorization: Option<&[u8]>) -> bool {
        let Some(expected) = self.authorization() else {
            return true;
        };
        let got = authorization.unwrap_or_default();
        got.len() == expected.len()
            && got.iter().zip(expected.as_bytes()).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
    }

    /// A middleware that lets nothing in without the token.
    pub async fn guard(self, request: Request, next: Next) -> Response {
        if self.admits(request.headers()) {
            next.run(request).await
        } else {
            (StatusCode::UNAUTHORIZED, "a token is needed (HOPWATCH_TOKEN)\n").into_response()
        }
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Token(set)" } else { "Token(none)" })
    }
}

/// Binds `address`; refuses an address beyond this machine unless there is a token.
#[expect(clippy::unused_async, reason = "it needs a runtime, as everything that awaits it has")]
pub async fn bind(address: SocketAddr, token: &Token) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() && token.0.is_none() {
        let why = format!(
            "refused to listen on {address}, which others can reach, without a token: \
             set HOPWATCH_TOKEN or HOPWATCH_TOKEN_FILE, or listen on 127.0.0.1"
        );
        return Err(Refused(why).into());
    }
    listen(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "failed to listen on {address}: another program has this port; stop it, or choose \
             another with --listen (of `hopwatch up`: --page-port, --any-ports)"
        ),
        _ => anyhow::Error::new(error).context(format!("failed to listen on {address}")),
    })
}

/// The standard library lets 128 connections wait to be accepted. Beyond that the system passes
/// over the first packet of a connection, and the client sends it again after a second: a burst of
/// requests with a connection each would look like a slow network.
const BACKLOG: u32 = 4096;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A port whose connections have just ended is free, as with the standard library.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Tells whoever started this program where it listens: one JSON line on standard output.
pub fn announce(service: &str, listener: &TcpListener) -> anyhow::Result<SocketAddr> {
    use std::io::Write;
    let address = listener.local_addr().context("failed to ask for the own address")?;
    let line = json!({ "service": service, "listening": address });
    writeln!(std::io::stdout(), "{line}").context("failed to announce the address")?;
    tracing::info!(service, %address, "listening");
    Ok(address)
}

/// `GET /healthz`: 200 and a JSON object with the service's name and what `status` tells.
pub fn healthz<F>(service: &'static str, status: F) -> Router
where
    F: Fn() -> serde_json::Value + Clone + Send + Sync + 'static,
{
    Router::new().route(
        "/healthz",
        get(move || async move {
            Json(json!({ "status": "ok", "service": service, "detail": status() }))
        }),
    )
}

/// Serves HTTP/1.1, and HTTP/2 to those who begin with its preface, until the shutdown begins; then
/// lets open requests end for at most [`DRAIN`].
///
/// Over HTTP/2 at most [`STREAMS`] requests of a connection are worked on at once, and [`WINDOW`]
/// bytes of their bodies may be under way: what hyper has by itself (200, and 1 MiB) would be the
/// measure of a link of many requests or long bodies.
///
/// `TCP_NODELAY` is set on every connection: Nagle with delayed ACK costs 40 ms (METHOD 20).
pub async fn serve(
    listener: TcpListener,
    app: impl Into<App>,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    serve_within(listener, app, None, shutdown, Limits::default()).await
}

/// The same by TLS, where there is a certificate. Without one, beyond loopback, it is told what
/// that means.
pub async fn serve_by(
    tls: Option<ServerTls>,
    listener: TcpListener,
    app: impl Into<App>,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    serve_within(listener, app, tls, shutdown, Limits::default()).await
}

/// The same with limits of one's own.
pub async fn serve_within(
    listener: TcpListener,
    app: impl Into<App>,
    tls: Option<ServerTls>,
    shutdown: Shutdown,
    limits: Limits,
) -> anyhow::Result<()> {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    if !loopback && tls.is_none() {
        tracing::warn!(
            "listening beyond this machine without TLS: whoever sees the network can read the \
             token and every message (tls_cert, tls_key)"
        );
    }
    // Beyond loopback others reach it by names that we don't know; there the token guards.
    let answers = app.into().answers(loopback);
    let mut gate = Gate::new(listener, limits);
    let connections = TaskTracker::new();
    loop {
        let (connection, _) = tokio::select! {
            accepted = gate.accept() => accepted,
            () = shutdown.begun() => break,
        };
        connections.spawn(serve_one(connection, tls.clone(), answers.clone(), shutdown.clone()));
    }
    // From here on connections are refused.
    drop(gate);
    connections.close();
    // Whoever still waits has waited for long enough.
    let _all_ended = tokio::time::timeout(DRAIN, connections.wait()).await;
    Ok(())
}

/// Serves one connection until it ends, or until its open requests have after the shutdown began.
async fn serve_one(
    mut connection: Connection,
    tls: Option<ServerTls>,
    answers: Answers,
    shutdown: Shutdown,
) {
    if let Some(tls) = tls {
        let secured = tokio::select! {
            secured = connection.secured(&tls) => secured,
            () = shutdown.begun() => None,
        };
        let Some(secured) = secured else { return };
        connection = secured;
    }
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http2()
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        // A WebSocket over HTTP/2 (RFC 8441).
        .enable_connect_protocol();
    let mut served =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(connection), answers));
    tokio::select! {
        // How a client ended its connection is its own business.
        _ended = served.as_mut() => return,
        () = shutdown.begun() => served.as_mut().graceful_shutdown(),
    }
    let _ended = served.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn beyond_loopback_needs_a_token() {
        let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
        let refused = bind(everywhere, &Token::none()).await.unwrap_err().to_string();
        assert!(refused.contains("HOPWATCH_TOKEN"), "{refused}");
        let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = bind(loopback, &Token::none()).await.unwrap();
        let taken = bind(listener.local_addr().unwrap(), &Token::none()).await.unwrap_err();
        assert!(taken.to_string().contains("another program"), "{taken}");
    }

    /// By the settings that it tells (RFC 9113, 6.5).
    #[tokio::test]
    async fn http2_has_room_for_many_requests_and_long_bodies() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = bind("127.0.0.1:0".parse().unwrap(), &Token::none()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let end = Shutdown::new();
        let serving = tokio::spawn(serve(listener, Router::new(), end.clone()));
        let mut tcp = tokio::net::TcpStream::connect(address).await.unwrap();
        tcp.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut head = [0; 9];
        tcp.read_exact(&mut head).await.unwrap();
        assert_eq!(head[3], 4, "its first frame is no SETTINGS: {head:?}");
        let mut settings = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
        tcp.read_exact(&mut settings).await.unwrap();
        let told = |id: u16| {
            let setting = settings.chunks(6).find(|setting| setting[..2] == id.to_be_bytes());
            setting.map(|setting| u32::from_be_bytes(setting[2..].try_into().unwrap()))
        };
        assert_eq!((told(3), told(4)), (Some(STREAMS), Some(WINDOW)));
        end.begin();
        drop(tcp);
        serving.await.unwrap().unwrap();
    }

    #[test]
    fn a_token_stands_in_a_file_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            Token::in_file(file.path())
        };
        assert_eq!(read("s3cret\n").unwrap().secret(), Some("s3cret"));
        for (bad, word) in
            [("\n", "is empty"), ("two words", "one word"), ("schl\u{fc}ssel", "ASCII")]
        {
            let why = read(bad).unwrap_err().to_string();
            assert!(why.contains(word) && why.contains("HOPWATCH_TOKEN_FILE"), "{why}");
            assert!(!why.contains("words\"") && !why.contains("two"), "it tells the secret: {why}");
        }
        let missing = Token::in_file(Path::new("/nowhere/token")).unwrap_err().to_string();
        assert!(missing.contains("/nowhere/token"), "{missing}");
    }

    #[test]
    fn a_token_admits_itself_only() {
        let token = Token::some("s3cret");
        let mut headers = HeaderMap::new();
        assert!(!token.admits(&headers));
        headers.insert(header::AUTHORIZATION, "Bearer s3cret".parse().unwrap());
        assert!(token.admits(&headers));
        headers.insert(header::AUTHORIZATION, "Bearer s3creT".parse().unwrap());
        assert!(!token.admits(&headers));
        assert!(Token::none().admits(&headers));
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
