//! The live feed: what the web page gets, and what it sends back.
//!
//! The page holds two WebSockets: `/ws` of the broadcaster (the messages themselves, answered by
//! acknowledgements with the browser's stamps) and `/v1/live` of the collector (snapshots of the
//! figures). Both speak JSON text frames with a `type`. The TypeScript declarations of this file
//! are generated (`web-ui/src/generated/wire.ts`) and compared in a test.

use crate::ns_text;
use hopwatch_analysis::{
    DeliveryGap, Finding, LegFigures, Near, OpenLoop, OverPublished, Rates, Shadow, ShadowLink,
    SpanFigures, SpanOverPublished, Stability, Within,
};
use hopwatch_model::{Class, Ledger, Leg};
use hopwatch_stats::{Evidence, Mode, Modes, Summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// The version of both feeds. A page that meets another says so and asks to be reloaded.
pub const VERSION: u32 = 1;

/// Broadcaster → browser.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Push {
    /// The first frame of a connection.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// The name by which the broadcaster knows this page.
        client: String,
    },
    /// A message, as the gateway handed it over.
    Message {
        /// Its trace id, 32 hexadecimal digits: acknowledgements name it.
        trace_id: String,
        /// The robot message in JSON with the AI's answer beside it.
        #[ts(type = "unknown")]
        body: serde_json::Value,
    },
    /// This client was too slow: so many messages were dropped for it since the last frame.
    Dropped {
        /// How many.
        count: u64,
    },
}

/// Browser → broadcaster.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum FromPage {
    /// Acknowledges messages with the browser's stamps.
    Ack {
        /// The stamp of sending this frame. All stamps of the page are
        /// `performance.now()` in nanoseconds, as decimal strings.
        #[serde(with = "ns_text")]
        #[ts(type = "string")]
        sent_ns: i64,
        /// The smallest step of the browser's clock that was seen.
        resolution_ns: u32,
        /// The messages.
        items: Vec<AckItem>,
    },
}

/// The browser's stamps of one message.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AckItem {
    /// The message.
    pub trace_id: String,
    /// On receiving the frame.
    #[serde(with = "ns_text")]
    #[ts(type = "string")]
    pub received_ns: i64,
    /// After painting; `null` when it was not painted (hidden tab).
    #[serde(with = "ns_text::option", default)]
    #[ts(type = "string | null")]
    pub painted_ns: Option<i64>,
}

/// Collector → browser: everything the page shows, several times a second.
#[derive(Clone, Debug, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Live {
    /// The figures now.
    Snapshot(Box<Snapshot>),
}

/// The figures at one moment.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Snapshot {
    /// [`VERSION`].
    pub version: u32,
    /// The run.
    pub run_id: String,
    /// How it stands.
    pub state: RunState,
    /// Since the collector started, in ms.
    pub elapsed_ms: u64,
    /// Percentiles on the page are those of the newest messages, at most so many a lane.
    pub window: usize,
    /// The lanes.
    pub lanes: Vec<LaneView>,
    /// The newest messages, newest first.
    pub latest: Vec<MessageView>,
    /// What other links would change, by the newest shadow probes; `null` without probes.
    pub shadow: Option<Shadow>,
    /// Browser pages that the broadcaster serves now.
    pub clients: u64,
    /// Things that went wrong, newest first (incompatible QoS, a stepped clock, lost records).
    pub events: Vec<EventView>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// No message has been seen yet.
    Waiting,
    /// Messages come in.
    Running,
    /// Every robot has said that nothing follows, and nothing is on the way.
    Ended,
}

/// One lane.
#[derive(Clone, Debug, Serialize, TS)]
pub struct LaneView {
    /// Its name.
    pub name: String,
    /// Its topic's QoS, as "RELIABLE VOLATILE KEEP_LAST 10".
    pub qos: String,
    /// Its link to the services.
    pub transport: String,
    /// What became of every message since the start.
    pub ledger: Ledger,
    /// `ai`, `transport`, `overhead`, `communication` (transport + overhead) and `total` of the
    /// pipeline span (taken → web_acked).
    pub classes: BTreeMap<String, Summary>,
    /// Spans beside: pipeline, published, intended, glass, ai_transport, web_transport.
    pub spans: BTreeMap<String, SpanFigures>,
    /// Each leg, by name.
    pub legs: BTreeMap<String, LegFigures>,
    /// Whether percentiles mean anything.
    pub stability: Stability,
    /// What the messages near P50, P95 and P99 of the total are made of; empty when unstable.
    pub breakdown: Vec<Near>,
    /// The part of each leg in the variance of the total; they sum to 1. `null`: it doesn't vary.
    pub variance_shares: Option<BTreeMap<Leg, f64>>,
    /// From the schedule against from publication; `null` without a schedule, or when unstable.
    pub open_loop: Option<OpenLoop>,
    /// Over what was published, a lost message taking forever, by the usual budget; `null` once
    /// there are more messages than the window holds.
    pub over_published: Option<OverPublished>,
    /// Messages a second.
    pub rates: Rates,
    /// The longest time without a delivery; `null` for fewer than two.
    pub delivery_gap: Option<DeliveryGap>,
    /// What the clocks of this lane's robots and services do, in sentences.
    pub findings: Vec<Finding>,
}

