//! What the collector knows.

use crate::lane::{Kept, Lane};
use crate::measured::Measured;
use crate::samples::{Arrival, Axis, Started};
use crate::told::{Origin, Told, What};
use hopwatch_analysis::{GlassTracker, LaneInfo};
use hopwatch_kit::clock::{clock_id, mono_ns, wall_ns};
use hopwatch_model::{
    BroadcasterCounters, Census, ClientTrace, GatewayCounters, Ledger, Ns, PeerExchange, Probe,
    Trace, TraceId,
};
use hopwatch_wire::feed::{EventView, RunState};
use hopwatch_wire::record::{
    ClientRecord, Entry, EventRecord, GoneRecord, PeerRecord, Record, TraceRecord,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Events that are kept, the newest ones.
const EVENTS: usize = 100;
/// The same of one kind.
const EVENTS_OF_A_KIND: usize = 10;
/// Events of our own that are told as records, of one start: a sender of rubbish can't fill the
/// disk.
const OWN_EVENTS: u64 = 100;
/// Entries of one source that may arrive out of order before the gap is taken for good.
const OUT_OF_ORDER: usize = 100_000;

/// How much is kept in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// Messages of a lane, whole.
    pub(crate) messages: usize,
    /// Messages of all lanes, of which only the figures of their classes are kept.
    pub(crate) samples: usize,
}

/// Everything the collector knows.
pub(crate) struct Store {
    keep: Keep,
    pub(crate) run_id: String,
    pub(crate) started: Instant,
    /// Of records that are only here: an archive knows them itself.
    sources: HashMap<Arc<str>, Seen>,
    records: u64,
    pub(crate) lanes: BTreeMap<String, Lane>,
    /// The newest word of each source on each thing, but events.
    words: BTreeMap<(Arc<str>, String), (u64, Record)>,
    acks: VecDeque<(Origin, Ack)>,
    /// What clock responders answered, the newest.
    peers: VecDeque<(Origin, PeerExchange)>,
    /// Shadow probes, the newest.
    probes: VecDeque<(Origin, Probe)>,
    pub(crate) tracker: GlassTracker,
    /// Where messages lie in time.
    pub(crate) axis: Axis,
    /// Of all lanes.
    samples: usize,
    /// What an earlier start was told is being taken in.
    is_reading: bool,
    broadcasters: BTreeMap<Arc<str>, BroadcasterCounters>,
    pub(crate) events: VecDeque<Happened>,
    pub(crate) measured: Measured,
    /// This start of the collector, and what it has told itself.
    own: Origin,
}

/// An acknowledgement with the interval of its push leg.
pub(crate) type Ack = (ClientTrace, (Ns, Ns));

/// An event that is kept.
pub(crate) struct Happened {
    /// In ms since the start.
    pub(crate) at_ms: u64,
    pub(crate) event: EventRecord,
    origin: Origin,
}

impl Happened {
    pub(crate) fn view(&self) -> EventView {
        let EventRecord { event: kind, text } = self.event.clone();
        EventView { at_ms: self.at_ms, kind, text }
    }
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
    /// The run: a start of the collector, or several that go on with one archive.
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
    pub(crate) fn new(keep: Keep, run_id: String) -> Self {
        let own = format!("collector-{}", uuid::Uuid::new_v4());
        Self {
            keep,
            run_id,
            started: Instant::now(),
            sources: HashMap::new(),
            records: 0,
            lanes: BTreeMap::new(),
            words: BTreeMap::new(),
            acks: VecDeque::new(),
            peers: VecDeque::new(),
            probes: VecDeque::new(),
            tracker: GlassTracker::new(),
            axis: Axis::new(clock_id(), Started { mono: mono_ns(), wall: wall_ns() }),
            samples: 0,
            is_reading: false,
            broadcasters: BTreeMap::new(),
            events: VecDeque::new(),
            measured: Measured::new(),
            own: (own.into(), 0),
        }
    }

    /// Takes an entry in, unless it was taken before: false.
    pub(crate) fn take(&mut self, told: Told) -> bool {
        let (source, number) = &told.origin;
        let fresh = self.sources.entry(Arc::clone(source)).or_default().take(*number);
        if fresh {
            self.put(told);
        }
        fresh
    }

