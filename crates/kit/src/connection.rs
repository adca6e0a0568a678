//! What a listener lets in: so many connections at once, and none that takes for ever to ask.
//!
//! hyper's own `header_read_timeout` also ends idle connections that are kept alive, which a
//! client may use again at any time; so the time is taken here, where bytes come and go.

use crate::tls::{ServerTls, Stream};
use axum::serve::Listener;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// What a service bears of its clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; further ones are closed at once. Fewer where the system allows fewer
    /// open files.
    pub connections: usize,
    /// How long the head of a request may take, from the connection or the first byte of a later
    /// request to its empty line; of HTTP/2, how long its preface may take. So long may the handshake
    /// of TLS take, too, before it.
    pub head: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 4096, head: Duration::from_secs(10) }
    }
}

/// Open files that aren't connections of clients: logs, links, DDS.
const OTHER_FILES: u64 = 128;
/// Refusals are told so often at most.
const TELL: Duration = Duration::from_secs(1);

/// A listener with limits.
pub(crate) struct Gate {
    listener: TcpListener,
    places: Arc<Semaphore>,
    head: Duration,
    refused: u64,
    told: Option<Instant>,
}

impl Gate {
    pub(crate) fn new(listener: TcpListener, limits: Limits) -> Self {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let files = files.map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES).max(1));
        let places = limits.connections.min(usize::try_from(files).unwrap_or(usize::MAX));
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self { listener, places, head: limits.head, refused: 0, told: None }
    }

    fn refuse(&mut self) {
        self.refused += 1;
        if self.told.is_none_or(|told| told.elapsed() >= TELL) {
            self.told = Some(Instant::now());
            tracing::warn!(refused = self.refused, "too many connections: new ones are closed");
        }
    }
}

impl Listener for Gate {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            // axum's own accept passes over errors, and pauses when there are no files left.
            let (tcp, address) = Listener::accept(&mut self.listener).await;
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                self.refuse();
                continue;
            };
            // Nagle with delayed ACK costs 40 ms (METHOD 20).
            let _best_effort = tcp.set_nodelay(true);
            return (Connection::new(Stream::Plain(tcp), place, self.head), address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that may take its time, but not for the head of a request.
pub(crate) struct Connection {
    stream: Stream,
    state: State,
    head: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    place: OwnedSemaphorePermit,
}

/// What HTTP/2 begins with (RFC 9113, 3.4). Its first lines would do for a head of HTTP/1.1.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes came, and all are those of the preface of HTTP/2.
    Preface(usize),
    /// A head has begun, or the first one is due; so many ends of lines came last.
    Head(u8),
    /// A head is there, and no answer yet. Whatever is read now is its body.
    Asked,
    /// An answer has begun; the next head may come at any time, or never.
    Answered,
    /// It speaks another protocol now, of which nothing is known here.
    Upgraded,
}

impl State {
    /// After these bytes from the client.
    fn read(self, bytes: &[u8]) -> Self {
        let mut lines = match self {
            Self::Preface(known) => {
                let rest = &PREFACE[known..];
                let same = rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
                return if same == rest.len() {
                    Self::Upgraded
                } else if same == bytes.len() {
                    Self::Preface(known + same)
                } else {
                    // Another first line: it is read from its beginning.
                    Self::Head(0).read(&PREFACE[..known + same]).read(&bytes[same..])
                };
            }
            Self::Head(lines) => lines,
            Self::Answered if !bytes.is_empty() => 0,
            other => return other,
        };
        // As it mostly is: the whole head at once.
        if memchr::memmem::find(bytes, b"\r\n\r\n").is_some() {
            return Self::Asked;
        }
        for byte in bytes {
            match byte {
                b'\n' if lines == 1 => return Self::Asked,
                b'\n' => lines = 1,
                b'\r' => {}
                _ => lines = 0,
            }
        }
        Self::Head(lines)
    }

    /// After these bytes to the client.
    fn written(self, bytes: &[u8]) -> Self {
        match self {
            Self::Asked if bytes.starts_with(b"HTTP/1.1 101") => Self::Upgraded,
            Self::Asked if bytes.starts_with(b"HTTP/1.1 100") => Self::Asked,
            Self::Asked if !bytes.is_empty() => Self::Answered,
            other => other,
        }
    }
}

