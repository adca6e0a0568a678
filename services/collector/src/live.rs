//! The live feed: for each thing that pages watch one board, made while somebody watches it.

use crate::Shared;
use crate::board::Board;
use crate::gather::{Gathered, GatheredMessage, Settings};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hopwatch_wire::feed::{FromViewer, Live, Snapshot, Watch};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A page that takes nothing for so long is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);
/// A page that nothing is sent to is asked for a sign of life that often, and is gone when it gives
/// none until the next time but one: a host that was suspended doesn't say that it leaves.
const SIGN: Duration = Duration::from_secs(30);
/// Making the snapshots of one board takes at most this part of the time, and all boards together
/// half of one processor: pages must not disturb what is measured.
const SHARE: u32 = 5;
/// The nice value of the thread that makes them, for the same reason. While it holds the store,
/// which it copies from, records wait; they aren't measured, and senders keep them.
const NICE: i32 = 10;
/// How often is looked for what was lost.
const LOOK: Duration = Duration::from_millis(500);
/// A page may choose something else that often.
const CHOOSING: Duration = Duration::from_millis(200);
/// Longer frames of a page are refused, in bytes.
const LONGEST: usize = 1 << 10;

/// What is watched. Each page reads its board when it is ready for it, so that a slow page gets
/// fewer frames, of more changes, and holds up nobody.
pub(crate) struct Boards {
    watched: Mutex<BTreeMap<Watch, Watched>>,
    wake: SyncSender<()>,
}

struct Watched {
    board: watch::Sender<Arc<Board>>,
    /// When the next snapshot is made.
    due: Instant,
}

impl Boards {
    fn watched(&self) -> MutexGuard<'_, BTreeMap<Watch, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscribe(&self, watch: Watch) -> watch::Receiver<Arc<Board>> {
        let mut watched = self.watched();
        let new = || Watched { board: watch::channel(Arc::default()).0, due: Instant::now() };
        let of = watched.entry(watch).or_insert_with(new);
        let receiver = of.board.subscribe();
        if of.board.borrow().is_blank() {
            // Full: it was woken already.
            let _woken = self.wake.try_send(());
        }
        receiver
    }

    /// What is due first, and when; what nobody watches any more is forgotten.
    fn next(&self) -> Option<(Watch, Instant)> {
        let mut watched = self.watched();
        watched.retain(|_, of| of.board.receiver_count() > 0);
        let first = watched.iter().min_by_key(|(_, of)| of.due)?;
        Some((first.0.clone(), first.1.due))
    }

    fn put(&self, watch: &Watch, snapshot: Option<Snapshot>, due: Instant) {
        if let Some(of) = self.watched().get_mut(watch) {
            of.due = due;
            if let Some(snapshot) = snapshot {
                of.board.send_modify(|board| *board = Arc::new(board.after(snapshot)));
            }
        }
    }
}

/// Starts making snapshots.
pub(crate) fn start(shared: Arc<Shared>) -> std::io::Result<Arc<Boards>> {
    let (wake, woken) = sync_channel(1);
    let boards = Arc::new(Boards { watched: Mutex::default(), wake });
    let theirs = Arc::clone(&boards);
    // It takes tens of milliseconds, which no worker of the runtime has to spare.
    std::thread::Builder::new()
        .name("snapshots".to_owned())
        .spawn(move || make(&shared, &theirs, &woken))?;
    Ok(boards)
}

