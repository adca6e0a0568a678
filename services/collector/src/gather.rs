//! What a snapshot is made of, copied out of the store: it is locked for as long as that takes and
//! no longer.

use crate::course::{RosLost, reach_ms};
use crate::lane::Lane;
use crate::samples::{Axis, Times, View, Whose};
use crate::store::{Ack, Happened, Store};
use hopwatch_analysis::{Budget, GlassTracker, LaneInfo};
use hopwatch_clocksync::EXPIRY_NS;
use hopwatch_model::{Census, ClockId, Hop, Ledger, Ns, PeerExchange, Probe, Trace, TraceId};
use hopwatch_wire::feed::{EventView, MeasuredRun, RunState, Watch};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

/// Messages that the page lists as the slowest.
pub(crate) const SLOWEST: usize = 10;
/// Events that the page lists.
const EVENTS: usize = 50;
/// A record comes that much after the take at most, but for a gateway that could not tell: in ns.
const LATE: Ns = 60_000_000_000;

/// Messages before and after one that its clocks are related by.
const AROUND: usize = 200;

/// Answers of clock responders that a snapshot looks at, but for the last few of each.
pub(crate) const PEERS: usize = 5_000;

/// How snapshots are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Messages of a lane whose legs are looked at.
    pub(crate) newest: usize,
    /// The limits.
    pub(crate) budget: Budget,
}

/// What a snapshot is made of.
pub(crate) struct Gathered {
    pub(crate) run_id: String,
    pub(crate) state: RunState,
    /// Since the collector's start.
    pub(crate) now_ms: i64,
    pub(crate) clients: u64,
    pub(crate) watch: Watch,
    pub(crate) settings: Settings,
    pub(crate) axis: Axis,
    pub(crate) lanes: Vec<GatheredLane>,
    pub(crate) acks: Vec<Ack>,
    /// Older acknowledgements are no longer kept.
    pub(crate) acks_full: bool,
    pub(crate) tracker: GlassTracker,
    pub(crate) peers: Vec<PeerExchange>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) events: Vec<EventView>,
    pub(crate) measured: Vec<MeasuredRun>,
}

pub(crate) struct GatheredLane {
    pub(crate) info: LaneInfo,
    pub(crate) ledger: Ledger,
    /// By whose schedules messages were due.
    pub(crate) census: Vec<Census>,
    /// What each robot says it has published, of all its starts.
    pub(crate) published: BTreeMap<String, u64>,
    pub(crate) samples: View,
    pub(crate) ros_lost: Vec<RosLost>,
    /// The newest of the window, newest first.
    pub(crate) newest: Vec<Arc<Trace>>,
    /// The slowest of the window that are kept.
    pub(crate) slowest: Vec<Arc<Trace>>,
}

impl GatheredLane {
    pub(crate) fn census(&self) -> Vec<&Census> {
        self.census.iter().collect()
    }
}

impl Gathered {
    /// Copies what `watch` looks at. `store` is locked twice, for as long as copying takes: what is
    /// to be found by looking at everything is looked for in between.
    pub(crate) fn of<'s>(
        store: impl Fn() -> MutexGuard<'s, Store>,
        watch: Watch,
        settings: Settings,
    ) -> Self {
        let mut gathered = Self::copy(&store(), watch, settings);
        let from_ms = gathered.start_ms();
        let robot = gathered.watch.robot.as_deref();
        let slowest: Vec<Vec<TraceId>> = gathered
            .lanes
            .iter()
            .map(|lane| {
                let whose = lane.samples.robots.whose(robot);
                slowest_of(&lane.samples, whose, &gathered.axis, from_ms)
            })
            .collect();
        let store = store();
        for (lane, ids) in gathered.lanes.iter_mut().zip(slowest) {
            let kept = store.lanes.get(&lane.info.name);
            let found = |id| kept.and_then(|lane| lane.message(id)).map(Arc::clone);
            lane.slowest = ids.into_iter().filter_map(found).collect();
        }
        let ids: HashSet<TraceId> = gathered
            .lanes
            .iter()
            .flat_map(|lane| lane.newest.iter().chain(&lane.slowest))
            .map(|trace| trace.id)
            .collect();
        let acks = store.acks().filter(|(ack, _)| ids.contains(&ack.id));
        gathered.acks = acks.cloned().collect();
        let clients: HashSet<&str> =
            gathered.acks.iter().map(|(ack, _)| ack.client.as_str()).collect();
        gathered.tracker = store.tracker.only(|client| clients.contains(client));
        gathered
    }

    fn copy(store: &Store, watch: Watch, settings: Settings) -> Self {
        let now = store.started.elapsed();
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let from_ms = reach_ms(watch.window).map(|reach| now_ms - reach);
        let lanes: Vec<GatheredLane> = store
            .lanes
            .values()
            .map(|lane| gathered_lane(lane, &watch, from_ms, &store.axis, settings))
            .collect();
        let traces = lanes.iter().flat_map(|lane| &lane.newest).map(|trace| &**trace);
        let peers = peers_near(traces, store.peers()).into_iter().cloned().collect();
        Self {
            run_id: store.run_id.clone(),
            state: store.state(),
            now_ms,
            clients: store.clients(),
            settings,
            acks: Vec::new(),
            acks_full: store.acks_full(),
            tracker: GlassTracker::new(),
            peers,
            probes: store.probes().take(settings.newest).cloned().collect(),
            events: store.events.iter().rev().take(EVENTS).map(Happened::view).collect(),
            measured: store.measured.runs(),
            axis: store.axis.clone(),
            watch,
            lanes,
        }
    }

    /// Where the window begins, in ms since the collector's start.
    pub(crate) fn start_ms(&self) -> i64 {
        reach_ms(self.watch.window).map_or(i64::MIN, |reach| self.now_ms - reach)
    }
}

