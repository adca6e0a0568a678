//! traces.csv and glass.csv: every message, for anyone's own tools (RFC 4180).

use crate::decompose::decompose;
use crate::glass::GlassTracker;
use crate::report::{Dataset, accounts};
use crate::units::plain;
use hopwatch_model::{Class, ClientTrace, Leg, Trace, TraceId};
use std::collections::BTreeMap;

/// The legs that may reach over two clocks: for each, how far it may be off.
const CROSSING: [Leg; 7] = [
    Leg::Schedule,
    Leg::Ros,
    Leg::Wake,
    Leg::AiRequest,
    Leg::AiReply,
    Leg::WebRequest,
    Leg::WebReply,
];

/// One row a message: identity, outcome, spans, classes and legs in ns, and how far those that
/// reach over two clocks may be off (`…_half_ns`). A cell is empty where there is no such leg.
///
/// Texts that a spreadsheet would take for a formula get a `'` in front.
pub fn traces_csv(data: &Dataset) -> Result<String, csv::Error> {
    const IDENTITY: [&str; 11] = [
        "lane",
        "trace_id",
        "robot_id",
        "sequence",
        "message_id",
        "publisher",
        "publication_sequence",
        "outcome",
        "detail",
        "taken_ns",
        "wall_half_width_ns",
    ];
    const SPANS: [&str; 6] =
        ["total_ns", "published_ns", "intended_ns", "ai_ns", "transport_ns", "overhead_ns"];
    let legs: Vec<Leg> = Leg::ALL
        .iter()
        .copied()
        .filter(|leg| !matches!(leg, Leg::Fanout | Leg::Push | Leg::Paint))
        .collect();
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> = IDENTITY.iter().chain(&SPANS).map(|s| (*s).to_owned()).collect();
    header.extend(legs.iter().map(|leg| format!("{leg}_ns")));
    header.extend(["published_half_ns", "intended_half_ns"].map(str::to_owned));
    header.extend(CROSSING.iter().map(|leg| format!("{leg}_half_ns")));
    header.extend(["ai_retries", "web_retries"].map(str::to_owned));
    out.write_record(&header)?;
    let clocks = data.clocks();
    for (account, trace) in accounts(data)
        .iter()
        .flat_map(|(_, account)| account.fresh.iter().map(move |trace| (account, *trace)))
    {
        let census = account.census();
        let parts = decompose(trace, &census, &clocks).unwrap_or_default();
        let taken = trace.stamps.get(hopwatch_model::Hop::Taken).map(|stamp| stamp.ns);
        let mut cells = vec![
            text(&trace.lane),
            trace.id.to_string(),
            text(&trace.robot_id),
            trace.sequence.to_string(),
            text(&trace.message_id),
            trace.publisher.to_string(),
            number(trace.publication_sequence),
            trace.outcome.to_string(),
            text(trace.detail.as_deref().unwrap_or_default()),
            number(taken),
            trace.wall_half_width_ns.to_string(),
            number(parts.pipeline_ns),
            number(parts.published.map(|(ns, _)| ns)),
            number(parts.intended.map(|(ns, _)| ns)),
        ];
        cells.extend(
            [Class::Ai, Class::Transport, Class::Overhead]
                .map(|class| number(parts.pipeline_ns.map(|_| parts.class_ns(class)))),
        );
        let of_leg = |leg: &Leg| parts.legs().find(|l| l.leg == *leg);
        cells.extend(legs.iter().map(|leg| number(of_leg(leg).map(|l| l.ns))));
        cells.extend(
            [parts.published, parts.intended].map(|span| number(span.map(|(_, half)| half))),
        );
        cells.extend(CROSSING.iter().map(|leg| number(of_leg(leg).map(|l| l.half_ns))));
        cells.extend([trace.ai_retries, trace.web_retries].map(|count| count.to_string()));
        out.write_record(&cells)?;
    }
    finish(out)
}

/// One row a message and browser: the push leg as an interval, fan-out, paint and the whole.
pub fn glass_csv(data: &Dataset) -> Result<String, csv::Error> {
    let traces: BTreeMap<TraceId, &Trace> = data.traces.iter().map(|t| (t.id, t)).collect();
    let mut acks: Vec<&ClientTrace> = data.clients.iter().collect();
    acks.sort_by_key(|ack| (ack.ack_received.ns, ack.client.clone(), ack.id));
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record([
        "trace_id",
        "client",
        "frame_sent_ns",
        "fanout_ns",
        "push_lo_ns",
        "push_hi_ns",
        "paint_ns",
        "glass_lo_ns",
        "glass_hi_ns",
        "browser_resolution_ns",
    ])?;
    let mut tracker = GlassTracker::new();
    let clocks = data.clocks();
    for ack in acks {
        let push = tracker.observe(ack);
        let g = data.glass(ack, push, traces.get(&ack.id).copied(), &clocks);
        out.write_record([
            ack.id.to_string(),
            text(&ack.client),
            ack.frame_sent.ns.to_string(),
            number(g.fanout_ns),
            g.push_ns.0.to_string(),
            g.push_ns.1.to_string(),
            number(g.paint_ns),
            number(g.glass_ns.map(|(lo, _)| lo)),
            number(g.glass_ns.map(|(_, hi)| hi)),
            g.resolution_ns.to_string(),
        ])?;
    }
    finish(out)
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn text(value: &str) -> String {
    let clean = plain(value);
    if clean.starts_with(['=', '+', '-', '@']) { format!("'{clean}") } else { clean }
}

fn finish(out: csv::Writer<Vec<u8>>) -> Result<String, csv::Error> {
    let bytes = out.into_inner().map_err(csv::IntoInnerError::into_error)?;
    String::from_utf8(bytes).map_err(|error| {
        csv::Error::from(std::io::Error::new(std::io::ErrorKind::InvalidData, error))
    })
}
