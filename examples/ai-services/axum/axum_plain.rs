//! The same without the lines that tell Hopwatch its own time: AI then includes transport.
//!
//! ```sh
//! cargo run -p hopwatch-example-axum --example axum_plain -- 5000
//! ```

use anyhow::Context;
use axum::extract::{DefaultBodyLimit, Json, State};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Router, serve::ListenerExt};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpListener;

mod model;
use model::Model;

async fn analyze(State(model): State<Arc<Model>>, Json(message): Json<Value>) -> impl IntoResponse {
    let (label, score) = model.infer(&message);
    let reply = Json(json!({ "label": label, "score": score }));
    reply.into_response()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "5000".to_owned());
    let port: u16 = port.parse().with_context(|| format!("{port:?} is no port"))?;
    let app = Router::new()
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .route("/analyze", post(analyze))
        // An image as JSON is larger than the 2 MB that axum takes.
        .layer(DefaultBodyLimit::max(64 << 20))
        .with_state(Arc::new(Model::new()));
    let listener = TcpListener::bind(("127.0.0.1", port)).await.context("failed to listen")?;
    // Without it a reply in two parts may wait 40 ms for the client's acknowledgement.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, app).await.context("failed to serve")
}
