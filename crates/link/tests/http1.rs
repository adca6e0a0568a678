//! The HTTP/1.1 link against a real server of ours, and against servers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use hopwatch_kit::net::{Token, bind, serve};
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{
    Handler, Http1, Http1Config, Inbound, Link, Outbound, Request, Server, Target,
};
use hopwatch_model::{Failure, TraceId};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const TRACE: TraceId = TraceId(*b"0123456789abcdef");

struct Echo(Arc<dyn Clock>);

impl Handler for Echo {
    async fn handle(&self, request: Inbound) -> Outbound {
        assert_eq!(request.trace, Some(TRACE));
        let now = self.0.now();
        Outbound {
            status: http::StatusCode::OK,
            body: request.body,
            begun: Some(now),
            done: self.0.now(),
        }
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

fn request(body: &'static str) -> Request {
    Request { trace: Some(TRACE), body: Bytes::from(body), deadline: Duration::from_secs(5) }
}

fn link(port: u16, fresh: bool) -> Http1 {
    let target = Target::parse(&format!("http://127.0.0.1:{port}/v1/x")).unwrap();
    Http1::new(Http1Config { fresh, ..Http1Config::new(target) }, clock()).unwrap()
}

async fn echo_server(token: Token) -> (u16, Shutdown) {
    let listener = bind("127.0.0.1:0".parse().unwrap(), &token).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let app = Server::new(clock(), token, 1000).answer("/v1/x", Echo(clock())).routes();
    let shutdown = Shutdown::new();
    tokio::spawn(serve(listener, app, shutdown.clone()));
    (port, shutdown)
}

#[tokio::test]
async fn stamps_lie_between_sent_and_ended_and_connections_are_kept() {
    let (port, _shutdown) = echo_server(Token::none()).await;
    let link = link(port, false);
    for round in 0..3 {
        let call = link.call(request("{\"a\":1}")).await;
        let reply = call.result.unwrap();
        assert_eq!(&reply.body[..], b"{\"a\":1}");
        assert_eq!(reply.media_type, "application/json");
        let stamps = reply.stamps.unwrap();
        assert_eq!(&stamps.clock, clock().id());
        assert!(call.sent.unwrap() <= stamps.received && stamps.done <= call.ended);
        assert!(reply.served_ns.is_some());
        assert_eq!(call.connecting.is_some(), round == 0, "only the first one connects");
    }
}

#[tokio::test]
async fn warm_links_and_fresh_links() {
    let (port, _shutdown) = echo_server(Token::none()).await;
    let kept = link(port, false);
    kept.warm().await.unwrap();
    assert!(kept.call(request("{}")).await.connecting.is_none());
    let fresh = link(port, true);
    for _ in 0..2 {
        let call = fresh.call(request("{}")).await;
        assert!(call.connecting.unwrap() <= call.sent.unwrap() && call.result.is_ok());
    }
}

#[tokio::test]
async fn a_service_that_restarts_is_reached_again() {
    let (port, shutdown) = echo_server(Token::none()).await;
    let link = link(port, false);
    link.call(request("{}")).await.result.unwrap();
    shutdown.begin();
    // Until the port is free again the link says so; it never hangs or panics.
    let listener = loop {
        match TcpListener::bind(("127.0.0.1", port)).await {
            Ok(listener) => break listener,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let app = Server::new(clock(), Token::none(), 1000).answer("/v1/x", Echo(clock())).routes();
    tokio::spawn(serve(listener, app, Shutdown::new()));
    link.call(request("{}")).await.result.unwrap();
}

#[tokio::test]
async fn refusals_are_named() {
    let (port, _shutdown) = echo_server(Token::some("t")).await;
    let call = link(port, false).call(request("{}")).await;
    assert_eq!(call.result.unwrap_err().failure, Failure::Refused);
    let (port, _shutdown) = echo_server(Token::none()).await;
    let long: &'static str = Box::leak("x".repeat(2000).into_boxed_str());
    let call = link(port, false).call(request(long)).await;
    assert_eq!(call.result.unwrap_err().failure, Failure::Refused);
    for bad in ["", "https://", "http://", "nonsense", "ftp://h/"] {
        assert!(Target::parse(bad).is_err(), "{bad}");
    }
    assert!(Target::parse("https://x").unwrap().is_secure());
}

/// A server that reads a request and writes `reply`, then does as told.
async fn rude(reply: &'static [u8], hang: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let _ = tcp.read(&mut request).await;
                let _ = tcp.write_all(reply).await;
                if hang {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn every_misbehaviour_has_its_name() {
    let cases: &[(&[u8], bool, Failure)] = &[
        (b"", false, Failure::Broken),
        (b"garbage\r\n\r\n", false, Failure::Broken),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":", false, Failure::Broken),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":", true, Failure::TimedOut),
        (b"", true, Failure::TimedOut),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 4\r\n\r\noops", false, Failure::Failed),
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", false, Failure::Refused),
        (b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", false, Failure::Refused),
        (b"HTTP/1.1 302 Go\r\ncontent-length: 0\r\n\r\n", false, Failure::BadReply),
    ];
    for (reply, hang, failure) in cases {
        let port = rude(reply, *hang).await;
        let call = link(port, false)
            .call(Request { deadline: Duration::from_millis(300), ..request("{}") })
            .await;
        let error = call.result.unwrap_err();
        assert_eq!(error.failure, *failure, "{:?}: {error}", String::from_utf8_lossy(reply));
        assert!(call.sent.is_some(), "the stamps survive");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let call = link(nobody, false).call(request("{}")).await;
    assert_eq!(call.result.unwrap_err().failure, Failure::Unreachable);
    assert_eq!(call.sent, None);
}

#[tokio::test]
async fn a_reply_beyond_the_limit_is_refused() {
    let port = rude(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123456789", false).await;
    let target = Target::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    let config = Http1Config { max_reply_bytes: 4, ..Http1Config::new(target) };
    let call = Http1::new(config, clock()).unwrap().call(request("{}")).await;
    assert_eq!(call.result.unwrap_err().failure, Failure::BadReply);
}

/// Counts the connections that are open, and holds replies back until told.
async fn counting() -> (u16, tokio::sync::watch::Receiver<usize>, Arc<tokio::sync::Semaphore>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (count, open) = tokio::sync::watch::channel(0);
    let replies = Arc::new(tokio::sync::Semaphore::new(0));
    let allowed = Arc::clone(&replies);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (count, allowed) = (count.clone(), Arc::clone(&allowed));
            count.send_modify(|open| *open += 1);
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while socket.read(&mut request).await.is_ok_and(|read| read > 0) {
                    allowed.acquire().await.unwrap().forget();
                    let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                }
                count.send_modify(|open| *open -= 1);
            });
        }
    });
    (port, open, replies)
}

/// After a burst, requests one at a time keep using the same connection: the others are closed
/// once they are stale, though nobody needs them.
#[tokio::test]
async fn connections_that_a_burst_left_are_closed_when_they_are_stale() {
    let (port, mut open, replies) = counting().await;
    let target = Target::parse(&format!("http://127.0.0.1:{port}/v1/x")).unwrap();
    let max_idle = Duration::from_millis(300);
    let config = Http1Config { max_idle, ..Http1Config::new(target) };
    let link = Arc::new(Http1::new(config, clock()).unwrap());
    let burst: Vec<_> = (0..4)
        .map(|_| {
            tokio::spawn({
                let link = Arc::clone(&link);
                async move { link.call(request("{}")).await.result.map(|_| ()) }
            })
        })
        .collect();
    open.wait_for(|open| *open == 4).await.unwrap();
    replies.add_permits(1000);
    for call in burst {
        call.await.unwrap().unwrap();
    }
    let single = async {
        loop {
            link.call(request("{}")).await.result.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let closed = async {
        let closed = open.wait_for(|open| *open <= 1);
        tokio::time::timeout(Duration::from_secs(10), closed).await.is_ok()
    };
    tokio::select! {
        () = single => {}
        closed = closed => assert!(closed, "connections of the burst are still open"),
    }
}
