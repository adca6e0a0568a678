//! Quality of service: what a subscription asks for, what a publisher offers, and why they don't
//! fit.

use crate::graph::EndpointInfo;
use std::fmt;

/// Whether lost messages are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reliability {
    /// They are, while they are in the publisher's history.
    Reliable,
    /// They are not.
    BestEffort,
}

/// Whether a late subscriber gets messages from before it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// It does not.
    Volatile,
    /// It does, while the publisher lives and has them in its history.
    TransientLocal,
}

/// What a subscription asks for. History is `KEEP_LAST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qos {
    /// Whether lost messages are sent again.
    pub reliability: Reliability,
    /// Whether messages from before the subscription arrive.
    pub durability: Durability,
    /// Messages that wait in the reader for the take; at least 1. When it is full, `KEEP_LAST`
    /// overwrites the oldest without a word: the gap in the publication sequence shows it.
    pub depth: usize,
}

impl Qos {
    /// RELIABLE, VOLATILE, `KEEP_LAST` 10: ROS 2's default.
    pub const RELIABLE: Self =
        Self { reliability: Reliability::Reliable, durability: Durability::Volatile, depth: 10 };

    /// `BEST_EFFORT`, VOLATILE, `KEEP_LAST` 1: the newest message counts.
    pub const BEST_EFFORT: Self =
        Self { reliability: Reliability::BestEffort, durability: Durability::Volatile, depth: 1 };
}

/// The setting that an incompatibility is about (`rmw/qos_policy_kind.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Volatile or transient local.
    Durability,
    /// The longest time between two messages.
    Deadline,
    /// How a publisher shows that it lives.
    Liveliness,
    /// Reliable or best effort.
    Reliability,
    /// How long a publisher may be silent before it counts as gone.
    LivelinessLeaseDuration,
    /// Another one.
    Other,
}

impl Policy {
    /// From the value of `rmw_qos_policy_kind_t`.
    pub(crate) fn from_rmw(kind: u32) -> Self {
        match kind {
            0x2 => Self::Durability,
            0x4 => Self::Deadline,
            0x8 => Self::Liveliness,
            0x10 => Self::Reliability,
            0x100 => Self::LivelinessLeaseDuration,
            _ => Self::Other,
        }
    }

    /// The policy's name as in DDS.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Durability => "DURABILITY",
            Self::Deadline => "DEADLINE",
            Self::Liveliness => "LIVELINESS",
            Self::Reliability => "RELIABILITY",
            Self::LivelinessLeaseDuration => "LIVELINESS_LEASE_DURATION",
            Self::Other => "another QoS policy",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reliable => "RELIABLE",
            Self::BestEffort => "BEST_EFFORT",
        })
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Volatile => "VOLATILE",
            Self::TransientLocal => "TRANSIENT_LOCAL",
        })
    }
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} KEEP_LAST {}", self.reliability, self.durability, self.depth)
    }
}

/// Why nothing of `publisher` can reach a subscription that asks for `requested`, and what to do;
/// `None` when the two fit as far as reliability and durability go.
///
/// The rule is DDS' "requested versus offered" (DDS 1.4, 2.2.3): an offer must be at least as
/// strong as the request. A setting that the publisher doesn't tell is taken to fit.
fn misfit(requested: Qos, publisher: &EndpointInfo) -> Option<String> {
    if requested.reliability == Reliability::Reliable
        && publisher.reliability == Some(Reliability::BestEffort)
    {
        return Some(
            "a RELIABLE subscription gets nothing from a BEST_EFFORT publisher: subscribe with \
             best effort, or publish with RELIABLE"
                .to_owned(),
        );
    }
    if requested.durability == Durability::TransientLocal
        && publisher.durability == Some(Durability::Volatile)
    {
        return Some(
            "a TRANSIENT_LOCAL subscription gets nothing from a VOLATILE publisher: subscribe \
             with VOLATILE, or publish with TRANSIENT_LOCAL"
                .to_owned(),
        );
    }
    None
}

/// Whether there are publishers that don't fit, and the nodes of them all are known.
pub(crate) fn misfits_are_named(requested: Qos, offered: &[EndpointInfo]) -> bool {
    let mut misfits = offered.iter().filter(|publisher| misfit(requested, publisher).is_some());
    misfits.next().is_some_and(|first| {
        first.node.is_some() && misfits.all(|publisher| publisher.node.is_some())
    })
}

/// The sentence for the user on an incompatibility: both sides' settings, and the fix.
pub(crate) fn advice(
    topic: &str,
    requested: Qos,
    policy: Policy,
    offered: &[EndpointInfo],
) -> String {
    let misfit =
        offered.iter().find_map(|publisher| Some((publisher, misfit(requested, publisher)?)));
    match misfit {
        Some((publisher, fix)) => format!(
            "{topic}: publisher {} offers {}, the subscription asks for {requested}; {fix}",
            publisher.node.as_deref().unwrap_or("of an unknown node"),
            publisher.offer(),
        ),
        None => format!(
            "{topic}: a publisher's {policy} doesn't fit the subscription, which asks for \
             {requested}; make the publisher offer at least that, or ask for less"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_model::PublisherId;

    fn publisher(reliability: Reliability, durability: Durability) -> EndpointInfo {
        EndpointInfo {
            node: Some("/robot_001".into()),
            topic_type: "p/msg/T".into(),
            id: PublisherId([0; 16]),
            reliability: Some(reliability),
            durability: Some(durability),
        }
    }

    #[test]
    fn an_offer_must_be_as_strong_as_the_request() {
        use Durability::{TransientLocal, Volatile};
        use Reliability::{BestEffort, Reliable};
        for (asked, offered, fits) in [
            ((Reliable, Volatile), (Reliable, Volatile), true),
            ((Reliable, Volatile), (BestEffort, Volatile), false),
            ((BestEffort, Volatile), (Reliable, TransientLocal), true),
            ((BestEffort, TransientLocal), (Reliable, Volatile), false),
            ((Reliable, TransientLocal), (Reliable, TransientLocal), true),
        ] {
            let qos = Qos { reliability: asked.0, durability: asked.1, depth: 1 };
            let misfit = misfit(qos, &publisher(offered.0, offered.1));
            assert_eq!(misfit.is_none(), fits, "{asked:?} {offered:?}: {misfit:?}");
        }
    }

    #[test]
    fn misfits_are_named_when_all_are() {
        let fits = publisher(Reliability::Reliable, Durability::Volatile);
        let misfit = publisher(Reliability::BestEffort, Durability::Volatile);
        let unnamed = EndpointInfo { node: None, ..misfit.clone() };
        let named = |offered: &[EndpointInfo]| misfits_are_named(Qos::RELIABLE, offered);
        assert!(!named(&[]));
        assert!(!named(std::slice::from_ref(&fits)));
        assert!(named(&[fits, misfit.clone()]));
        assert!(!named(&[misfit, unnamed]));
    }

    #[test]
    fn advice_names_both_sides_and_the_fix() {
        let offered = [publisher(Reliability::BestEffort, Durability::Volatile)];
        assert_eq!(
            advice("/t", Qos::RELIABLE, Policy::Reliability, &offered),
            "/t: publisher /robot_001 offers BEST_EFFORT VOLATILE, the subscription asks for \
             RELIABLE VOLATILE KEEP_LAST 10; a RELIABLE subscription gets nothing from a \
             BEST_EFFORT publisher: subscribe with best effort, or publish with RELIABLE"
        );
        let unknown = advice("/t", Qos::RELIABLE, Policy::Deadline, &[]);
        assert!(unknown.contains("DEADLINE"), "{unknown}");
    }
}
