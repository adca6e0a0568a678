//! What became of a message that the gateway took. Each taken message has exactly one outcome.

use crate::hop::named;
use std::fmt;
use std::str::FromStr;

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
        /// The request could not be made of the message: a template of the user's doesn't fit it.
        NotMade = "not_made",
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

impl fmt::Display for Outcome {
    /// The name used on the wire, in traces.csv and on the page ("delivered", "ai timed_out").
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered => f.write_str("delivered"),
            Self::QueueDropped => f.write_str("queue_dropped"),
            Self::Undecodable => f.write_str("undecodable"),
            Self::Abandoned => f.write_str("abandoned"),
            Self::ServiceFailed(stage, failure) => write!(f, "{stage} {failure}"),
        }
    }
}

impl FromStr for Outcome {
    type Err = UnknownOutcome;

    fn from_str(name: &str) -> Result<Self, UnknownOutcome> {
        let service = || {
            let (stage, failure) = name.split_once(' ')?;
            Some(Self::ServiceFailed(Stage::from_name(stage)?, Failure::from_name(failure)?))
        };
        match name {
            "delivered" => Ok(Self::Delivered),
            "queue_dropped" => Ok(Self::QueueDropped),
            "undecodable" => Ok(Self::Undecodable),
            "abandoned" => Ok(Self::Abandoned),
            _ => service().ok_or(UnknownOutcome),
        }
    }
}

impl serde::Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Outcome {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that names no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no outcome has that name")]
pub struct UnknownOutcome;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_name_of_its_own() {
        let mut all = vec![
            Outcome::Delivered,
            Outcome::QueueDropped,
            Outcome::Undecodable,
            Outcome::Abandoned,
        ];
        for stage in Stage::ALL {
            all.extend(Failure::ALL.iter().map(|f| Outcome::ServiceFailed(*stage, *f)));
        }
        for outcome in all {
            assert_eq!(outcome.to_string().parse(), Ok(outcome));
        }
        assert_eq!("ai nonsense".parse::<Outcome>(), Err(UnknownOutcome));
    }
}
