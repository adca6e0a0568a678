//! What becomes of datagrams that are lost, doubled, late, or not ours.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "links/relay.rs"]
mod relay;
#[path = "links/service.rs"]
mod service;

use bytes::Bytes;
use hopwatch_kit::net::Token;
use hopwatch_link::{Call, Ignored, LinkConfig, LinkKind, Request, RetryConfig};
use hopwatch_model::Failure;
use hopwatch_wire::envelope::{Envelope, ReplyHead, RequestHead, RequestId};
use relay::{Relay, offer};
use service::{PATIENCE, Service, config, open, request};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

/// Far longer than a datagram takes here, so that nothing is sent again but what was lost.
const RETRY: RetryConfig = RetryConfig {
    first: Duration::from_secs(1),
    first_reply: Duration::from_secs(20),
    shortest: Duration::from_secs(1),
    longest: Duration::from_secs(20),
};

/// One call through a relay that loses these datagrams (of each way, from 1), and how often it was
/// executed.
async fn through(kind: LinkKind, requests: &[u32], replies: &[u32], path: &str) -> (Call, u64) {
    let service = Service::start(Token::none()).await;
    let relay = Relay::start(service.port, requests, replies).await;
    let link = open(kind, &LinkConfig { retry: RETRY, ..config(relay.port, path) });
    let deadline = if kind == LinkKind::Udp { Duration::from_millis(500) } else { PATIENCE };
    let call = link.call(Request { deadline, ..request("[7]") }).await;
    (call, service.executed())
}

#[tokio::test]
async fn what_udp_loses_is_lost() {
    let (call, executed) = through(LinkKind::Udp, &[], &[], "/v1/x").await;
    assert_eq!((call.result.is_ok(), executed), (true, 1));
    for (requests, replies, executed) in [(&[1][..], &[][..], 0), (&[], &[1], 1)] {
        let (call, by_then) = through(LinkKind::Udp, requests, replies, "/v1/x").await;
        assert_eq!(call.result.unwrap_err().failure, Failure::TimedOut);
        assert_eq!((call.retries, call.first_sent, by_then), (0, None, executed));
        assert!(call.sent.is_some());
    }
}

#[tokio::test]
async fn udp_retry_tells_what_was_lost_and_how_long_that_took() {
    // (requests lost, replies lost) → (sent again, the first one that arrived, replies again)
    for (requests, replies, retries, arrived, resent) in [
        (&[][..], &[][..], 0, 1, false),
        (&[1], &[], 1, 2, false),
        (&[], &[1], 1, 1, true),
        (&[1], &[1], 2, 2, true),
    ] {
        let (call, executed) = through(LinkKind::UdpRetry, requests, replies, "/v1/x").await;
        let case = format!("{requests:?} {replies:?}: {call:?}");
        let stamps = call.result.unwrap().stamps.unwrap();
        assert_eq!((call.retries, executed), (retries, 1), "{case}");
        let sent = call.sent.unwrap();
        assert_eq!(call.first_sent.is_some(), arrived > 1, "{case}");
        let second = 1_000_000_000;
        if let Some(first) = call.first_sent {
            assert!(sent - first >= second, "{case}");
        }
        assert_eq!(stamps.resent.is_some(), resent, "{case}");
        if let Some(resent) = stamps.resent {
            let lost = if arrived == 1 { second } else { 2 * second };
            assert!(resent - stamps.done >= lost / 2, "{case}");
        }
        let way = [sent, stamps.received, stamps.done, stamps.resent.unwrap_or(stamps.done)];
        assert!(way.is_sorted() && way[3] <= call.ended, "{case}");
    }
}

/// The service says that it has a request whose reply takes its time: asking again would only tell
/// of losses that there were not.
#[tokio::test]
async fn a_slow_reply_is_not_asked_for_again() {
    let (call, executed) = through(LinkKind::UdpRetry, &[], &[], "/v1/slow").await;
    assert!(call.result.is_ok());
    assert_eq!((call.retries, call.first_sent, executed), (0, None, 1));
    // Its word is lost: it is asked for, and nothing is executed twice.
    let (call, executed) = through(LinkKind::UdpRetry, &[], &[1], "/v1/slow").await;
    let stamps = call.result.unwrap().stamps.unwrap();
    assert_eq!((call.retries, call.first_sent, executed), (1, None, 1));
    assert_eq!(stamps.resent, None);
}

