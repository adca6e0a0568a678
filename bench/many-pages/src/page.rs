//! One page: connects as a browser does, reads and acknowledges, or never reads again.

use crate::frames::{Frames, Kind, from_client};
use anyhow::{Context, bail, ensure};
use hopwatch_kit::clock::mono_ns;
use hopwatch_model::Ns;
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

/// A browser shows 60 frames a second; a page acknowledges once in each.
const FRAME: Duration = Duration::from_micros(16_667);
/// What a page of ours has in mind, as Chromium has it.
const RESOLUTION_NS: u32 = 100_000;
/// The key doesn't matter to anybody but proxies (RFC 6455, 1.3).
const HELLO: &str = "GET /ws HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
     sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
/// What the system keeps for a page that never reads.
const STALLED_BYTES: u32 = 16 << 10;
/// How each message begins; its trace id follows.
const MESSAGE: &[u8] = br#"{"type":"message","trace_id":""#;

/// A connected page.
pub(crate) struct Page {
    tcp: TcpStream,
    frames: Frames,
    seen: Seen,
}

/// What a page saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The broadcaster's name for it.
    pub(crate) client: String,
    /// It never read.
    pub(crate) stalled: bool,
    /// When it received each message, by its number; 0: it didn't.
    pub(crate) received_ns: Vec<Ns>,
    /// How many messages it received.
    pub(crate) messages: u64,
    /// Messages that came twice, or that nobody sent.
    pub(crate) odd: u64,
    /// Messages that it was told it lost.
    pub(crate) told_dropped: u64,
    /// Its connection was ended by the broadcaster.
    pub(crate) ended: bool,
    pub(crate) waiting: Vec<(u64, Ns)>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Other {
    Hello { client: String },
    Dropped { count: u64 },
}

impl Page {
    /// Connects, and is greeted.
    pub(crate) async fn connect(
        address: SocketAddr,
        messages: u64,
        stalled: bool,
    ) -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4().context("failed to make a socket")?;
        if stalled {
            // The system reads ahead for it, as little as may be: it is the broadcaster's that counts.
            socket.set_recv_buffer_size(STALLED_BYTES).context("failed to set SO_RCVBUF")?;
        }
        let mut tcp = socket
            .connect(address)
            .await
            .with_context(|| format!("failed to connect to the broadcaster at {address}"))?;
        tcp.set_nodelay(true).context("failed to set TCP_NODELAY")?;
        let request = format!("{HELLO}host: {address}\r\norigin: http://127.0.0.1:3000\r\n\r\n");
        tcp.write_all(request.as_bytes()).await.context("failed to ask for a WebSocket")?;
        let received_ns = vec![0; usize::try_from(messages)?];
        let seen = Seen { stalled, received_ns, ..Seen::default() };
        let mut page = Self { tcp, frames: Frames::default(), seen };
        let mut head = Vec::new();
        let body = loop {
            let count = page.tcp.read_buf(&mut head).await.context("failed to read the answer")?;
            if let Some(at) = head.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            let said = String::from_utf8_lossy(&head);
            ensure!(count > 0 && head.len() < 8192, "no WebSocket at {address}: {said:?}");
        };
        let said = String::from_utf8_lossy(&head[..body]);
        ensure!(said.starts_with("HTTP/1.1 101"), "no WebSocket at {address}: {said:?}");
        page.take(&head[body..])?;
        while page.seen.client.is_empty() {
            let mut bytes = [0; 1024];
            let count = page.tcp.read(&mut bytes).await.context("failed to read the greeting")?;
            ensure!(count > 0, "the broadcaster closed a connection before it greeted it");
            page.take(&bytes[..count])?;
        }
        Ok(page)
    }

    fn take(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let now = mono_ns();
        let seen = &mut self.seen;
        let mut strange = None;
        let fed = self.frames.feed(bytes, |kind, payload| match kind {
            Kind::Text => {
                if !seen.text(now, payload) {
                    strange = Some(String::from_utf8_lossy(payload).into_owned());
                }
            }
            Kind::Close => seen.ended = true,
            Kind::Other => {}
        });
        if fed.is_err() {
            bail!("the broadcaster sent what is no WebSocket frame");
        }
        strange.map_or(Ok(()), |text| bail!("the broadcaster sent what no page knows: {text:.200}"))
    }

    /// Never reads again, until the end.
    pub(crate) async fn stall(self, end: impl Future<Output = ()>) -> Seen {
        end.await;
        self.seen
    }

    /// Reads and acknowledges until the end, or until the broadcaster ends it.
    pub(crate) async fn attend(
        mut self,
        phase: Duration,
        count: &AtomicU64,
        end: impl Future<Output = ()>,
    ) -> anyhow::Result<Seen> {
        let mut end = pin!(end);
        let mut buffer = vec![0; 16 << 10];
        let mut next_frame = Instant::now() + phase;
        while !self.seen.ended {
            tokio::select! {
                biased;
                () = &mut end => break,
                ready = self.tcp.readable() => {
                    ready.context("failed to wait for messages")?;
                    match self.tcp.try_read(&mut buffer) {
                        Ok(0) => self.seen.ended = true,
                        Ok(read) => {
                            let before = self.seen.messages;
                            self.take(&buffer[..read])?;
                            count.fetch_add(self.seen.messages - before, Ordering::Relaxed);
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(_) => self.seen.ended = true,
                    }
                }
                () = tokio::time::sleep_until(next_frame), if !self.seen.waiting.is_empty() => {
                    let ack = from_client(&self.seen.acknowledge(mono_ns()));
                    if self.tcp.write_all(&ack).await.is_err() {
                        self.seen.ended = true;
                    }
                }
            }
            let late = Instant::now().saturating_duration_since(next_frame);
            if !late.is_zero() {
                let frames = u32::try_from(late.as_micros() / FRAME.as_micros())?;
                next_frame += FRAME * (frames + 1);
            }
        }
        Ok(self.seen)
    }
}