    /// Takes an entry in that is known to be new.
    pub(crate) fn put(&mut self, told: Told) {
        self.records += 1;
        self.measured.observe(&told);
        let origin = told.origin;
        match told.what {
            What::Trace(trace) => self.put_trace(origin, *trace),
            What::Client(ack) => {
                let push = self.tracker.observe(&ack);
                self.acks.push_back((origin, (*ack, push)));
                if self.acks.len() > self.keep.messages {
                    self.acks.pop_front();
                }
            }
            What::Peer(exchange) => {
                self.peers.push_back((origin, *exchange));
                if self.peers.len() > self.keep.messages {
                    self.peers.pop_front();
                }
            }
            What::Probe(probe) => {
                self.probes.push_back((origin, *probe));
                if self.probes.len() > self.keep.messages {
                    self.probes.pop_front();
                }
            }
            What::Word { record: Record::Event(event), .. } => self.event(origin, event),
            What::Word { slot, record } => {
                let (source, number) = origin;
                let place = (source, slot);
                if self.words.get(&place).is_none_or(|(known, _)| number > *known) {
                    self.learn(&place.0, &record);
                    self.words.insert(place, (number, record));
                }
            }
        }
    }

    fn put_trace(&mut self, origin: Origin, trace: Trace) {
        let now = Ns::try_from(self.started.elapsed().as_nanos()).unwrap_or(Ns::MAX);
        let arrival = if self.is_reading { Arrival::Before } else { Arrival::At(now) };
        let keep = self.keep;
        self.lane(&trace.lane);
        if let Some(lane) = self.lanes.get_mut(&trace.lane) {
            let before = lane.samples.len();
            lane.take(origin, trace, keep.messages, arrival, &mut self.axis);
            self.samples += lane.samples.len() - before;
        }
        while self.samples > keep.samples {
            let longest = self.lanes.values_mut().max_by_key(|lane| lane.samples.len());
            let Some(lane) = longest else { return };
            let before = lane.samples.len();
            if !lane.samples.forget() {
                return;
            }
            self.samples -= before - lane.samples.len();
        }
    }

    /// What comes from here on was told to an earlier start.
    pub(crate) fn begin_reading(&mut self) {
        self.is_reading = true;
    }

    /// What comes from here on comes now. What is missing by now was missed before anybody looked.
    pub(crate) fn end_reading(&mut self) {
        self.is_reading = false;
        self.lanes.values_mut().for_each(Lane::begin_looking);
    }

    /// The lanes by name.
    pub(crate) fn lane_names(&self) -> Vec<String> {
        self.lanes.keys().cloned().collect()
    }

