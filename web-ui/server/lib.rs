//! Serves the live page: the files of `web-ui/dist`, built into this program, and where the
//! page finds the two feeds.
//!
//! The page is locked up: it may load nothing but its own files and connect to nothing but the
//! two feeds, and what it is told that it may set ([`policy`]). It is cross-origin isolated, which gives the browser's clock a step of
//! 5 µs instead of 100 µs (METHOD 7).

mod page;
pub mod policy;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{Router, get};
use axum::{Json, http::HeaderName};
use hopwatch_kit::net::{self, Token};
use hopwatch_kit::service::Identity;
use hopwatch_kit::tls::ServerTls;
use hopwatch_kit::{Shutdown, config};
use hopwatch_wire::controls::Controls;
use hopwatch_wire::feed::PageConfig;
use policy::Ports;
use serde_json::json;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Who this service is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-web-ui",
    about: "Serves Hopwatch's live page",
    section: "web_ui",
    version: env!("CARGO_PKG_VERSION"),
};

/// The whole program, from its command line to its exit code.
pub fn main() -> ExitCode {
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, run)
}

config! {
    /// The page's server.
    pub struct Config, Flags {
        /// Where to listen
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 3000)),
        /// Certificate to serve by TLS with, and those between it and its CA: a PEM file; empty: no
        /// TLS. The page asks all services as it was asked for: by https:// all, or none
        tls_cert: String = String::new(),
        /// Its private key: a PEM file
        tls_key: String = String::new(),
        /// The broadcaster's port, on the host that the page is opened from
        broadcaster_port: u16 = 8001,
        /// The collector's port, likewise
        collector_port: u16 = 8002,
        /// The AI service's port, where the page may set its model time; none without it
        ai_port: Option<u16> = None,
        /// The port where the page may set what the simulated robots do; none without it
        robots_port: Option<u16> = None,
        /// The port where the page may set what the network loses; none without it
        network_port: Option<u16> = None,
        /// Whether the page must show the token to set something
        @switch token_needed: bool = false,
    }
}

impl Config {
    fn controls(&self) -> Controls {
        Controls {
            ai_port: self.ai_port,
            robots_port: self.robots_port,
            network_port: self.network_port,
            token_needed: self.token_needed,
        }
    }
}

/// Serves the page until `shutdown` begins.
///
/// # Errors
/// When the address can't be listened on.
pub async fn run(config: Config, shutdown: Shutdown) -> anyhow::Result<()> {
    let tls = ServerTls::load(&config.tls_cert, &config.tls_key)?;
    let listener = net::bind(config.listen, &Token::from_environment()?).await?;
    net::announce("web-ui", &listener)?;
    net::serve_by(tls, listener, router(&config), shutdown).await
}

/// Everything that the page's server answers: the page, `/config.json` and `/healthz`. Only GET
/// and HEAD; any other path is 404.
pub fn router(config: &Config) -> Router {
    let ports = Ports {
        broadcaster: config.broadcaster_port,
        collector: config.collector_port,
        controls: config.controls(),
        secure: !config.tls_cert.is_empty(),
    };
    let health = || json!({ "page": if page::is_embedded() { "embedded" } else { "missing" } });
    Router::new()
        .route("/config.json", get(move || async move { page_config(ports) }))
        .merge(net::healthz("web-ui", health))
        .fallback_service(get(page::serve))
        .layer(middleware::from_fn_with_state(ports, secured))
}

fn page_config(ports: Ports) -> ([(HeaderName, HeaderValue); 1], Json<PageConfig>) {
    let config = PageConfig {
        broadcaster_port: ports.broadcaster,
        collector_port: ports.collector,
        controls: ports.controls,
    };
    ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(config))
}

/// Sets the headers that keep the page to itself, on every answer.
async fn secured(State(ports): State<Ports>, request: Request, next: Next) -> Response {
    let policy = policy::content_security_policy(request.headers().get(header::HOST), ports);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in policy::FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
