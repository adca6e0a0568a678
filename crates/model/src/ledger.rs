//! The ledger: the account of what became of every published message.

use crate::hop::named;
use crate::outcome::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// Where the number of published messages comes from, best source first.
    PublishedSource {
        /// The robot's own count (census topic): knows even what never arrived.
        Census = "census",
        /// DDS numbers each writer's messages: knows the gaps, not what came after the last.
        PublicationSequence = "publication_sequence",
        /// The header's sequence: as the one above, but the robot's word.
        HeaderSequence = "header_sequence",
        /// Nothing was seen.
        Nothing = "nothing",
    }
}

/// What became of the published messages of one lane. `published` is the sum of all fates;
/// `dds_lost` and `overwritten_in_history` are parts of `lost_in_ros`, and `duplicates`,
/// `duplicate_ids`, `reordered` and `restarts` are counted beside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Ledger {
    /// Messages handed to DDS by the robots, as far as `published_source` knows.
    pub published: u64,
    /// Where `published` comes from; the weakest source of any robot.
    pub published_source: PublishedSource,
    /// Published before a gateway's subscription was matched (also after another one had ended in
    /// order); VOLATILE readers never get them.
    pub lost_before_discovery: u64,
    /// Lost in ROS, or overwritten in the reader's history before the gateway took them.
    pub lost_in_ros: u64,
    /// Of `lost_in_ros`: DDS itself says (MESSAGE_LOST) that so many never reached the reader.
    pub dds_lost: u64,
    /// Of `lost_in_ros`: so many are missing right before a message that had waited in the
    /// reader's history for as long as one waits when KEEP_LAST overwrites. Circumstantial.
    pub overwritten_in_history: u64,
    /// Taken by a gateway, or meant for one, that ended without a word (killed), or could not
    /// deliver its records: what became of them isn't known.
    pub outcome_unknown: u64,
    /// Dropped by the gateway's own full queue.
    pub queue_dropped: u64,
    /// The bytes weren't a message of the topic's type.
    pub undecodable: u64,
    /// The AI service gave no usable reply, by reason.
    pub ai_failed: BTreeMap<Failure, u64>,
    /// The web service gave no usable reply, by reason.
    pub web_failed: BTreeMap<Failure, u64>,
    /// The gateway was stopped first.
    pub abandoned: u64,
    /// Went the whole way.
    pub delivered: u64,
    /// On the way: published, and nothing else known yet.
    pub in_flight: u64,
    /// The same message taken again; not part of the sum.
    pub duplicates: u64,
    /// Messages with the message id of another message; part of the sum like any other.
    pub duplicate_ids: u64,
    /// Taken after a message that was published later; not part of the sum.
    pub reordered: u64,
    /// Starts of a robot after an earlier one of the same id had ended.
    pub restarts: u64,
    /// Every independent count agrees with every other.
    pub reconciles: bool,
    /// Sentences on what doesn't reconcile, or can't be known.
    pub notes: Vec<String>,
}

impl Ledger {
    /// The sum of every named fate: equals `published` when the ledger reconciles.
    pub fn accounted(&self) -> u64 {
        self.lost_before_discovery
            + self.lost_in_ros
            + self.outcome_unknown
            + self.queue_dropped
            + self.undecodable
            + self.ai_failed.values().sum::<u64>()
            + self.web_failed.values().sum::<u64>()
            + self.abandoned
            + self.delivered
            + self.in_flight
    }
}

/// The gateway's counters since its start, taken at one moment:
/// `taken = queue_dropped + queued + working + finished`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayCounters {
    /// This start of the gateway: the source of the record.
    #[serde(skip)]
    pub gateway: String,
    /// The lane.
    pub lane: String,
    /// When this gateway started, on its own clock, in whole ms: tells which of two came later.
    /// 0: not told.
    #[serde(default)]
    pub started_ms: i64,
    /// Messages taken from DDS.
    pub taken: u64,
    /// Dropped because the queue was full.
    pub queue_dropped: u64,
    /// In the queue now.
    pub queued: u64,
    /// Being worked on now.
    pub working: u64,
    /// Finished, with whatever outcome.
    pub finished: u64,
    /// Numbers that writers gave to messages which were never taken: the gaps, as the tap saw
    /// them in the order of the takes.
    #[serde(default)]
    pub missed: u64,
    /// DDS said so many messages were lost (MESSAGE_LOST), in all.
    pub message_lost: u64,
    /// Records that could not be kept for the collector.
    pub records_dropped: u64,
    /// The gateway is stopping: nothing follows.
    pub last: bool,
}

/// The broadcaster's counters since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BroadcasterCounters {
    /// Messages handed over by the gateway.
    pub received: u64,
    /// Frames written to clients.
    pub frames_sent: u64,
    /// Frames dropped for clients that were too slow.
    pub frames_dropped: u64,
    /// Acknowledgements taken.
    pub acks: u64,
    /// Frames from pages that were no acknowledgement of ours.
    pub rubbish: u64,
    /// Pages connected now.
    pub clients: u64,
    /// Records that could not be kept for the collector.
    pub records_dropped: u64,
}

/// What became of the messages for one browser page. After it has left,
/// `offered = frames_sent + frames_dropped + waiting`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClientCounters {
    /// The page, as the broadcaster knows it; a name beginning with "others" is the sum of the
    /// pages that are not told one by one.
    pub client: String,
    /// Messages that the broadcaster was handed since the page connected.
    pub offered: u64,
    /// Frames written to it.
    pub frames_sent: u64,
    /// Messages dropped for it: it was too slow.
    pub frames_dropped: u64,
    /// Messages not written to it yet; of a page that left, never.
    pub waiting: u64,
    /// Frames that it acknowledged. The others of `frames_sent` it did not, or not yet.
    pub acked: u64,
    /// Frames from it that were no acknowledgement of ours.
    pub rubbish: u64,
    /// Acknowledgements that were counted only: stamps of few pages at once are recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecorded: u64,
    /// Pages of this entry that are connected now: 0 or 1, but for "others".
    pub connected: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ClientCounters {
    /// Frames sent and never acknowledged, as far as is known.
    pub fn unacked(&self) -> u64 {
        self.frames_sent.saturating_sub(self.acked)
    }
}
