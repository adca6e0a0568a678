//! What the tap tells its sink.

use crate::graph::EndpointInfo;
use crate::qos::{Policy, Qos};
use bytes::Bytes;
use hopwatch_clocksync::WallBracket;
use hopwatch_model::{Ns, PublisherId};

/// One message, as it was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The serialized message as it came: the 4-byte encapsulation header, then CDR
    /// (DDS-RTPS 2.3, 10.2).
    pub bytes: Bytes,
    /// The DDS writer's stamp, on the wall clock of the publisher's host, in ns.
    pub source_wall_ns: Ns,
    /// The DDS reader's stamp, on this host's wall clock, in ns.
    pub received_wall_ns: Ns,
    /// The message's number among those of its writer, from 1. It counts every message since the
    /// writer was made, so the first one taken tells how many went out before discovery. `None`
    /// where the middleware has no such number.
    pub publication_sequence: Option<u64>,
    /// The writer.
    pub publisher: PublisherId,
    /// `CLOCK_MONOTONIC` right after the take, in ns.
    pub taken_mono_ns: Ns,
    /// Where the wall clock stood then: maps the two wall-clock stamps onto the monotonic clock.
    pub bracket: WallBracket,
}

/// What happened at a subscription. `subscription` is its index in
/// [`TapConfig::subscriptions`](crate::TapConfig::subscriptions).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TapEvent {
    /// A message was taken.
    Taken {
        /// The subscription.
        subscription: usize,
        /// The message.
        message: Taken,
    },
    /// Publishers came or went. Not told by ROS 2 Humble.
    Matched {
        /// The subscription.
        subscription: usize,
        /// Publishers that are matched now.
        current: usize,
        /// How many more (or fewer) than at the event before.
        change: i32,
    },
    /// DDS itself says that messages were lost. Not every loss is seen by it: a gap in
    /// [`Taken::publication_sequence`] is the fuller account.
    MessageLost {
        /// The subscription.
        subscription: usize,
        /// Messages lost since the subscription was made.
        total: usize,
        /// Of these, since the event before.
        change: usize,
    },
    /// A publisher is there whose settings don't fit, so that nothing of it can arrive. Told as
    /// soon as the publisher's node is known, after a second at the latest.
    IncompatibleQos {
        /// The subscription.
        subscription: usize,
        /// Such publishers seen since the subscription was made.
        total: usize,
        /// The setting that doesn't fit (one of them, when there are more).
        policy: Policy,
        /// What the subscription asks for.
        requested: Qos,
        /// The publishers of the topic, those that do fit included.
        offered: Vec<EndpointInfo>,
        /// What doesn't fit and what to do, for the user.
        advice: String,
    },
    /// A round of takes is over in which messages were taken: no more are there, or more than the
    /// subscriptions' depths. It follows the last message in any case, also when the tap ends.
    Idle,
    /// The ROS graph changed: somebody came or went, on whatever topic. It may be told more often
    /// than that.
    GraphChanged,
    /// The middleware failed to hand over a message: it is lost.
    TakeFailed {
        /// The subscription.
        subscription: usize,
        /// Such failures since the subscription was made.
        total: u64,
        /// rcl's own words.
        detail: String,
    },
}

impl TapEvent {
    /// The index of the subscription that it is about; `None` when it is about none.
    pub fn subscription(&self) -> Option<usize> {
        match self {
            Self::GraphChanged | Self::Idle => None,
            Self::Taken { subscription, .. }
            | Self::Matched { subscription, .. }
            | Self::MessageLost { subscription, .. }
            | Self::IncompatibleQos { subscription, .. }
            | Self::TakeFailed { subscription, .. } => Some(*subscription),
        }
    }
}
