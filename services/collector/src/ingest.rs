//! `POST /v1/records`: NDJSON in, each entry once.

use crate::Shared;
use crate::told::Told;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// Takes a batch. A line that is no entry is counted and told, and the others are taken: a
/// sender would send the whole batch again for ever.
pub(crate) async fn records(
    State(shared): State<Arc<Shared>>,
    body: String,
) -> (StatusCode, Json<Value>) {
    // Storing waits for the disk. And it must not be given up between the file and the store when
    // the sender hangs up.
    let taking = tokio::task::spawn_blocking(move || take(&shared, &body));
    taking.await.unwrap_or_else(|error| {
        let text = format!("failed to take records: {error}");
        (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": text })))
    })
}

fn take(shared: &Shared, body: &str) -> (StatusCode, Json<Value>) {
    let mut good = Vec::new();
    let mut refused = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        match Told::read(line) {
            Ok(told) => good.push((told, line)),
            Err(error) => refused.push(error),
        }
    }
    let (lines, first) = (refused.len(), refused.first());
    let good_lines = good.len();
    let taken = match &shared.keeper {
        None => {
            let mut store = shared.store();
            if let Some(first) = first {
                store.refused(lines, first);
            }
            good.into_iter().filter_map(|(told, _)| store.take(told).then_some(())).count()
        }
        Some(keeper) => match keeper.take(good, (lines, first), || shared.store()) {
            Ok(taken) => taken,
            // Not the sender's fault: it keeps its records and comes again.
            Err(error) => {
                let text = format!("records can't be stored now: {error}");
                return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "error": text })));
            }
        },
    };
    // A batch of nothing but rubbish is the sender's fault.
    let status = if good_lines == 0 && !refused.is_empty() {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    (status, Json(json!({ "taken": taken, "refused": lines, "first": first })))
}
