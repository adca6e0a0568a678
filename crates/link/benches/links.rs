//! What each link costs beside the bare thing: `http1` beside a hyper client and server as hyper's
//! documentation has them, `udp` beside two sockets.
//!
//! Calls come in turns of a few of each kind, so that whatever else the machine does hits all alike,
//! one after the other on a thread of its own; the servers have theirs. Figures are medians over
//! all calls of a kind, and their ratios. Once without a pause, where the processor's caches and
//! both ends are warm, and once with a pause before each call, as a gateway has it (METHOD 20).

//!
//! Links that end in "+tls" are the same ones to the same service by TLS: what that adds to a call
//! on a warm connection, and to one that opens its own.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

#[path = "../tests/tls/lab.rs"]
mod lab;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::net::{Token, bind, serve, serve_by};
use hopwatch_kit::tls::Trust;
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{ECHO, Link, LinkConfig, LinkKind, Request, Server, Target, open};
use hopwatch_model::TraceId;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use lab::Lab;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Builder;

const TURNS: usize = 400;
const CALLS: usize = 25;
/// So that each kind has its turn about every 20 ms.
const BETWEEN: Duration = Duration::from_millis(2);
/// Nothing here takes as long.
const DEADLINE: Duration = Duration::from_secs(10);

fn main() {
    // `cargo test --benches` and `cargo nextest` only want to know that it starts.
    let turns = if std::env::args().any(|word| word == "--bench") { TURNS } else { 1 };
    let servers = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    servers.spawn(async move { tell.send(serve_all().await).unwrap() });
    let Addresses { hyper, udp, ours, tls, lab } = told.recv().unwrap();
    let body = Bytes::from(format!("{{\"filler\":\"{}\"}}", "x".repeat(285)));
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let mut kinds: Vec<Kind> = vec![
            Kind::new("bare hyper", None, bare_hyper(hyper, body.clone()).await),
            Kind::new("bare udp", None, bare_udp(udp, body.clone()).await),
        ];
        // Names on the command line leave out the other links.
        let only: Vec<String> = std::env::args().skip(1).filter(|w| !w.starts_with('-')).collect();
        let wanted = |kind: &LinkKind| only.is_empty() || only.iter().any(|n| n == kind.name());
        for kind in LinkKind::ALL.into_iter().filter(wanted) {
            let beside = match kind {
                LinkKind::Udp | LinkKind::UdpRetry => (1, 1.3),
                _ => (0, 1.2),
            };
            kinds.push(Kind::new(kind.name(), Some(beside), link(kind, ours, None, body.clone())));
            let plain = kinds.len() - 1;
            if let Some(name) = by_tls(kind) {
                let once = link(kind, tls, Some(&lab.trust()), body.clone());
                kinds.push(Kind::new(name, Some((plain, f64::INFINITY)), once));
            }
        }
        for turn in 0..=turns {
            for kind in &mut kinds {
                kind.turn(turn > 0).await;
            }
        }
        println!("without a pause");
        print(&mut kinds);
        for _ in 0..turns {
            for kind in &mut kinds {
                tokio::time::sleep(BETWEEN).await;
                kind.call(true).await;
            }
        }
        println!("\nwith a pause of {} ms before each call", BETWEEN.as_millis());
        print(&mut kinds);
    });
}

/// A table; the figures begin anew.
fn print(kinds: &mut [Kind]) {
    let medians: Vec<f64> = kinds.iter().map(Kind::median_us).collect();
    println!("{:<16} {:>10} {:>8}", "link", "p50 µs", "ratio");
    for (kind, median) in kinds.iter().zip(&medians) {
        let Some((beside, goal)) = kind.beside else {
            println!("{:<16} {median:>10.1}", kind.name);
            continue;
        };
        let ratio = median / medians[beside];
        let goal = match kind.name {
            "http1" | "udp" if ratio > goal => format!("  MISSED: the goal is {goal}"),
            "http1" | "udp" => format!("  within {goal}"),
            _ => String::new(),
        };
        println!("{:<16} {median:>10.1} {ratio:>8.2} × {}{goal}", kind.name, kinds[beside].name);
    }
    for kind in kinds {
        kind.took.clear();
    }
}

type Once = Box<dyn FnMut() -> BoxFuture<'static, ()>>;

struct Kind {
    name: &'static str,
    /// Which one it is compared with, and how much more it may cost.
    beside: Option<(usize, f64)>,
    once: Once,
    took: Vec<Duration>,
}

impl Kind {
    fn new(name: &'static str, beside: Option<(usize, f64)>, once: Once) -> Self {
        Self { name, beside, once, took: Vec::new() }
    }

    async fn turn(&mut self, counts: bool) {
        for call in 0..CALLS {
            // The first one of a turn finds the caches of the kind before.
            self.call(counts && call > 0).await;
        }
    }

    async fn call(&mut self, counts: bool) {
        let call_begins = Instant::now();
        (self.once)().await;
        if counts {
            self.took.push(call_begins.elapsed());
        }
    }

