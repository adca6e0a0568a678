//! `udp`: an [envelope](hopwatch_wire::envelope) in one datagram each way. What is lost is lost.
//! `udp-retry`: the request is sent again until there is a reply, or the deadline; the service
//! executes it once, and the reply tells which attempt that was.
//!
//! A socket is used by one request at a time, on that request's task: as with `http1`, no other
//! thread has to be woken for it. Sockets are connected: the system keeps out what others send.

use crate::asking::{Asking, frame, judge};
use crate::call::{Call, CallError, Ignored, Link, Reply, Request, in_time};
use crate::counts::Counts;
use crate::kind::{LinkConfig, RetryConfig};
use crate::offers::Offers;
use crate::patience::Patience;
use crate::pool::Pool;
use crate::progress::Progress;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::Clock;
use hopwatch_model::{Failure, Ns};
use hopwatch_wire::envelope::{Envelope, ReplyHead, RequestHead};
use rustix::io::Errno;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::Instant;

/// The most that a datagram carries over IPv4: 65,535 less the headers of IP and UDP.
pub(crate) const LONGEST: usize = 65_507;
/// So many requests without a word in a row, and the port is asked for again.
const SILENT: u32 = 3;

/// A link over UDP.
pub(crate) struct Udp {
    offers: Offers,
    asking: Asking,
    /// `udp-retry`.
    retry: Option<RetryConfig>,
    max_reply_bytes: usize,
    clock: Arc<dyn Clock>,
    pool: Pool<Socket>,
    learned: Mutex<Learned>,
    silent: AtomicU32,
    counts: Counts,
}

/// How long it takes until there is any word, and until there is the reply of a service that takes
/// its time.
#[derive(Clone, Copy, Default)]
struct Learned {
    word: Patience,
    reply: Patience,
}

/// A socket and room for what it receives.
struct Socket {
    udp: UdpSocket,
    peer: SocketAddr,
    buffer: Vec<u8>,
}

/// A reply, and what it answers.
struct Replied {
    head: ReplyHead,
    body: Bytes,
    ended: Ns,
}

/// Why a request on a socket came to nothing.
enum Lost {
    /// The peer's host says that nobody listens there: nothing of it was executed.
    Nobody,
    Failed(CallError),
}

/// What the system says of a datagram that it could not pass on just now: it is lost, as any other
/// one on the way, and the next one may arrive.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::NOBUFS, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::PERM];
    Errno::from_io_error(error).is_some_and(|errno| passing.contains(&errno))
}

/// Sends a datagram; one that can't be passed on is lost.
async fn send(socket: &UdpSocket, message: &[u8]) -> io::Result<()> {
    match socket.send(message).await {
        Err(error) if is_passing(&error) => Ok(()),
        sent => sent.map(drop),
    }
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            return Self::Nobody;
        }
        Self::Failed(CallError::new(Failure::Broken, format!("the socket failed: {error}")))
    }
}