impl Connection {
    fn new(stream: Stream, place: OwnedSemaphorePermit, head: Duration) -> Self {
        let timer = Some(Box::pin(tokio::time::sleep(head)));
        Self { stream, state: State::Preface(0), head, timer, place }
    }

    /// The same with TLS on it; `None` when there is no handshake in time. Whoever doesn't finish
    /// it gives up the place.
    pub(crate) async fn secured(self, tls: &ServerTls) -> Option<Self> {
        let Self { stream, head, place, .. } = self;
        let Stream::Plain(tcp) = stream else { return None };
        let stream = tokio::time::timeout(head, tls.accept(tcp)).await.ok()??;
        Some(Self::new(stream, place, head))
    }

    fn go_on(&mut self, state: State) {
        match state {
            State::Preface(_) | State::Head(_) if self.timer.is_none() => {
                self.timer = Some(Box::pin(tokio::time::sleep(self.head)));
            }
            State::Preface(_) | State::Head(_) => {}
            _ => self.timer = None,
        }
        self.state = state;
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Also when something is there: one byte at a time is no way to ask.
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = read {
            let state = self.state.read(buffer.filled().get(before..).unwrap_or_default());
            self.go_on(state);
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let state = self.state.written(bytes);
        self.go_on(state);
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        let state = self.state.written(first.map_or(&[], |slice| slice));
        self.go_on(state);
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_seen_however_it_comes() {
        for pieces in [
            &["GET / HTTP/1.1\r\nhost: a\r\n\r\nbody"][..],
            &["GET / HTTP/1.1\r", "\nhost: a\r\n", "\r", "\n"],
            &["GET / HTTP/1.1\nhost: a\n\n"],
        ] {
            let read = |state: State, piece: &&str| state.read(piece.as_bytes());
            assert_eq!(pieces.iter().fold(State::Head(0), read), State::Asked, "{pieces:?}");
        }
        let unfinished = State::Head(0).read(b"GET / HTTP/1.1\r\nhost: a\r\nx: \r");
        assert!(matches!(unfinished, State::Head(_)), "{unfinished:?}");
    }

    #[test]
    fn the_preface_of_http2_is_told_from_a_head() {
        let read = |pieces: &[&[u8]]| {
            pieces.iter().fold(State::Preface(0), |state, piece| state.read(piece))
        };
        for at in 0..PREFACE.len() {
            let (one, two) = PREFACE.split_at(at);
            assert_eq!(read(&[one]), State::Preface(at));
            assert_eq!(read(&[one, two]), State::Upgraded, "{at}");
            assert_eq!(read(&[one, two, b"\n\n"]), State::Upgraded, "{at}");
        }
        for head in ["PUT / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSMS", "PRI * HTTP/1.1\n\n"] {
            let (one, two) = head.as_bytes().split_at(7);
            assert_eq!(read(&[head.as_bytes()]), State::Asked, "{head}");
            assert_eq!(read(&[one, two]), State::Asked, "{head}");
        }
        assert!(matches!(read(&[b"PRI * HTTP/2.0\r\nx"]), State::Head(0)));
    }

    #[test]
    fn a_connection_goes_from_request_to_request() {
        assert_eq!(State::Asked.read(b"GET in a body"), State::Asked);
        assert_eq!(State::Asked.written(b"HTTP/1.1 100 Continue\r\n"), State::Asked);
        assert_eq!(State::Asked.written(b"HTTP/1.1 200 OK\r\n"), State::Answered);
        assert_eq!(State::Answered.read(b""), State::Answered);
        assert!(matches!(State::Answered.read(b"G"), State::Head(_)));
        let upgraded = State::Asked.written(b"HTTP/1.1 101 Switching Protocols\r\n");
        assert_eq!(upgraded.read(b"\x81\x82"), State::Upgraded);
        assert_eq!(upgraded.written(b"\x81\x82"), State::Upgraded);
    }
}
