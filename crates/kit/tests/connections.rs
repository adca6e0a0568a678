//! Limits of a listener, on real sockets.
#![allow(clippy::unwrap_used, reason = "tests")]

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::response::Response;
use axum::routing::get;
use hopwatch_kit::Shutdown;
use hopwatch_kit::net::{self, Limits};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Longer than anything here takes, by far.
const PATIENCE: Duration = Duration::from_secs(30);
const HEAD: Duration = Duration::from_millis(300);
/// Far beyond it.
const LONG: Duration = Duration::from_secs(1);

const REQUEST: &str = "GET /fast HTTP/1.1\r\nhost: localhost\r\n\r\n";

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

async fn serving(connections: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let slow = get(async || {
        sleep(LONG).await;
        "slow\n"
    });
    let app = Router::new()
        .route("/fast", get(async || "fast\n"))
        .route("/slow", slow)
        .route("/ws", get(echo));
    let limits = Limits { connections, head: HEAD };
    tokio::spawn(net::serve_within(listener, app, None, Shutdown::new(), limits));
    address
}

/// Asks on an open connection, and gives the reply up to its end; `None` when the connection
/// ended first.
async fn ask(tcp: &mut TcpStream, request: &str, end: &str) -> Option<String> {
    tcp.write_all(request.as_bytes()).await.ok()?;
    let mut reply = Vec::new();
    while !reply.ends_with(end.as_bytes()) {
        let mut buffer = [0; 512];
        let n = timeout(PATIENCE, tcp.read(&mut buffer)).await.unwrap().ok().filter(|n| *n > 0)?;
        reply.extend_from_slice(&buffer[..n]);
    }
    Some(String::from_utf8_lossy(&reply).into_owned())
}

/// Asks what is answered at once.
async fn answered(tcp: &mut TcpStream) -> bool {
    ask(tcp, REQUEST, "fast\n").await.is_some_and(|reply| reply.contains("200 OK"))
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let address = serving(10).await;
    // Nothing at all, and a part.
    for begin in ["", "GET /fast HTTP/1.1\r\nx:"] {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        tcp.write_all(begin.as_bytes()).await.unwrap();
        let read = timeout(PATIENCE, tcp.read(&mut [0; 8])).await.unwrap();
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
    // A byte now and then.
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(&REQUEST.as_bytes()[..20]).await.unwrap();
    let closed = timeout(PATIENCE, async {
        while tcp.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    });
    closed.await.unwrap();
    // A second request on a connection.
    let mut tcp = TcpStream::connect(address).await.unwrap();
    assert!(answered(&mut tcp).await);
    assert_eq!(ask(&mut tcp, "GET /fa", "fast\n").await, None);
}

#[tokio::test]
async fn waiting_between_requests_and_for_an_answer_is_no_fault() {
    let address = serving(10).await;
    let mut tcp = TcpStream::connect(address).await.unwrap();
    for _ in 0..2 {
        assert!(answered(&mut tcp).await);
        sleep(LONG).await;
    }
    let slow = ask(&mut tcp, &REQUEST.replace("fast", "slow"), "slow\n").await;
    assert!(slow.is_some_and(|reply| reply.contains("200 OK")));
    assert!(answered(&mut tcp).await);
}

#[tokio::test]
async fn a_web_socket_may_be_silent() {
    let address = serving(10).await;
    let mut tcp = TcpStream::connect(address).await.unwrap();
    let upgrade = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\
                   \r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\
                   \r\n\r\n";
    assert!(ask(&mut tcp, upgrade, "\r\n\r\n").await.unwrap().contains("101"));
    for _ in 0..2 {
        // A text frame "hi" with a mask of zeros, in two parts (RFC 6455, 5.2).
        sleep(LONG).await;
        tcp.write_all(&[0x81, 0x82, 0, 0]).await.unwrap();
        sleep(LONG).await;
        tcp.write_all(&[0, 0, b'h', b'i']).await.unwrap();
        let mut echoed = [0; 4];
        timeout(PATIENCE, tcp.read_exact(&mut echoed)).await.unwrap().unwrap();
        assert_eq!(&echoed, b"\x81\x02hi");
    }
}

/// HTTP/2 has no empty line behind its heads, and may be silent like a WebSocket.
#[tokio::test]
async fn http2_is_not_waited_for_line_by_line() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut pong = PING.to_vec();
    pong[4] = 1;
    let address = serving(10).await;
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
    let mut came = Vec::new();
    for _ in 0..3 {
        sleep(LONG).await;
        came.clear();
        tcp.write_all(PING).await.unwrap();
        while !came.ends_with(&pong) {
            let mut buffer = [0; 512];
            let n = timeout(PATIENCE, tcp.read(&mut buffer)).await.unwrap().unwrap();
            assert!(n > 0, "closed");
            came.extend_from_slice(&buffer[..n]);
        }
    }
    // A preface that never ends is a head that never ends.
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(&PREFACE[..20]).await.unwrap();
    let read = timeout(PATIENCE, tcp.read(&mut [0; 8])).await.unwrap();
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test]
async fn beyond_the_limit_connections_are_closed_and_places_come_back() {
    let address = serving(2).await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        assert!(answered(&mut tcp).await);
        open.push(tcp);
    }
    for _ in 0..50 {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        assert!(!answered(&mut tcp).await);
    }
    // Those inside don't notice.
    assert!(answered(&mut open[0]).await);
    open.pop();
    let again = timeout(PATIENCE, async {
        while !answered(&mut TcpStream::connect(address).await.unwrap()).await {
            sleep(Duration::from_millis(20)).await;
        }
    });
    again.await.unwrap();
}