impl Udp {
    pub(crate) fn new(config: &LinkConfig, retries: bool, clock: Arc<dyn Clock>) -> Self {
        let name = if retries { "udp-retry" } else { "udp" };
        Self {
            offers: Offers::new(&config.target, name, |ports| ports.udp),
            asking: Asking::new(config, &*clock),
            retry: retries.then_some(config.retry),
            max_reply_bytes: config.max_reply_bytes,
            clock,
            pool: Pool::new(config.max_idle),
            learned: Mutex::default(),
            silent: AtomicU32::new(0),
            counts: Counts::default(),
        }
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the port, and opens a socket for it.
    async fn connect(&self) -> Result<Socket, CallError> {
        let peer = self.offers.get().await?;
        Socket::open(peer).await.map_err(|error| {
            let detail = format!("failed to open a socket for {peer} (udp): {error}");
            CallError::new(Failure::Unreachable, detail)
        })
    }

    fn reuse(&self) -> Option<Socket> {
        let peer = self.offers.known()?;
        self.pool.take(self.clock.now()).filter(|socket| socket.peer == peer)
    }

    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Reply, Ns), CallError> {
        let mut asked_again = false;
        loop {
            let mut head = self.asking.head(request);
            head.retries = self.retry.is_some();
            let message = frame(&head, request)?;
            check_size(message.len())?;
            let mut socket = if let Some(socket) = self.reuse() {
                socket
            } else {
                progress.connecting(self.clock.now());
                self.connect().await?
            };
            let replied = match &self.retry {
                None => {
                    progress.sent(self.clock.now());
                    self.once(&mut socket, &message, &head).await
                }
                Some(retry) => {
                    self.until_answered(&mut socket, message, head, request, progress, retry).await
                }
            };
            match replied {
                Ok(Replied { head, body, ended }) => {
                    self.silent.store(0, Ordering::Relaxed);
                    self.pool.keep(socket, ended);
                    return judge(&head, body, self.max_reply_bytes).map(|reply| (reply, ended));
                }
                Err(Lost::Nobody) if !asked_again => {
                    // The service isn't there any more, or was started anew with another port.
                    asked_again = true;
                    self.offers.forget();
                    self.pool.clear();
                }
                Err(Lost::Nobody) => {
                    let detail = format!("nobody listens on {} (udp)", socket.peer);
                    return Err(CallError::new(Failure::Unreachable, detail));
                }
                Err(Lost::Failed(error)) => return Err(error),
            }
        }
    }

    /// One datagram, and the reply to it.
    async fn once(
        &self,
        socket: &mut Socket,
        message: &[u8],
        head: &RequestHead,
    ) -> Result<Replied, Lost> {
        send(&socket.udp, message).await?;
        loop {
            if let Some(Word::Reply(replied)) = self.next(socket, head).await? {
                return Ok(replied);
            }
        }
    }

    /// A datagram, and the same again as long as nothing comes.
    async fn until_answered(
        &self,
        socket: &mut Socket,
        mut message: Vec<u8>,
        mut head: RequestHead,
        request: &Request,
        progress: &Progress,
        retry: &RetryConfig,
    ) -> Result<Replied, Lost> {
        let first = self.clock.now();
        progress.sent(first);
        let mut attempts = vec![first];
        let learned = *self.learned();
        let (mut taken, mut backoff) = (false, 1);
        let gone = |lost: Lost, alone: bool| match lost {
            // An earlier attempt may have been executed by a service that is gone by now.
            Lost::Nobody if !alone => {
                let detail = "the service went away before it had answered";
                Lost::Failed(CallError::new(Failure::Broken, detail))
            }
            lost => lost,
        };
        loop {
            let alone = attempts.len() == 1;
            let sent = send(&socket.udp, &message).await;
            sent.map_err(|error| gone(error.into(), alone))?;
            let begun = Instant::now();
            loop {
                let wait = if taken {
                    learned.reply.wait(retry.first_reply)
                } else {
                    learned.word.wait(retry.first)
                };
                let wait = wait.clamp(retry.shortest, retry.longest).saturating_mul(backoff);
                let until = begun + wait.min(retry.longest);
                match tokio::time::timeout_at(until, self.next(socket, &head)).await {
                    Err(_elapsed) => break,
                    Ok(word) => match word.map_err(|lost| gone(lost, alone && !taken))? {
                        Some(Word::Reply(replied)) => {
                            let at = index(replied.head.attempt, attempts.len());
                            self.learn(&replied, attempts[at], taken);
                            progress.arrived(first, attempts[at]);
                            return Ok(replied);
                        }
                        Some(Word::Taken) if !taken => {
                            // To which of several attempts it is the word isn't known: it names the
                            // one that is executed (Karn's rule).
                            if attempts.len() == 1 {
                                self.learned().word.learn(since(first, self.clock.now()));
                            }
                            (taken, backoff) = (true, 1);
                        }
                        _ => {}
                    },
                }
            }
            backoff = backoff.saturating_mul(2);
            let now = self.clock.now();
            attempts.push(now);
            progress.retried();
            head.attempt = head.attempt.saturating_add(1);
            head.age_ns = u64::try_from(now.saturating_sub(first)).unwrap_or(0);
            message = frame(&head, request).map_err(Lost::Failed)?;
        }
    }

