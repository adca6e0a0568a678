//! Which pages may use a service, asked as browsers ask, on real sockets.
#![allow(clippy::unwrap_used, reason = "tests")]

use axum::Router;
use axum::middleware::{Next, from_fn};
use axum::routing::{get, post};
use hopwatch_kit::Shutdown;
use hopwatch_kit::app::App;
use hopwatch_kit::net::{self, AllowedOrigins, Token, for_pages};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PAGE: &str = "http://localhost:3000";
const LISTED: &str = "https://robots.example";
const FOREIGN: &str = "http://evil.example";

/// A service with a route for pages and one for programs.
fn app() -> App {
    let settings = get(async || "now\n").put(async || "set\n").post(async || "marked\n");
    let token = Token::some("s3cret");
    let guard = from_fn(move |request, next: Next| token.clone().guard(request, next));
    let pages = Router::new().route("/v1/settings", settings).layer(guard);
    let listed = AllowedOrigins::parse(LISTED);
    let records = post(async || "taken\n").get(async || "told\n");
    let routes =
        for_pages(pages, listed.clone()).merge(Router::new().route("/v1/records", records));
    App::from(routes).listing(listed)
}

async fn serving(address: &str) -> SocketAddr {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(net::serve(listener, app(), Shutdown::new()));
    address
}

/// The reply's head and body, in small letters, to a request with these lines in its head.
async fn ask(address: SocketAddr, request: &str, lines: &[(&str, &str)]) -> String {
    let own = address.to_string();
    let host = (!lines.iter().any(|(name, _)| *name == "host")).then_some(("host", &*own));
    let lines = lines.iter().copied().chain(host);
    let lines: Vec<String> = lines.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let lines = lines.concat();
    let mut tcp = TcpStream::connect(("127.0.0.1", address.port())).await.unwrap();
    let head = format!("{request} HTTP/1.1\r\nconnection: close\r\n{lines}\r\n");
    tcp.write_all(head.as_bytes()).await.unwrap();
    let mut reply = String::new();
    tcp.read_to_string(&mut reply).await.unwrap();
    reply.to_lowercase()
}

fn preflight<'a>(origin: &'a str, method: &'a str) -> [(&'static str, &'a str); 3] {
    [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", "authorization,content-type"),
    ]
}

const SHOWN: (&str, &str) = ("authorization", "Bearer s3cret");

#[tokio::test]
async fn the_page_of_this_machine_asks_sends_and_reads() {
    let address = serving("127.0.0.1:0").await;
    for origin in [PAGE, "http://127.0.0.1:4000", "http://[::1]:3000"] {
        let allows = format!("access-control-allow-origin: {origin}\r\n");
        for method in ["PUT", "POST"] {
            let asked = ask(address, "OPTIONS /v1/settings", &preflight(origin, method)).await;
            assert!(asked.starts_with("http/1.1 200") && asked.contains(&allows), "{asked}");
            let methods = "access-control-allow-methods: get,post,put\r\n";
            assert!(asked.contains(methods), "{asked}");
            let headers = "access-control-allow-headers: authorization,content-type\r\n";
            assert!(asked.contains(headers), "{asked}");
            let request = format!("{method} /v1/settings");
            let sent = ask(address, &request, &[("origin", origin), SHOWN]).await;
            assert!(sent.starts_with("http/1.1 200") && sent.contains(&allows), "{sent}");
        }
        let read = ask(address, "GET /v1/settings", &[("origin", origin), SHOWN]).await;
        assert!(read.contains(&allows) && read.ends_with("now\n"), "{read}");
        // What is refused inside can be read by the page as well.
        let refused = ask(address, "PUT /v1/settings", &[("origin", origin)]).await;
        assert!(refused.starts_with("http/1.1 401") && refused.contains(&allows), "{refused}");
    }
    let program = ask(address, "PUT /v1/settings", &[SHOWN]).await;
    assert!(program.ends_with("set\n") && !program.contains("allow-origin"), "{program}");
}

