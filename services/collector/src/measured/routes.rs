//! `POST /v1/measured`, `GET /v1/measured`, and the files of a run.

use super::{Place, Settled, part};
use crate::Shared;
use crate::export::{FILES, attachment};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hopwatch_wire::controls::{MeasureAction, MeasureRequest};
use hopwatch_wire::feed::MeasuredRun;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How often the end of the wait is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Far more than a request takes, in bytes.
const BODY: usize = 1 << 10;

/// What the routes share: `place` is for one report in the making.
#[derive(Clone)]
struct Runs {
    shared: Arc<Shared>,
    place: Arc<Semaphore>,
}

/// The routes.
pub(crate) fn routes(shared: Arc<Shared>, place: Arc<Semaphore>) -> Router {
    Router::new()
        .route("/v1/measured", get(list).post(measure))
        .route("/v1/measured/{name}/{file}", get(file))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(Runs { shared, place })
}

async fn list(State(runs): State<Runs>) -> Json<Vec<MeasuredRun>> {
    Json(runs.shared.store().measured.runs())
}

async fn measure(State(runs): State<Runs>, body: String) -> Response {
    let asked: MeasureRequest = match serde_json::from_str(&body) {
        Ok(asked) => asked,
        Err(error) => {
            let text = format!("asked for is {{\"action\": \"start\"}} or \"stop\": {error}\n");
            return (StatusCode::BAD_REQUEST, text).into_response();
        }
    };
    let done = match asked.action {
        MeasureAction::Start => runs.shared.store().measured.start(),
        MeasureAction::Stop => runs.shared.store().measured.stop(),
    };
    match done {
        Ok(view) => {
            if asked.action == MeasureAction::Stop {
                tokio::spawn(conclude(runs));
            }
            Json(view).into_response()
        }
        Err(why) => (StatusCode::CONFLICT, why + "\n").into_response(),
    }
}

/// Waits for the outcomes of a run that was stopped, and makes its report.
async fn conclude(Runs { shared, place }: Runs) {
    let stopped = Instant::now();
    while !shared.store().measured.is_settled(stopped.elapsed()) {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            // Found in its folder as one without a report.
            () = shared.shutdown.begun() => return,
        }
    }
    let Ok(_place) = place.acquire().await else { return };
    let settled: Option<Settled> = shared.store().measured.settled();
    let Some(settled) = settled else { return };
    let name = settled.name.clone();
    let of = Arc::clone(&shared);
    let making = tokio::task::spawn_blocking(move || part::make(&of, settled));
    let made = making.await.unwrap_or_else(|error| Err(format!("its report failed: {error}")));
    match &made {
        Ok(made) => tracing::info!(name, messages = made.messages, "measured"),
        Err(why) => tracing::warn!(name, why, "a measured run has no report"),
    }
    shared.store().measured.end(&name, made);
}

async fn file(State(runs): State<Runs>, Path((name, file)): Path<(String, String)>) -> Response {
    let not_found = |text: String| (StatusCode::NOT_FOUND, text + "\n").into_response();
    let Some((known, _)) = FILES.iter().find(|(known, _)| *known == file) else {
        let known = FILES.map(|(known, _)| known).join(", ");
        return not_found(format!("a measured run has the files {known}"));
    };
    // Only names that are known lead into the folder.
    let place = runs.shared.store().measured.find(&name);
    let text = match place {
        Err((true, why)) => return (StatusCode::CONFLICT, why + "\n").into_response(),
        Err((false, why)) => return not_found(why),
        Ok(Place::Memory(files)) => files.text(known).map(str::to_owned),
        Ok(Place::Folder(folder)) => tokio::fs::read_to_string(folder.join(known)).await.ok(),
    };
    match text {
        Some(text) => attachment(&name, known, text),
        None => not_found(format!("{known} of {name} is gone")),
    }
}
