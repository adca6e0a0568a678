//! An AI service with a model time of one's choice, precise to a tenth of a millisecond.
//!
//! `POST /v1/infer` takes any body, waits in line for one of `concurrency` places, "thinks" for
//! the model time and answers JSON, with its stamps in the reply's headers. All links are offered,
//! and on each of them `/v1/echo` answers with what it got.

mod model;

use anyhow::{Context, ensure};
use axum::http::StatusCode;
use bytes::Bytes;
use hopwatch_kit::config::Refused;
use hopwatch_kit::controls::{self, NotSet};
use hopwatch_kit::net::{self, AllowedOrigins, Token};
use hopwatch_kit::service::Identity;
use hopwatch_kit::timer::PreciseTimer;
use hopwatch_kit::tls::ServerTls;
use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{Handler, Inbound, Outbound, Server};
use hopwatch_wire::controls::AiSettings;
use model::Model;
use serde_json::json;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// The path that inference is asked for at.
pub const PATH: &str = "/v1/infer";

/// Who this service is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-ai-mock",
    about: "An AI service with a model time of your choice",
    section: "ai_mock",
    version: env!("CARGO_PKG_VERSION"),
};

/// The whole program, from its command line to its exit code.
pub fn main() -> ExitCode {
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, run)
}

hopwatch_kit::config! {
    /// Configuration of the AI service.
    pub struct Config, Flags {
        /// Address to listen on
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 5000)),
        /// Certificate to serve by TLS with, and those between it and its CA: a PEM file; empty: no
        /// TLS
        tls_cert: String = String::new(),
        /// Its private key: a PEM file
        tls_key: String = String::new(),
        /// Model time in ms; the median when --sigma is not 0
        model_ms: f64 = 1000.0,
        /// Spread of a lognormal model time: the standard deviation of its logarithm; 0 is fixed
        sigma: f64 = 0.0,
        /// Requests that the model works on at once; others wait in line
        concurrency: usize = 64,
        /// Requests that may wait in line; further ones get 503
        line: usize = 1024,
        /// Share of requests that fail with 500 after the model time, 0 to 1
        failure_rate: f64 = 0.0,
        /// Seed of everything random
        seed: u64 = 1,
        /// Longest body that is taken, in bytes
        max_body_bytes: usize = 16 << 20,
        /// Origins of pages elsewhere that may set the model time, separated by commas
        allowed_origins: String = String::new(),
    }
}

struct Ai {
    config: Config,
    model: Model,
    places: Semaphore,
    waiting: AtomicU64,
    answered: AtomicU64,
    timer: PreciseTimer,
    clock: SystemClock,
}

/// Serves until the shutdown begins.
pub async fn run(config: Config, shutdown: Shutdown) -> anyhow::Result<()> {
    ensure!(config.concurrency > 0, Refused("concurrency must be at least 1".to_owned()));
    let model = Model::new(config.model_ms, config.sigma, config.failure_rate, config.seed)?;
    let tls = ServerTls::load(&config.tls_cert, &config.tls_key)?;
    let token = Token::from_environment()?;
    let listener = net::bind(config.listen, &token).await?;
    let ai = Arc::new(Ai {
        model,
        places: Semaphore::new(config.concurrency.min(Semaphore::MAX_PERMITS)),
        waiting: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        timer: PreciseTimer::start().context("failed to start the timer")?,
        clock: SystemClock::default(),
        config,
    });
    let clock: Arc<dyn Clock> = Arc::new(ai.clock.clone());
    let origins = AllowedOrigins::parse(&ai.config.allowed_origins);
    let settings = Arc::new(Settings(Arc::clone(&ai)));
    let settings = controls::settings(settings, token.clone(), origins.clone());
    let server = Server::new(clock, token, ai.config.max_body_bytes);
    let server = server.answer(PATH, Service(Arc::clone(&ai)));
    let links = server.open(&listener, tls.as_ref(), &shutdown).await?;
    net::announce("ai-mock", &listener)?;
    let (ignored, ending) = (links.ignored(), links.ending());
    let health = net::healthz("ai-mock", move || {
        json!({
            "waiting": ai.waiting.load(Ordering::Relaxed),
            "answered": ai.answered.load(Ordering::Relaxed),
            "datagrams_ignored": ignored(),
        })
    });
    let app = links.routes.merge(settings).merge(health).listing(origins);
    let serving = net::serve_by(tls, listener, app, shutdown);
    tokio::join!(serving, ending).0
}

/// The model time, as it can be set.
struct Settings(Arc<Ai>);

impl controls::Settings for Settings {
    type Value = AiSettings;

    fn now(&self) -> AiSettings {
        AiSettings { model_ms: self.0.model.median_ms() }
    }

    async fn set(&self, wanted: AiSettings) -> Result<(), NotSet> {
        let set = self.0.model.set_median(wanted.model_ms);
        set.map_err(|why| NotSet::Refused(why.0))?;
        tracing::info!(model_ms = wanted.model_ms, "the model time was set");
        Ok(())
    }
}

struct Service(Arc<Ai>);

impl Handler for Service {
    async fn handle(&self, request: Inbound) -> Outbound {
        let ai = &self.0;
        let limit = u64::try_from(ai.config.line).unwrap_or(u64::MAX);
        if ai.places.available_permits() == 0 && ai.waiting.load(Ordering::Relaxed) >= limit {
            return ai.answer(StatusCode::SERVICE_UNAVAILABLE, None, "the line is full", &request);
        }
        let waiting = Waiting::new(&ai.waiting);
        let place = ai.places.acquire().await;
        drop(waiting);
        let begun = ai.clock.now();
        let draw = ai.model.draw();
        ai.timer.sleep_until(begun.saturating_add(draw.model_ns)).await;
        drop(place);
        if draw.fails {
            ai.answer(StatusCode::INTERNAL_SERVER_ERROR, Some(begun), "the model failed", &request)
        } else {
            ai.answer(StatusCode::OK, Some(begun), "ok", &request)
        }
    }
}

/// A request in the line. Dropped with the request: a caller that gives up leaves the line.
struct Waiting<'a>(&'a AtomicU64);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Ai {
    fn answer(
        &self,
        status: StatusCode,
        begun: Option<i64>,
        word: &str,
        request: &Inbound,
    ) -> Outbound {
        let done = self.clock.now();
        self.answered.fetch_add(1, Ordering::Relaxed);
        let body = json!({
            "status": word,
            "label": if status.is_success() { "normal" } else { "unknown" },
            "bytes": request.body.len(),
        });
        Outbound { status, body: Bytes::from(body.to_string()), begun, done }
    }
}
