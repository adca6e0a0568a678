//! `POST /v1/records`: NDJSON in, each entry once.

use crate::Shared;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hopwatch_wire::record::Entry;
use serde_json::{Value, json};
use std::sync::Arc;

/// Takes a batch. A line that is no entry is counted and told, and the others are taken: a
/// sender would send the whole batch again for ever.
pub(crate) async fn records(
    State(shared): State<Arc<Shared>>,
    body: String,
) -> (StatusCode, Json<Value>) {
    let mut entries = Vec::new();
    let mut refused = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Entry>(line) {
            Ok(entry) => entries.push(entry),
            Err(error) => refused.push(error.to_string()),
        }
    }
    let mut store = shared.store();
    let (mut taken, mut known) = (0_u64, 0_u64);
    for entry in entries {
        match store.take(entry) {
            Ok(true) => taken += 1,
            Ok(false) => known += 1,
            Err(error) => refused.push(error.to_string()),
        }
    }
    if let Some(first) = refused.first() {
        store.refused(refused.len(), first);
    }
    drop(store);
    // A batch of nothing but rubbish is the sender's fault.
    let status = if taken + known == 0 && !refused.is_empty() {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    (status, Json(json!({ "taken": taken, "refused": refused.len(), "first": refused.first() })))
}
