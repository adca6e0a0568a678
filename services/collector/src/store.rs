//! What the collector knows.

use hopwatch_analysis::{GlassTracker, LaneInfo, LedgerBuilder};
use hopwatch_model::{
    BroadcasterCounters, Census, ClientTrace, GatewayCounters, Ledger, Ns, Trace, TraceId,
};
use hopwatch_wire::feed::RunState;
use hopwatch_wire::record::{
    BadRecord, CensusRecord, ClientRecord, ClientsRecord, Entry, EventRecord, GoneRecord,
    LaneRecord, Record, TraceRecord,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Instant;

/// Events that are kept, the newest ones.
const EVENTS: usize = 100;
/// The same of one kind.
const EVENTS_OF_A_KIND: usize = 10;
/// Entries of one source that may arrive out of order before the gap is taken for good.
const OUT_OF_ORDER: usize = 100_000;

/// Everything the collector knows.
pub(crate) struct Store {
    keep: usize,
    pub(crate) run_id: String,
    pub(crate) started: Instant,
    sources: HashMap<String, Seen>,
    records: u64,
    pub(crate) lanes: BTreeMap<String, Lane>,
    /// Acknowledgements with the interval of their push leg.
    pub(crate) acks: VecDeque<(ClientTrace, (Ns, Ns))>,
    tracker: GlassTracker,
    pub(crate) broadcasters: BTreeMap<String, BroadcasterCounters>,
    /// The latest of each broadcaster.
    pages: BTreeMap<String, ClientsRecord>,
    pub(crate) events: VecDeque<(u64, EventRecord)>,
}

/// One lane.
#[derive(Default)]
pub(crate) struct Lane {
    pub(crate) info: LaneInfo,
    pub(crate) ledger: LedgerBuilder,
    kept: VecDeque<Kept>,
    /// The account of those that were kept once.
    gone: LedgerBuilder,
    not_kept: u64,
}

/// A trace that is kept.
struct Kept {
    trace: Trace,
    /// Not a message that was taken before.
    fresh: bool,
}

/// Which entries of a source have been taken: all up to a number, and some beyond it.
#[derive(Default)]
struct Seen {
    up_to: u64,
    beyond: BTreeSet<u64>,
}

impl Seen {
    /// False for an entry that was taken before.
    fn take(&mut self, number: u64) -> bool {
        if number <= self.up_to || !self.beyond.insert(number) {
            return false;
        }
        while self.beyond.remove(&(self.up_to + 1)) {
            self.up_to += 1;
        }
        if self.beyond.len() > OUT_OF_ORDER
            && let Some(first) = self.beyond.pop_first()
        {
            self.up_to = first;
        }
        true
    }
}

/// How things stand, for `hopwatch run` and anyone who asks.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// This start of the collector.
    pub run_id: String,
    /// How the run stands.
    pub state: RunState,
    /// Entries taken.
    pub records: u64,
    /// The account of each lane.
    pub lanes: BTreeMap<String, Ledger>,
    /// Messages beyond what is kept.
    pub messages_not_kept: u64,
    /// Browser pages now.
    pub clients: u64,
}

impl Store {
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            keep,
            run_id: uuid::Uuid::new_v4().to_string(),
            started: Instant::now(),
            sources: HashMap::new(),
            records: 0,
            lanes: BTreeMap::new(),
            acks: VecDeque::new(),
            tracker: GlassTracker::new(),
            broadcasters: BTreeMap::new(),
            pages: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes an entry in; false when it was taken before.
    pub(crate) fn take(&mut self, entry: Entry) -> Result<bool, BadRecord> {
        let seen = self.sources.entry(entry.source.clone()).or_default();
        if !seen.take(entry.number) {
            return Ok(false);
        }
        self.records += 1;
        match entry.record {
            Record::Lane(record) => {
                let lane = self.lanes.entry(record.lane.clone()).or_default();
                lane.info = LaneInfo {
                    name: record.lane,
                    topic: record.topic,
                    qos: record.qos,
                    transport: record.transport,
                    workers: record.workers,
                    clock: record.clock,
                };
                lane.ledger.set_lane(&lane.info);
            }
            Record::Trace(record) => {
                let trace = Trace { gateway: entry.source, ..Trace::try_from(*record)? };
                let keep = self.keep;
                self.lane(&trace.lane).take(trace, keep);
            }
            Record::Client(record) => {
                let ack = ClientTrace::try_from(*record)?;
                let push = self.tracker.observe(&ack);
                self.acks.push_back((ack, push));
                if self.acks.len() > self.keep {
                    self.acks.pop_front();
                }
            }
            Record::Census(record) => {
                let lane = record.lane.clone();
                self.lane(&lane).ledger.observe_census(&Census::from(record));
            }
            Record::Gateway(counters) => {
                let lane = counters.lane.clone();
                let counters = GatewayCounters { gateway: entry.source, ..counters };
                self.lane(&lane).ledger.observe_counters(&counters);
            }
            Record::Broadcaster(counters) => {
                self.broadcasters.insert(entry.source, counters);
            }
            Record::Clients(record) => {
                self.pages.insert(entry.source, record);
            }
            Record::Event(event) => self.event(event),
            Record::Gone(record) => {
                let lane = self.lane(&record.lane);
                lane.not_kept += record.account.messages();
                lane.gone.observe_account(&record.account);
                lane.ledger.observe_account(&record.account);
            }
        }
        Ok(true)
    }

