//! The web service: takes messages over any link, pushes them to browsers over WebSocket, and
//! collects the browsers' stamps.
//!
//! One ring of messages serves all clients. Each client reads it at its own pace; one that falls
//! behind by more than the ring loses its oldest messages, which are counted and told to it.
//! Nothing a client does or fails to do holds up the others or the gateway.

mod client;
mod clients;
mod pages;

use anyhow::ensure;
use axum::extract::{State, WebSocketUpgrade, ws::Utf8Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use clients::Clients;
use hopwatch_kit::config::Refused;
use hopwatch_kit::net::{self, AllowedOrigins, Token};
use hopwatch_kit::service::Identity;
use hopwatch_kit::tls::{ServerTls, Trust};
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{
    Handler, Http1, Http1Config, Inbound, Outbound, RecordSender, RecordSenderConfig, Server,
    Target,
};
use hopwatch_model::{BroadcasterCounters, ClientCounters, TraceId};
use hopwatch_wire::record::{ClientsRecord, Record};
use pages::{Bell, Door, Pages};
use serde_json::json;
use serde_json::value::RawValue;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, broadcast};

/// The path that messages are handed over at.
pub const PATH: &str = "/v1/messages";

/// Who this service is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-broadcaster",
    about: "Takes messages over HTTP and pushes them to browsers over WebSocket",
    section: "broadcaster",
    version: env!("CARGO_PKG_VERSION"),
};

/// The whole program, from its command line to its exit code.
pub fn main() -> ExitCode {
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, run)
}

hopwatch_kit::config! {
    /// Configuration of the broadcaster.
    pub struct Config, Flags {
        /// Address to listen on
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8001)),
        /// Certificate to serve by TLS with, and those between it and its CA: a PEM file; empty: no
        /// TLS
        tls_cert: String = String::new(),
        /// Its private key: a PEM file
        tls_key: String = String::new(),
        /// CA of the services that are asked for by https://: a PEM file; empty: the system's CAs
        tls_ca: String = String::new(),
        /// Where records go; empty: nowhere
        collector_url: String = "http://127.0.0.1:8002/v1/records".to_owned(),
        /// Messages that a client may fall behind before it loses the oldest ones
        client_queue: usize = 256,
        /// Clients at once; further ones are refused
        max_clients: u64 = 2000,
        /// A client that takes nothing for so many ms is disconnected
        write_timeout_ms: u64 = 10_000,
        /// Pages at once whose stamps are recorded; acknowledgements of further ones are counted
        recorded_pages: usize = 8,
        /// Longest message that is taken, in bytes
        max_body_bytes: usize = 4 << 20,
        /// Origins of pages elsewhere that may connect, separated by commas
        allowed_origins: String = String::new(),
    }
}

/// A message on its way to the clients.
#[derive(Clone)]
struct Frame {
    trace: TraceId,
    text: Utf8Bytes,
}

/// What all parts of the service share.
struct Shared {
    config: Config,
    allowed_origins: AllowedOrigins,
    frames: broadcast::Sender<Frame>,
    bell: Bell,
    /// Places among those whose stamps are recorded.
    recorded: Arc<Semaphore>,
    /// Held while a message is handed to the ring, a page joins or leaves, or one page's numbers are
    /// read, so that what each page was offered is exact. Nothing else is done meanwhile: handing
    /// over is measured.
    turn: Mutex<()>,
    clients: Clients,
    records: Option<RecordSender>,
    clock: SystemClock,
    counts: Counts,
    shutdown: Shutdown,
}

#[derive(Default)]
struct Counts {
    received: AtomicU64,
    frames_sent: AtomicU64,
    frames_dropped: AtomicU64,
    acks: AtomicU64,
    rubbish: AtomicU64,
    clients: AtomicU64,
}

impl Shared {
    /// Messages received, by now and until the guard is dropped.
    fn turn(&self) -> (MutexGuard<'_, ()>, u64) {
        let guard = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let received = self.counts.received.load(Ordering::Relaxed);
        (guard, received)
    }

