//! The live feed: what the web page gets, and what it sends back.
//!
//! The page holds two WebSockets: `/ws` of the broadcaster (the messages themselves, answered by
//! acknowledgements with the browser's stamps) and `/v1/live` of the collector (snapshots of the
//! figures, as the page wants to see them). Both speak JSON text frames with a `type`. What the page
//! may set is in [`crate::controls`]. The TypeScript declarations of both files are generated
//! (`web-ui/src/generated/wire.ts`) and compared in a test.

use crate::controls::{
    AiSettings, Controls, Mark, MeasureAction, MeasureRequest, NetworkSettings, RobotSettings,
};
use crate::ns_text;
use hopwatch_analysis::{
    BudgetReport, Check, ClockReport, DeliveryGap, Finding, LegFigures, Near, OpenLoop,
    OverPublished, Quantity, Rates, Shadow, ShadowLink, SpanFigures, SpanOverPublished, Stability,
    Verdict, Within,
};
use hopwatch_model::{Class, Ledger, Leg};
use hopwatch_stats::{Evidence, Mode, Modes, Summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// The version of both feeds. A page that meets another says so and asks to be reloaded.
pub const VERSION: u32 = 2;

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

/// Page → collector: what it wants to see. Without a word it watches the last minute of all robots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum FromViewer {
    /// From now on this. The next snapshot is a whole one.
    Watch(Watch),
    /// Nothing, until it watches again: a tab that nobody looks at.
    Pause,
    /// One message, by its trace id.
    Message {
        /// 32 hexadecimal digits.
        trace_id: String,
    },
}

/// What is looked at.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS,
)]
pub struct Watch {
    /// The messages of which stretch of time.
    pub window: Window,
    /// Those of one robot; `null`: of all.
    pub robot: Option<String>,
}

/// A stretch of time up to now. A message lies in it by its take.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS,
)]
pub enum Window {
    /// The last ten seconds.
    #[serde(rename = "10s")]
    TenSeconds,
    /// The last minute.
    #[default]
    #[serde(rename = "1min")]
    Minute,
    /// Since the start, as far as messages are kept.
    #[serde(rename = "run")]
    Run,
}

/// Collector → browser, several times a second.
#[derive(Clone, Debug, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Live {
    /// The figures now: what has changed since the snapshot before on this connection.
    Snapshot(Box<Snapshot>),
    /// The answer to [`FromViewer::Message`].
    Message {
        /// The one that was asked for.
        trace_id: String,
        /// `null`: it isn't kept, or never was.
        message: Option<Box<MessageView>>,
    },
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
    /// Browser pages that the broadcaster serves now.
    pub clients: u64,
    /// What the figures are of.
    pub watch: Watch,
    /// All parts are here: what the page had is of something else. Otherwise a part that is missing
    /// is as it was.
    pub whole: bool,
    /// What has changed.
    pub parts: Vec<Part>,
}

/// A part of a snapshot. It replaces the one of its kind (of its lane, of its chunk).
#[derive(Clone, Debug, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Part {
    /// The figures of a lane.
    Lane {
        /// Them.
        lane: Box<LaneView>,
    },
    /// A lane's latency over time, a stretch of it.
    Course(CourseView),
    /// The newest messages.
    Latest {
        /// Newest first.
        messages: Vec<MessageView>,
    },
    /// The slowest ones of the window that went the whole way.
    Slowest {
        /// Slowest first.
        messages: Vec<MessageView>,
    },
    /// The robots.
    Robots {
        /// By lane and name.
        robots: Vec<RobotView>,
    },
    /// The clocks.
    Clocks {
        /// By name.
        clocks: Vec<ClockReport>,
    },
    /// What is said on the window alone, its losses included; of the whole run, as its report will.
    Verdict {
        /// On replacing HTTP.
        verdict: Verdict,
        /// Whether the limits hold.
        budget: BudgetReport,
    },
    /// What other links would change.
    Shadow {
        /// `null` without probes.
        shadow: Option<Shadow>,
    },
    /// Things that went wrong, and what the user marked.
    Events {
        /// Newest first.
        events: Vec<EventView>,
    },
    /// Measured runs that were started from the page.
    Measured {
        /// Newest first.
        runs: Vec<MeasuredRun>,
    },
}

/// Some bins of a lane's latency over time.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct CourseView {
    /// The lane.
    pub lane: String,
    /// How long a bin is, in ms. With another width all chunks of the lane before are void.
    pub width_ms: u32,
    /// Which stretch: bins `chunk × 32` up to 31 further ones, counted from `elapsed_ms` 0; those
    /// before the collector's start are negative.
    pub chunk: i64,
    /// Those in which anything happened, in order.
    pub bins: Vec<Bin>,
}

