//! Where a service is, and the way there.

use crate::call::CallError;
use hopwatch_kit::tls::{Stream, Trust};
use hopwatch_model::Failure;
use thiserror::Error;
use tokio::net::TcpStream;

/// Where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
    /// Whose word is taken for who answers, where TLS is spoken.
    trust: Option<Trust>,
}

/// A URL that names no service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{url:?} can't be called: {why}")]
pub struct TargetError {
    pub(crate) url: String,
    pub(crate) why: String,
}

impl Target {
    /// From an `http://host:port/path` URL, or an `https://` one for TLS; `ws://` and `wss://` mean
    /// the same. Behind TLS the system's CAs are believed, unless [`Target::trusting`] says others.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let refuse = |why: &str| TargetError { url: url.to_owned(), why: why.to_owned() };
        let parsed = url::Url::parse(url).map_err(|error| refuse(&error.to_string()))?;
        let trust = match parsed.scheme() {
            "http" | "ws" => None,
            "https" | "wss" => Some(Trust::default()),
            _ => return Err(refuse("it must begin with http:// or https://")),
        };
        let host = parsed.host_str().ok_or_else(|| refuse("it names no host"))?;
        let path = match parsed.query() {
            Some(query) => format!("{}?{query}", parsed.path()),
            None => parsed.path().to_owned(),
        };
        let port = parsed.port_or_known_default().unwrap_or(if trust.is_some() { 443 } else { 80 });
        // A resolver wants an IPv6 address without its brackets.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port, path, trust })
    }

    /// Believes these CAs, where TLS is spoken.
    #[must_use]
    pub fn trusting(self, trust: &Trust) -> Self {
        Self { trust: self.trust.map(|_| trust.clone()), ..self }
    }

    /// Whether TLS is spoken.
    pub fn is_secure(&self) -> bool {
        self.trust.is_some()
    }

    pub(crate) fn trust(&self) -> Option<&Trust> {
        self.trust.as_ref()
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.is_secure() { "https" } else { "http" }
    }

    /// Another path of the same service.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    pub(crate) fn refuse(&self, why: &str) -> TargetError {
        TargetError {
            url: format!("{}://{}{}", self.scheme(), self.authority(), self.path),
            why: why.to_owned(),
        }
    }

    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// A connection to it with `TCP_NODELAY` (METHOD 20), in which `protocol` is spoken (ALPN). The
    /// handshake of TLS is part of connecting, as that of TCP is.
    pub(crate) async fn connect(&self, protocol: &[u8]) -> Result<Stream, CallError> {
        let opened = async {
            let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
            tcp.set_nodelay(true)?;
            Ok(tcp)
        };
        let tcp: TcpStream =
            opened.await.map_err(|error: std::io::Error| self.unreachable(&error))?;
        match &self.trust {
            None => Ok(Stream::Plain(tcp)),
            Some(trust) => {
                let secured = trust.connect(tcp, &self.host, protocol).await;
                secured.map_err(|why| self.unreachable(&why))
            }
        }
    }

    /// No connection could be opened.
    pub(crate) fn unreachable(&self, error: &dyn std::fmt::Display) -> CallError {
        let at = self.authority();
        CallError::new(Failure::Unreachable, format!("failed to connect to {at}: {error}"))
    }
}
