//! Every link by one table of behaviours, against a service of ours that offers them all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "links/service.rs"]
mod service;

use bytes::Bytes;
use futures_util::future::join_all;
use hopwatch_kit::net::{DRAIN, Token};
use hopwatch_link::{Call, Ignored, Link, LinkConfig, LinkKind, Request};
use hopwatch_model::Failure;
use service::{CROWD, PATIENCE, Service, TRACE, clock, config, open, request};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const SHORT: Duration = Duration::from_millis(300);

/// Links that keep connections, and have none yet.
fn connects(kind: LinkKind, call: &Call, is_first: bool) {
    let opened = is_first || kind == LinkKind::Http1Fresh;
    assert_eq!(call.connecting.is_some(), opened, "{kind}: {call:?}");
}

#[tokio::test]
async fn a_request_goes_there_and_its_reply_comes_back() {
    let service = Service::start(Token::some("s3cret")).await;
    for kind in LinkKind::ALL {
        let link = open(
            kind,
            &LinkConfig { token: Token::some("s3cret"), ..config(service.port, "/v1/x") },
        );
        for round in 0..3 {
            let body = format!("{{\"round\":{round}}}");
            let call = link.call(request(body.clone())).await;
            connects(kind, &call, round == 0);
            assert_eq!((call.first_sent, call.retries), (None, 0), "{kind}");
            let sent = call.sent.unwrap();
            assert!(call.connecting.unwrap_or(sent) <= sent, "{kind}");
            let reply = call.result.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(&reply.body[..], body.as_bytes(), "{kind}");
            assert_eq!(reply.media_type, "application/json", "{kind}");
            let stamps = reply.stamps.unwrap();
            assert_eq!((&stamps.clock, stamps.resent), (clock().id(), None), "{kind}");
            let begun = stamps.begun.unwrap();
            let way = [sent, stamps.received, begun, stamps.done, call.ended];
            assert!(way.is_sorted(), "{kind}: {way:?}");
        }
    }
    assert_eq!(service.executed(), 3 * 8);
    assert!(service.traces().iter().all(|trace| *trace == Some(TRACE)));
    assert_eq!(service.ignored(), Ignored::default());
}

#[tokio::test]
async fn a_warm_link_has_nothing_to_open() {
    let service = Service::start(Token::none()).await;
    for kind in LinkKind::ALL {
        let link = open(kind, &config(service.port, "/v1/echo"));
        link.warm().await.unwrap_or_else(|error| panic!("{kind}: {error}"));
        let call = link.call(request("{}")).await;
        connects(kind, &call, false);
        assert_eq!(&call.result.unwrap().body[..], b"{}", "{kind}");
    }
}

#[tokio::test]
async fn refusals_have_their_names() {
    let service = Service::start(Token::some("s3cret")).await;
    for kind in LinkKind::ALL {
        for token in [Token::none(), Token::some("s3creT")] {
            let link = open(kind, &LinkConfig { token, ..config(service.port, "/v1/x") });
            let error = link.call(request("{}")).await.result.unwrap_err();
            assert_eq!((error.failure, error.status), (Failure::Refused, Some(401)), "{kind}");
            // Nobody reads a body for that: it would be too long (413).
            let error = link.call(request("x".repeat(20_000))).await.result.unwrap_err();
            assert_eq!((error.failure, error.status), (Failure::Refused, Some(401)), "{kind}");
        }
        let right = || Token::some("s3cret");
        let link =
            open(kind, &LinkConfig { token: right(), ..config(service.port, "/v1/nowhere") });
        let error = link.call(request("{}")).await.result.unwrap_err();
        assert_eq!((error.failure, error.status), (Failure::Refused, Some(404)), "{kind}");
        let link = open(kind, &LinkConfig { token: right(), ..config(service.port, "/v1/panic") });
        let error = link.call(request("{}")).await.result.unwrap_err();
        assert_eq!((error.failure, error.status), (Failure::Failed, Some(500)), "{kind}");
    }
    assert_eq!(service.executed(), 0);
}

/// A call that ended at its deadline: not before, and not much later.
async fn timed_out(link: &dyn Link, kind: LinkKind) -> Call {
    let begun = Instant::now();
    let call = link.call(Request { deadline: SHORT, ..request("{}") }).await;
    let took = begun.elapsed();
    assert!((SHORT..SHORT + Duration::from_secs(2)).contains(&took), "{kind}: {took:?}");
    let failure = call.result.as_ref().unwrap_err().failure;
    assert_eq!(failure, Failure::TimedOut, "{kind}: {call:?}");
    call
}

#[tokio::test]
async fn the_deadline_is_kept_against_a_silent_service() {
    let service = Service::start(Token::none()).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at_silent = silent.local_addr().unwrap().port();
    let _accepting = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((tcp, _)) = silent.accept().await {
            held.push(tcp);
        }
    });
    for kind in LinkKind::ALL {
        // It takes the request, and never answers; the link is good for the next one.
        let link = open(kind, &config(service.port, "/v1/never"));
        for _ in 0..2 {
            let call = timed_out(&*link, kind).await;
            assert!(call.sent.is_some(), "{kind}: the stamps survive");
            // And the service doesn't go on with what nobody waits for.
            service.idle().await;
        }
        // It doesn't even answer what has to be settled first.
        let link = open(kind, &config(at_silent, "/v1/x"));
        let call = timed_out(&*link, kind).await;
        assert!(call.connecting.is_some(), "{kind}: the stamps survive");
    }
}

