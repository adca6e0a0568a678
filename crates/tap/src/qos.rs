//! Quality of service: what a subscription asks for, what a publisher offers, and why they don't
//! fit.

use crate::graph::{EndpointInfo, rmw_time};
use r2r_rcl::{
    rmw_qos_durability_policy_t, rmw_qos_history_policy_t, rmw_qos_liveliness_policy_t,
    rmw_qos_profile_t, rmw_qos_reliability_policy_t,
};
use std::fmt;
use std::time::Duration;

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

/// How a publisher shows that it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Liveliness {
    /// By its process.
    Automatic,
    /// By what it publishes, or says itself.
    ManualByTopic,
}

/// A length of time that may be endless; the shorter, the stronger an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    /// So long.
    Of(Duration),
    /// For ever.
    Endless,
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
    /// The longest time between two messages.
    pub deadline: Period,
    /// How a publisher shows that it lives.
    pub liveliness: Liveliness,
    /// How long a publisher may be silent before it counts as gone.
    pub lease: Period,
}

impl Qos {
    /// RELIABLE, VOLATILE, `KEEP_LAST` 10: ROS 2's default.
    pub const RELIABLE: Self = Self {
        reliability: Reliability::Reliable,
        durability: Durability::Volatile,
        depth: 10,
        deadline: Period::Endless,
        liveliness: Liveliness::Automatic,
        lease: Period::Endless,
    };

    /// `BEST_EFFORT`, VOLATILE, `KEEP_LAST` 1: the newest message counts.
    pub const BEST_EFFORT: Self =
        Self { reliability: Reliability::BestEffort, depth: 1, ..Self::RELIABLE };

    /// Sets it in a profile of rmw.
    pub(crate) fn put(self, profile: &mut rmw_qos_profile_t) {
        profile.history = rmw_qos_history_policy_t::RMW_QOS_POLICY_HISTORY_KEEP_LAST;
        profile.depth = self.depth;
        profile.reliability = match self.reliability {
            Reliability::Reliable => {
                rmw_qos_reliability_policy_t::RMW_QOS_POLICY_RELIABILITY_RELIABLE
            }
            Reliability::BestEffort => {
                rmw_qos_reliability_policy_t::RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT
            }
        };
        profile.durability = match self.durability {
            Durability::Volatile => rmw_qos_durability_policy_t::RMW_QOS_POLICY_DURABILITY_VOLATILE,
            Durability::TransientLocal => {
                rmw_qos_durability_policy_t::RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL
            }
        };
        profile.deadline = rmw_time(self.deadline);
        profile.liveliness = match self.liveliness {
            Liveliness::Automatic => {
                rmw_qos_liveliness_policy_t::RMW_QOS_POLICY_LIVELINESS_AUTOMATIC
            }
            Liveliness::ManualByTopic => {
                rmw_qos_liveliness_policy_t::RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC
            }
        };
        profile.liveliness_lease_duration = rmw_time(self.lease);
    }
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

impl fmt::Display for Liveliness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Automatic => "AUTOMATIC",
            Self::ManualByTopic => "MANUAL_BY_TOPIC",
        })
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(time) => write!(f, "{time:?}"),
            Self::Endless => f.pad("endless"),
        }
    }
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} KEEP_LAST {}", self.reliability, self.durability, self.depth)?;
        if self.deadline != Period::Endless {
            write!(f, " DEADLINE {}", self.deadline)?;
        }
        if self.liveliness != Liveliness::Automatic {
            write!(f, " LIVELINESS {}", self.liveliness)?;
        }
        if self.lease != Period::Endless {
            write!(f, " LEASE {}", self.lease)?;
        }
        Ok(())
    }
}

