//! From all records to the report of a measured run.

use super::{Heard, Made, Settled, write};
use crate::Shared;
use crate::export::{Surroundings, gather, surroundings};
use hopwatch_analysis::{Account, Dataset, Event, LedgerBuilder, RunInfo, report};
use hopwatch_clocksync::EXPIRY_NS;
use hopwatch_folder::{Gathered, ReportFiles};
use hopwatch_model::{ClockId, GatewayCounters, Hop, Ns, TraceId};
use std::collections::{BTreeMap, HashSet};

/// The kind of the event that tells the rule.
const KIND: &str = "measured_run";

/// Makes the report of a run and puts it where it belongs.
pub(super) fn make(shared: &Shared, settled: Settled) -> Result<Made, String> {
    let folder = settled.folder.clone();
    let made = made(shared, settled);
    match folder {
        Some(folder) => write(&folder, made),
        None => made,
    }
}

fn made(shared: &Shared, settled: Settled) -> Result<Made, String> {
    let gathered = gather(shared).map_err(|error| format!("{error:#}"))?;
    let taken: u64 = settled.gateways.values().map(|heard| heard.taken).sum();
    let Surroundings { info, environment } = surroundings(shared);
    let info = RunInfo {
        id: settled.name.clone(),
        started: humantime::format_rfc3339_millis(settled.began).to_string(),
        duration_s: settled.length_s(),
        interrupted: None,
        ..info
    };
    let Gathered { data, messages_not_kept } = part(gathered.data, settled);
    let info = RunInfo { messages_not_kept, ..info };
    let messages = u64::try_from(data.traces.len()).unwrap_or(u64::MAX);
    match (messages, taken) {
        (0, 0) => return Err("no message was taken in it".to_owned()),
        (0, taken) => {
            return Err(format!("none of its {taken} messages is kept any more (archive_records)"));
        }
        _ => {}
    }
    let report = report(&data, info, environment, &shared.budget);
    let files = ReportFiles::of(&report, &data).map_err(|error| error.to_string())?;
    Ok(Made { messages, decision: report.verdict.decision.to_owned(), files })
}

/// The records of the run alone, and how many of its messages are no longer among them.
pub(super) fn part(mut data: Dataset, settled: Settled) -> Gathered {
    let rule = settled.rule();
    let (own, others): (Vec<_>, Vec<_>) =
        data.traces.drain(..).partition(|trace| settled.stretch.holds(trace));
    let mut around: BTreeMap<String, LedgerBuilder> = BTreeMap::new();
    for (lane, account) in data.gone.drain(..) {
        around.entry(lane).or_default().observe_account(&account);
    }
    for trace in &others {
        around.entry(trace.lane.clone()).or_default().observe_trace(trace);
    }
    drop(others);
    data.around = Some(around.into_iter().map(|(lane, ledger)| (lane, ledger.account())).collect());
    data.traces = own;
    let ids: HashSet<TraceId> = data.traces.iter().map(|trace| trace.id).collect();
    data.clients.retain(|ack| ids.contains(&ack.id));
    let mut spans: BTreeMap<&ClockId, (Ns, Ns)> = BTreeMap::new();
    for taken in data.traces.iter().filter_map(|trace| trace.stamps.get(Hop::Taken)) {
        let (first, last) = spans.entry(&taken.clock).or_insert((taken.ns, taken.ns));
        (*first, *last) = ((*first).min(taken.ns), (*last).max(taken.ns));
    }
    data.peers.retain(|exchange| {
        spans.get(&exchange.near).is_some_and(|(first, last)| {
            let within = first.saturating_sub(EXPIRY_NS)..=last.saturating_add(EXPIRY_NS);
            within.contains(&exchange.near_received)
        })
    });
    // They count since their start, and nobody counts by takes.
    data.broadcasters.clear();
    data.pages.clear();
    data.probes = settled.probes;
    data.events = settled.events;
    data.events.push(Event { kind: KIND.to_owned(), text: rule });
    let taken: u64 = settled.gateways.values().map(|heard| heard.taken).sum();
    let kept = u64::try_from(data.traces.len()).unwrap_or(u64::MAX);
    let not_kept = taken.saturating_sub(kept);
    if not_kept > 0 {
        let text = format!(
            "{not_kept} of the run's {taken} messages were no longer kept when its report was \
             made: they are in no figure and in no account (archive_records, keep_messages)"
        );
        data.events.push(Event { kind: "not_kept".to_owned(), text });
    }
    data.counters = Vec::new();
    for ((gateway, lane), heard) in settled.gateways {
        let of = |trace: &&hopwatch_model::Trace| *trace.gateway == *gateway && trace.lane == lane;
        let seen = data.traces.iter().filter(of).count();
        if seen > 0 {
            let seen = u64::try_from(seen).unwrap_or(u64::MAX);
            data.counters.push(heard.counters(&gateway, &lane, seen));
        }
    }
    let lanes: Vec<String> = data.lanes.keys().cloned().collect();
    for lane in lanes {
        tell_what_is_untold(&mut data, &lane);
    }
    Gathered { data, messages_not_kept: not_kept }
}