#[tokio::test]
async fn a_page_of_elsewhere_can_do_nothing() {
    for bound in ["127.0.0.1:0", "0.0.0.0:0"] {
        let address = serving(bound).await;
        for origin in [FOREIGN, "null", "http://localhost.evil.example"] {
            let asked = ask(address, "OPTIONS /v1/settings", &preflight(origin, "PUT")).await;
            assert!(asked.starts_with("http/1.1 403"), "{asked}");
            for method in ["GET", "PUT", "POST"] {
                let request = format!("{method} /v1/settings");
                let sent = ask(address, &request, &[("origin", origin), SHOWN]).await;
                assert!(sent.starts_with("http/1.1 403"), "{sent}");
                assert!(!sent.contains("access-control-allow-origin"), "{sent}");
            }
        }
    }
}

#[tokio::test]
async fn listed_pages_come_in_where_others_reach_the_service() {
    let address = serving("0.0.0.0:0").await;
    let asked = ask(address, "OPTIONS /v1/settings", &preflight(LISTED, "PUT")).await;
    assert!(asked.contains("access-control-allow-origin: https://robots.example"), "{asked}");
    let sent = ask(address, "PUT /v1/settings", &[("origin", LISTED), SHOWN]).await;
    assert!(sent.starts_with("http/1.1 200"), "{sent}");
}

#[tokio::test]
async fn what_isnt_for_pages_and_foreign_hosts_stay_as_they_were() {
    let address = serving("127.0.0.1:0").await;
    let records = ask(address, "POST /v1/records", &[("origin", FOREIGN)]).await;
    assert!(records.starts_with("http/1.1 403"), "{records}");
    let here = ask(address, "POST /v1/records", &[("origin", PAGE)]).await;
    assert!(here.starts_with("http/1.1 200") && !here.contains("allow-origin"), "{here}");
    // DNS rebinding: the page's own name leads to 127.0.0.1, and its origin looks like our own.
    for request in ["GET /v1/settings", "PUT /v1/settings", "OPTIONS /v1/settings"] {
        let host = ("host", "evil.example:3000");
        let rebound = ask(address, request, &[host, ("origin", PAGE), SHOWN]).await;
        assert!(rebound.starts_with("http/1.1 403"), "{rebound}");
    }
}

/// An image or a link has no origin.
#[tokio::test]
async fn a_page_of_elsewhere_has_no_service_work_for_it() {
    let address = serving("127.0.0.1:0").await;
    for method in ["GET", "HEAD", "OPTIONS", "POST"] {
        let request = format!("{method} /v1/records");
        let image = ask(address, &request, &[("sec-fetch-site", "cross-site")]).await;
        assert!(image.starts_with("http/1.1 403"), "{image}");
    }
    let read = ask(address, "GET /v1/records", &[("origin", FOREIGN)]).await;
    assert!(read.starts_with("http/1.1 403"), "{read}");
    for site in ["none", "same-origin", "same-site"] {
        let told = ask(address, "GET /v1/records", &[("sec-fetch-site", site)]).await;
        assert!(told.ends_with("told\n"), "{told}");
    }
    let link = |what| [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", what)];
    let followed = ask(address, "GET /v1/records", &link("document")).await;
    assert!(followed.ends_with("told\n"), "{followed}");
    let framed = ask(address, "GET /v1/records", &link("iframe")).await;
    assert!(framed.starts_with("http/1.1 403"), "{framed}");
    // One page of this machine may call another by another of its names.
    for origin in [PAGE, LISTED] {
        let lines = [("sec-fetch-site", "cross-site"), ("origin", origin)];
        let told = ask(address, "GET /v1/records", &lines).await;
        assert!(told.ends_with("told\n"), "{told}");
        let allows = format!("access-control-allow-origin: {origin}\r\n");
        let lines = [lines[0], lines[1], SHOWN];
        let read = ask(address, "GET /v1/settings", &lines).await;
        assert!(read.contains(&allows) && read.ends_with("now\n"), "{read}");
    }
    let changed = ask(address, "PUT /v1/settings", &[("origin", LISTED), SHOWN]).await;
    assert!(changed.starts_with("http/1.1 403"), "{changed}");
}
