//! A way to a service's datagrams on which chosen ones are lost.

use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};

/// Tells of a UDP port as a service does; the port to ask at.
pub(crate) async fn offer(udp: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let app =
        Router::new().route("/v1/links", get(move || async move { Json(json!({ "udp": udp })) }));
    tokio::spawn(async move { axum::serve(listener, app).await });
    port
}

/// A relay while it runs.
pub(crate) struct Relay {
    /// Where to ask for its UDP port.
    pub(crate) port: u16,
}

impl Relay {
    /// To the UDP port `service`. The numbers are those of datagrams that get lost, from 1.
    pub(crate) async fn start(service: u16, requests: &[u32], replies: &[u32]) -> Self {
        let outside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let inside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        inside.connect(("127.0.0.1", service)).await.unwrap();
        let port = offer(outside.local_addr().unwrap().port()).await;
        let (lost_requests, lost_replies) = (requests.to_vec(), replies.to_vec());
        tokio::spawn(async move {
            let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
            let (mut asked, mut answered, mut asker) = (0, 0, None);
            loop {
                tokio::select! {
                    came = outside.recv_from(&mut question) => {
                        let (length, from) = came.unwrap();
                        (asked, asker) = (asked + 1, Some(from));
                        if !lost_requests.contains(&asked) {
                            inside.send(&question[..length]).await.unwrap();
                        }
                    }
                    came = inside.recv(&mut answer) => {
                        let length = came.unwrap();
                        answered += 1;
                        if !lost_replies.contains(&answered) {
                            outside.send_to(&answer[..length], asker.unwrap()).await.unwrap();
                        }
                    }
                }
            }
        });
        Self { port }
    }
}