    /// How long the reply took, unless it was lost and sent again.
    fn learn(&self, replied: &Replied, sent: Ns, taken: bool) {
        let stamps = replied.head.stamps.as_deref().unwrap_or_default();
        if stamps.contains("resent=") {
            return;
        }
        let took = since(sent, replied.ended);
        let mut learned = self.learned();
        if taken {
            learned.reply.learn(took);
        } else {
            learned.word.learn(took);
        }
    }

    /// The next datagram; `None` when it is nothing that is waited for.
    async fn next(&self, socket: &mut Socket, head: &RequestHead) -> Result<Option<Word>, Lost> {
        let length = match socket.udp.recv(&mut socket.buffer).await {
            // A word about one that was sent: its reply won't come, but that of a later one may.
            Err(error) if is_passing(&error) => return Ok(None),
            received => received?,
        };
        let ended = self.clock.now();
        let frame = Bytes::copy_from_slice(socket.buffer.get(..length).unwrap_or_default());
        Ok(match Envelope::read(&frame) {
            Ok(Envelope::Reply(reply, body)) if reply.id == head.id => {
                Some(Word::Reply(Replied { head: reply, body, ended }))
            }
            Ok(Envelope::Taken(taken)) if taken.id == head.id => Some(Word::Taken),
            Ok(Envelope::Reply(..) | Envelope::Taken(_)) => {
                self.counts.late();
                None
            }
            Ok(Envelope::Request(..)) | Err(_) => {
                self.counts.garbage();
                None
            }
        })
    }
}

enum Word {
    Reply(Replied),
    /// The service has it.
    Taken,
}

/// Which of so many attempts, from 1, a service names.
fn index(attempt: u32, of: usize) -> usize {
    usize::try_from(attempt).unwrap_or(usize::MAX).clamp(1, of) - 1
}

fn since(sent: Ns, now: Ns) -> Duration {
    Duration::from_nanos(u64::try_from(now.saturating_sub(sent)).unwrap_or(0))
}

fn check_size(size: usize) -> Result<(), CallError> {
    if size <= LONGEST {
        return Ok(());
    }
    let detail = format!(
        "the request makes a datagram of {size} bytes, and one carries at most {LONGEST}: send \
         less, or use a link that isn't limited to datagrams (http1, quic)"
    );
    Err(CallError::new(Failure::Refused, detail))
}

impl Socket {
    async fn open(peer: SocketAddr) -> io::Result<Self> {
        let own = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let udp = UdpSocket::bind(own).await?;
        udp.connect(peer).await?;
        Ok(Self { udp, peer, buffer: vec![0; 1 << 16] })
    }
}

impl Link for Udp {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let progress = Progress::default();
            let exchange = self.exchange(&request, &progress);
            let result = tokio::time::timeout(request.deadline, exchange).await;
            if result.is_err() && self.silent.fetch_add(1, Ordering::Relaxed) + 1 >= SILENT {
                self.silent.store(0, Ordering::Relaxed);
                self.offers.forget();
            }
            progress.call(result, request.deadline, &*self.clock)
        }
        .boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        async {
            let socket = in_time(self.connect()).await?;
            self.pool.keep(socket, self.clock.now());
            Ok(())
        }
        .boxed()
    }

    fn ignored(&self) -> Ignored {
        self.counts.now()
    }
}

#[cfg(test)]
#[path = "udp_tests.rs"]
mod tests;