#[tokio::test]
async fn a_service_that_was_started_anew_is_reached_again() {
    for kind in LinkKind::ALL {
        let service = Service::start(Token::none()).await;
        let (port, link) = (service.port, open(kind, &config(service.port, "/v1/x")));
        link.call(request("{}")).await.result.unwrap_or_else(|error| panic!("{kind}: {error}"));
        service.stop().await;
        let error = link.call(request("{}")).await.result.unwrap_err();
        let named = [Failure::Unreachable, Failure::Broken];
        assert!(named.contains(&error.failure), "{kind}: {error:?}");
        let service = Service::start_at(port, Token::none()).await;
        let call = link.call(request("[1]")).await;
        let reply = call.result.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(&reply.body[..], b"[1]", "{kind}");
        assert_eq!(service.executed(), 1, "{kind}");
    }
}

/// As before, but nobody asks while it is away: what was kept is gone when it is taken up again.
#[tokio::test]
async fn a_kept_connection_that_is_gone_costs_no_message() {
    for kind in LinkKind::ALL {
        let service = Service::start(Token::none()).await;
        let (port, link) = (service.port, open(kind, &config(service.port, "/v1/x")));
        link.call(request("{}")).await.result.unwrap_or_else(|error| panic!("{kind}: {error}"));
        service.stop().await;
        let service = Service::start_at(port, Token::none()).await;
        let call = link.call(request("[1]")).await;
        let reply = call.result.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(&reply.body[..], b"[1]", "{kind}");
        assert_eq!(service.executed(), 1, "{kind}");
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused_and_the_link_goes_on() {
    let service = Service::start(Token::none()).await;
    for kind in LinkKind::ALL {
        let link =
            open(kind, &LinkConfig { max_reply_bytes: 500, ..config(service.port, "/v1/x") });
        // The service takes 1000 bytes, we 500.
        for (bytes, failure) in [(20_000, Failure::Refused), (600, Failure::BadReply)] {
            let error = link.call(request("x".repeat(bytes))).await.result.unwrap_err();
            assert_eq!(error.failure, failure, "{kind}: {error}");
        }
        let reply = link.call(request("x".repeat(500))).await.result;
        assert_eq!(reply.unwrap_or_else(|error| panic!("{kind}: {error}")).body.len(), 500);
    }
}

#[tokio::test]
async fn what_no_datagram_carries_is_told_with_its_size_and_a_way_out() {
    let service = Service::start_with(0, Token::none(), 1 << 20).await;
    for kind in LinkKind::ALL {
        let link = open(kind, &config(service.port, "/v1/x"));
        let call = link.call(request("x".repeat(70_000))).await;
        let long = open(kind, &config(service.port, "/v1/long")).call(request("{}")).await;
        if !matches!(kind, LinkKind::Udp | LinkKind::UdpRetry) {
            assert_eq!(call.result.unwrap().body.len(), 70_000, "{kind}");
            assert_eq!(long.result.unwrap().body.len(), 70_000, "{kind}");
            continue;
        }
        let error = call.result.unwrap_err();
        assert_eq!((error.failure, call.sent), (Failure::Refused, None), "{kind}: {error}");
        for part in ["datagram of 70", "65507", "http1"] {
            assert!(error.detail.contains(part), "{kind}: {error}");
        }
        let error = long.result.unwrap_err();
        assert_eq!(error.failure, Failure::BadReply, "{kind}: {error}");
        assert!(error.detail.contains("70"), "{kind}: {error}");
        // Close to the limit.
        let reply = link.call(request("x".repeat(64_000))).await.result;
        assert_eq!(reply.unwrap_or_else(|error| panic!("{kind}: {error}")).body.len(), 64_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once_get_their_own_replies() {
    let service = Service::start(Token::none()).await;
    for kind in LinkKind::ALL {
        let link: Arc<dyn Link> = open(kind, &config(service.port, "/v1/x"));
        let before = service.executed();
        let patience = if kind == LinkKind::Udp { Duration::from_secs(3) } else { PATIENCE };
        let calls = (0..200).map(|number| {
            let link = Arc::clone(&link);
            let body = Bytes::from(format!("[{number}]"));
            tokio::spawn(async move {
                let call = link.call(Request { deadline: patience, ..request(body.clone()) }).await;
                (body, call.result)
            })
        });
        let mut replies = 0;
        for ended in join_all(calls).await {
            let (body, reply) = ended.unwrap();
            match reply {
                Ok(reply) => assert_eq!(reply.body, body, "{kind}"),
                // A socket's buffer may overflow, and what UDP loses is lost.
                Err(error) if kind == LinkKind::Udp && error.failure == Failure::TimedOut => {
                    continue;
                }
                Err(error) => panic!("{kind}: {error}"),
            }
            replies += 1;
        }
        let executed = service.executed() - before;
        let lossless = kind != LinkKind::Udp;
        assert!((replies..=200).contains(&executed), "{kind}: {replies} of {executed}");
        assert!(replies == 200 || (!lossless && replies >= 100), "{kind}: {replies}");
    }
}

/// On the one connection that they share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_are_worked_on_at_once_as_a_service_takes() {
    let service = Service::start(Token::none()).await;
    for kind in [LinkKind::Http2, LinkKind::Grpc, LinkKind::Quic] {
        let link: Arc<dyn Link> = open(kind, &config(service.port, "/v1/together"));
        link.warm().await.unwrap();
        let calls = (0..CROWD).map(|_| {
            let link = Arc::clone(&link);
            tokio::spawn(async move { link.call(request("{}")).await.result })
        });
        for ended in join_all(calls).await {
            ended.unwrap().unwrap_or_else(|error| panic!("{kind}: {error}"));
        }
    }
}

/// A body that never ends: nobody waits for it who sees that there is no token.
#[tokio::test]
async fn who_shows_no_token_is_told_before_its_body_is_there() {
    let service = Service::start_with(0, Token::some("s3cret"), 1 << 30).await;
    let answer = async |question: &str| {
        let mut tcp = TcpStream::connect(("127.0.0.1", service.port)).await.unwrap();
        tcp.write_all(question.as_bytes()).await.unwrap();
        let mut reply = [0; 12];
        timeout(PATIENCE / 3, tcp.read_exact(&mut reply)).await.unwrap().unwrap();
        String::from_utf8_lossy(&reply).into_owned()
    };
    let post = "POST /v1/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999\r\n\r\n{";
    assert_eq!(answer(post).await, "HTTP/1.1 401");
    let upgrade = "GET /v1/link HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
                   upgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    assert_eq!(answer(upgrade).await, "HTTP/1.1 401");
    assert_eq!(service.executed(), 0);
}

/// Whoever sends its body byte by byte is not waited for.
#[tokio::test]
async fn a_body_that_takes_too_long_is_given_up() {
    let service = Service::start(Token::none()).await;
    let mut tcp = TcpStream::connect(("127.0.0.1", service.port)).await.unwrap();
    let head = "POST /v1/x HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
                content-length: 900\r\n\r\n";
    tcp.write_all(head.as_bytes()).await.unwrap();
    let mut reply = [0; 12];
    tcp.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"HTTP/1.1 100", "the reading begins");
    tcp.read_exact(&mut [0; 13]).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    tcp.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"HTTP/1.1 408");
}

/// Whatever links they came by.
#[tokio::test]
async fn a_service_waits_once_for_those_who_wait_for_ever() {
    let service = Service::start(Token::none()).await;
    for kind in [LinkKind::Http1, LinkKind::Quic, LinkKind::Udp] {
        let link = open(kind, &config(service.port, "/v1/never"));
        tokio::spawn(async move { link.call(request("{}")).await });
    }
    service.waiting(3).await;
    let begun = Instant::now();
    service.stop().await;
    assert!(begun.elapsed() < DRAIN * 2, "{:?}", begun.elapsed());
}

/// Services of HTTP/1.1 alone, as anybody's AI service is.
#[tokio::test]
async fn a_service_that_offers_a_link_not_is_told_by_name() {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = plain.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(plain, axum::Router::new()).await });
    for (kind, words) in [
        (LinkKind::Udp, "offers no udp link (GET /v1/links: 404)"),
        (LinkKind::UdpRetry, "offers no udp-retry link (GET /v1/links: 404)"),
        (LinkKind::Quic, "offers no quic link (GET /v1/links: 404)"),
        (LinkKind::WebSocket, "offers no websocket link (GET /v1/link: 404)"),
        (LinkKind::Grpc, "Operation is not implemented"),
        (LinkKind::Http2, "404 Not Found"),
    ] {
        let error =
            open(kind, &config(port, "/v1/x")).call(request("{}")).await.result.unwrap_err();
        assert!(error.detail.contains(words), "{kind}: {error}");
        let known = [Failure::Unreachable, Failure::Refused];
        assert!(known.contains(&error.failure), "{kind}: {error:?}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for kind in LinkKind::ALL {
        let call = open(kind, &config(nobody, "/v1/x")).call(request("{}")).await;
        assert_eq!(call.result.unwrap_err().failure, Failure::Unreachable, "{kind}");
        assert_eq!(call.sent, None, "{kind}");
    }
}

/// A page of elsewhere that found the port.
#[tokio::test]
async fn pages_of_elsewhere_get_no_websocket() {
    let service = Service::start(Token::none()).await;
    for (origin, status) in [("http://evil.example", 403), ("http://localhost:3000", 101)] {
        let mut tcp = TcpStream::connect(("127.0.0.1", service.port)).await.unwrap();
        let question = format!(
            "GET /v1/link HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        tcp.write_all(question.as_bytes()).await.unwrap();
        let mut reply = [0; 12];
        tcp.read_exact(&mut reply).await.unwrap();
        assert_eq!(reply, format!("HTTP/1.1 {status}").as_bytes(), "{origin}");
    }
}