    /// Lines that were no entries.
    pub(crate) fn refused(&mut self, lines: usize, first: &str) {
        tracing::warn!(lines, first, "refused what are no records");
        let text = format!("{lines} lines from a service are no records; the first: {first}");
        self.event(EventRecord { event: "bad_records".to_owned(), text });
    }

    fn event(&mut self, event: EventRecord) {
        let at = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        // One kind must not push the others out.
        let alike = |(_, known): &(u64, EventRecord)| known.event == event.event;
        if self.events.iter().filter(|e| alike(e)).count() >= EVENTS_OF_A_KIND
            && let Some(oldest) = self.events.iter().position(alike)
        {
            self.events.remove(oldest);
        }
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back((at, event));
    }

    /// A lane may be spoken of before it is introduced.
    fn lane(&mut self, name: &str) -> &mut Lane {
        let lane = self.lanes.entry(name.to_owned()).or_default();
        if lane.info.name.is_empty() {
            name.clone_into(&mut lane.info.name);
        }
        lane
    }

    pub(crate) fn state(&self) -> RunState {
        let begun = |lane: &Lane| lane.ledger.has_begun();
        if !self.lanes.values().any(begun) {
            RunState::Waiting
        } else if self.lanes.values().filter(|lane| begun(lane)).all(|lane| lane.ledger.is_over()) {
            RunState::Ended
        } else {
            RunState::Running
        }
    }

    pub(crate) fn clients(&self) -> u64 {
        self.broadcasters.values().map(|b| b.clients).sum()
    }

    pub(crate) fn status(&self) -> Status {
        Status {
            run_id: self.run_id.clone(),
            state: self.state(),
            records: self.records,
            lanes: self
                .lanes
                .iter()
                .map(|(name, lane)| (name.clone(), lane.ledger.ledger_now()))
                .collect(),
            messages_not_kept: self.lanes.values().map(|lane| lane.not_kept).sum(),
            clients: self.clients(),
        }
    }

    /// Everything that is kept, as entries again: what `hopwatch` makes the report from.
    pub(crate) fn lines<'a>(&'a self) -> String {
        let mut lines = String::new();
        let mut numbers: BTreeMap<&str, u64> = BTreeMap::new();
        // What tells which start of a service it is about keeps its source.
        let mut put = |source: &'a str, record: Record| {
            let number = numbers.entry(source).or_default();
            *number += 1;
            let entry = Entry { source: source.to_owned(), number: *number, record };
            if let Ok(line) = serde_json::to_string(&entry) {
                lines.push_str(&line);
                lines.push('\n');
            }
        };
        let own = self.run_id.as_str();
        for (name, lane) in &self.lanes {
            let info = &lane.info;
            put(
                own,
                Record::Lane(LaneRecord {
                    lane: name.clone(),
                    topic: info.topic.clone(),
                    qos: info.qos.clone(),
                    transport: info.transport.clone(),
                    workers: info.workers,
                    clock: info.clock.clone(),
                }),
            );
            for census in lane.ledger.census() {
                put(own, Record::Census(CensusRecord::new(name, census)));
            }
            for counters in lane.ledger.counters() {
                put(&counters.gateway, Record::Gateway(counters.clone()));
            }
            if lane.not_kept > 0 {
                let account = lane.gone.account();
                put(own, Record::Gone(GoneRecord { lane: name.clone(), account }));
            }
            for kept in &lane.kept {
                let record = Box::new(TraceRecord::from(&kept.trace));
                put(&kept.trace.gateway, Record::Trace(record));
            }
        }
        for (ack, _) in &self.acks {
            put(own, Record::Client(Box::new(ClientRecord::from(ack))));
        }
        for (source, counters) in &self.broadcasters {
            put(source, Record::Broadcaster(counters.clone()));
        }
        for (source, record) in &self.pages {
            put(source, Record::Clients(record.clone()));
        }
        for (_, event) in &self.events {
            put(own, Record::Event(event.clone()));
        }
        lines
    }

    /// The acknowledgements of these messages.
    pub(crate) fn acks_of<'a>(
        &'a self,
        traces: &'a HashMap<TraceId, &Trace>,
    ) -> impl Iterator<Item = &'a (ClientTrace, (Ns, Ns))> {
        self.acks.iter().rev().filter(|(ack, _)| traces.contains_key(&ack.id))
    }
}

