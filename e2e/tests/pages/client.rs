//! WebSocket clients of the broadcaster, of all characters.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Long enough for whatever a connection has to bring.
const PATIENCE: Duration = Duration::from_secs(20);

/// Connects as a page of this origin.
pub(crate) async fn connect(port: u16, origin: &str) -> Result<Socket, Error> {
    let mut request = format!("ws://127.0.0.1:{port}/ws").into_client_request()?;
    request.headers_mut().insert("origin", origin.parse().unwrap());
    Ok(connect_async(request).await?.0)
}

/// As our own page, which is greeted: (socket, the name it got).
pub(crate) async fn page(port: u16) -> (Socket, String) {
    let mut socket = connect(port, "http://127.0.0.1:3000").await.unwrap();
    let hello = next(&mut socket).await.unwrap();
    assert_eq!((&hello["type"], &hello["version"]), (&json!("hello"), &json!(2)), "{hello}");
    (socket, hello["client"].as_str().unwrap().to_owned())
}

/// The next frame; `None` when the connection has ended.
pub(crate) async fn next<S>(socket: &mut WebSocketStream<S>) -> Option<Value>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let frame = tokio::time::timeout(PATIENCE, socket.next()).await.expect("a frame in time");
        match frame {
            Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            _ => return None,
        }
    }
}

/// Sends a text; false when the connection has ended.
pub(crate) async fn say<S>(socket: &mut WebSocketStream<S>, text: &str) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    socket.send(Message::text(text)).await.is_ok()
}

/// What a page saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Trace ids in the order of their arrival.
    pub(crate) messages: Vec<String>,
    /// Messages that it was told it lost.
    pub(crate) dropped: u64,
}

/// A page as it should be: acknowledges each message, until its connection ends.
pub(crate) async fn behave<S>(mut socket: WebSocketStream<S>) -> Seen
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let clock = Instant::now();
    let now = || clock.elapsed().as_nanos().to_string();
    let mut seen = Seen::default();
    while let Some(frame) = next(&mut socket).await {
        let received = now();
        match frame["type"].as_str() {
            Some("message") => {
                assert!(frame["body"]["message"]["header"]["robot_id"].is_string(), "{frame}");
                assert!(frame["body"]["ai"].is_object(), "the AI's answer is beside it");
                let trace = frame["trace_id"].as_str().unwrap();
                seen.messages.push(trace.to_owned());
                say(&mut socket, &ack(trace, [&received, &now(), &now()])).await;
            }
            Some("hello") => {}
            Some("dropped") => seen.dropped += frame["count"].as_u64().unwrap(),
            _ => panic!("{frame}"),
        }
    }
    seen
}

/// An acknowledgement: received, painted, sent.
pub(crate) fn ack(trace: &str, [received, painted, sent]: [&str; 3]) -> String {
    let item = json!({ "trace_id": trace, "received_ns": received, "painted_ns": painted });
    json!({ "type": "ack", "sent_ns": sent, "resolution_ns": 100_000, "items": [item] }).to_string()
}

/// Sends the text again and again until its connection is ended; how often it could.
pub(crate) async fn babble(mut socket: Socket, text: &str) -> usize {
    let mut times = 0;
    let mut patience = Box::pin(tokio::time::sleep(PATIENCE));
    loop {
        tokio::select! {
            frame = socket.next() => {
                if !matches!(frame, Some(Ok(_))) {
                    return times;
                }
            }
            () = tokio::time::sleep(Duration::from_millis(2)) => {
                times += usize::from(say(&mut socket, text).await);
            }
            () = &mut patience => panic!("it may go on for ever: {times} times {text:.40}"),
        }
    }
}

/// Connects, and reads nothing from then on: the kernel reads ahead for it, as little as may be.
pub(crate) async fn sleeper(port: u16) -> WebSocketStream<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(32 << 10).unwrap();
    let tcp = socket.connect(([127, 0, 0, 1], port).into()).await.unwrap();
    let request = format!("ws://127.0.0.1:{port}/ws").into_client_request().unwrap();
    client_async(request, tcp).await.unwrap().0
}
