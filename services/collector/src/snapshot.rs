//! A snapshot for the live page, by the same code that makes the report.

use crate::store::{Ack, Lane, Store};
use hopwatch_analysis::{
    Clocks, Decomposition, Glass, LaneData, Shadow, Wanted, decompose, figures,
};
use hopwatch_clocksync::EXPIRY_NS;
use hopwatch_model::{Census, ClockId, Hop, Ns, PeerExchange, Trace, TraceId};
use hopwatch_wire::feed::{
    EventView, GlassCounts, GlassView, LaneView, LegView, MessageView, Part, Snapshot, VERSION,
    Watch,
};
use std::collections::{BTreeMap, HashMap};

/// Messages that the page lists.
const LATEST: usize = 20;
/// Events that the page lists.
const EVENTS: usize = 20;

/// Answers of clock responders that a snapshot looks at, but for the last few of each.
const PEERS: usize = 5_000;

type Acks<'a> = HashMap<TraceId, Vec<&'a Ack>>;

/// The figures now, percentiles over the newest `window` messages of each lane.
pub(crate) fn snapshot(store: &Store, window: usize) -> Snapshot {
    let in_window: HashMap<TraceId, &Trace> = store
        .lanes
        .values()
        .flat_map(|lane| lane.newest().take(window))
        .map(|trace| (trace.id, trace))
        .collect();
    let mut acks = Acks::new();
    for ack in store.acks_of(&in_window).take(window) {
        acks.entry(ack.0.id).or_default().push(ack);
    }
    // Exchanges of the window's own messages come with them.
    let peers = peers_near(&in_window, store.peers());
    let clocks = Clocks::of(in_window.values().copied(), peers);
    let mut latest: Vec<(Ns, MessageView)> = store
        .lanes
        .values()
        .flat_map(|lane| {
            let census: Vec<&Census> = lane.ledger.census().collect();
            let newest = lane.newest().take(LATEST);
            newest.map(|trace| message(trace, &census, &acks, &clocks)).collect::<Vec<_>>()
        })
        .collect();
    latest.sort_by_key(|(taken, _)| std::cmp::Reverse(*taken));
    let lanes = store
        .lanes
        .values()
        .map(|lane| Part::Lane { lane: Box::new(lane_view(lane, window, &acks, &clocks)) });
    let latest = latest.into_iter().take(LATEST).map(|(_, view)| view).collect();
    let events = store.events.iter().rev().take(EVENTS).map(|happened| EventView {
        at_ms: happened.at_ms,
        kind: happened.event.event.clone(),
        text: happened.event.text.clone(),
    });
    let mut parts: Vec<Part> = lanes.collect();
    parts.push(Part::Latest { messages: latest });
    parts.push(Part::Shadow { shadow: Shadow::of(store.probes().take(window)) });
    parts.push(Part::Events { events: events.collect() });
    Snapshot {
        version: VERSION,
        run_id: store.run_id.clone(),
        state: store.state(),
        elapsed_ms: u64::try_from(store.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        clients: store.clients(),
        watch: Watch::default(),
        whole: true,
        parts,
    }
}

/// What clock responders said while these messages were taken, and a relation's life before and
/// after: at a message a second the window is far longer than as many answers.
///
/// Of more than [`PEERS`] the tightest of each few, of each responder alike.
fn peers_near<'a>(
    in_window: &HashMap<TraceId, &Trace>,
    peers: impl Iterator<Item = &'a PeerExchange>,
) -> Vec<&'a PeerExchange> {
    let mut spans: HashMap<&ClockId, (Ns, Ns)> = HashMap::new();
    for taken in in_window.values().filter_map(|trace| trace.stamps.get(Hop::Taken)) {
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

fn lane_view(lane: &Lane, window: usize, acks: &Acks<'_>, clocks: &Clocks) -> LaneView {
    let traces: Vec<&Trace> = lane.newest().take(window).collect();
    let census: Vec<&Census> = lane.ledger.census().collect();
    let glass = traces
        .iter()
        .flat_map(|trace| {
            let of_trace = acks.get(&trace.id).map(Vec::as_slice).unwrap_or_default();
            let parts = match of_trace {
                [] => Decomposition::default(),
                _ => decompose(trace, &census, clocks).unwrap_or_default(),
            };
            let glass = |(ack, push): &&Ack| Glass::of(ack, *push, Some((trace, &parts)), clocks);
            of_trace.iter().map(glass).collect::<Vec<_>>()
        })
        .collect();
    let data = LaneData { info: lane.info.clone(), traces, glass, census, clocks };
    // Several times a second: no leg is looked at for modes.
    let wanted = Wanted { modes_of_legs: false, ..Wanted::default() };
    let report = figures(&data, lane.ledger.ledger_now(), &wanted);
    LaneView {
        name: report.name,
        qos: report.qos,
        transport: report.transport,
        ledger: report.ledger,
        classes: report
            .classes
            .into_iter()
            .map(|(row, summary)| (row.name().to_owned(), summary))
            .collect(),
        legs: report
            .legs
            .into_iter()
            .map(|(leg, figures)| (leg.name().to_owned(), figures))
            .collect(),
        spans: report.spans.into_iter().map(|(span, of)| (span.to_owned(), of)).collect(),
        distribution: BTreeMap::new(),
        newest: window,
        glass: GlassCounts::default(),
        stability: report.stability,
        breakdown: report.breakdown,
        variance_shares: report.variance_shares,
        open_loop: report.open_loop,
        over_published: report.over_published,
        rates: report.rates,
        delivery_gap: report.delivery_gap,
        findings: report.findings,
    }
}

fn message(
    trace: &Trace,
    census: &[&Census],
    acks: &Acks<'_>,
    clocks: &Clocks,
) -> (Ns, MessageView) {
    let (parts, defect) = match decompose(trace, census, clocks) {
        Ok(parts) => (parts, None),
        Err(defect) => (Decomposition::default(), Some(defect.to_string())),
    };
    let glass = acks.get(&trace.id).into_iter().flatten().map(|(ack, push)| {
        let glass = Glass::of(ack, *push, Some((trace, &parts)), clocks);
        GlassView {
            client: glass.client,
            push_ns: glass.push_ns,
            fanout_ns: glass.fanout_ns,
            paint_ns: glass.paint_ns,
        }
    });
    let taken = trace.stamps.get(Hop::Taken).map_or(0, |stamp| stamp.ns);
    let view = MessageView {
        trace_id: trace.id.to_string(),
        lane: trace.lane.clone(),
        robot_id: trace.robot_id.clone(),
        sequence: trace.sequence,
        at_ms: 0,
        outcome: trace.outcome.to_string(),
        detail: trace.detail.clone().or(defect),
        total_ns: parts.pipeline_ns,
        legs: parts
            .legs()
            .map(|leg| LegView {
                leg: leg.leg,
                class: leg.leg.class(),
                ns: leg.ns,
                half_ns: leg.half_ns,
            })
            .collect(),
        glass: glass.collect(),
    };
    (taken, view)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
