//! Every link over TLS, and what is said when it does not come about.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "tls/lab.rs"]
mod lab;

use hopwatch_kit::net::{Limits, Token, bind, serve_within};
use hopwatch_kit::tls::{ServerTls, Trust};
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{CallError, LinkConfig, LinkKind, Request, Server, Target, open};
use hopwatch_model::Failure;
use lab::Lab;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than anything here takes, by far.
const PATIENCE: Duration = Duration::from_secs(30);
const HEAD: Duration = Duration::from_millis(300);

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

/// A service at any port of 127.0.0.1 that takes so many connections.
async fn service(tls: Option<ServerTls>, connections: usize) -> u16 {
    let token = Token::some("s3cret");
    let listener = bind(([127, 0, 0, 1], 0).into(), &token).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = Shutdown::new();
    let server = Server::new(clock(), token, 1000);
    let links = server.open(&listener, tls.as_ref(), &shutdown).await.unwrap();
    let limits = Limits { connections, head: HEAD };
    tokio::spawn(serve_within(listener, links.routes, tls, shutdown, limits));
    port
}

async fn call(kind: LinkKind, url: String, trust: Trust) -> Result<bool, CallError> {
    let target = Target::parse(&url).unwrap().trusting(&trust);
    let config = LinkConfig { token: Token::some("s3cret"), ..LinkConfig::new(target) };
    let link = open(kind, &config, clock()).unwrap();
    let request = || Request { trace: None, body: "{}".into(), deadline: PATIENCE };
    let call = link.call(request()).await;
    assert!(call.connecting.is_some(), "{kind}: opening it is part of the call: {call:?}");
    assert_eq!(&call.result?.body[..], b"{}", "{kind}");
    let again = link.call(request()).await;
    assert_eq!(&again.result?.body[..], b"{}", "{kind}");
    Ok(again.connecting.is_none())
}

fn secure_links() -> impl Iterator<Item = LinkKind> {
    LinkKind::ALL.into_iter().filter(|kind| kind.can_be_secure())
}

#[tokio::test]
async fn every_link_but_udp_goes_over_tls_and_keeps_its_connection() {
    let lab = Lab::new("the lab");
    let port = service(Some(lab.issue(&["127.0.0.1", "localhost"], 1, 1)), 100).await;
    for host in ["127.0.0.1", "localhost"] {
        for kind in secure_links() {
            let url = format!("https://{host}:{port}/v1/echo");
            let kept = call(kind, url, lab.trust()).await;
            assert_eq!(kept, Ok(kind != LinkKind::Http1Fresh), "{kind}");
        }
    }
    let wss = call(LinkKind::WebSocket, format!("wss://127.0.0.1:{port}/v1/echo"), lab.trust());
    assert_eq!(wss.await, Ok(true));
    for kind in [LinkKind::Udp, LinkKind::UdpRetry] {
        let target = Target::parse(&format!("https://127.0.0.1:{port}/v1/echo")).unwrap();
        let refused = open(kind, &LinkConfig::new(target), clock()).err().unwrap().to_string();
        assert!(refused.contains(kind.name()) && refused.contains("unencrypted"), "{refused}");
    }
}

