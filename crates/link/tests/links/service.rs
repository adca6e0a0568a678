//! A service that offers every link, and counts what it executes.

use bytes::Bytes;
use hopwatch_kit::net::{Token, bind, serve};
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{
    Handler, Ignored, Inbound, Link, LinkConfig, LinkKind, Outbound, Request, Server, Target,
};
use hopwatch_model::TraceId;
use http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

pub(crate) const TRACE: TraceId = TraceId(*b"0123456789abcdef");
/// Longer than anything here takes, by far.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// More than servers of HTTP/2 and QUIC take at once on a connection by themselves.
pub(crate) const CROWD: usize = 300;

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

pub(crate) fn request(body: impl Into<Bytes>) -> Request {
    Request { trace: Some(TRACE), body: body.into(), deadline: PATIENCE }
}

pub(crate) fn config(port: u16, path: &str) -> LinkConfig {
    LinkConfig::new(Target::parse(&format!("http://127.0.0.1:{port}{path}")).unwrap())
}

pub(crate) fn open(kind: LinkKind, config: &LinkConfig) -> Arc<dyn Link> {
    hopwatch_link::open(kind, config, clock()).unwrap()
}

/// What a path does.
#[derive(Clone, Copy)]
enum Does {
    /// Answers with what it got.
    Echo,
    /// The same, after a while.
    Slowly(Duration),
    /// Answers 70,000 bytes.
    Long,
    /// Answers when [`CROWD`] requests are there.
    Together,
    Never,
    Panic,
}

struct Path {
    does: Does,
    seen: Arc<Seen>,
}

struct Seen {
    crowd: Barrier,
    executed: AtomicU64,
    waiting: AtomicU64,
    traces: Mutex<Vec<Option<TraceId>>>,
}

impl Seen {
    fn new() -> Self {
        let (executed, waiting, traces) = Default::default();
        Self { crowd: Barrier::new(CROWD), executed, waiting, traces }
    }
}

/// A request that waits for ever, unless it is dropped.
struct Waits<'a>(&'a Seen);

impl<'a> Waits<'a> {
    fn new(seen: &'a Seen) -> Self {
        seen.waiting.fetch_add(1, Ordering::Relaxed);
        Self(seen)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Handler for Path {
    async fn handle(&self, request: Inbound) -> Outbound {
        let begun = clock().now();
        let mut body = request.body;
        match self.does {
            Does::Echo => {}
            Does::Slowly(time) => tokio::time::sleep(time).await,
            Does::Long => body = Bytes::from(vec![b'x'; 70_000]),
            Does::Never => {
                let _leaves = Waits::new(&self.seen);
                std::future::pending::<()>().await;
            }
            Does::Together => {
                let _all_there = self.seen.crowd.wait().await;
            }
            Does::Panic => panic!("as it was told"),
        }
        self.seen.executed.fetch_add(1, Ordering::Relaxed);
        self.seen.traces.lock().unwrap().push(request.trace);
        Outbound { status: StatusCode::OK, body, begun: Some(begun), done: clock().now() }
    }
}

/// A service while it runs.
pub(crate) struct Service {
    pub(crate) port: u16,
    seen: Arc<Seen>,
    ignored: Box<dyn Fn() -> Ignored + Send + Sync>,
    shutdown: Shutdown,
    serving: JoinHandle<()>,
}

impl Service {
    /// At any port, taking bodies of 1000 bytes.
    pub(crate) async fn start(token: Token) -> Self {
        Self::start_at(0, token).await
    }

    pub(crate) async fn start_at(port: u16, token: Token) -> Self {
        Self::start_with(port, token, 1000).await
    }

    pub(crate) async fn start_with(port: u16, token: Token, max_body_bytes: usize) -> Self {
        let address = ([127, 0, 0, 1], port).into();
        let listener: TcpListener = loop {
            match bind(address, &token).await {
                Ok(listener) => break listener,
                // The one before is about to leave.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::new());
        let mut server = Server::new(clock(), token, max_body_bytes);
        for (path, does) in [
            ("/v1/x", Does::Echo),
            ("/v1/slow", Does::Slowly(Duration::from_millis(1500))),
            ("/v1/long", Does::Long),
            ("/v1/together", Does::Together),
            ("/v1/never", Does::Never),
            ("/v1/panic", Does::Panic),
        ] {
            server = server.answer(path, Path { does, seen: Arc::clone(&seen) });
        }
        let shutdown = Shutdown::new();
        let links = server.open(&listener, None, &shutdown).await.unwrap();
        let (ignored, ending) = (Box::new(links.ignored()), links.ending());
        let stop = shutdown.clone();
        let serving = tokio::spawn(async move {
            tokio::join!(serve(listener, links.routes, stop), ending).0.unwrap();
        });
        Self { port, seen, ignored, shutdown, serving }
    }

    /// Until nothing of it is left.
    pub(crate) async fn stop(self) {
        self.shutdown.begin();
        self.serving.await.unwrap();
    }

    /// Waits until nobody waits.
    pub(crate) async fn idle(&self) {
        self.waiting(0).await;
    }

    /// Waits until so many wait.
    pub(crate) async fn waiting(&self, expected: u64) {
        let so_many = async {
            while self.seen.waiting.load(Ordering::Relaxed) != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let last = tokio::time::timeout(PATIENCE, so_many).await;
        let waiting = self.seen.waiting.load(Ordering::Relaxed);
        assert!(last.is_ok(), "{waiting} wait, not {expected}");
    }

    pub(crate) fn executed(&self) -> u64 {
        self.seen.executed.load(Ordering::Relaxed)
    }

    pub(crate) fn traces(&self) -> Vec<Option<TraceId>> {
        self.seen.traces.lock().unwrap().clone()
    }

    pub(crate) fn ignored(&self) -> Ignored {
        (self.ignored)()
    }
}