/// What of a publisher's offer doesn't fit a subscription that asks for `requested`, each with
/// what to do on either side; empty when all fits.
///
/// The rule is DDS' "requested versus offered" (DDS 1.4, 2.2.3): an offer must be at least as
/// strong as the request. A setting that the publisher doesn't tell is taken to fit.
pub fn misfits(requested: Qos, publisher: &EndpointInfo) -> Vec<(Policy, String)> {
    let mut found = Vec::new();
    if requested.reliability == Reliability::Reliable
        && publisher.reliability == Some(Reliability::BestEffort)
    {
        let fix = "a RELIABLE subscription gets nothing from a BEST_EFFORT publisher: subscribe \
                   with best effort (--qos best-effort), or publish with RELIABLE (rclcpp: \
                   .reliable(), rclpy: reliability=ReliabilityPolicy.RELIABLE)";
        found.push((Policy::Reliability, fix.to_owned()));
    }
    if requested.durability == Durability::TransientLocal
        && publisher.durability == Some(Durability::Volatile)
    {
        let fix = "a TRANSIENT_LOCAL subscription gets nothing from a VOLATILE publisher: \
                   subscribe with VOLATILE, or publish with TRANSIENT_LOCAL (rclcpp: \
                   .transient_local(), rclpy: durability=DurabilityPolicy.TRANSIENT_LOCAL)";
        found.push((Policy::Durability, fix.to_owned()));
    }
    let asked = requested.deadline;
    if let Some(offer) = publisher.deadline.filter(|offer| *offer > asked) {
        let fix = format!(
            "a subscription with a deadline of {asked} gets nothing from a publisher with one of \
             {offer}: subscribe with a deadline of {offer}, or publish with one of at most \
             {asked} (rclcpp: .deadline(…), rclpy: deadline=Duration(…))"
        );
        found.push((Policy::Deadline, fix));
    }
    let asked = requested.liveliness;
    if let Some(offer) = publisher.liveliness.filter(|offer| *offer < asked) {
        let fix = format!(
            "a subscription with liveliness {asked} gets nothing from a publisher with {offer}: \
             subscribe with {offer}, or publish with {asked} (rclcpp: .liveliness(…), rclpy: \
             liveliness=LivelinessPolicy.{asked})"
        );
        found.push((Policy::Liveliness, fix));
    }
    let asked = requested.lease;
    if let Some(offer) = publisher.lease.filter(|offer| *offer > asked) {
        let fix = format!(
            "a subscription with a liveliness lease of {asked} gets nothing from a publisher with \
             one of {offer}: subscribe with a lease of {offer}, or publish with one of at most \
             {asked} (rclcpp: .liveliness_lease_duration(…), rclpy: \
             liveliness_lease_duration=Duration(…))"
        );
        found.push((Policy::LivelinessLeaseDuration, fix));
    }
    found
}

/// The sentence for the user on a publisher whose settings don't fit: both sides' settings, and
/// the fix; `None` when they do fit.
pub fn misfit(topic: &str, requested: Qos, publisher: &EndpointInfo) -> Option<String> {
    let fixes: Vec<String> =
        misfits(requested, publisher).into_iter().map(|(_, fix)| fix).collect();
    (!fixes.is_empty()).then(|| {
        format!(
            "{topic}: {} offers {}, the subscription asks for {requested}; {}",
            publisher.name(),
            publisher.offer(),
            fixes.join("; ")
        )
    })
}

/// Whether there are publishers that don't fit, and the nodes of them all are known.
pub(crate) fn misfits_are_named(requested: Qos, offered: &[EndpointInfo]) -> bool {
    let unfit = |publisher: &&EndpointInfo| !misfits(requested, publisher).is_empty();
    let mut unfit = offered.iter().filter(unfit).peekable();
    unfit.peek().is_some() && unfit.all(|publisher| publisher.node.is_some())
}

