//! The collector: takes records in, keeps the account, feeds the live page.
//!
//! `POST /v1/records` (NDJSON) · `GET /v1/live` (WebSocket, snapshots) · `GET /v1/status` ·
//! `GET /v1/dataset` (NDJSON, everything that is kept) · `GET /healthz` · reports of everything so
//! far (`GET /v1/report.html` …), of measured runs (`/v1/measured`) · `POST /v1/mark` ·
//! `GET /metrics` (Prometheus)
//!
//! With a database, what is acknowledged is in it, and a later start goes on from there. With a
//! folder for runs ([`run`]), it makes the databases itself, and a report at the end.

mod board;
mod course;
mod export;
mod gather;
mod ingest;
mod keeper;
mod lane;
mod live;
mod mark;
mod measured;
mod metrics;
mod run;
mod samples;
mod snapshot;
mod store;
mod told;

use anyhow::{Context, ensure};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::http::header;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hopwatch_analysis::Budget;
use hopwatch_kit::Shutdown;
use hopwatch_kit::app::App;
use hopwatch_kit::config::Refused;
use hopwatch_kit::net::{self, AllowedOrigins, Token};
use hopwatch_kit::service::Identity;
use hopwatch_kit::tls::ServerTls;
use keeper::Keeper;
use run::Run;
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Keep, Store};
use tokio::sync::Semaphore;

pub use store::Status;

/// Who this service is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-collector",
    about: "Takes records in, keeps the account of every message and feeds the live page",
    section: "collector",
    version: env!("CARGO_PKG_VERSION"),
};

/// The whole program, from its command line to its exit code.
pub fn main() -> ExitCode {
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, run)
}

hopwatch_kit::config! {
    /// Configuration of the collector.
    pub struct Config, Flags {
        /// Address to listen on
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8002)),
        /// Certificate to serve by TLS with, and those between it and its CA: a PEM file; empty: no
        /// TLS
        tls_cert: String = String::new(),
        /// Its private key: a PEM file
        tls_key: String = String::new(),
        /// Messages of a lane that are kept in memory, the newest ones; the ledger counts all
        keep_messages: usize = 50_000,
        /// SQLite file for all records, made if it isn't there; without it they are in memory only
        database: String = String::new(),
        /// Folder for runs, instead of `database`: each start makes a run in it, or goes on with the
        /// newest one if that was killed, and writes its report when it is stopped
        runs: String = String::new(),
        /// Records that the file keeps; of older messages it keeps the account
        archive_records: u64 = 500_000,
        /// Messages of all lanes whose classes are kept in memory for the live page, the newest
        /// ones: some 100 bytes each
        keep_samples: usize = 1_000_000,
        /// Messages of which the live page shows each leg, the newest ones of a lane
        window: usize = 1000,
        /// Snapshots a second for the live page
        snapshots_hz: f64 = 4.0,
        /// Live pages at once; further ones are refused
        max_viewers: usize = 64,
        /// Longest batch of records that is taken, in bytes
        max_body_bytes: usize = 16 << 20,
        /// Limit for the mean pipeline total, in ms
        budget_total_ms: f64 = 2000.0,
        /// Limit for the mean communication, which is everything but AI, in ms
        budget_communication_ms: f64 = 100.0,
        /// Limit for the 99th percentile of the pipeline total, in ms
        budget_p99_ms: f64 = 2000.0,
        /// Delivered ÷ published, at least, 0 to 1; 0: not judged
        budget_delivered: f64 = 0.0,
        /// Origins of pages elsewhere that may connect, separated by commas
        allowed_origins: String = String::new(),
    }
}

impl Config {
    /// What the live page and measured runs are judged by.
    pub fn budget(&self) -> Result<Budget, Refused> {
        let limit = |key: &str, ms: f64| {
            Budget::limit_ns(ms).ok_or_else(|| {
                Refused(format!("{key} must be a number of milliseconds above 0, not {ms}"))
            })
        };
        let share = self.budget_delivered;
        if !(0.0..=1.0).contains(&share) {
            return Err(Refused(format!("budget_delivered must lie between 0 and 1, not {share}")));
        }
        Ok(Budget {
            total_ns: limit("budget_total_ms", self.budget_total_ms)?,
            communication_ns: limit("budget_communication_ms", self.budget_communication_ms)?,
            p99_total_ns: limit("budget_p99_ms", self.budget_p99_ms)?,
            min_delivered: (share > 0.0).then_some(share),
        })
    }
}

/// What all parts of the service share.
struct Shared {
    config: Config,
    /// What the live page and measured runs are judged by.
    budget: Budget,
    allowed_origins: AllowedOrigins,
    /// Places for live pages.
    viewers: Arc<Semaphore>,
    store: Mutex<Store>,
    /// `None`: in memory only.
    keeper: Option<Keeper>,
    shutdown: Shutdown,
}

