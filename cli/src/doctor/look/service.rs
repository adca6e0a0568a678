//! The user's AI service, asked some times over one connection, as the gateway asks it.

use bytes::Bytes;
use hopwatch_analysis::DELAYED_ACK;
use hopwatch_kit::clock::mono_ns;
use hopwatch_link::{Http1Config, Target};
use hopwatch_wire::headers::{self, SERVER_TIMING, STAMPS, ServiceStamps, served_ns};
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::os::linux::net::TcpStreamExt;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// So many requests are sent, at most.
pub(crate) const REQUESTS: usize = 20;
/// No more are sent after so long; but these are.
const LONG: Duration = Duration::from_secs(15);
const LEAST: usize = 3;
/// So many late bodies are no chance.
pub(crate) const ENOUGH: usize = 3;
/// A request may take so long.
const PATIENCE: Duration = Duration::from_secs(15);
/// An idle connection is waited for as long as the gateway keeps one, and this.
const BEYOND_IDLE: Duration = Duration::from_millis(500);
/// A longer reply isn't read to its end.
const MOST_BYTES: usize = 16 << 20;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) url: String,
    pub(crate) method: Method,
    pub(crate) body: Bytes,
    /// Its answer need not be JSON.
    pub(crate) takes_any: bool,
}

impl Question {
    /// Whether TLS is spoken: what is looked for (segments, idle connections) lies below it.
    pub(crate) fn is_secure(&self) -> bool {
        Target::parse(&self.url).is_ok_and(|target| target.is_secure())
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) method: String,
    /// It is asked by TLS, and so nothing was looked at.
    pub(crate) is_secure: bool,
    /// Its answer need not be JSON.
    pub(crate) takes_any: bool,
    /// Why no more was asked; `None`: all was well.
    pub(crate) failure: Option<String>,
    /// Opening the first connection, in ns.
    pub(crate) connect_ns: Option<i64>,
    /// How many connections were needed.
    pub(crate) connections: usize,
    pub(crate) exchanges: Vec<Exchange>,
    /// What became of an idle connection; `None`: it wasn't waited for.
    pub(crate) idle: Option<Idle>,
    /// How long the gateway keeps one.
    pub(crate) kept: Duration,
}

/// What becomes of a connection that nothing is asked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It was closed after so long.
    Closed(Duration),
    /// It was there for longer than the gateway keeps one.
    Stayed,
}

/// One request and its reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) status: u16,
    /// From the request to the whole reply, in ns.
    pub(crate) took_ns: i64,
    /// From the head of the reply to the end of its body, in ns.
    pub(crate) body_ns: i64,
    /// The head was acknowledged at once, so that Nagle's algorithm could keep no body back.
    pub(crate) acknowledged: bool,
    /// The reply says that it is JSON and is, or no body was asked for.
    pub(crate) is_json: bool,
    pub(crate) content_type: String,
    /// What it says of its own time.
    pub(crate) told: Told,
}

/// What a reply says of its own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing.
    #[default]
    Nothing,
    /// `Server-Timing` that has no duration.
    NoDuration,
    /// `Server-Timing`: its own time, in ns.
    Duration(i64),
    /// `hopwatch-stamps`.
    Stamps,
}

/// Asks it, and then waits for the end of an idle connection.
pub(crate) async fn ask(question: &Question) -> Service {
    let mut service = Service {
        url: question.url.clone(),
        method: question.method.to_string(),
        is_secure: question.is_secure(),
        takes_any: question.takes_any,
        ..Service::default()
    };
    if service.is_secure {
        return service;
    }
    if let Err(failure) = exchange(question, &mut service).await {
        service.failure = Some(failure);
    }
    service
}

async fn exchange(question: &Question, service: &mut Service) -> Result<(), String> {
    let target = Target::parse(&question.url).map_err(|error| error.to_string())?;
    service.kept = Http1Config::new(target).max_idle;
    let url = url::Url::parse(&question.url).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut open: Option<Connection> = None;
    while service.exchanges.len() < REQUESTS
        && (service.exchanges.len() < LEAST || began.elapsed() < LONG)
    {
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => Connection::open(&url, service).await?,
        };
        // Late bodies again, with the one thing changed that Nagle's algorithm waits for.
        let apart = service.exchanges.iter().filter(|of| DELAYED_ACK.contains(&of.body_ns)).count();
        let asked = connection.ask(question, &url, apart >= ENOUGH);
        let told = tokio::time::timeout(PATIENCE, asked)
            .await
            .map_err(|_| format!("no whole reply within {} s", PATIENCE.as_secs()))?;
        let (exchange, stays) = told?;
        service.exchanges.push(exchange);
        if stays && connection.sender.ready().await.is_ok() {
            open = Some(connection);
        }
    }
    // Of one that answers nothing of use, something else has to be mended first.
    let of_use = service.exchanges.iter().all(|of| (200..300).contains(&of.status));
    if let Some(connection) = open.filter(|_| of_use) {
        let idle = Instant::now();
        let ended = tokio::time::timeout(service.kept + BEYOND_IDLE, connection.driver).await;
        service.idle = Some(match ended {
            Ok(_) => Idle::Closed(idle.elapsed()),
            Err(_) => Idle::Stayed,
        });
    }
    Ok(())
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// For what is to be said to the kernel meanwhile.
    tcp: std::net::TcpStream,
    /// Ends when the connection does.
    driver: JoinHandle<()>,
}

