//! One browser: frames out, acknowledgements in.

use crate::clients::Tally;
use crate::{Frame, Shared};
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hopwatch_kit::Clock;
use hopwatch_model::{ClientTrace, ClockId, Ns, Stamp, TraceId};
use hopwatch_wire::feed::{AckItem, FromPage, Push, VERSION};
use hopwatch_wire::record::{ClientRecord, Record};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

/// A page sends acknowledgements only; a longer frame ends its connection.
pub(crate) const LONGEST_FROM_PAGE: usize = 256 << 10;
/// So many frames that were no acknowledgement end a connection.
const RUBBISH_LIMIT: u64 = 100;
/// Frames whose acknowledgement is awaited; older ones are forgotten.
const AWAITED: usize = 1024;
/// So many bytes are made room for in each read. All of the room is cleared each time, and kept for
/// each page: an acknowledgement is short.
pub(crate) const READ_AT_ONCE: usize = 4 << 10;
/// So many bytes may be fed to a page before it is written to.
pub(crate) const WRITE_AT_ONCE: usize = 16 << 10;
/// So many frames likewise, of those that have gathered in the ring.
const FRAMES_AT_ONCE: usize = 32;

/// A client's place among the clients; left when dropped.
pub(crate) struct Place(pub(crate) Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.counts.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Client {
    tally: Arc<Tally>,
    /// Frames written and not yet acknowledged, with frame_sent.
    awaited: Mutex<VecDeque<(TraceId, Ns)>>,
    /// Its place among the pages whose stamps are recorded, once it has one.
    recorded: OnceLock<OwnedSemaphorePermit>,
}

/// Serves one browser until it goes, errs too often, or the service ends.
pub(crate) async fn serve(socket: WebSocket, place: Place) {
    let shared = &place.0;
    let (mut frames, received) = {
        let (_turn, received) = shared.turn();
        (shared.frames.subscribe(), received)
    };
    let tally = shared.clients.join(received);
    let client = Client { tally, awaited: Mutex::new(VecDeque::new()), recorded: OnceLock::new() };
    let (sink, stream) = socket.split();
    // Reading goes on while a write waits: a page that is slow to read may still acknowledge.
    tokio::select! {
        () = write(shared, &client, sink, &mut frames) => {}
        () = read(shared, &client, stream) => {}
    }
    let silently = {
        let (_turn, received) = shared.turn();
        client.tally.end(received, frames.len() as u64, shared.clients.ring())
    };
    shared.clients.leave(&client.tally);
    shared.counts.frames_dropped.fetch_add(silently, Ordering::Relaxed);
    drop(frames);
}

async fn write(
    shared: &Shared,
    client: &Client,
    mut sink: SplitSink<WebSocket, Message>,
    frames: &mut Receiver<Frame>,
) {
    let mut bell = shared.bell.listen();
    let hello = Push::Hello { version: VERSION, client: client.tally.name.clone() };
    if !in_time(shared, sink.send(text(&hello))).await {
        return;
    }
    let mut unwritten = 0;
    loop {
        let done = match client.tally.take(frames) {
            Ok(frame) => {
                client.await_ack(frame.trace, shared.clock.now());
                unwritten += 1;
                in_time(shared, sink.feed(Message::Text(frame.text))).await
                    && (unwritten < FRAMES_AT_ONCE
                        || client.flush(shared, &mut sink, &mut unwritten).await)
            }
            Err(TryRecvError::Empty) if unwritten > 0 => {
                client.flush(shared, &mut sink, &mut unwritten).await
            }
            Err(TryRecvError::Empty) => tokio::select! {
                rung = bell.changed() => rung.is_ok(),
                () = shared.shutdown.begun() => {
                    let frame = CloseFrame { code: close_code::AWAY, reason: "stopping".into() };
                    let close = Message::Close(Some(frame));
                    let _gone = in_time(shared, sink.send(close)).await;
                    false
                }
            },
            Err(TryRecvError::Lagged(count)) => {
                shared.counts.frames_dropped.fetch_add(count, Ordering::Relaxed);
                in_time(shared, sink.feed(text(&Push::Dropped { count }))).await
                    && client.flush(shared, &mut sink, &mut unwritten).await
            }
            Err(TryRecvError::Closed) => false,
        };
        if !done {
            return;
        }
    }
}

/// False when the client is gone or takes nothing for too long.
async fn in_time(shared: &Shared, writing: impl Future<Output = Result<(), axum::Error>>) -> bool {
    let patience = Duration::from_millis(shared.config.write_timeout_ms);
    matches!(tokio::time::timeout(patience, writing).await, Ok(Ok(())))
}

fn text(push: &Push) -> Message {
    // A serialisation of ours can't fail; an empty frame would be passed over by the page.
    Message::Text(Utf8Bytes::from(serde_json::to_string(push).unwrap_or_default()))
}

async fn read(shared: &Shared, client: &Client, mut stream: SplitStream<WebSocket>) {
    let mut rubbish = 0;
    while let Some(Ok(frame)) = stream.next().await {
        let received = shared.clock.now();
        let understood = match frame {
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(FromPage::Ack { sent_ns, resolution_ns, items }) => items
                    .iter()
                    .map(|item| client.take(shared, item, (sent_ns, received), resolution_ns))
                    .fold(true, |all, one| all & one),
                Err(_) => false,
            },
            Message::Binary(_) => false,
            Message::Ping(_) | Message::Pong(_) => true,
            Message::Close(_) => return,
        };
        if !understood {
            rubbish += 1;
            client.tally.rubbish.fetch_add(1, Ordering::Relaxed);
            shared.counts.rubbish.fetch_add(1, Ordering::Relaxed);
            if rubbish == 1 {
                tracing::warn!(
                    client = client.tally.name,
                    "a page sent what is no acknowledgement"
                );
            }
            if rubbish >= RUBBISH_LIMIT {
                tracing::warn!(
                    client = client.tally.name,
                    rubbish,
                    "disconnected: it sends rubbish"
                );
                return;
            }
        }
    }
}