impl Seen {
    /// Takes a text frame; false when it is none that a page knows.
    fn text(&mut self, now: Ns, text: &[u8]) -> bool {
        if let Some(rest) = text.strip_prefix(MESSAGE) {
            let Some(number) = rest.get(..32).and_then(number) else { return false };
            let index = usize::try_from(number).unwrap_or(usize::MAX);
            match self.received_ns.get_mut(index) {
                Some(at @ 0) => *at = now,
                _ => self.odd += 1,
            }
            self.messages += 1;
            self.waiting.push((number, now));
            return true;
        }
        match serde_json::from_slice(text) {
            Ok(Other::Hello { client }) => self.client = client,
            Ok(Other::Dropped { count }) => self.told_dropped += count,
            Err(_) => return false,
        }
        true
    }

    /// What the page says of all that waits, as the page's own code does.
    fn acknowledge(&mut self, now: Ns) -> String {
        let mut text = String::with_capacity(160 * (1 + self.waiting.len()));
        let _fits = write!(
            text,
            r#"{{"type":"ack","sent_ns":"{now}","resolution_ns":{RESOLUTION_NS},"items":["#
        );
        for (at, (number, received)) in self.waiting.drain(..).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let trace = trace(number);
            let _fits = write!(
                text,
                r#"{comma}{{"trace_id":"{trace}","received_ns":"{received}","painted_ns":"{now}"}}"#
            );
        }
        text.push_str("]}");
        text
    }
}

/// The trace id of a message by its number.
pub(crate) fn trace(number: u64) -> String {
    format!("feed{number:028x}")
}

/// The number of a message by its trace id.
fn number(trace: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(trace.get(16..)?).ok()?, 16).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_what_the_broadcaster_sends_and_acknowledges_it() {
        let mut seen = Seen { received_ns: vec![0; 4], ..Seen::default() };
        let message =
            |n: u64| format!(r#"{{"type":"message","trace_id":"{}","body":1}}"#, trace(n));
        assert!(seen.text(1, br#"{"type":"hello","version":1,"client":"c"}"#));
        assert!(seen.text(10, message(0).as_bytes()));
        assert!(seen.text(30, message(2).as_bytes()));
        assert!(seen.text(40, br#"{"type":"dropped","count":7}"#));
        assert_eq!((&*seen.client, seen.told_dropped, seen.odd), ("c", 7, 0));
        assert_eq!(seen.received_ns, [10, 0, 30, 0]);
        let ack: serde_json::Value = serde_json::from_str(&seen.acknowledge(50)).unwrap();
        assert_eq!(ack["items"][1]["trace_id"], trace(2));
        assert_eq!(ack["items"][1]["received_ns"], "30");
        assert_eq!(ack["sent_ns"], "50");
        // Twice, and one that nobody sent.
        assert!(seen.text(60, message(2).as_bytes()));
        assert!(seen.text(70, message(9).as_bytes()));
        assert_eq!(seen.odd, 2);
        for strange in [&b"{}"[..], br#"{"type":"message","trace_id":"feed"}"#, b"\xff"] {
            assert!(!seen.text(80, strange));
        }
    }
}
