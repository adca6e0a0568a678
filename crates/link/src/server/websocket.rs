//! WebSocket: an envelope in a binary message each way, one request at a time on a connection.

use super::{Answered, Core};
use crate::websocket::{LEAVING, PATH};
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use hopwatch_kit::Shutdown;
use hopwatch_kit::net::AllowedOrigins;
use hopwatch_wire::envelope::{Envelope, LONGEST_HEAD};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

/// A message that is too long by less than this is read, and gets 413 as on the other links; a
/// longer one ends the connection before it has been read.
const GRACE: usize = 1 << 20;
/// Room for what is read and written at once.
const BUFFER: usize = 16 << 10;

/// Messages that may come while another is worked on; further ones wait in the connection.
const EARLY: usize = 16;

type Shared = (Arc<Core>, Shutdown);

pub(super) fn route(core: &Arc<Core>, shutdown: &Shutdown) -> Router {
    Router::new().route(PATH, get(open)).with_state((Arc::clone(core), shutdown.clone()))
}

async fn open(
    State((core, shutdown)): State<Shared>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    // Programs send no origin, and pages have no business here.
    if let Some(refusal) = AllowedOrigins::default().refusal(&headers) {
        return refusal;
    }
    if !core.token.admits(&headers) {
        return super::http_reply(Answered::no_token());
    }
    let limit = core.max_body_bytes.saturating_add(LONGEST_HEAD + 8 + GRACE);
    upgrade
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(limit)
        .max_frame_size(limit)
        .on_upgrade(move |socket| serve(socket, core, shutdown))
}

/// Does the work, unless the asker goes away meanwhile. What it asks for too early waits.
async fn unless_gone(
    socket: &mut WebSocket,
    early: &mut VecDeque<Bytes>,
    work: impl Future<Output = Answered>,
) -> Option<Answered> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            answered = &mut work => return Some(answered),
            came = socket.recv(), if early.len() < EARLY => match came {
                Some(Ok(Message::Binary(frame))) => early.push_back(frame),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            },
        }
    }
}

async fn serve(mut socket: WebSocket, core: Arc<Core>, shutdown: Shutdown) {
    // Messages that came while another was worked on.
    let mut early = VecDeque::new();
    let (code, reason) = loop {
        let came = if let Some(frame) = early.pop_front() {
            Some(Ok(Message::Binary(frame)))
        } else {
            tokio::select! {
                // What has come is answered: leaving means that nothing else was begun.
                biased;
                came = socket.recv() => came,
                () = shutdown.begun() => break (close_code::AWAY, LEAVING),
            }
        };
        let frame = match came {
            Some(Ok(Message::Binary(frame))) => frame,
            Some(Ok(Message::Text(_))) => {
                break (close_code::UNSUPPORTED, "only binary messages are understood");
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Close(_))) | None => return,
            Some(Err(_)) => break (close_code::SIZE, "too long, or no WebSocket"),
        };
        let received = core.clock.now();
        let Ok(Envelope::Request(head, body)) = Envelope::read(&frame) else {
            break (close_code::POLICY, "the message is no request");
        };
        drop(frame);
        let work = core.answer_envelope(&head, body, received);
        let Some(answered) = unless_gone(&mut socket, &mut early, work).await else { return };
        if socket.send(Message::Binary(answered.frame(head.id).into())).await.is_err() {
            return;
        }
    };
    let frame = CloseFrame { code, reason: reason.into() };
    // Whoever is gone needs no word.
    let _sent = socket.send(Message::Close(Some(frame))).await;
}