/// The sentence for the user on an incompatibility, of the first publisher that it can be about.
pub(crate) fn advice(
    topic: &str,
    requested: Qos,
    policy: Policy,
    offered: &[EndpointInfo],
) -> String {
    let found = offered.iter().find_map(|publisher| misfit(topic, requested, publisher));
    found.unwrap_or_else(|| {
        format!(
            "{topic}: a publisher's {policy} doesn't fit the subscription, which asks for \
             {requested}; make the publisher offer at least that, or ask for less"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_model::PublisherId;

    fn publisher(reliability: Reliability, durability: Durability) -> EndpointInfo {
        EndpointInfo {
            node: Some("/robot_001".into()),
            topic_type: "p/msg/T".into(),
            type_hash: None,
            id: PublisherId([0; 16]),
            reliability: Some(reliability),
            durability: Some(durability),
            deadline: Some(Period::Endless),
            liveliness: Some(Liveliness::Automatic),
            lease: Some(Period::Endless),
        }
    }

    fn policies(requested: Qos, publisher: &EndpointInfo) -> Vec<Policy> {
        misfits(requested, publisher).into_iter().map(|(policy, _)| policy).collect()
    }

    #[test]
    fn an_offer_must_be_as_strong_as_the_request() {
        use Durability::{TransientLocal, Volatile};
        use Reliability::{BestEffort, Reliable};
        for (asked, offered, unfit) in [
            ((Reliable, Volatile), (Reliable, Volatile), &[][..]),
            ((Reliable, Volatile), (BestEffort, Volatile), &[Policy::Reliability]),
            ((BestEffort, Volatile), (Reliable, TransientLocal), &[]),
            ((BestEffort, TransientLocal), (Reliable, Volatile), &[Policy::Durability]),
            (
                (Reliable, TransientLocal),
                (BestEffort, Volatile),
                &[Policy::Reliability, Policy::Durability],
            ),
            ((Reliable, TransientLocal), (Reliable, TransientLocal), &[]),
        ] {
            let qos = Qos { reliability: asked.0, durability: asked.1, ..Qos::RELIABLE };
            let found = policies(qos, &publisher(offered.0, offered.1));
            assert_eq!(found, unfit, "{asked:?} {offered:?}");
        }
    }

    #[test]
    fn times_and_liveliness_follow_the_same_rule() {
        let fits = publisher(Reliability::Reliable, Durability::Volatile);
        let of = |ms: u64| Period::Of(Duration::from_millis(ms));
        for (asked, offered, unfit) in [
            (Period::Endless, Period::Endless, false),
            (Period::Endless, of(10), false),
            (of(10), of(10), false),
            (of(10), of(9), false),
            (of(10), of(11), true),
            (of(10), Period::Endless, true),
        ] {
            let deadline = EndpointInfo { deadline: Some(offered), ..fits.clone() };
            let found = policies(Qos { deadline: asked, ..Qos::RELIABLE }, &deadline);
            assert_eq!(found.contains(&Policy::Deadline), unfit, "{asked} {offered}");
            let lease = EndpointInfo { lease: Some(offered), ..fits.clone() };
            let found = policies(Qos { lease: asked, ..Qos::RELIABLE }, &lease);
            assert_eq!(
                found.contains(&Policy::LivelinessLeaseDuration),
                unfit,
                "{asked} {offered}"
            );
        }
        let by_topic = Qos { liveliness: Liveliness::ManualByTopic, ..Qos::RELIABLE };
        assert_eq!(policies(by_topic, &fits), [Policy::Liveliness]);
        let offer = Some(Liveliness::ManualByTopic);
        assert_eq!(
            policies(Qos::RELIABLE, &EndpointInfo { liveliness: offer, ..fits.clone() }),
            []
        );
        // What isn't told is taken to fit.
        let silent = EndpointInfo { deadline: None, liveliness: None, lease: None, ..fits };
        let asked = Qos { deadline: of(1), lease: of(1), ..by_topic };
        assert_eq!(policies(asked, &silent), []);
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
        let mut offered = [publisher(Reliability::BestEffort, Durability::Volatile)];
        offered[0].deadline = Some(Period::Of(Duration::from_secs(2)));
        let asked = Qos { deadline: Period::Of(Duration::from_millis(500)), ..Qos::RELIABLE };
        assert_eq!(
            advice("/t", asked, Policy::Reliability, &offered),
            "/t: publisher /robot_001 offers BEST_EFFORT VOLATILE DEADLINE 2s, the subscription \
             asks for RELIABLE VOLATILE KEEP_LAST 10 DEADLINE 500ms; a RELIABLE subscription gets \
             nothing from a BEST_EFFORT publisher: subscribe with best effort (--qos \
             best-effort), or publish with RELIABLE (rclcpp: .reliable(), rclpy: \
             reliability=ReliabilityPolicy.RELIABLE); a subscription with a deadline of 500ms \
             gets nothing from a publisher with one of 2s: subscribe with a deadline of 2s, or \
             publish with one of at most 500ms (rclcpp: .deadline(…), rclpy: \
             deadline=Duration(…))"
        );
        let unknown = advice("/t", Qos::RELIABLE, Policy::Deadline, &[]);
        assert!(unknown.contains("DEADLINE"), "{unknown}");
    }
}
