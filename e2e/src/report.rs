//! report.json by its contract, read without Hopwatch's own types.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The report.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// Always "hopwatch.report/1".
    pub schema: String,
    /// What the run was.
    pub run: Run,
    /// Its lanes.
    pub lanes: Vec<Lane>,
    /// Its clocks.
    pub clocks: Vec<Value>,
    /// Where it was measured.
    pub environment: BTreeMap<String, String>,
    /// What it says.
    pub verdict: Verdict,
    /// Its budget.
    pub budget: Budget,
    /// What else happened.
    pub events: Vec<Event>,
}

/// What the run was.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Why it ended before its time.
    pub interrupted: Option<String>,
}

/// What it says.
#[derive(Clone, Debug, Deserialize)]
pub struct Verdict {
    /// SWITCH, KEEP or INCONCLUSIVE.
    pub decision: String,
    /// Why.
    pub reason: String,
}

/// Its budget.
#[derive(Clone, Debug, Deserialize)]
pub struct Budget {
    /// Whether all holds.
    pub passed: bool,
}

/// Something that happened.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// A word.
    pub kind: String,
    /// A sentence.
    pub text: String,
}

/// One condition under measurement.
#[derive(Clone, Debug, Deserialize)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its QoS.
    pub qos: String,
    /// Its link.
    pub transport: String,
    /// What became of every message.
    pub ledger: Ledger,
    /// Whether percentiles mean anything.
    pub stability: Stability,
    /// The figures by class.
    pub classes: BTreeMap<String, Figures>,
    /// The figures by leg.
    pub legs: BTreeMap<String, Figures>,
    /// S1's table.
    pub s1: BTreeMap<String, Figures>,
    /// How often each oddity occurred.
    pub oddities: BTreeMap<String, u64>,
    /// Traces that could not be split.
    pub defects: Vec<String>,
}

/// Whether percentiles mean anything.
#[derive(Clone, Debug, Deserialize)]
pub struct Stability {
    /// They don't.
    pub unstable: bool,
    /// The numbers in a sentence.
    pub reason: String,
}

/// What became of every message.
#[derive(Clone, Debug, Deserialize)]
pub struct Ledger {
    /// Handed to DDS.
    pub published: u64,
    /// How that is known.
    pub published_source: String,
    /// Before the gateway was there.
    pub lost_before_discovery: u64,
    /// In ROS.
    pub lost_in_ros: u64,
    /// With a gateway that was killed.
    pub outcome_unknown: u64,
    /// By the gateway's queue.
    pub queue_dropped: u64,
    /// No message.
    pub undecodable: u64,
    /// By the AI service.
    pub ai_failed: BTreeMap<String, u64>,
    /// By the web service.
    pub web_failed: BTreeMap<String, u64>,
    /// The gateway was stopped first.
    pub abandoned: u64,
    /// The whole way.
    pub delivered: u64,
    /// On the way.
    pub in_flight: u64,
    /// Not part of the sum.
    pub duplicates: u64,
    /// Hopwatch's own word on the sum.
    pub reconciles: bool,
    /// What can't be known.
    pub notes: Vec<String>,
}

impl Ledger {
    /// The parts add up to the whole, and Hopwatch says so.
    #[track_caller]
    pub fn adds_up(&self) -> &Self {
        let named = self.lost_before_discovery
            + self.lost_in_ros
            + self.outcome_unknown
            + self.queue_dropped
            + self.undecodable
            + self.ai_failed.values().sum::<u64>()
            + self.web_failed.values().sum::<u64>()
            + self.abandoned
            + self.delivered
            + self.in_flight;
        assert_eq!((named, self.reconciles), (self.published, true), "{self:?}");
        self
    }

    /// So many were published, and all of them went the whole way.
    #[track_caller]
    pub fn all_delivered(&self, count: u64) -> &Self {
        assert_eq!((self.published, self.delivered), (count, count), "{self:?}");
        self.adds_up()
    }
}

/// The figures of a class, a leg or a row.
#[derive(Clone, Debug, Deserialize)]
pub struct Figures {
    /// How many.
    pub n: usize,
    /// What they are worth when each depends on the one before.
    pub n_eff: usize,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub sd_ns: Option<f64>,
    /// Smallest.
    pub min_ns: Option<i64>,
    /// Largest.
    pub max_ns: Option<i64>,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 75th percentile.
    pub p75_ns: Option<i64>,
    /// 90th percentile.
    pub p90_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Its interval.
    pub p99_ci_ns: (Option<i64>, Option<i64>),
}

impl Report {
    /// The only lane.
    #[track_caller]
    pub fn lane(&self) -> &Lane {
        let names: Vec<&String> = self.lanes.iter().map(|lane| &lane.name).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        &self.lanes[0]
    }

    /// The only lane's account.
    #[track_caller]
    pub fn ledger(&self) -> &Ledger {
        &self.lane().ledger
    }
}
