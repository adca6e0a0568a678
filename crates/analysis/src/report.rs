//! The report: everything that was recorded, as figures. The JSON of `Report` is report.json.

use crate::artefacts::{Context, LaneArtefacts, artefacts};
use crate::budget::{Budget, BudgetReport};
use crate::clock_report::{ClockReport, clock_reports};
use crate::clocks::Clocks;
use crate::decompose::decompose;
use crate::glass::{Glass, GlassTracker};
use crate::lane::{LaneData, LaneInfo, LaneReport, Wanted, figures, taken_ns};
use crate::ledger::{Account, LedgerBuilder};
use crate::network::Network;
use crate::parts::Parts;
use crate::shadow::Shadow;
use crate::short_cut::{DEFAULT_MARGIN_NS, verdict_of_run};
use hopwatch_model::{
    BroadcasterCounters, Census, ClientCounters, ClientTrace, GatewayCounters, Ns, Outcome,
    PeerExchange, Probe, Trace, TraceId,
};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The schema of report.json.
pub const SCHEMA: &str = "hopwatch.report/1";

/// Everything that was recorded of a run.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// The lanes by name.
    pub lanes: BTreeMap<String, LaneInfo>,
    /// What became of each message taken.
    pub traces: Vec<Trace>,
    /// Messages at browsers.
    pub clients: Vec<ClientTrace>,
    /// (lane, a robot's own count).
    pub census: Vec<(String, Census)>,
    /// The gateway's counters.
    pub counters: Vec<GatewayCounters>,
    /// (lane, the account of messages that are no longer kept).
    pub gone: Vec<(String, Account)>,
    /// The broadcasters' counters.
    pub broadcasters: Vec<BroadcasterCounters>,
    /// What clock responders answered.
    pub peers: Vec<PeerExchange>,
    /// Shadow probes.
    pub probes: Vec<Probe>,
    /// What became of the messages for each page.
    pub pages: Vec<ClientCounters>,
    /// What else happened.
    pub events: Vec<Event>,
    /// Of a part of a run: (lane, an account of messages that are no part of it). Of the census only
    /// the schedules are used then: it counts the whole run.
    pub around: Option<Vec<(String, Account)>>,
    /// The run goes on: what has no outcome yet is on its way, and nobody lost it.
    pub goes_on: bool,
}

impl Dataset {
    /// How the clocks of the run relate.
    pub fn clocks(&self) -> Clocks {
        Clocks::of(&self.traces, &self.peers)
    }

    /// One message at one browser.
    pub(crate) fn glass(
        &self,
        ack: &ClientTrace,
        push: (Ns, Ns),
        trace: Option<&Trace>,
        clocks: &Clocks,
    ) -> Glass {
        let parts = trace.map(|trace| {
            let of_lane = self.census.iter().filter(|(lane, _)| *lane == trace.lane);
            let census: Vec<&Census> = of_lane.map(|(_, census)| census).collect();
            (trace, decompose(trace, &census, clocks).unwrap_or_default())
        });
        Glass::of(ack, push, parts.as_ref().map(|(trace, parts)| (*trace, parts)), clocks)
    }
}

/// Something that the user should know of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Event {
    /// The kind, a word.
    pub kind: String,
    /// What, where, what to do.
    pub text: String,
}

/// What the run was. None of it is computed here.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// How long it took, in s.
    pub duration_s: f64,
    /// The command line.
    pub command: Vec<String>,
    /// Why it ended before its time, if it did.
    pub interrupted: Option<String>,
    /// Messages beyond what the collector keeps: in the ledger, not in the figures.
    pub messages_not_kept: u64,
    /// The network that was made to lose packets, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// What the run says on the question of replacing HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Verdict {
    /// SWITCH, KEEP or INCONCLUSIVE.
    pub decision: &'static str,
    /// Why.
    pub reason: String,
}

/// The report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The run.
    pub run: RunInfo,
    /// Its figures.
    pub lanes: Vec<LaneReport>,
    /// Its clocks.
    pub clocks: Vec<ClockReport>,
    /// Where it was measured.
    pub environment: BTreeMap<String, String>,
    /// What it says.
    pub verdict: Verdict,
    /// What makes a link look slow without being its fault: found, or ruled out, in each lane.
    pub artefacts: Vec<LaneArtefacts>,
    /// Whether it is within budget.
    pub budget: BudgetReport,
    /// What the broadcasters sent to pages, and what they had to drop.
    pub broadcasters: Vec<BroadcasterCounters>,
    /// The same for each page, by its name.
    pub clients: Vec<ClientCounters>,
    /// What other links would change, by shadow probes; `null` without probes.
    pub shadow: Option<Shadow>,
    /// What else happened.
    pub events: Vec<Event>,
}

