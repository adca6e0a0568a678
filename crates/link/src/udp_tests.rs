use super::*;
use crate::offers::{PATH, Ports};
use crate::target::Target;
use axum::routing::get;
use axum::{Json, Router};
use hopwatch_kit::SystemClock;
use hopwatch_wire::envelope::TakenHead;
use tokio::net::TcpListener;

/// A service that says nothing to the first attempt, then that it has that one, and then answers.
async fn slow_to_speak() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let ports = Ports { udp: Some(socket.local_addr().unwrap().port()), quic: None };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let offers = Router::new().route(PATH, get(move || async move { Json(ports) }));
    tokio::spawn(async move { axum::serve(listener, offers).await });
    tokio::spawn(async move {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            let frame = Bytes::copy_from_slice(&buffer[..length]);
            let Ok(Envelope::Request(RequestHead { id, attempt: 2, .. }, body)) =
                Envelope::read(&frame)
            else {
                continue;
            };
            let reply = ReplyHead {
                id,
                attempt: 1,
                status: 200,
                media_type: String::new(),
                stamps: None,
                server_timing: None,
                oversized: None,
            };
            for frame in [TakenHead { id, attempt: 1 }.frame(), reply.frame(&body)] {
                socket.send_to(&frame.unwrap(), from).await.unwrap();
            }
        }
    });
    port
}

#[tokio::test]
async fn the_word_on_a_request_that_was_sent_again_teaches_no_round_trip() {
    let port = slow_to_speak().await;
    let target = Target::parse(&format!("http://127.0.0.1:{port}/v1/x")).unwrap();
    let udp = Udp::new(&LinkConfig::new(target), true, Arc::new(SystemClock::default()));
    let deadline = Duration::from_secs(30);
    let call = udp.call(Request { trace: None, body: Bytes::from_static(b"{}"), deadline }).await;
    assert!(call.result.is_ok() && call.retries > 0, "{call:?}");
    let unknown = Duration::from_secs(7);
    assert_eq!(udp.learned().word.wait(unknown), unknown);
}

#[test]
fn a_datagram_that_cannot_be_passed_on_just_now_is_lost_and_the_socket_good() {
    for passing in [Errno::NOBUFS, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::PERM] {
        assert!(is_passing(&passing.into()), "{passing}");
    }
    for lasting in [Errno::CONNREFUSED, Errno::BADF, Errno::MSGSIZE] {
        assert!(!is_passing(&lasting.into()), "{lasting}");
    }
}
