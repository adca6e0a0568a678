//! UDP: an envelope in one datagram each way.

use super::memory::{Bounds, Memory, Verdict};
use super::{Answered, Core};
use crate::udp::LONGEST;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::FutureExt;
use hopwatch_kit::Shutdown;
use hopwatch_model::Ns;
use hopwatch_wire::envelope::{Envelope, ReplyHead, RequestHead, RequestId, TakenHead};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Requests at once; further ones are passed over and counted: their askers ask again, or don't.
const REQUESTS: usize = 4096;

/// Nobody waits for longer.
const LONGEST_DEADLINE: Duration = Duration::from_secs(3600);

/// A socket at this address; at another port, if this one isn't free.
pub(super) async fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    match UdpSocket::bind(address).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            UdpSocket::bind(SocketAddr::new(address.ip(), 0)).await
        }
        bound => bound,
    }
}

struct Service {
    core: Arc<Core>,
    socket: UdpSocket,
    memory: Mutex<Memory>,
}

/// Serves until the shutdown begins; requests under way go on in `tasks`.
pub(super) async fn serve(
    core: Arc<Core>,
    socket: UdpSocket,
    shutdown: Shutdown,
    tasks: TaskTracker,
) {
    let memory = Mutex::new(Memory::new(Bounds::default(), core.clock.now()));
    let service = Arc::new(Service { core, socket, memory });
    let places = Arc::new(Semaphore::new(REQUESTS));
    let mut buffer = vec![0; 1 << 16];
    let stop = shutdown.begun();
    tokio::pin!(stop);
    loop {
        let came = tokio::select! {
            came = service.socket.recv_from(&mut buffer) => came,
            () = &mut stop => return,
        };
        let received = service.core.clock.now();
        // What the system tells here is of replies that nobody wanted any more.
        let Ok((length, from)) = came else { continue };
        let frame = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
        let Ok(Envelope::Request(head, body)) = Envelope::read(&frame) else {
            service.core.counts.garbage();
            continue;
        };
        let shown = head.authorization.as_deref().map(str::as_bytes);
        if !service.core.token.admits_value(shown) {
            service.stranger(&head, frame.len(), from).await;
            continue;
        }
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            service.core.counts.overload();
            continue;
        };
        let (id, attempt, retries) = (head.id, head.attempt, head.retries);
        let deadline = Duration::from_nanos(head.deadline_ns).min(LONGEST_DEADLINE);
        let work = Arc::clone(&service).request(head, body, from, received);
        let mut work = async move {
            work.await;
            drop(place);
        }
        .boxed();
        // What needs no waiting is answered by this very thread.
        if poll_once(work.as_mut()).await.is_pending() {
            // Before the reply can be: behind it, it would be a riddle.
            if retries {
                service.taken(id, attempt, from).await;
            }
            // When nobody waits any more, the work ends, as with a connection that is closed.
            tasks.spawn(tokio::time::timeout(deadline, work));
        }
    }
}

async fn poll_once<F: Future + ?Sized>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await
}

impl Service {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn request(
        self: Arc<Self>,
        head: RequestHead,
        body: Bytes,
        from: SocketAddr,
        received: Ns,
    ) {
        let verdict = self.memory().take(&head, from, received);
        match verdict {
            Verdict::Execute => {
                let answered = self.core.answer_envelope(&head, body, received).await;
                self.memory().executed(&head, &answered);
                self.reply(&head, head.attempt, &answered, None, from).await;
            }
            Verdict::Answer(answered, executed) => {
                let resent = Some(self.core.clock.now());
                self.reply(&head, executed, &answered, resent, from).await;
            }
            Verdict::Working(executed) => self.taken(head.id, executed, from).await,
            Verdict::Duplicate => self.core.counts.duplicate(),
            Verdict::Foreign => self.core.counts.foreign(),
            Verdict::Forgotten => self.refuse(&head, EXECUTED, from).await,
            Verdict::Unknown => self.refuse(&head, UNKNOWN, from).await,
        }
    }

    /// A stranger is not remembered, and told so in no more bytes than came: whoever writes
    /// somebody else's address on a datagram must gain nothing by it.
    async fn stranger(&self, head: &RequestHead, bytes: usize, from: SocketAddr) {
        self.core.counts.stranger();
        let answered = Answered::no_token();
        let reply = answered.head(head.id, head.attempt, None);
        let bare = ReplyHead { media_type: String::new(), ..reply.clone() };
        let replies = [reply.frame(&answered.body), bare.frame(&[])];
        if let Some(frame) = replies.into_iter().flatten().find(|frame| frame.len() <= bytes) {
            let _sent = self.socket.send_to(&frame, from).await;
        }
    }

    async fn refuse(&self, head: &RequestHead, why: &'static str, from: SocketAddr) {
        let answered = Answered::plain(StatusCode::CONFLICT, why);
        self.reply(head, head.attempt, &answered, None, from).await;
    }

    async fn reply(
        &self,
        head: &RequestHead,
        attempt: u32,
        answered: &Answered,
        resent: Option<Ns>,
        to: SocketAddr,
    ) {
        let mut reply = answered.head(head.id, attempt, resent);
        let mut frame = reply.frame(&answered.body).unwrap_or_default();
        if frame.len() > LONGEST {
            reply.oversized = u64::try_from(frame.len()).ok();
            frame = reply.frame(&[]).unwrap_or_default();
        }
        // A reply that can't be sent is a lost one.
        let _sent = self.socket.send_to(&frame, to).await;
    }

    async fn taken(&self, id: RequestId, attempt: u32, to: SocketAddr) {
        let frame = TakenHead { id, attempt }.frame().unwrap_or_default();
        let _sent = self.socket.send_to(&frame, to).await;
    }
}

const EXECUTED: &str = "the request was executed, but its reply is no longer kept\n";
const UNKNOWN: &str = "whether the request was executed already can't be known: it was sent for \
                       the first time before this service remembers\n";
