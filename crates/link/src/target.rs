//! Where a service is, and the way there.

use crate::call::CallError;
use hopwatch_model::Failure;
use thiserror::Error;
use tokio::net::TcpStream;

/// Where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

/// A URL that names no service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{url:?} can't be called: {why}")]
pub struct TargetError {
    pub(crate) url: String,
    pub(crate) why: String,
}

impl Target {
    /// From an `http://host:port/path` URL.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let refuse = |why: &str| TargetError { url: url.to_owned(), why: why.to_owned() };
        let parsed = url::Url::parse(url).map_err(|error| refuse(&error.to_string()))?;
        if parsed.scheme() != "http" {
            return Err(refuse("only http:// is spoken here"));
        }
        let host = parsed.host_str().ok_or_else(|| refuse("it names no host"))?;
        let path = match parsed.query() {
            Some(query) => format!("{}?{query}", parsed.path()),
            None => parsed.path().to_owned(),
        };
        let port = parsed.port_or_known_default().unwrap_or(80);
        // A resolver wants an IPv6 address without its brackets.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port, path })
    }

    /// Another path of the same service.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    pub(crate) fn refuse(&self, why: &str) -> TargetError {
        TargetError {
            url: format!("http://{}{}", self.authority(), self.path),
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

    /// A connection to it with `TCP_NODELAY` (METHOD 20).
    pub(crate) async fn connect(&self) -> Result<TcpStream, CallError> {
        let opened = async {
            let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
            tcp.set_nodelay(true)?;
            Ok(tcp)
        };
        opened.await.map_err(|error: std::io::Error| self.unreachable(&error))
    }

    /// No connection could be opened.
    pub(crate) fn unreachable(&self, error: &dyn std::fmt::Display) -> CallError {
        let at = self.authority();
        CallError::new(Failure::Unreachable, format!("failed to connect to {at}: {error}"))
    }
}
