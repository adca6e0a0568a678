//! The live feed: one snapshot for all pages, made only while there is a page.

use crate::Shared;
use crate::snapshot::snapshot;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::Response;
use hopwatch_wire::feed::Live;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A page that takes nothing for so long is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// The newest snapshot. Each page reads the newest when it is ready for one, so that a slow page
/// gets fewer and holds up nobody.
pub(crate) type Snapshots = watch::Sender<Utf8Bytes>;

/// Starts making snapshots.
pub(crate) fn start(shared: Arc<Shared>) -> Snapshots {
    let (sender, _) = watch::channel(Utf8Bytes::default());
    let snapshots = sender.clone();
    tokio::spawn(async move {
        let pause = Duration::from_secs_f64(1.0 / shared.config.snapshots_hz);
        while !shared.shutdown.has_begun() {
            if sender.receiver_count() > 0 {
                let now = snapshot(&shared.store(), shared.config.window);
                if let Ok(text) = serde_json::to_string(&Live::Snapshot(Box::new(now))) {
                    sender.send_replace(text.into());
                }
            }
            tokio::time::sleep(pause).await;
        }
    });
    snapshots
}

/// `GET /v1/live`.
pub(crate) async fn open(
    State((shared, snapshots)): State<(Arc<Shared>, Snapshots)>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Some(refusal) = shared.allowed_origins.refusal(&headers) {
        return refusal;
    }
    upgrade
        .max_message_size(1 << 10)
        .on_upgrade(move |socket| serve(socket, snapshots.subscribe(), shared))
}

async fn serve(
    mut socket: WebSocket,
    mut snapshots: watch::Receiver<Utf8Bytes>,
    shared: Arc<Shared>,
) {
    loop {
        tokio::select! {
            changed = snapshots.changed() => {
                if changed.is_err() {
                    return;
                }
                let text = snapshots.borrow_and_update().clone();
                let sent = tokio::time::timeout(PATIENCE, socket.send(Message::Text(text)));
                if !matches!(sent.await, Ok(Ok(()))) {
                    return;
                }
            }
            frame = socket.recv() => {
                // A page has nothing to say here; a frame too long or a close ends it.
                if !matches!(frame, Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Text(_)))) {
                    return;
                }
            }
            () = shared.shutdown.begun() => return,
        }
    }
}