#[tokio::test]
async fn the_deadline_ends_the_retries() {
    let service = Service::start(Token::none()).await;
    let relay = Relay::start(service.port, &[1, 2, 3, 4, 5, 6, 7, 8], &[]).await;
    let retry = RetryConfig {
        first: Duration::from_millis(100),
        shortest: Duration::from_millis(100),
        ..RETRY
    };
    let link = open(LinkKind::UdpRetry, &LinkConfig { retry, ..config(relay.port, "/v1/x") });
    let (deadline, begun) = (Duration::from_secs(1), Instant::now());
    let call = link.call(Request { deadline, ..request("{}") }).await;
    let took = begun.elapsed();
    assert!((deadline..deadline + Duration::from_secs(2)).contains(&took), "{took:?}");
    assert_eq!(call.result.unwrap_err().failure, Failure::TimedOut);
    assert!(
        call.retries >= 1 && call.sent.is_some() && call.first_sent.is_none(),
        "{:?}",
        call.retries
    );
    assert_eq!(service.executed(), 0);
}

async fn socket_to(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(("127.0.0.1", port)).await.unwrap();
    socket
}

fn head(number: u64) -> RequestHead {
    RequestHead {
        id: RequestId { asker: 1, number },
        attempt: 1,
        retries: false,
        age_ns: 0,
        deadline_ns: 5_000_000_000,
        path: "/v1/x".to_owned(),
        trace: None,
        clock: None,
        authorization: Some("Bearer s3cret".to_owned()),
        media_type: "application/json".to_owned(),
    }
}