/// What the client says when a service shows a certificate that can't be believed.
#[tokio::test]
async fn a_certificate_that_does_not_fit_is_told_in_words() {
    let (lab, other) = (Lab::new("the lab"), Lab::new("the other lab"));
    for (shown, words) in [
        (
            other.issue(&["127.0.0.1"], 1, 1),
            &["\"the other lab\"", "the CA of tls_ca", "did not issue", "ca.pem"][..],
        ),
        (lab.issue(&["127.0.0.1"], 3, -1), &["\"the lab\"", "expired on 2", "Z", "clock"]),
        (lab.issue(&["127.0.0.1"], 0, 1), &[]),
        (lab.issue(&["robot", "10.0.0.1"], 1, 1), &["certificate for", "robot", "10.0.0.1"]),
        (lab.issue(&[], 1, 1), &["certificate for nobody"]),
    ] {
        let port = service(Some(shown), 100).await;
        for kind in secure_links() {
            let answered =
                call(kind, format!("https://127.0.0.1:{port}/v1/echo"), lab.trust()).await;
            if words.is_empty() {
                assert!(answered.is_ok(), "{kind}: {answered:?}");
                continue;
            }
            let error = answered.unwrap_err();
            assert_eq!(error.failure, Failure::Unreachable, "{kind}: {error}");
            let text = error.to_string();
            for word in words.iter().chain(&["127.0.0.1"]) {
                assert!(text.contains(word), "{kind}: {word:?} is not in {text}");
            }
        }
    }
}

#[tokio::test]
async fn plain_http_to_a_tls_port_is_told_so() {
    let lab = Lab::new("the lab");
    let port = service(Some(lab.issue(&["127.0.0.1"], 1, 1)), 100).await;
    for kind in LinkKind::ALL {
        let error = call(kind, format!("http://127.0.0.1:{port}/v1/echo"), lab.trust());
        let text = error.await.unwrap_err().to_string();
        assert!(text.contains("this port speaks TLS: use https://"), "{kind}: {text}");
    }
}

#[tokio::test]
async fn tls_to_a_plain_port_is_told_so() {
    let lab = Lab::new("the lab");
    let port = service(None, 100).await;
    for kind in secure_links() {
        let error = call(kind, format!("https://127.0.0.1:{port}/v1/echo"), lab.trust());
        let text = error.await.unwrap_err().to_string();
        assert!(text.contains("plain HTTP") && text.contains("use http://"), "{kind}: {text}");
    }
}

/// A stranger that says nothing, or begins a handshake and goes no further, holds its place for as
/// long as a head may take.
#[tokio::test]
async fn a_handshake_that_never_ends_holds_no_place_for_ever() {
    let lab = Lab::new("the lab");
    let port = service(Some(lab.issue(&["127.0.0.1"], 1, 1)), 1).await;
    for begin in [&b""[..], b"\x16\x03\x01\x02\x00\x01", b"\x16"] {
        let mut tcp = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        tcp.write_all(begin).await.unwrap();
        // The only place is taken, and free again when the stranger has had its time.
        let read = timeout(PATIENCE, tcp.read_to_end(&mut Vec::new())).await.unwrap();
        assert!(read.is_ok_and(|n| n < 100) || begin.is_empty(), "{begin:?}");
        let url = format!("https://127.0.0.1:{port}/v1/echo");
        let answered = timeout(PATIENCE, async {
            while call(LinkKind::Http1, url.clone(), lab.trust()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        answered.await.unwrap();
    }
}

#[test]
fn what_can_not_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (empty, key) = (file("empty.pem", ""), rcgen::KeyPair::generate().unwrap());
    let secret = file("key.pem", &key.serialize_pem());
    let made = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
    let cert = file("cert.pem", &made.cert.pem());
    for (certificate, key, words) in [
        (&*cert, "", &["tls_cert needs tls_key"][..]),
        ("", &*secret, &["tls_key needs tls_cert"]),
        ("/nowhere.pem", &secret, &["tls_cert", "/nowhere.pem"]),
        (&empty, &secret, &["tls_cert", "empty.pem", "BEGIN CERTIFICATE"]),
        (&cert, &empty, &["tls_key", "empty.pem", "no private key"]),
        (&cert, &secret, &["don't go together", "cert.pem", "key.pem"]),
    ] {
        let why = ServerTls::load(certificate, key).unwrap_err().to_string();
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    }
    let why = Trust::load(&empty).unwrap_err().to_string();
    assert!(why.contains("tls_ca") && why.contains("empty.pem"), "{why}");
    assert!(ServerTls::load("", "").unwrap().is_none());
}