    fn median_us(&self) -> f64 {
        let mut took = self.took.clone();
        took.sort_unstable();
        took[took.len() / 2].as_secs_f64() * 1e6
    }
}

/// What a link is called by TLS. QUIC has no other form.
fn by_tls(kind: LinkKind) -> Option<&'static str> {
    Some(match kind {
        LinkKind::Http1 => "http1+tls",
        LinkKind::Http1Fresh => "http1-fresh+tls",
        LinkKind::Http2 => "http2+tls",
        LinkKind::WebSocket => "websocket+tls",
        LinkKind::Grpc => "grpc+tls",
        LinkKind::Quic | LinkKind::Udp | LinkKind::UdpRetry => return None,
    })
}

fn link(kind: LinkKind, at: SocketAddr, trust: Option<&Trust>, body: Bytes) -> Once {
    let scheme = if trust.is_some() { "https" } else { "http" };
    let target = Target::parse(&format!("{scheme}://{at}{ECHO}")).unwrap();
    let target = trust.map_or(target.clone(), |trust| target.trusting(trust));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let link: Arc<dyn Link> = open(kind, &LinkConfig::new(target), clock).unwrap();
    Box::new(move || {
        let (link, body) = (Arc::clone(&link), body.clone());
        async move {
            let length = body.len();
            let trace = Some(TraceId([7; 16]));
            let call = link.call(Request { trace, body, deadline: DEADLINE }).await;
            assert_eq!(call.result.unwrap().body.len(), length);
        }
        .boxed()
    })
}

async fn bare_hyper(at: SocketAddr, body: Bytes) -> Once {
    let tcp = TcpStream::connect(at).await.unwrap();
    tcp.set_nodelay(true).unwrap();
    let (sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(tcp)).await.unwrap();
    tokio::spawn(driver);
    let sender: Arc<tokio::sync::Mutex<SendRequest<Full<Bytes>>>> = Arc::new(sender.into());
    Box::new(move || {
        let (sender, body) = (Arc::clone(&sender), body.clone());
        async move {
            let length = body.len();
            let request = http::Request::post(ECHO)
                .header("host", "localhost")
                .header("content-type", "application/json")
                .body(Full::new(body))
                .unwrap();
            let mut sender = sender.lock().await;
            sender.ready().await.unwrap();
            let reply = sender.send_request(request).await.unwrap();
            assert_eq!(reply.into_body().collect().await.unwrap().to_bytes().len(), length);
        }
        .boxed()
    })
}

async fn bare_udp(at: SocketAddr, body: Bytes) -> Once {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(at).await.unwrap();
    let socket = Arc::new(socket);
    Box::new(move || {
        let (socket, body) = (Arc::clone(&socket), body.clone());
        async move {
            let mut buffer = [0; 2048];
            socket.send(&body).await.unwrap();
            let replying = tokio::time::timeout(DEADLINE, socket.recv(&mut buffer));
            assert_eq!(replying.await.unwrap().unwrap(), body.len());
        }
        .boxed()
    })
}

struct Addresses {
    hyper: SocketAddr,
    udp: SocketAddr,
    ours: SocketAddr,
    tls: SocketAddr,
    lab: Lab,
}

async fn serve_all() -> Addresses {
    let hyper = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let listener = bind("127.0.0.1:0".parse().unwrap(), &Token::none()).await.unwrap();
    let lab = Lab::new("the bench");
    let own = lab.issue(&["127.0.0.1"], 1, 1);
    let secure = bind("127.0.0.1:0".parse().unwrap(), &Token::none()).await.unwrap();
    let addresses = Addresses {
        tls: secure.local_addr().unwrap(),
        lab,
        hyper: hyper.local_addr().unwrap(),
        udp: udp.local_addr().unwrap(),
        ours: listener.local_addr().unwrap(),
    };
    tokio::spawn(serve_hyper(hyper));
    tokio::spawn(serve_udp(udp));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let shutdown = Shutdown::new();
    let server = || Server::new(Arc::clone(&clock), Token::none(), 1 << 20);
    let links = server().open(&listener, None, &shutdown).await.unwrap();
    tokio::spawn(serve(listener, links.routes, shutdown.clone()));
    let links = server().open(&secure, Some(&own), &shutdown).await.unwrap();
    tokio::spawn(serve_by(Some(own), secure, links.routes, shutdown));
    addresses
}

fn serve_hyper(listener: TcpListener) -> impl Future<Output = ()> {
    async fn echo(
        request: http::Request<Incoming>,
    ) -> Result<http::Response<Full<Bytes>>, Infallible> {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        Ok(http::Response::new(Full::new(body)))
    }
    async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            tcp.set_nodelay(true).unwrap();
            let service = hyper::service::service_fn(echo);
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(tcp), service);
            tokio::spawn(serving.map(drop));
        }
    }
}

async fn serve_udp(socket: UdpSocket) {
    let mut buffer = vec![0; 2048];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        socket.send_to(&buffer[..length], from).await.unwrap();
    }
}