/// Waits until the service has passed over so many.
async fn ignored(service: &Service, expected: Ignored) {
    let come = async {
        while service.ignored() != expected {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let last = timeout(PATIENCE, come).await;
    assert!(last.is_ok(), "expected {expected:?}, last seen {:?}", service.ignored());
}

#[tokio::test]
async fn a_service_passes_over_what_is_no_request_and_counts_it() {
    let service = Service::start(Token::some("s3cret")).await;
    let socket = socket_to(service.port).await;
    let request = head(1).frame(b"{}").unwrap();
    let reply = ReplyHead {
        id: head(1).id,
        attempt: 1,
        status: 200,
        media_type: String::new(),
        stamps: None,
        server_timing: None,
        oversized: None,
    };
    let garbage: [&[u8]; 5] =
        [b"", b"hello", &request[..20], &reply.frame(b"").unwrap(), &vec![0xff; 60_000]];
    for bytes in garbage {
        socket.send(bytes).await.unwrap();
    }
    ignored(&service, Ignored { garbage: 5, ..Ignored::default() }).await;
    // The same attempt twice, and once from elsewhere.
    let mut buffer = [0; 2000];
    socket.send(&request).await.unwrap();
    timeout(PATIENCE, socket.recv(&mut buffer)).await.unwrap().unwrap();
    socket.send(&request).await.unwrap();
    socket_to(service.port).await.send(&request).await.unwrap();
    ignored(&service, Ignored { garbage: 5, duplicate: 1, foreign: 1, ..Ignored::default() }).await;
    assert_eq!(service.executed(), 1);
    // Who shows no token is told so, and not remembered.
    let stranger = RequestHead { authorization: None, ..head(2) };
    socket.send(&stranger.frame(b"{}").unwrap()).await.unwrap();
    let length = timeout(PATIENCE, socket.recv(&mut buffer)).await.unwrap().unwrap();
    let reply = Envelope::read(&Bytes::copy_from_slice(&buffer[..length])).unwrap();
    assert!(matches!(reply, Envelope::Reply(ReplyHead { status: 401, .. }, _)), "{reply:?}");
    let counted =
        Ignored { garbage: 5, duplicate: 1, foreign: 1, stranger: 1, ..Ignored::default() };
    assert_eq!(service.ignored(), counted);
    socket.send(&head(2).frame(b"{}").unwrap()).await.unwrap();
    timeout(PATIENCE, socket.recv(&mut buffer)).await.unwrap().unwrap();
    assert_eq!((service.executed(), service.traces()), (2, vec![None, None]));
    service.idle().await;
    service.stop().await;
}

/// Whose address stands on a datagram need not have sent it.
#[tokio::test]
async fn a_stranger_gets_no_more_bytes_than_it_sent() {
    let service = Service::start(Token::some("s3cret")).await;
    let socket = socket_to(service.port).await;
    // A head as short as it can be: a list instead of a map, without texts.
    let head = [0x9a, 0x92, 1, 7, 1, 0xc3, 0, 0, 0xa0, 0xc0, 0xc0, 0xc0, 0xa0];
    let short = [b"HOPW", &[1, 1, 0, 13][..], &head].concat();
    let long = [&short[..], &[b'x'; 500]].concat();
    let mut buffer = [0; 2000];
    for (strangers, sent) in [(1, &short), (2, &long)] {
        socket.send(sent).await.unwrap();
        ignored(&service, Ignored { stranger: strangers, ..Ignored::default() }).await;
    }
    // The short one got nothing, or this would be it.
    let length = timeout(PATIENCE, socket.recv(&mut buffer)).await.unwrap().unwrap();
    assert!((short.len() + 1..=long.len()).contains(&length), "{length}");
    let reply = Envelope::read(&Bytes::copy_from_slice(&buffer[..length])).unwrap();
    assert!(matches!(reply, Envelope::Reply(ReplyHead { status: 401, .. }, _)), "{reply:?}");
}

/// A request that was first sent before the service began may have been executed by the one before.
#[tokio::test]
async fn a_retry_of_before_the_service_began_is_refused() {
    let service = Service::start(Token::none()).await;
    let socket = socket_to(service.port).await;
    let day = 86_400_000_000_000;
    let retry = RequestHead { attempt: 2, retries: true, age_ns: day, ..head(1) };
    socket.send(&retry.frame(b"{}").unwrap()).await.unwrap();
    let mut buffer = [0; 2000];
    let length = timeout(PATIENCE, socket.recv(&mut buffer)).await.unwrap().unwrap();
    let reply = Envelope::read(&Bytes::copy_from_slice(&buffer[..length])).unwrap();
    assert!(matches!(reply, Envelope::Reply(ReplyHead { status: 409, .. }, _)), "{reply:?}");
    assert_eq!(service.executed(), 0);
}

/// A service that answers the question before once more, and talks nonsense first.
#[tokio::test]
async fn a_link_passes_over_what_is_no_reply_to_it_and_counts_it() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = offer(socket.local_addr().unwrap().port()).await;
    tokio::spawn(async move {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            let frame = Bytes::copy_from_slice(&buffer[..length]);
            let Ok(Envelope::Request(head, body)) = Envelope::read(&frame) else { panic!() };
            let reply = |number| ReplyHead {
                id: RequestId { number, ..head.id },
                attempt: 1,
                status: 200,
                media_type: "application/json".to_owned(),
                stamps: None,
                server_timing: Some("infer;dur=2".to_owned()),
                oversized: None,
            };
            let late = reply(head.id.number + 1000).frame(b"wrong").unwrap();
            let right = reply(head.id.number).frame(&body).unwrap();
            for datagram in [b"nonsense", &frame[..], &late, &right] {
                socket.send_to(datagram, from).await.unwrap();
            }
        }
    });
    for kind in [LinkKind::Udp, LinkKind::UdpRetry] {
        let link = open(kind, &LinkConfig { retry: RETRY, ..config(port, "/v1/x") });
        for round in 1..=2 {
            let reply = link.call(request("[1]")).await.result.unwrap();
            assert_eq!((&reply.body[..], reply.served_ns), (&b"[1]"[..], Some((0, 2_000_000))));
            let expected = Ignored { garbage: 2 * round, late: round, ..Ignored::default() };
            assert_eq!(link.ignored(), expected, "{kind}");
        }
    }
}
