//! The live feed: one snapshot for all pages, made only while there is a page.

use crate::Shared;
use crate::snapshot::snapshot;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
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
                // It takes tens of milliseconds, which no worker of the runtime has to spare.
                let shared = Arc::clone(&shared);
                if let Ok(Some(text)) = tokio::task::spawn_blocking(move || text(&shared)).await {
                    sender.send_replace(text.into());
                }
            }
            tokio::time::sleep(pause).await;
        }
    });
    snapshots
}

/// A frame with a snapshot. The store is locked for the snapshot, and no longer.
fn text(shared: &Shared) -> Option<String> {
    let now = snapshot(&shared.store(), shared.config.window);
    serde_json::to_string(&Live::Snapshot(Box::new(now))).ok()
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
    let Ok(place) = Arc::clone(&shared.viewers).try_acquire_owned() else {
        let text = "too many live pages (max_viewers)\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    upgrade.max_message_size(1 << 10).on_upgrade(async move |socket| {
        serve(socket, snapshots.subscribe(), shared).await;
        drop(place);
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::store::Store;
    use axum::Router;
    use axum::routing::get;
    use hopwatch_kit::Shutdown;
    use hopwatch_kit::net::{self, AllowedOrigins};
    use std::sync::Mutex;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    /// Asks for the feed: the connection and the first line of the reply.
    async fn view(listener: std::net::SocketAddr) -> (BufReader<TcpStream>, String) {
        let mut tcp = BufReader::new(TcpStream::connect(listener).await.unwrap());
        let request = "GET /v1/live HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: \
                       websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: \
                       dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut line = String::new();
        timeout(Duration::from_secs(30), tcp.read_line(&mut line)).await.unwrap().unwrap();
        (tcp, line)
    }

    #[tokio::test]
    async fn further_viewers_are_refused_until_a_place_comes_back() {
        let shared = Arc::new(Shared {
            config: Config::default(),
            budget: Config::default().budget().unwrap(),
            allowed_origins: AllowedOrigins::default(),
            viewers: Arc::new(Semaphore::new(2)),
            store: Mutex::new(Store::new(1, "run".to_owned())),
            keeper: None,
            shutdown: Shutdown::new(),
        });
        let snapshots = start(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/v1/live", get(open)).with_state((shared, snapshots));
        tokio::spawn(net::serve(listener, app, Shutdown::new()));

        let (first, line) = view(address).await;
        assert!(line.contains("101"), "{line}");
        let (_second, line) = view(address).await;
        assert!(line.contains("101"), "{line}");
        let (mut third, line) = view(address).await;
        assert!(line.contains("503"), "{line}");
        let mut told = String::new();
        while !told.contains("max_viewers") {
            told.clear();
            assert!(third.read_line(&mut told).await.unwrap() > 0, "no word of max_viewers");
        }
        drop(first);
        let again = timeout(Duration::from_secs(30), async {
            while !view(address).await.1.contains("101") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        again.await.unwrap();
    }
}