impl Connection {
    async fn open(url: &url::Url, service: &mut Service) -> Result<Self, String> {
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or(80);
        let begin = mono_ns();
        let fail =
            |error: &dyn std::fmt::Display| format!("failed to connect to {host}:{port}: {error}");
        let opening = tokio::time::timeout(PATIENCE, TcpStream::connect((host, port)));
        let tcp = opening.await.map_err(|late| fail(&late))?.map_err(|error| fail(&error))?;
        service.connect_ns.get_or_insert(mono_ns() - begin);
        service.connections += 1;
        // As the gateway does: what is found is the service's.
        tcp.set_nodelay(true).map_err(|error| fail(&error))?;
        let tcp = tcp.into_std().map_err(|error| fail(&error))?;
        let same = tcp.try_clone().map_err(|error| fail(&error))?;
        let tcp = TcpStream::from_std(tcp).map_err(|error| fail(&error))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(tcp)).await.map_err(|error| fail(&error))?;
        // How it ended is told to whoever waits for a reply.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, tcp: same, driver })
    }

    /// Sends a request and reads its reply; and whether the connection stays. `acknowledge`: the head
    /// is acknowledged at once.
    async fn ask(
        &mut self,
        question: &Question,
        url: &url::Url,
        acknowledge: bool,
    ) -> Result<(Exchange, bool), String> {
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let request = Request::builder()
            .method(question.method.clone())
            .uri(path)
            .header(HOST, authority)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(question.body.clone()))
            .map_err(|error| error.to_string())?;
        let broken = |error: hyper::Error| format!("the connection broke: {error}");
        let begin = mono_ns();
        let reply = self.sender.send_request(request).await.map_err(broken)?;
        let head = mono_ns();
        // Linux sends an acknowledgement that it was delaying (tcp(7), TCP_QUICKACK).
        let acknowledged = acknowledge && self.tcp.set_quickack(true).is_ok();
        let stays = keeps(&reply);
        let (parts, body) = reply.into_parts();
        let body = http_body_util::Limited::new(body, MOST_BYTES).collect().await;
        let body = body.map_err(|error| format!("the reply can't be read: {error}"))?.to_bytes();
        let end = mono_ns();
        let content_type = parts.headers.get(CONTENT_TYPE).and_then(|of| of.to_str().ok());
        let exchange = Exchange {
            status: parts.status.as_u16(),
            took_ns: end - begin,
            body_ns: end - head,
            acknowledged,
            is_json: question.method == Method::HEAD || is_json(content_type, &body),
            content_type: content_type.unwrap_or("no content type").to_owned(),
            told: told(&parts.headers),
        };
        Ok((exchange, stays))
    }
}

/// Whether the gateway would take it as JSON: it must say so, and be it.
fn is_json(content_type: Option<&str>, body: &[u8]) -> bool {
    let says_so = headers::is_json(&headers::media_type(content_type));
    let text = std::str::from_utf8(body);
    says_so && text.is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}

fn keeps<B>(reply: &http::Response<B>) -> bool {
    let closes = reply.headers().get(CONNECTION).and_then(|value| value.to_str().ok());
    reply.version() == http::Version::HTTP_11
        && !closes.is_some_and(|value| value.to_ascii_lowercase().contains("close"))
}

fn told(headers: &HeaderMap) -> Told {
    let of = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if of(STAMPS).and_then(ServiceStamps::parse).is_some() {
        return Told::Stamps;
    }
    match of(SERVER_TIMING).map(served_ns) {
        None => Told::Nothing,
        Some(None) => Told::NoDuration,
        Some(Some((wait, rest))) => Told::Duration(wait.saturating_add(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reply_tells_of_itself_is_read() {
        let of = |name: &'static str, value: &'static str| {
            told(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]))
        };
        assert_eq!(told(&HeaderMap::new()), Told::Nothing);
        assert_eq!(of("server-timing", "wait;dur=1, infer;dur=4.5"), Told::Duration(5_500_000));
        assert_eq!(of("server-timing", "cache"), Told::NoDuration);
        assert_eq!(of("hopwatch-stamps", "clock=c; received=1; done=2"), Told::Stamps);
        assert_eq!(of("hopwatch-stamps", "nonsense"), Told::Nothing);
    }

    #[test]
    fn json_is_what_says_so_and_is() {
        for (content_type, body, expected) in [
            (Some("application/json"), "{}", true),
            (Some("Application/JSON; charset=utf-8"), "[1]", true),
            (Some("application/problem+json"), "{}", true),
            (Some("text/plain"), "{}", false),
            (Some("text/html"), "<p>", false),
            (None, "{}", false),
            (Some("application/json"), "{", false),
            (Some("application/json"), "", false),
        ] {
            assert_eq!(is_json(content_type, body.as_bytes()), expected, "{content_type:?} {body}");
        }
        assert!(!is_json(Some("application/json"), b"\"\xff\""));
    }

    #[tokio::test]
    async fn nobody_there_is_a_failure_with_the_address() {
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let ask = |url: String| async {
            ask(&Question { url, method: Method::POST, body: Bytes::new(), takes_any: false }).await
        };
        let failure = ask(format!("http://{nobody}/x")).await.failure.unwrap();
        assert!(failure.contains(&nobody.to_string()), "{failure}");
        // By TLS nothing is asked, and so nothing fails.
        let secure = ask(format!("https://{nobody}/x")).await;
        assert!(secure.is_secure && secure.failure.is_none() && secure.connections == 0);
    }
}