/// Messages that were taken within one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, TS)]
pub struct Bin {
    /// Where it begins, in ms since the collector's start.
    pub at_ms: i64,
    /// Messages that went the whole way.
    pub n: usize,
    /// Pipeline total of those, in ns; `null` for none.
    pub p50_ns: Option<i64>,
    /// The same.
    pub p95_ns: Option<i64>,
    /// The same.
    pub p99_ns: Option<i64>,
    /// The same.
    pub max_ns: Option<i64>,
    /// Median of the AI service's own time.
    pub ai_p50_ns: Option<i64>,
    /// Median of the transport.
    pub transport_p50_ns: Option<i64>,
    /// Median of the overhead.
    pub overhead_p50_ns: Option<i64>,
    /// The trace id of the slowest one.
    pub slowest: Option<String>,
    /// Messages that did not go the whole way, by what became of them: "lost_in_ros",
    /// "queue_dropped", "ai timed_out", … One lost in ROS stands where its absence was noticed.
    pub lost: BTreeMap<String, u64>,
}

/// A robot, as one lane sees it.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct RobotView {
    /// The lane.
    pub lane: String,
    /// The robot.
    pub robot_id: String,
    /// What it says it has published here, in all its starts; `null`: it doesn't tell.
    pub published: Option<u64>,
    /// Messages of the window.
    pub taken: usize,
    /// Those of them that went the whole way.
    pub delivered: usize,
    /// Takes a second in the window; `null` for fewer than two.
    pub rate_hz: Option<f64>,
    /// Pipeline total in the window; `null` for none.
    pub p50_ns: Option<i64>,
    /// The same.
    pub p99_ns: Option<i64>,
    /// When its newest message of the window was taken, in ms since the collector's start; `null`
    /// for none.
    pub last_ms: Option<i64>,
}

/// A measured run that was started from the page.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct MeasuredRun {
    /// Its name, a folder's.
    pub name: String,
    /// How it stands.
    pub state: MeasuredState,
    /// When it began, in ms since the collector's start.
    pub from_ms: u64,
    /// When it ended.
    pub to_ms: Option<u64>,
    /// Messages in its report.
    pub messages: Option<u64>,
    /// The report's verdict: SWITCH, KEEP or INCONCLUSIVE.
    pub decision: Option<String>,
    /// What went wrong, if it failed.
    pub trouble: Option<String>,
}

/// How a measured run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredState {
    /// It goes on.
    Running,
    /// It has ended, and its report is being written.
    Writing,
    /// Its report is there: `GET /v1/measured/NAME/report.html`, `.json`, `.md`, `traces.csv`.
    Done,
    /// It has no report.
    Failed,
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
    /// pipeline span (taken → web_acked), of every message of the window.
    pub classes: BTreeMap<String, Summary>,
    /// The distribution of the same rows: (share of the messages, at most so long in ns), in order.
    #[ts(type = "{ [key: string]: [number, number][] }")]
    pub distribution: BTreeMap<String, Vec<(f64, i64)>>,
    /// Everything below is of so many messages at most, the newest ones of the window.
    pub newest: usize,
    /// Those of them that a page got, and that were painted there.
    pub glass: GlassCounts,
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

/// How many messages were seen on a page, of those whose acknowledgements must have come by now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, TS)]
pub struct GlassCounts {
    /// Delivered messages that are looked at.
    pub delivered: usize,
    /// Those that at least one page acknowledged.
    pub received: usize,
    /// Those that at least one page painted.
    pub painted: usize,
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
    /// When it was taken, in ms since the collector's start.
    pub at_ms: i64,
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
    /// "incompatible_qos", "message_lost", "wall_clock_step", "bad_records", "mark", …
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
    /// What can be set from the page.
    pub controls: Controls,
}

/// The TypeScript declarations of this module, as one file.
pub fn typescript() -> String {
    let config = ts_rs::Config::new().with_large_int("number");
    let mut text = String::from(
        "// Generated from crates/wire/src/feed.rs and controls.rs: `cargo test -p hopwatch-wire` compares it,\n\
         // and writes it anew with HOPWATCH_UPDATE=1.\n\n",
    );
    for declaration in [
        Push::decl(&config),
        FromPage::decl(&config),
        AckItem::decl(&config),
        FromViewer::decl(&config),
        Watch::decl(&config),
        Window::decl(&config),
        Live::decl(&config),
        Snapshot::decl(&config),
        Part::decl(&config),
        CourseView::decl(&config),
        Bin::decl(&config),
        RobotView::decl(&config),
        MeasuredRun::decl(&config),
        MeasuredState::decl(&config),
        Verdict::decl(&config),
        BudgetReport::decl(&config),
        Check::decl(&config),
        Quantity::decl(&config),
        ClockReport::decl(&config),
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
        GlassCounts::decl(&config),
        MessageView::decl(&config),
        LegView::decl(&config),
        GlassView::decl(&config),
        EventView::decl(&config),
        Shadow::decl(&config),
        ShadowLink::decl(&config),
        PageConfig::decl(&config),
        Controls::decl(&config),
        AiSettings::decl(&config),
        RobotSettings::decl(&config),
        NetworkSettings::decl(&config),
        Mark::decl(&config),
        MeasureRequest::decl(&config),
        MeasureAction::decl(&config),
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