/// What one message is told by.
pub(crate) struct GatheredMessage {
    pub(crate) trace: Arc<Trace>,
    pub(crate) around: Vec<Arc<Trace>>,
    pub(crate) peers: Vec<PeerExchange>,
    pub(crate) acks: Vec<Ack>,
    pub(crate) census: Vec<Census>,
    pub(crate) axis: Axis,
}

impl GatheredMessage {
    /// Copies it, if it is kept.
    pub(crate) fn of(store: &Store, id: TraceId) -> Option<Self> {
        let lane = store.lane_of(id)?;
        let around = lane.around(id, AROUND)?;
        let traces = around.iter().map(|trace| &**trace);
        Some(Self {
            trace: Arc::clone(lane.message(id)?),
            peers: peers_near(traces, store.peers()).into_iter().cloned().collect(),
            around,
            acks: store.acks().filter(|(ack, _)| ack.id == id).cloned().collect(),
            census: lane.ledger.census().cloned().collect(),
            axis: store.axis.clone(),
        })
    }
}

fn gathered_lane(
    lane: &Lane,
    watch: &Watch,
    from_ms: Option<i64>,
    axis: &Axis,
    settings: Settings,
) -> GatheredLane {
    const MS: i64 = 1_000_000;
    let since = from_ms.map_or(Ns::MIN, |from_ms| from_ms.saturating_mul(MS));
    // Also what was taken before and told late is looked at, to be left out by its take.
    let samples = lane.samples.since(since);
    let from_ms = from_ms.unwrap_or(i64::MIN);
    let is_watched = |trace: &&Arc<Trace>| {
        watch.robot.as_ref().is_none_or(|robot| trace.robot_id == *robot)
            && axis.at_ms(trace) >= from_ms
    };
    // Records come in about the order of their takes: far behind the window nothing is in it.
    let far = from_ms.saturating_sub(LATE / MS);
    let near = lane.newest().take_while(|trace| axis.at_ms(trace) >= far);
    let newest: Vec<Arc<Trace>> =
        near.filter(is_watched).take(settings.newest).map(Arc::clone).collect();
    let mut published: BTreeMap<String, u64> = BTreeMap::new();
    for census in lane.ledger.instances() {
        *published.entry(census.robot_id.clone()).or_default() += census.published;
    }
    GatheredLane {
        info: lane.info.clone(),
        published,
        ledger: lane.ledger.ledger_now(),
        census: lane.ledger.census().cloned().collect(),
        ros_lost: lane.ros_lost.iter().filter(|(at, _)| *at >= from_ms).copied().collect(),
        samples,
        newest,
        slowest: Vec::new(),
    }
}

/// The ids of the slowest messages of the window that went the whole way.
fn slowest_of(samples: &View, whose: Whose, axis: &Axis, from_ms: i64) -> Vec<TraceId> {
    let mut slowest: BTreeSet<(Ns, TraceId)> = BTreeSet::new();
    for sample in samples.iter() {
        let Some(Times { total, .. }) = sample.times else { continue };
        let full = slowest.len() == SLOWEST;
        if full && slowest.first().is_some_and(|(least, _)| total <= *least) {
            continue;
        }
        if whose.is(sample) && axis.of(sample) >= from_ms {
            if full {
                slowest.pop_first();
            }
            slowest.insert((total, sample.id));
        }
    }
    slowest.into_iter().map(|(_, id)| id).collect()
}

/// What clock responders said while these messages were taken, and a relation's life before and
/// after: at a message a second the window is far longer than as many answers.
///
/// Of more than [`PEERS`] the tightest of each few, of each responder alike.
pub(crate) fn peers_near<'a, 't>(
    traces: impl Iterator<Item = &'t Trace>,
    peers: impl Iterator<Item = &'a PeerExchange>,
) -> Vec<&'a PeerExchange> {
    let mut spans: HashMap<&ClockId, (Ns, Ns)> = HashMap::new();
    for taken in traces.filter_map(|trace| trace.stamps.get(Hop::Taken)) {
        let (first, last) = spans.entry(&taken.clock).or_insert((taken.ns, taken.ns));
        (*first, *last) = ((*first).min(taken.ns), (*last).max(taken.ns));
    }
    let near = |exchange: &&PeerExchange| {
        spans.get(&exchange.near).is_some_and(|(first, last)| {
            let within = first.saturating_sub(EXPIRY_NS)..=last.saturating_add(EXPIRY_NS);
            within.contains(&exchange.near_received)
        })
    };
    let mut all = 0;
    let mut of_peer: BTreeMap<&str, Vec<&PeerExchange>> = BTreeMap::new();
    for exchange in peers.filter(near) {
        all += 1;
        of_peer.entry(&exchange.peer).or_default().push(exchange);
    }
    let under_way = |exchange: &&&PeerExchange| {
        let there = exchange.far_sent.0.saturating_sub(exchange.far_received.0);
        exchange.near_received.saturating_sub(exchange.near_sent).saturating_sub(there)
    };
    let few = usize::div_ceil(all, PEERS).max(1);
    let tightest = |of: Vec<&'a PeerExchange>| -> Vec<_> {
        of.chunks(few).filter_map(|few| few.iter().min_by_key(under_way).copied()).collect()
    };
    of_peer.into_values().flat_map(tightest).collect()
}
