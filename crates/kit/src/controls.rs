//! What can be set while a program runs: `GET` and `PUT /v1/settings`, the same way everywhere.

use crate::net::{AllowedOrigins, Token, for_pages};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::sync::Arc;

/// Where settings are asked for and set.
pub const PATH: &str = "/v1/settings";

/// Longer settings are refused, in bytes.
const LONGEST: usize = 4096;

/// Settings of a running program.
pub trait Settings: Send + Sync + 'static {
    /// What is told and taken, as JSON.
    type Value: Serialize + DeserializeOwned + Send;

    /// How they stand.
    fn now(&self) -> Self::Value;

    /// Sets them all, or changes nothing.
    fn set(&self, wanted: Self::Value) -> impl Future<Output = Result<(), NotSet>> + Send;
}

/// Why nothing was set, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSet {
    /// A value can't be: 400.
    Refused(String),
    /// It could not be done: 500.
    Failed(String),
}

/// The routes of a program's settings: for programs and pages that show the token if there is one.
/// `GET` tells how they stand; `PUT` sets them and tells how they stand then, or changes nothing
/// and says why.
pub fn settings<S: Settings>(settings: Arc<S>, token: Token, origins: AllowedOrigins) -> Router {
    let routes = Router::new()
        .route(PATH, get(tell::<S>).put(set::<S>))
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(middleware::from_fn(move |request, next| token.clone().guard(request, next)))
        .with_state(settings);
    for_pages(routes, origins)
}

async fn tell<S: Settings>(State(settings): State<Arc<S>>) -> Response {
    Json(settings.now()).into_response()
}

async fn set<S: Settings>(State(settings): State<Arc<S>>, body: Bytes) -> Response {
    let wanted = match serde_json::from_slice(&body) {
        Ok(wanted) => wanted,
        Err(error) => {
            let now = serde_json::to_string(&settings.now()).unwrap_or_default();
            let why = format!("these are no settings: {error}; send such as {now}\n");
            return (StatusCode::BAD_REQUEST, why).into_response();
        }
    };
    match settings.set(wanted).await {
        Ok(()) => Json(settings.now()).into_response(),
        Err(NotSet::Refused(why)) => (StatusCode::BAD_REQUEST, format!("{why}\n")).into_response(),
        Err(NotSet::Failed(why)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response()
        }
    }
}
