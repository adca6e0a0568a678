//! Settings of a running program, over HTTP.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_kit::Shutdown;
use hopwatch_kit::controls::{self, NotSet, Settings};
use hopwatch_kit::net::{self, AllowedOrigins, Token};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    share: f64,
}

struct Holder(Mutex<Share>);

impl Settings for Holder {
    type Value = Share;

    fn now(&self) -> Share {
        self.0.lock().unwrap().clone()
    }

    async fn set(&self, wanted: Share) -> Result<(), NotSet> {
        match wanted.share {
            broken if broken > 0.45 && broken < 0.55 => {
                Err(NotSet::Failed("the device is gone".to_owned()))
            }
            good if (0.0..=1.0).contains(&good) => {
                *self.0.lock().unwrap() = wanted;
                Ok(())
            }
            bad => Err(NotSet::Refused(format!("share must lie between 0 and 1, not {bad}"))),
        }
    }
}

async fn serving(token: Token) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let holder = Arc::new(Holder(Mutex::new(Share { share: 0.25 })));
    let routes = controls::settings(holder, token, AllowedOrigins::default());
    tokio::spawn(net::serve(listener, routes, Shutdown::new()));
    address
}

/// Status and body.
async fn ask(address: SocketAddr, method: &str, head: &str, body: &str) -> (u16, String) {
    let request = format!(
        "{method} /v1/settings HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{head}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    tcp.read_to_string(&mut reply).await.unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

const FIRST: &str = r#"{"share":0.25}"#;

#[tokio::test]
async fn what_is_set_is_told() {
    let address = serving(Token::none()).await;
    assert_eq!(ask(address, "GET", "", "").await, (200, FIRST.to_owned()));
    let second = r#"{"share":0.75}"#;
    assert_eq!(ask(address, "PUT", "", second).await, (200, second.to_owned()));
    assert_eq!(ask(address, "GET", "", "").await, (200, second.to_owned()));
}

#[tokio::test]
async fn what_cant_be_is_refused_with_a_sentence_and_changes_nothing() {
    let address = serving(Token::none()).await;
    let long = format!(r#"{{"share":0.{}}}"#, "1".repeat(5000));
    for (body, status, said) in [
        (r#"{"share":1.5}"#, 400, "share must lie between 0 and 1, not 1.5\n"),
        (r#"{"share":-0.1}"#, 400, "not -0.1\n"),
        (r#"{"share":0.5}"#, 500, "the device is gone\n"),
        (r#"{"share":"a"}"#, 400, "these are no settings: invalid type"),
        (r#"{"share":NaN}"#, 400, "these are no settings"),
        (r#"{"share":1e999}"#, 400, "these are no settings"),
        (r#"{"share":0.1,"x":1}"#, 400, "unknown field `x`"),
        ("{}", 400, r#"missing field `share` at line 1 column 2; send such as {"share":0.25}"#),
        ("", 400, "these are no settings"),
        (long.as_str(), 413, ""),
    ] {
        let (got, text) = ask(address, "PUT", "", body).await;
        assert!(got == status && text.contains(said), "{body}: {got} {text}");
        assert_eq!(ask(address, "GET", "", "").await, (200, FIRST.to_owned()));
    }
    assert_eq!(ask(address, "POST", "", FIRST).await.0, 405);
}

#[tokio::test]
async fn only_those_who_may() {
    let address = serving(Token::some("s3cret")).await;
    let second = r#"{"share":0.75}"#;
    for head in ["", "authorization: Bearer wrong\r\n"] {
        assert_eq!(ask(address, "PUT", head, second).await.0, 401);
        assert_eq!(ask(address, "GET", head, "").await.0, 401);
    }
    let shown = "authorization: Bearer s3cret\r\n";
    let foreign = format!("{shown}origin: http://evil.example\r\n");
    assert_eq!(ask(address, "PUT", &foreign, second).await.0, 403);
    assert_eq!(ask(address, "GET", shown, "").await.1, FIRST);
    assert_eq!(ask(address, "PUT", shown, second).await.0, 200);
}