/// Numbers that are missing beyond the gaps that the tap saw were taken, and nobody told what became
/// of them: the newest gateway counts them as taken.
fn tell_what_is_untold(data: &mut Dataset, lane: &str) {
    let mut ledger = LedgerBuilder::new();
    let around = data.around.iter().flatten().filter(|(of, _)| of == lane);
    around.for_each(|(_, account): &(String, Account)| ledger.observe_elsewhere(account));
    for trace in data.traces.iter().filter(|trace| trace.lane == lane) {
        ledger.observe_trace(trace);
    }
    let of_lane = |counters: &&GatewayCounters| counters.lane == lane;
    let gaps = data.counters.iter().filter(of_lane).map(|counters| counters.missed).sum::<u64>();
    // Without counters, all that is missing is unknown.
    let untold = ledger.ledger(true).outcome_unknown.saturating_sub(gaps);
    let newest = data.counters.iter_mut().filter(|counters| counters.lane == lane);
    if let Some(newest) = newest.max_by_key(|counters| counters.started_ms) {
        newest.taken = newest.taken.saturating_add(untold);
    }
}

impl Heard {
    /// The counters of the run itself.
    fn counters(&self, gateway: &str, lane: &str, seen: u64) -> GatewayCounters {
        let none = GatewayCounters::default();
        let now = self.at_the_end().unwrap_or(&none);
        let before = self.before.as_ref().unwrap_or(&none);
        let records_dropped = now.records_dropped.saturating_sub(before.records_dropped);
        // A gap may lie behind the stop, and a number be missing as its record never came: which is
        // which can't be told.
        let missed = if records_dropped > 0 { 0 } else { now.missed.saturating_sub(before.missed) };
        GatewayCounters {
            gateway: gateway.to_owned(),
            lane: lane.to_owned(),
            started_ms: now.started_ms,
            taken: seen,
            finished: seen,
            missed,
            message_lost: now.message_lost.saturating_sub(before.message_lost),
            records_dropped,
            // One that said nothing after the stop, with messages on the way, ended without a word.
            last: self.is_over() || self.after.is_some() || self.is_quiet(),
            ..GatewayCounters::default()
        }
    }
}

impl Settled {
    fn length_s(&self) -> f64 {
        self.ended.duration_since(self.began).unwrap_or_default().as_secs_f64()
    }

    /// What belongs to the run, in a sentence.
    fn rule(&self) -> String {
        let time = humantime::format_rfc3339_millis;
        format!(
            "the messages that the gateway took from {} to {}, whatever became of them; their \
             outcomes were waited for {:.1} s after that, and at most {} s. Missing numbers are lost \
             in ROS as far as the gateway's tap counted gaps, in a wider stretch: from its last \
             counters before the first to the first ones that came {:.1} s or more after the last \
             (none came: to its newest). When it dropped records meanwhile, what became of them \
             is unknown",
            time(self.began),
            time(self.ended),
            self.waited.as_secs_f64(),
            super::PATIENCE.as_secs(),
            super::UNDER_WAY.as_secs_f64(),
        )
    }
}