impl Shared {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until the shutdown begins.
pub async fn run(mut config: Config, shutdown: Shutdown) -> anyhow::Result<()> {
    ensure!(
        (0.1..=60.0).contains(&config.snapshots_hz),
        Refused(format!("snapshots_hz must lie between 0.1 and 60, not {}", config.snapshots_hz))
    );
    ensure!(config.keep_messages > 0, Refused("keep_messages must be at least 1".to_owned()));
    ensure!(config.window > 0, Refused("window must be at least 1".to_owned()));
    ensure!(config.archive_records > 0, Refused("archive_records must be at least 1".to_owned()));
    let budget = config.budget()?;
    let tls = ServerTls::load(&config.tls_cert, &config.tls_key)?;
    let token = Token::from_environment()?;
    let listener = net::bind(config.listen, &token).await?;
    let run = Run::begin(&mut config, &budget)?;
    let keep = Keep { messages: config.keep_messages, samples: config.keep_samples };
    let (keeper, store) = if config.database.is_empty() {
        (None, Store::new(keep, uuid::Uuid::new_v4().to_string()))
    } else {
        let path = Path::new(&config.database);
        let (keeper, mut store) = Keeper::open(path, config.archive_records, keep)?;
        store.measured.keep_in(path.with_file_name("measured"));
        (Some(keeper), store)
    };
    net::announce("collector", &listener)?;
    let shared = Arc::new(Shared {
        allowed_origins: AllowedOrigins::parse(&config.allowed_origins),
        viewers: Arc::new(Semaphore::new(config.max_viewers.min(Semaphore::MAX_PERMITS))),
        store: Mutex::new(store),
        keeper,
        shutdown: shutdown.clone(),
        budget,
        config,
    });
    let boards =
        live::start(Arc::clone(&shared)).context("failed to start the thread of the live page")?;
    let run = run.map(|run| tokio::spawn(run.live(shutdown.clone())));
    // Each report needs the memory for all records: one at a time.
    let place = Arc::new(Semaphore::new(1));
    let (status, ending) = (Arc::clone(&shared), Arc::clone(&shared));
    let guarded = Router::new()
        .route("/v1/records", post(ingest::records))
        .route("/v1/status", get(report_status))
        .route("/v1/dataset", get(dataset))
        .route("/metrics", get(metrics::all))
        .layer(DefaultBodyLimit::max(shared.config.max_body_bytes))
        .with_state(Arc::clone(&shared))
        .merge(mark::routes(Arc::clone(&shared)))
        .merge(export::routes(Arc::clone(&shared), Arc::clone(&place)))
        .merge(measured::routes(Arc::clone(&shared), place))
        .layer(middleware::from_fn(move |request, next| token.clone().guard(request, next)));
    // The page asks without the token first (preflight).
    let listed = shared.allowed_origins.clone();
    let guarded = net::for_pages(guarded, listed.clone());
    let open = Router::new().route("/v1/live", get(live::open)).with_state((shared, boards));
    let health = net::healthz("collector", move || {
        let status = status.store().status();
        json!({ "records": status.records, "lanes": status.lanes.len() })
    });
    let app = App::from(guarded.merge(open).merge(health)).listing(listed);
    let served = net::serve_by(tls, listener, app, shutdown).await;
    let closed = Arc::clone(&ending);
    tokio::task::spawn_blocking(move || closed.keeper.as_ref().map(Keeper::close)).await?;
    if let Some(run) = run {
        let run = run.await?;
        tokio::task::spawn_blocking(move || run.end(&ending)).await??;
    }
    served
}

async fn report_status(State(shared): State<Arc<Shared>>) -> axum::Json<Status> {
    axum::Json(shared.store().status())
}

async fn dataset(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    match shared.keeper.as_ref().map(Keeper::dataset) {
        None => (kind, shared.store().lines()).into_response(),
        Some(Ok(body)) => (kind, body).into_response(),
        Some(Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_budget_is_that_of_reports_and_others_name_their_key() {
        assert_eq!(Config::default().budget().unwrap(), Budget::default());
        let own = Config { budget_p99_ms: 1.5, budget_delivered: 0.99, ..Config::default() };
        let budget = own.budget().unwrap();
        assert_eq!((budget.p99_total_ns, budget.min_delivered), (1_500_000, Some(0.99)));
        for bad in [f64::NAN, 0.0, -1.0, 1e9] {
            let config = Config { budget_total_ms: bad, ..Config::default() };
            let text = config.budget().unwrap_err().to_string();
            assert!(text.contains("budget_total_ms"), "{text}");
        }
        let config = Config { budget_delivered: 1.1, ..Config::default() };
        assert!(config.budget().unwrap_err().to_string().contains("budget_delivered"));
    }
}