impl Lane {
    /// The newest messages that are kept, newest first, without duplicates.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Trace> {
        self.kept.iter().rev().filter(|kept| kept.fresh).map(|kept| &kept.trace)
    }

    fn take(&mut self, trace: Trace, keep: usize) {
        let fresh = self.ledger.observe_trace(&trace);
        self.kept.push_back(Kept { trace, fresh });
        if self.kept.len() > keep
            && let Some(oldest) = self.kept.pop_front()
        {
            self.gone.observe_trace(&oldest.trace);
            self.not_kept += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
        let entries = text.lines().map(|line| serde_json::from_str::<Entry>(line).unwrap());
        entries.filter(|entry| !matches!(entry.record, Record::Gone(_))).collect()
    }

    #[test]
    fn the_same_entry_twice_is_taken_once() {
        let mut store = Store::new(10);
        for entry in entries() {
            assert!(store.take(entry).unwrap());
        }
        let before = store.lines();
        for entry in entries() {
            assert!(!store.take(entry).unwrap());
        }
        assert_eq!(store.lines(), before);
        let status = store.status();
        let ledger = &status.lanes["best-effort"];
        assert_eq!((ledger.published, ledger.delivered, ledger.duplicates), (2, 1, 0));
        assert_eq!(status.clients, 1);
    }

    #[test]
    fn what_is_kept_comes_back_as_it_was() {
        let mut store = Store::new(10);
        for entry in entries() {
            assert!(store.take(entry).unwrap());
        }
        let mut again = Store::new(10);
        for line in store.lines().lines() {
            assert!(again.take(serde_json::from_str(line).unwrap()).unwrap());
        }
        assert_eq!(again.status().lanes, store.status().lanes);
    }

    #[test]
    fn numbers_may_come_in_any_order() {
        let mut seen = Seen::default();
        for number in [3, 1, 2, 5] {
            assert!(seen.take(number));
        }
        assert!(!seen.take(2) && !seen.take(5) && seen.take(4));
        assert_eq!((seen.up_to, seen.beyond.len()), (5, 0));
    }

    #[test]
    fn beyond_what_is_kept_the_ledger_still_counts() {
        let mut store = Store::new(1);
        for entry in entries() {
            assert!(store.take(entry).unwrap());
        }
        let status = store.status();
        assert_eq!(status.messages_not_kept, 1);
        assert_eq!(status.lanes["best-effort"].published, 2);
    }

    /// A gateway that starts again is another source, also in what is kept.
    #[test]
    fn each_start_of_a_gateway_keeps_its_name() {
        let mut store = Store::new(1);
        for entry in entries() {
            store.take(entry).unwrap();
        }
        // A second one: the first ended in order, so that it isn't missed.
        for (number, entry) in (1..).zip(entries().into_iter().filter(|e| e.source == "g-1")) {
            let source = "g-2".to_owned();
            store.take(Entry { source, number, ..entry }).unwrap();
        }
        let dataset = store.lines();
        for source in ["g-1", "g-2"] {
            let told = |line: &&str| {
                let entry: Entry = serde_json::from_str(line).unwrap();
                entry.source == source && matches!(entry.record, Record::Gateway(_))
            };
            assert_eq!(dataset.lines().filter(told).count(), 1, "{source}");
        }
        let ledger = &store.status().lanes["best-effort"];
        assert_eq!((ledger.published, ledger.duplicates, ledger.outcome_unknown), (2, 2, 0));
        let mut again = Store::new(1);
        for line in dataset.lines() {
            again.take(serde_json::from_str(line).unwrap()).unwrap();
        }
        assert_eq!(again.status().lanes, store.status().lanes);
    }

    #[test]
    fn what_is_gone_comes_back_as_an_account() {
        let mut store = Store::new(1);
        for entry in entries() {
            store.take(entry).unwrap();
        }
        let mut again = Store::new(1);
        for line in store.lines().lines() {
            again.take(serde_json::from_str(line).unwrap()).unwrap();
        }
        let (before, after) = (store.status(), again.status());
        assert_eq!(after.lanes, before.lanes);
        assert_eq!(after.messages_not_kept, before.messages_not_kept);
    }
}
