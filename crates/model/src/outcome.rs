//! What became of a message that the gateway took. Each taken message has exactly one outcome.

use crate::hop::named;

named! {
    /// The service that a request failed at.
    Stage {
        /// The AI service.
        Ai = "ai",
        /// The web service (broadcaster).
        Web = "web",
    }
}

named! {
    /// Why a request to a service gave no usable reply.
    Failure {
        /// No connection could be opened.
        Unreachable = "unreachable",
        /// The connection ended or broke before the whole reply was read.
        Broken = "broken",
        /// No whole reply before the deadline.
        TimedOut = "timed_out",
        /// The service refused: 4xx, or 503 (overloaded).
        Refused = "refused",
        /// The service failed: 5xx.
        Failed = "failed",
        /// A reply that isn't what was asked for: wrong content type, not JSON, too large.
        BadReply = "bad_reply",
    }
}

/// What became of a message that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Both services answered: the message went the whole way.
    Delivered,
    /// The gateway's own queue was full.
    QueueDropped,
    /// The bytes that DDS delivered aren't a message of the topic's type.
    Undecodable,
    /// A service gave no usable reply.
    ServiceFailed(Stage, Failure),
    /// The gateway was stopped before the message went the whole way.
    Abandoned,
}