    fn client_counters(&self) -> Vec<ClientCounters> {
        self.clients.counters(|| self.turn())
    }

    fn each_client(&self) -> Vec<ClientCounters> {
        self.clients.each(|| self.turn())
    }

    fn counters(&self) -> BroadcasterCounters {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        BroadcasterCounters {
            received: of(&self.counts.received),
            frames_sent: of(&self.counts.frames_sent),
            frames_dropped: of(&self.counts.frames_dropped),
            acks: of(&self.counts.acks),
            rubbish: of(&self.counts.rubbish),
            clients: of(&self.counts.clients),
            records_dropped: self.records.as_ref().map_or(0, RecordSender::dropped),
        }
    }
}

/// Serves until the shutdown begins.
pub async fn run(config: Config, shutdown: Shutdown) -> anyhow::Result<()> {
    ensure!(
        (1..=1 << 20).contains(&config.client_queue),
        Refused(format!("client_queue must lie between 1 and {}", 1 << 20))
    );
    let clock = SystemClock::default();
    let tls = ServerTls::load(&config.tls_cert, &config.tls_key)?;
    let token = Token::from_environment()?;
    // Records outlive the clients' connections, whose last stamps they carry.
    let records_end = Shutdown::new();
    let (records, sending) = match start_records(&config, &token, &clock, &records_end)? {
        Some((sender, task)) => (Some(sender), Some(task)),
        None => (None, None),
    };
    let listener = net::bind(config.listen, &token).await?;
    let guard = token.clone();
    limit_send_buffers(&listener);
    let pages = Pages::start()?;
    let shared = Arc::new(Shared {
        allowed_origins: AllowedOrigins::parse(&config.allowed_origins),
        frames: broadcast::channel(config.client_queue).0,
        bell: pages.bell(),
        recorded: Arc::new(Semaphore::new(config.recorded_pages.min(Semaphore::MAX_PERMITS))),
        turn: Mutex::new(()),
        // tokio's ring is as long as the next power of two.
        clients: Clients::new(config.client_queue.next_power_of_two() as u64),
        records,
        clock: clock.clone(),
        counts: Counts::default(),
        shutdown: shutdown.clone(),
        config,
    });
    let listed = shared.allowed_origins.clone();
    let counting_end = Shutdown::new();
    let reporting = tokio::spawn(report_counters(Arc::clone(&shared), counting_end.clone()));
    let server = Server::new(Arc::new(clock), token, shared.config.max_body_bytes)
        .answer(PATH, HandOver(Arc::clone(&shared)));
    let links = server.open(&listener, tls.as_ref(), &shutdown).await?;
    net::announce("broadcaster", &listener)?;
    let (ignored, ending) = (links.ignored(), links.ending());
    let status = Arc::clone(&shared);
    let health = net::healthz("broadcaster", move || {
        let mut detail = json!(status.counters());
        detail["datagrams_ignored"] = json!(ignored());
        detail
    });
    let sockets =
        Router::new().route("/ws", get(open)).with_state((Arc::clone(&shared), pages.door()));
    let counts = Router::new()
        .route("/v1/clients", get(tell_clients))
        .with_state(Arc::clone(&shared))
        .layer(middleware::from_fn(move |request, next| guard.clone().guard(request, next)));
    let app = links.routes.merge(sockets).merge(counts).merge(health).listing(listed);
    let (served, ()) = tokio::join!(net::serve_by(tls, listener, app, shutdown), ending);
    pages.end().await;
    counting_end.begin();
    let _reported = reporting.await;
    records_end.begin();
    if let Some(sending) = sending {
        let _sent = sending.await;
    }
    served
}

fn start_records(
    config: &Config,
    token: &Token,
    clock: &SystemClock,
    end: &Shutdown,
) -> anyhow::Result<Option<(RecordSender, tokio::task::JoinHandle<()>)>> {
    if config.collector_url.is_empty() {
        return Ok(None);
    }
    let target =
        Target::parse(&config.collector_url).map_err(|error| Refused(error.to_string()))?;
    let target = target.trusting(&Trust::load(&config.tls_ca)?);
    let link = Http1Config { token: token.clone(), ..Http1Config::new(target) };
    let link = Http1::new(link, Arc::new(clock.clone()))?;
    let source = format!("broadcaster-{}", uuid::Uuid::new_v4());
    Ok(Some(RecordSender::start(link, RecordSenderConfig::new(source), end.clone())))
}