impl Client {
    /// Writes what the page has been fed.
    async fn flush(
        &self,
        shared: &Shared,
        sink: &mut SplitSink<WebSocket, Message>,
        unwritten: &mut usize,
    ) -> bool {
        let done = in_time(shared, sink.flush()).await;
        if done {
            *unwritten = 0;
            shared.counts.frames_sent.fetch_add(self.tally.wrote(), Ordering::Relaxed);
        }
        done
    }

    /// Whether its stamps are recorded: it has a place among those, or there is one.
    fn is_recorded(&self, shared: &Shared) -> bool {
        let place = || Arc::clone(&shared.recorded).try_acquire_owned().map_err(drop);
        self.recorded.get().is_some() || place().is_ok_and(|place| self.recorded.set(place).is_ok())
    }

    fn awaited(&self) -> std::sync::MutexGuard<'_, VecDeque<(TraceId, Ns)>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn await_ack(&self, trace: TraceId, sent: Ns) {
        let mut awaited = self.awaited();
        if awaited.len() == AWAITED {
            awaited.pop_front();
        }
        awaited.push_back((trace, sent));
    }

    /// Takes one acknowledgement; false when it is none of ours (unknown, or sent twice).
    fn take(
        &self,
        shared: &Shared,
        item: &AckItem,
        (ack_sent, ack_received): (Ns, Ns),
        resolution_ns: u32,
    ) -> bool {
        let Ok(id) = item.trace_id.parse::<TraceId>() else { return false };
        let frame_sent = {
            let mut awaited = self.awaited();
            let at = awaited.iter().position(|(trace, _)| *trace == id);
            match at.and_then(|at| awaited.remove(at)) {
                Some((_, sent)) => sent,
                None => return false,
            }
        };
        // A page's stamps must be in order, and the page can't have held the message for longer
        // than it took to come back (but for the clock's steps and drift); else they are none.
        let last = item.painted_ns.unwrap_or(item.received_ns);
        let held = ack_sent.saturating_sub(item.received_ns);
        let away = ack_received.saturating_sub(frame_sent);
        let allowed = away + away / 1000 + 2 * i64::from(resolution_ns);
        if item.received_ns < 0 || last < item.received_ns || ack_sent < last || held > allowed {
            return false;
        }
        self.tally.acked.fetch_add(1, Ordering::Relaxed);
        shared.counts.acks.fetch_add(1, Ordering::Relaxed);
        let Some(records) = &shared.records else { return true };
        if !self.is_recorded(shared) {
            self.tally.unrecorded.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let server = shared.clock.id();
        let browser = ClockId::browser(&self.tally.name);
        let at = |ns| Stamp::new(browser.clone(), ns);
        records.send(Record::Client(Box::new(ClientRecord::from(&ClientTrace {
            id,
            client: self.tally.name.clone(),
            frame_sent: Stamp::new(server.clone(), frame_sent),
            received: at(item.received_ns),
            painted: item.painted_ns.map(at),
            ack_sent: at(ack_sent),
            ack_received: Stamp::new(server.clone(), ack_received),
            resolution_ns: resolution_ns.into(),
        }))));
        true
    }
}