/// Makes the report. The order of the records makes no difference.
pub fn report(
    data: &Dataset,
    run: RunInfo,
    environment: BTreeMap<String, String>,
    budget: &Budget,
) -> Report {
    let accounts = accounts(data);
    let by_id: BTreeMap<TraceId, &Trace> = data.traces.iter().map(|t| (t.id, t)).collect();
    let mut acks: Vec<&ClientTrace> = data.clients.iter().collect();
    acks.sort_by_key(|ack| (ack.ack_received.ns, ack.client.clone(), ack.id));
    let mut tracker = GlassTracker::new();
    let clocks = data.clocks();
    let mut glass: BTreeMap<TraceId, Vec<Glass>> = BTreeMap::new();
    for ack in acks {
        let push = tracker.observe(ack);
        if let Some(trace) = by_id.get(&ack.id) {
            let of_trace = data.glass(ack, push, Some(trace), &clocks);
            glass.entry(ack.id).or_default().push(of_trace);
        }
    }
    let wanted = Wanted { limit_ns: budget.total_ns, ..Wanted::default() };
    let lanes: Vec<LaneReport> = accounts
        .iter()
        .map(|(info, account)| {
            // Figures are of the same messages, whichever leg: those that went the whole way.
            let delivered = |trace: &&&Trace| trace.outcome == Outcome::Delivered;
            let whole = account.fresh.iter().filter(delivered);
            let lane = LaneData {
                info: (*info).clone(),
                traces: account.fresh.clone(),
                glass: whole.filter_map(|trace| glass.get(&trace.id)).flatten().cloned().collect(),
                census: account.census(),
                clocks: &clocks,
            };
            let ledger = &account.ledger;
            let now = if data.goes_on { ledger.ledger_now() } else { ledger.ledger(true) };
            figures(&lane, now, &wanted)
        })
        .collect();
    let artefacts = accounts
        .iter()
        .zip(&lanes)
        .map(|((info, account), lane)| lane_artefacts(info, account, lane, &clocks))
        .collect();
    let mut broadcasters = data.broadcasters.clone();
    broadcasters.sort();
    let mut events = data.events.clone();
    events.sort();
    events.dedup();
    let clocks = clock_reports(data, &clocks, &tracker);
    Report {
        schema: SCHEMA,
        run,
        budget: budget.judge(&lanes),
        verdict: verdict_of_run(&lanes, budget, DEFAULT_MARGIN_NS),
        artefacts,
        lanes,
        clocks,
        environment,
        broadcasters,
        clients: pages(&data.pages),
        shadow: Shadow::of(&data.probes),
        events,
    }
}

/// The latest counters of each page: those that know of most.
fn pages(told: &[ClientCounters]) -> Vec<ClientCounters> {
    let mut latest: BTreeMap<&str, &ClientCounters> = BTreeMap::new();
    // Of the same figures, those after it left.
    let rank = |c: &ClientCounters| {
        (c.offered, c.frames_sent + c.frames_dropped, c.acked, c.rubbish, Reverse(c.connected))
    };
    for counters in told {
        let known = latest.entry(&counters.client).or_insert(counters);
        if rank(counters) > rank(known) {
            *known = counters;
        }
    }
    latest.into_values().cloned().collect()
}

/// A lane's messages.
pub(crate) struct LaneAccount<'a> {
    pub(crate) ledger: LedgerBuilder,
    /// Of a part of a run, whose ledger has no census: the robots' schedules.
    schedules: Option<LedgerBuilder>,
    /// Those that are kept, in the order in which they were taken, without duplicates.
    pub(crate) fresh: Vec<&'a Trace>,
}

impl LaneAccount<'_> {
    /// The robots' schedules, by their latest census.
    pub(crate) fn census(&self) -> Vec<&Census> {
        self.schedules.as_ref().unwrap_or(&self.ledger).census().collect()
    }
}

/// The account of each lane.
pub(crate) fn accounts(data: &Dataset) -> Vec<(&LaneInfo, LaneAccount<'_>)> {
    let mut traces: Vec<&Trace> = data.traces.iter().collect();
    traces.sort_by_key(|trace| (taken_ns(trace), trace.id));
    let of_lane = |info: &LaneInfo| {
        let mut ledger = LedgerBuilder::new();
        ledger.set_lane(info);
        for (_, account) in data.gone.iter().filter(|(lane, _)| *lane == info.name) {
            ledger.observe_account(account);
        }
        let around = data.around.iter().flatten();
        for (_, account) in around.filter(|(lane, _)| *lane == info.name) {
            ledger.observe_elsewhere(account);
        }
        let mut schedules = data.around.as_ref().map(|_| LedgerBuilder::new());
        for (_, census) in data.census.iter().filter(|(lane, _)| *lane == info.name) {
            schedules.as_mut().unwrap_or(&mut ledger).observe_census(census);
        }
        for counters in data.counters.iter().filter(|counters| counters.lane == info.name) {
            ledger.observe_counters(counters);
        }
        let of_this = traces.iter().copied().filter(|trace| trace.lane == info.name);
        let fresh = of_this.filter(|trace| ledger.observe_trace(trace)).collect();
        LaneAccount { ledger, schedules, fresh }
    };
    data.lanes.values().map(|info| (info, of_lane(info))).collect()
}

/// What is found or ruled out in one lane.
fn lane_artefacts(
    info: &LaneInfo,
    account: &LaneAccount<'_>,
    lane: &LaneReport,
    clocks: &Clocks,
) -> LaneArtefacts {
    let census = account.census();
    let whole = account.fresh.iter().filter(|trace| trace.outcome == Outcome::Delivered);
    let parts: Vec<Parts> = whole
        .filter_map(|trace| Parts::of(trace, &decompose(trace, &census, clocks).ok()?))
        .collect();
    let context =
        Context { info, stability: &lane.stability, ledger: &lane.ledger, traces: &account.fresh };
    LaneArtefacts { lane: info.name.clone(), artefacts: artefacts(&parts, &context) }
}

impl Report {
    /// How the run ended, by the exit codes of Hopwatch: 4 nothing was delivered, 3 unstable or
    /// not reconciled, 1 budget missed, 0 within budget.
    pub fn exit_code(&self) -> u8 {
        if self.lanes.iter().all(|lane| lane.ledger.delivered == 0) {
            4
        } else if self.lanes.iter().any(|lane| lane.stability.unstable || !lane.ledger.reconciles) {
            // No steady state, or an account that doesn't add up: nothing can be concluded.
            3
        } else {
            u8::from(!self.budget.passed)
        }
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
pub(crate) mod tests;