/// What the system may keep in hand for each connection. It would let this grow to megabytes for a
/// page that doesn't read, and a message waits in the ring as well.
const SEND_BUFFER_BYTES: usize = 128 << 10;

/// Connections have from their listener what they are made with.
fn limit_send_buffers(listener: &tokio::net::TcpListener) {
    // Without it a page that doesn't read only takes more of the system's memory.
    let _best_effort =
        rustix::net::sockopt::set_socket_send_buffer_size(listener, SEND_BUFFER_BYTES);
}

/// The pages' own counters are many, and not told more often than that.
const CLIENTS_PERIOD: Duration = Duration::from_secs(2);

/// Tells the collector how things stand, when they changed.
async fn report_counters(shared: Arc<Shared>, end: Shutdown) {
    let Some(records) = &shared.records else { return };
    let mut last = None;
    let mut last_clients = Vec::new();
    let mut told = Instant::now();
    loop {
        let ending = end.has_begun();
        let now = shared.counters();
        if last.as_ref() != Some(&now) {
            records.send(Record::Broadcaster(now.clone()));
            last = Some(now);
        }
        if ending || told.elapsed() >= CLIENTS_PERIOD {
            told = Instant::now();
            let clients = shared.client_counters();
            if clients != last_clients {
                records.send(Record::Clients(ClientsRecord { clients: clients.clone() }));
                last_clients = clients;
            }
        }
        if ending {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(250)) => {}
            () = end.begun() => {}
        }
    }
}

/// Takes messages from the gateway.
struct HandOver(Arc<Shared>);

impl Handler for HandOver {
    async fn handle(&self, request: Inbound) -> Outbound {
        let shared = &self.0;
        let (status, body) = match frame(&request) {
            Ok(frame) => {
                let clients = {
                    let _turn = shared.turn();
                    shared.counts.received.fetch_add(1, Ordering::Relaxed);
                    // No client at all is no error.
                    shared.frames.send(frame).unwrap_or(0)
                };
                shared.bell.ring();
                (StatusCode::OK, json!({ "clients": clients }))
            }
            Err(why) => (StatusCode::BAD_REQUEST, json!({ "error": why })),
        };
        let done = shared.clock.now();
        Outbound { status, body: Bytes::from(body.to_string()), begun: None, done }
    }
}

fn frame(request: &Inbound) -> Result<Frame, String> {
    let trace = request.trace.ok_or("the traceparent header is missing or not one")?;
    let body: &RawValue = serde_json::from_slice(&request.body)
        .map_err(|error| format!("the body is no JSON: {error}"))?;
    let text = format!(r#"{{"type":"message","trace_id":"{trace}","body":{body}}}"#);
    Ok(Frame { trace, text: text.into() })
}

/// What became of the messages for each page, one by one.
async fn tell_clients(State(shared): State<Arc<Shared>>) -> Json<serde_json::Value> {
    Json(json!({ "clients": shared.each_client() }))
}

async fn open(
    State((shared, door)): State<(Arc<Shared>, Door)>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Some(refusal) = shared.allowed_origins.refusal(&headers) {
        return refusal;
    }
    let before = shared.counts.clients.fetch_add(1, Ordering::Relaxed);
    let place = client::Place(Arc::clone(&shared));
    if before >= shared.config.max_clients {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many clients (max_clients)\n")
            .into_response();
    }
    upgrade
        .max_message_size(client::LONGEST_FROM_PAGE)
        .read_buffer_size(client::READ_AT_ONCE)
        .write_buffer_size(client::WRITE_AT_ONCE)
        .on_upgrade(move |socket| async move { door.enter(client::serve(socket, place)) })
}