fn make(shared: &Shared, boards: &Boards, woken: &Receiver<()>) {
    // On Linux this is the thread's own.
    let own = Some(rustix::thread::gettid());
    if let Err(error) = rustix::process::setpriority_process(own, NICE) {
        tracing::debug!("snapshots are made at the usual priority: {error}");
    }
    let pause = Duration::from_secs_f64(1.0 / shared.config.snapshots_hz);
    let mut look = Instant::now();
    while !shared.shutdown.has_begun() {
        let begun = Instant::now();
        if begun >= look {
            look = begun + LOOK;
            let lanes = shared.store().lane_names();
            // One by one: records come in between.
            for lane in lanes {
                shared.store().look_for_losses(&lane);
            }
        }
        let next = boards.next();
        let until = next.as_ref().map_or(look, |(_, due)| (*due).min(look));
        let rest = match next {
            Some((watch, due)) if due <= begun => {
                let snapshot = snapshot(shared, &watch);
                let took = begun.elapsed();
                boards.put(&watch, snapshot, begun + pause.max(took.saturating_mul(SHARE)));
                // Whatever anybody wakes it for.
                std::thread::sleep(took);
                continue;
            }
            _ => until.saturating_duration_since(begun),
        };
        if woken.recv_timeout(rest) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// `None`: something in it could not be worked with, which is told; the next one may be.
fn snapshot(shared: &Shared, watch: &Watch) -> Option<Snapshot> {
    let settings = Settings { newest: shared.config.window, budget: shared.budget };
    let made = std::panic::catch_unwind(AssertUnwindSafe(|| {
        Gathered::of(|| shared.store(), watch.clone(), settings).snapshot()
    }));
    made.inspect_err(|_| tracing::error!(?watch, "a snapshot for the live page failed")).ok()
}

/// `GET /v1/live`.
pub(crate) async fn open(
    State((shared, boards)): State<(Arc<Shared>, Arc<Boards>)>,
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
    upgrade.max_message_size(LONGEST).on_upgrade(async move |socket| {
        serve(socket, &boards, &shared).await;
        drop(place);
    })
}

/// What a page is shown.
enum Showing {
    /// A board, of which it has all up to a revision.
    Board(watch::Receiver<Arc<Board>>, Option<u64>),
    /// Nobody looks.
    Nothing,
}

impl Showing {
    /// The next frame, once there is one.
    async fn frame(&mut self) -> Option<String> {
        let Self::Board(board, seen) = self else { return std::future::pending().await };
        loop {
            let now = Arc::clone(&board.borrow_and_update());
            if !now.is_blank() {
                let (frame, revision) = now.frame(*seen);
                // A wake-up of another page has put up nothing new for this one.
                if *seen != Some(revision) {
                    *seen = Some(revision);
                    return Some(frame);
                }
            }
            board.changed().await.ok()?;
        }
    }
}

async fn serve(mut socket: WebSocket, boards: &Boards, shared: &Arc<Shared>) {
    let mut showing = Showing::Board(boards.subscribe(Watch::default()), None);
    let mut heard = Instant::now();
    loop {
        let message = tokio::select! {
            frame = showing.frame() => match frame {
                Some(frame) => Message::Text(frame.into()),
                None => return,
            },
            frame = socket.recv() => {
                heard = Instant::now();
                let asked = match frame {
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Text(text))) => serde_json::from_str(&text),
                    _ => return,
                };
                match asked {
                    Ok(FromViewer::Watch(watch)) => {
                        tokio::time::sleep(CHOOSING).await;
                        showing = Showing::Board(boards.subscribe(watch), None);
                        continue;
                    }
                    Ok(FromViewer::Pause) => {
                        showing = Showing::Nothing;
                        continue;
                    }
                    Ok(FromViewer::Message { trace_id }) => {
                        Message::Text(answer(shared, trace_id).await.into())
                    }
                    // Whoever says something else is no page of this version.
                    Err(_) => return,
                }
            }
            () = tokio::time::sleep(SIGN) => {
                if heard.elapsed() > 2 * SIGN {
                    return;
                }
                Message::Ping(Bytes::new())
            }
            () = shared.shutdown.begun() => return,
        };
        let sent = tokio::time::timeout(PATIENCE, socket.send(message));
        if !matches!(sent.await, Ok(Ok(()))) {
            return;
        }
    }
}

/// One at a time for each page: the next question waits.
async fn answer(shared: &Arc<Shared>, trace_id: String) -> String {
    let (shared, id) = (Arc::clone(shared), trace_id.parse().ok());
    let looking = tokio::task::spawn_blocking(move || {
        let gathered = GatheredMessage::of(&shared.store(), id?)?;
        Some(Box::new(gathered.view()))
    });
    let message = looking.await.ok().flatten();
    serde_json::to_string(&Live::Message { trace_id, message }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::store::{Keep, Store};
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
            store: Mutex::new(Store::new(Keep { messages: 1, samples: 1 }, "run".to_owned())),
            keeper: None,
            shutdown: Shutdown::new(),
        });
        let boards = start(Arc::clone(&shared)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/v1/live", get(open)).with_state((shared, boards));
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