/// One message on the page.
#[derive(Clone, Debug, Serialize, TS)]
pub struct MessageView {
    /// Its trace id.
    pub trace_id: String,
    /// Its lane.
    pub lane: String,
    /// Its robot.
    pub robot_id: String,
    /// The header's sequence.
    pub sequence: i32,
    /// "delivered", "queue_dropped", "undecodable", "abandoned", "ai timed_out", "web failed", …
    pub outcome: String,
    /// A sentence on the outcome.
    pub detail: Option<String>,
    /// Pipeline total (taken → web_acked) in ns.
    pub total_ns: Option<i64>,
    /// All its legs from intended to web_acked, in order.
    pub legs: Vec<LegView>,
    /// At each browser: published → painted.
    pub glass: Vec<GlassView>,
}

/// One leg of one message.
#[derive(Clone, Debug, Serialize, TS)]
pub struct LegView {
    /// The leg.
    pub leg: Leg,
    /// Its class.
    pub class: Class,
    /// Its length in ns; negative ones are shown, not hidden.
    pub ns: i64,
    /// How far it may be off because two clocks are involved; 0 when it is exact.
    pub half_ns: i64,
}

/// One message at one browser.
#[derive(Clone, Debug, Serialize, TS)]
pub struct GlassView {
    /// The page.
    pub client: String,
    /// Smallest and largest length of the push leg (frame_sent → browser_received), in ns.
    pub push_ns: (i64, i64),
    /// broadcaster's queue (web_received → frame_sent), in ns.
    pub fanout_ns: Option<i64>,
    /// browser_received → painted, in ns.
    pub paint_ns: Option<i64>,
}

/// Something that went wrong.
#[derive(Clone, Debug, Serialize, TS)]
pub struct EventView {
    /// When, in ms since the collector started.
    pub at_ms: u64,
    /// "incompatible_qos", "message_lost", "wall_clock_step", "bad_records", …
    pub kind: String,
    /// A sentence that says what, where and what to do.
    pub text: String,
}

/// What the web page is told about where to connect (`GET /config.json` of the page's server).
#[derive(Clone, Debug, Serialize, TS)]
pub struct PageConfig {
    /// The broadcaster's port, on the host that the page came from.
    pub broadcaster_port: u16,
    /// The collector's port, likewise.
    pub collector_port: u16,
}

/// The TypeScript declarations of this module, as one file.
pub fn typescript() -> String {
    let config = ts_rs::Config::new().with_large_int("number");
    let mut text = String::from(
        "// Generated from crates/wire/src/feed.rs: `cargo test -p hopwatch-wire` compares it,\n\
         // and writes it anew with HOPWATCH_UPDATE=1.\n\n",
    );
    for declaration in [
        Push::decl(&config),
        FromPage::decl(&config),
        AckItem::decl(&config),
        Live::decl(&config),
        Snapshot::decl(&config),
        RunState::decl(&config),
        LaneView::decl(&config),
        Ledger::decl(&config),
        hopwatch_model::PublishedSource::decl(&config),
        hopwatch_model::Failure::decl(&config),
        Class::decl(&config),
        Leg::decl(&config),
        Summary::decl(&config),
        Modes::decl(&config),
        Mode::decl(&config),
        Evidence::decl(&config),
        LegFigures::decl(&config),
        SpanFigures::decl(&config),
        Finding::decl(&config),
        Stability::decl(&config),
        Near::decl(&config),
        OpenLoop::decl(&config),
        OverPublished::decl(&config),
        SpanOverPublished::decl(&config),
        Within::decl(&config),
        Rates::decl(&config),
        DeliveryGap::decl(&config),
        MessageView::decl(&config),
        LegView::decl(&config),
        GlassView::decl(&config),
        EventView::decl(&config),
        Shadow::decl(&config),
        ShadowLink::decl(&config),
        PageConfig::decl(&config),
    ] {
        text.push_str("export ");
        text.push_str(declaration.trim());
        text.push_str("\n\n");
    }
    text + &format!("export const VERSION = {VERSION};\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typescript_is_a_fresh_generation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web-ui/src/generated/wire.ts");
        if std::env::var_os("HOPWATCH_UPDATE").is_some() {
            std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
            std::fs::write(path, typescript()).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap();
        assert!(there == typescript(), "web-ui/src/generated/wire.ts is stale: HOPWATCH_UPDATE=1");
    }

    #[test]
    fn a_page_is_understood_and_rubbish_is_refused() {
        let ack = r#"{"type":"ack","sent_ns":"12","resolution_ns":100000,
            "items":[{"trace_id":"00","received_ns":"9007199254740993","painted_ns":null}]}"#;
        let FromPage::Ack { items, .. } = serde_json::from_str(ack).unwrap();
        assert_eq!(items[0].received_ns, 9_007_199_254_740_993);
        for rubbish in ["", "[]", "{}", r#"{"type":"ack"}"#, r#"{"type":"nuke","x":1}"#] {
            assert!(serde_json::from_str::<FromPage>(rubbish).is_err(), "{rubbish}");
        }
    }
}
