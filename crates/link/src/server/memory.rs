//! What requests were taken by datagram, so that none is executed twice. Reads no clock.

use super::Answered;
use hopwatch_model::Ns;
use hopwatch_wire::envelope::{RequestHead, RequestId};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Requests.
    pub(super) requests: usize,
    /// The bodies of their replies together, in bytes; without its reply a request is still
    /// remembered as executed.
    pub(super) reply_bytes: usize,
    /// For so long.
    pub(super) age: Ns,
}

impl Default for Bounds {
    fn default() -> Self {
        // No datagram is under way for longer than TCP's maximum segment lifetime (RFC 9293).
        Self { requests: 1 << 18, reply_bytes: 64 << 20, age: 120_000_000_000 }
    }
}

pub(super) struct Memory {
    bounds: Bounds,
    requests: HashMap<RequestId, Remembered>,
    /// In the order of their coming.
    order: VecDeque<(Ns, RequestId)>,
    /// Those with a reply, in the order of their ends.
    replies: VecDeque<RequestId>,
    reply_bytes: usize,
    /// Every request that came since then is remembered.
    since: Ns,
}

struct Remembered {
    from: SocketAddr,
    /// The attempt that is or was executed.
    executed: u32,
    /// The latest one.
    attempt: u32,
    reply: Reply,
}

enum Reply {
    Working,
    Kept(Answered),
    /// Sent once, and no longer kept, or not wanted.
    Forgotten,
}

/// What to do with a request.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is new.
    Execute,
    /// It was executed, by this attempt: here is the reply.
    Answer(Answered, u32),
    /// It is being executed, by this attempt.
    Working(u32),
    /// The same attempt again, or an earlier one, or one whose asker doesn't ask again.
    Duplicate,
    /// Somebody else's.
    Foreign,
    /// It was executed, but its reply isn't kept.
    Forgotten,
    /// It may have been executed before anything that is remembered.
    Unknown,
}

impl Memory {
    pub(super) fn new(bounds: Bounds, now: Ns) -> Self {
        Self {
            bounds,
            requests: HashMap::new(),
            order: VecDeque::new(),
            replies: VecDeque::new(),
            reply_bytes: 0,
            since: now,
        }
    }

    /// A request came.
    pub(super) fn take(&mut self, head: &RequestHead, from: SocketAddr, now: Ns) -> Verdict {
        self.forget(now);
        if let Some(known) = self.requests.get_mut(&head.id) {
            if known.from != from {
                return Verdict::Foreign;
            }
            if head.attempt <= known.attempt || !head.retries {
                return Verdict::Duplicate;
            }
            known.attempt = head.attempt;
            return match &known.reply {
                Reply::Working => Verdict::Working(known.executed),
                Reply::Kept(answered) => Verdict::Answer(answered.clone(), known.executed),
                Reply::Forgotten => Verdict::Forgotten,
            };
        }
        let age = Ns::try_from(head.age_ns).unwrap_or(Ns::MAX);
        if head.attempt > 1 && age > now.saturating_sub(self.since) {
            return Verdict::Unknown;
        }
        let attempt = head.attempt;
        let reply = Reply::Working;
        self.requests.insert(head.id, Remembered { from, executed: attempt, attempt, reply });
        self.order.push_back((now, head.id));
        Verdict::Execute
    }

    /// A request was executed. The reply is kept when the asker may ask for it again.
    pub(super) fn executed(&mut self, head: &RequestHead, answered: &Answered) {
        let Some(known) = self.requests.get_mut(&head.id) else { return };
        if !head.retries {
            known.reply = Reply::Forgotten;
            return;
        }
        known.reply = Reply::Kept(answered.clone());
        self.replies.push_back(head.id);
        self.reply_bytes += answered.body.len();
        while self.reply_bytes > self.bounds.reply_bytes
            && let Some(oldest) = self.replies.pop_front()
        {
            if let Some(known) = self.requests.get_mut(&oldest) {
                self.reply_bytes -= known.reply.bytes();
                known.reply = Reply::Forgotten;
            }
        }
    }

    /// Forgets what is too old or too much.
    fn forget(&mut self, now: Ns) {
        let oldest = now.saturating_sub(self.bounds.age);
        while let Some((came, id)) = self.order.front().copied()
            && (came < oldest || self.requests.len() >= self.bounds.requests)
        {
            self.order.pop_front();
            self.since = self.since.max(came.saturating_add(1));
            if let Some(known) = self.requests.remove(&id) {
                self.reply_bytes -= known.reply.bytes();
            }
        }
        while self.replies.front().is_some_and(|id| !self.requests.contains_key(id)) {
            self.replies.pop_front();
        }
    }
}

impl Reply {
    fn bytes(&self) -> usize {
        match self {
            Self::Kept(answered) => answered.body.len(),
            Self::Working | Self::Forgotten => 0,
        }
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
