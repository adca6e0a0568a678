//! The links by name.

use crate::call::Link;
use crate::grpc::Grpc;
use crate::http1::{Http1, Http1Config, HttpForm};
use crate::http2::Http2;
use crate::quic::Quic;
use crate::target::{Target, TargetError};
use crate::udp::Udp;
use crate::websocket::WebSocket;
use hopwatch_kit::Clock;
use hopwatch_kit::net::Token;
use std::sync::Arc;
use std::time::Duration;

/// Which link carries requests to the services.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// HTTP/1.1, connections kept open
    Http1,
    /// HTTP/1.1, a connection for each request
    Http1Fresh,
    /// HTTP/2 by prior knowledge or over TLS, one connection for all requests
    Http2,
    /// WebSocket, connections kept open, a binary message each way
    #[serde(rename = "websocket")]
    #[value(name = "websocket")]
    WebSocket,
    /// gRPC, one connection for all requests
    Grpc,
    /// QUIC, one connection for all requests, a stream each
    Quic,
    /// UDP, one datagram each way, and what is lost is lost
    Udp,
    /// UDP, sent again until there is a reply, and executed once
    UdpRetry,
}

impl LinkKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Http1,
        Self::Http1Fresh,
        Self::Http2,
        Self::WebSocket,
        Self::Grpc,
        Self::Quic,
        Self::Udp,
        Self::UdpRetry,
    ];

    /// The name in reports, on the command line and in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http1Fresh => "http1-fresh",
            Self::Http2 => "http2",
            Self::WebSocket => "websocket",
            Self::Grpc => "grpc",
            Self::Quic => "quic",
            Self::Udp => "udp",
            Self::UdpRetry => "udp-retry",
        }
    }

    /// Whether requests are plain HTTP, as any service takes them.
    pub const fn is_http(self) -> bool {
        matches!(self, Self::Http1 | Self::Http1Fresh | Self::Http2)
    }

    /// Whether it can be encrypted, as services are that are asked for by `https://`.
    pub const fn can_be_secure(self) -> bool {
        !matches!(self, Self::Udp | Self::UdpRetry)
    }
}

impl std::fmt::Display for LinkKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How a link behaves, whatever its kind.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The service, by the URL of what is asked for over HTTP.
    pub target: Target,
    /// A longer reply is refused, in bytes.
    pub max_reply_bytes: usize,
    /// A connection that was idle for longer is not used again; must be below the service's own
    /// keep-alive time, or requests race its closing.
    pub max_idle: Duration,
    /// What the service wants to be shown.
    pub token: Token,
    /// Media type of the request's body.
    pub content_type: &'static str,
    /// What else a service wants of its requests. Links that aren't HTTP can't be asked for
    /// anything unusual.
    pub form: HttpForm,
    /// When `udp-retry` sends again.
    pub retry: RetryConfig,
}

impl LinkConfig {
    /// The defaults for `target`.
    pub fn new(target: Target) -> Self {
        let Http1Config { target, max_reply_bytes, max_idle, token, content_type, form, fresh: _ } =
            Http1Config::new(target);
        let retry = RetryConfig::default();
        Self { target, max_reply_bytes, max_idle, token, content_type, form, retry }
    }
}

/// When `udp-retry` sends a request again: after a time that is learned from the replies as TCP
/// does (RFC 6298), doubled each time that nothing comes.
#[derive(Clone, Copy, Debug)]
pub struct RetryConfig {
    /// How long to wait for any word while nothing has been learned.
    pub first: Duration,
    /// How long to wait for a reply that the service has said will take its time, while nothing
    /// has been learned.
    pub first_reply: Duration,
    /// The shortest wait.
    pub shortest: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            first_reply: Duration::from_secs(2),
            shortest: Duration::from_millis(50),
            longest: Duration::from_secs(5),
        }
    }
}

/// A link of that kind; nothing is opened yet.
///
/// Fails when the URL, the token or the clock's name can't be put into a request, when a link that
/// isn't HTTP is asked for a method or headers of one's own, and for UDP to a service that is asked for
/// by TLS.
pub fn open(
    kind: LinkKind,
    config: &LinkConfig,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Link>, TargetError> {
    let http1 = |fresh| {
        let LinkConfig { target, max_reply_bytes, max_idle, token, content_type, form, retry: _ } =
            config.clone();
        Http1Config { target, fresh, max_reply_bytes, max_idle, token, content_type, form }
    };
    if !kind.is_http() && config.form != HttpForm::default() {
        let why = format!(
            "a method and headers of your own go over http1, http1-fresh and http2 only, not {kind}"
        );
        return Err(config.target.refuse(&why));
    }
    if !kind.can_be_secure() && config.target.is_secure() {
        let why = format!(
            "the link {kind} would send token and messages unencrypted: use another one, or an \
             http:// URL"
        );
        return Err(config.target.refuse(&why));
    }
    Ok(match kind {
        LinkKind::Http1 => Arc::new(Http1::new(http1(false), clock)?),
        LinkKind::Http1Fresh => Arc::new(Http1::new(http1(true), clock)?),
        LinkKind::Http2 => Arc::new(Http2::new(config, clock)?),
        LinkKind::WebSocket => Arc::new(WebSocket::new(config, clock)?),
        LinkKind::Grpc => Arc::new(Grpc::new(config, clock)?),
        LinkKind::Quic => Arc::new(Quic::new(config, clock)?),
        LinkKind::Udp => Arc::new(Udp::new(config, false, clock)),
        LinkKind::UdpRetry => Arc::new(Udp::new(config, true, clock)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn a_kind_has_one_name_everywhere() {
        assert_eq!(LinkKind::value_variants(), LinkKind::ALL);
        for kind in LinkKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.name());
            assert_eq!(kind.to_string(), kind.name());
        }
    }

    #[tokio::test]
    async fn only_http_takes_a_form_of_ones_own() {
        let target = Target::parse("http://127.0.0.1:9/x").unwrap();
        let form = HttpForm { method: http::Method::PUT, ..HttpForm::default() };
        let config = LinkConfig { form, ..LinkConfig::new(target) };
        for kind in LinkKind::ALL {
            let clock = Arc::new(hopwatch_kit::SystemClock::default());
            let opened = open(kind, &config, clock).map(drop).map_err(|error| error.to_string());
            match opened {
                Ok(()) => assert!(kind.is_http(), "{kind}"),
                Err(why) => assert!(!kind.is_http() && why.contains(kind.name()), "{why}"),
            }
        }
    }
}