    /// Looks at what of a lane was lost in ROS since the look before: nobody says when it was lost.
    pub(crate) fn look_for_losses(&mut self, lane: &str) {
        let now = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.look_for_losses(now);
        }
    }

    fn learn(&mut self, source: &Arc<str>, record: &Record) {
        match record {
            Record::Lane(record) => {
                let lane = self.lane(&record.lane);
                lane.info = LaneInfo {
                    name: record.lane.clone(),
                    topic: record.topic.clone(),
                    qos: record.qos.clone(),
                    transport: record.transport.clone(),
                    workers: record.workers,
                    clock: record.clock.clone(),
                };
                lane.ledger.set_lane(&lane.info);
            }
            Record::Census(record) => {
                self.lane(&record.lane).ledger.observe_census(&Census::from(record.clone()));
            }
            Record::Gateway(counters) => {
                let gateway = source.to_string();
                let counters = GatewayCounters { gateway, ..counters.clone() };
                self.lane(&counters.lane).ledger.observe_counters(&counters);
            }
            Record::Broadcaster(counters) => {
                self.broadcasters.insert(Arc::clone(source), counters.clone());
            }
            Record::Gone(record) => {
                let lane = self.lane(&record.lane);
                lane.not_kept += record.account.messages();
                lane.gone.observe_account(&record.account);
                lane.ledger.observe_account(&record.account);
            }
            // Kept elsewhere, each of them; of pages' counters only the report asks.
            Record::Trace(_)
            | Record::Client(_)
            | Record::Peer(_)
            | Record::Probe(_)
            | Record::Event(_)
            | Record::Clients(_) => {}
        }
    }

    /// Lines that were no entries; gives the event as [`Store::say`] does.
    pub(crate) fn refused(&mut self, lines: usize, first: &str) -> Option<(Told, String)> {
        tracing::warn!(lines, first, "refused what are no records");
        let text = format!("{lines} lines from a service are no records; the first: {first}");
        self.say("bad_records", text)
    }

    /// An event of our own; gives it as an entry and its line, for those who store it.
    pub(crate) fn say(&mut self, kind: &str, text: String) -> Option<(Told, String)> {
        let event = EventRecord { event: kind.to_owned(), text };
        self.own.1 += 1;
        let origin = self.own.clone();
        self.event(origin.clone(), event.clone());
        let (source, number) = &origin;
        let entry =
            Entry { source: source.to_string(), number: *number, record: Record::Event(event) };
        let line = serde_json::to_string(&entry).ok().filter(|_| *number <= OWN_EVENTS)?;
        Some((Told::read(&line).ok()?, line))
    }

    fn event(&mut self, origin: Origin, event: EventRecord) {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.measured.observe_event(&event);
        // One kind must not push the others out.
        let alike = |known: &Happened| known.event.event == event.event;
        if self.events.iter().filter(|e| alike(e)).count() >= EVENTS_OF_A_KIND
            && let Some(oldest) = self.events.iter().position(alike)
        {
            self.events.remove(oldest);
        }
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(Happened { at_ms, event, origin });
    }

    /// A lane may be spoken of before it is introduced.
    fn lane(&mut self, name: &str) -> &mut Lane {
        let lane = self.lanes.entry(name.to_owned()).or_default();
        lane.has_news = true;
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

    /// Everything that is kept, as entries again, each as its source numbered it.
    pub(crate) fn lines(&self) -> String {
        let mut lines = String::new();
        let mut put = |source: &str, number: u64, record: Record| {
            let entry = Entry { source: source.to_owned(), number, record };
            if let Ok(line) = serde_json::to_string(&entry) {
                lines.push_str(&line);
                lines.push('\n');
            }
        };
        let with_account = self.lanes.iter().filter(|(_, lane)| lane.not_kept > 0);
        for (number, (name, lane)) in (1..).zip(with_account) {
            // Ours: what others told of the same is part of it.
            let account = lane.gone.account();
            let record = GoneRecord { lane: name.clone(), account };
            put(&format!("account-{}", self.run_id), number, Record::Gone(record));
        }
        for ((source, _), (number, record)) in &self.words {
            if !matches!(record, Record::Gone(_)) {
                put(source, *number, record.clone());
            }
        }
        for Kept { origin: (source, number), trace, .. } in
            self.lanes.values().flat_map(|lane| &lane.kept)
        {
            let trace = Trace::clone(trace);
            put(source, *number, Record::Trace(Box::new(TraceRecord::from(trace))));
        }
        for ((source, number), (ack, _)) in &self.acks {
            put(source, *number, Record::Client(Box::new(ClientRecord::from(ack))));
        }
        for ((source, number), exchange) in &self.peers {
            put(source, *number, Record::Peer(Box::new(PeerRecord::from(exchange))));
        }
        for ((source, number), probe) in &self.probes {
            put(source, *number, Record::Probe(Box::new(probe.clone())));
        }
        for Happened { origin: (source, number), event, .. } in &self.events {
            put(source, *number, Record::Event(event.clone()));
        }
        lines
    }

    /// What clock responders answered, newest first.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &PeerExchange> {
        self.peers.iter().rev().map(|(_, exchange)| exchange)
    }

    /// Shadow probes, newest first.
    pub(crate) fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.probes.iter().rev().map(|(_, probe)| probe)
    }

    /// Whether older acknowledgements are no longer kept.
    pub(crate) fn acks_full(&self) -> bool {
        self.acks.len() >= self.keep.messages
    }

    /// The acknowledgements, newest first.
    pub(crate) fn acks(&self) -> impl Iterator<Item = &Ack> {
        self.acks.iter().rev().map(|(_, ack)| ack)
    }

    /// The lane that keeps a message.
    pub(crate) fn lane_of(&self, id: TraceId) -> Option<&Lane> {
        self.lanes.values().find(|lane| lane.message(id).is_some())
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
