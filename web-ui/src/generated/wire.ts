// Generated from crates/wire/src/feed.rs: `cargo test -p hopwatch-wire` compares it,
// and writes it anew with HOPWATCH_UPDATE=1.

export type Push = { "type": "hello", 
/**
 * [`VERSION`].
 */
version: number, 
/**
 * The name by which the broadcaster knows this page.
 */
client: string, } | { "type": "message", 
/**
 * Its trace id, 32 hexadecimal digits: acknowledgements name it.
 */
trace_id: string, 
/**
 * The robot message in JSON with the AI's answer beside it.
 */
body: unknown, } | { "type": "dropped", 
/**
 * How many.
 */
count: number, };

export type FromPage = { "type": "ack", 
/**
 * The stamp of sending this frame. All stamps of the page are
 * `performance.now()` in nanoseconds, as decimal strings.
 */
sent_ns: string, 
/**
 * The smallest step of the browser's clock that was seen.
 */
resolution_ns: number, 
/**
 * The messages.
 */
items: Array<AckItem>, };

export type AckItem = { 
/**
 * The message.
 */
trace_id: string, 
/**
 * On receiving the frame.
 */
received_ns: string, 
/**
 * After painting; `null` when it was not painted (hidden tab).
 */
painted_ns: string | null, };

export type Live = { "type": "snapshot" } & Snapshot;

export type Snapshot = { 
/**
 * [`VERSION`].
 */
version: number, 
/**
 * The run.
 */
run_id: string, 
/**
 * How it stands.
 */
state: RunState, 
/**
 * Since the collector started, in ms.
 */
elapsed_ms: number, 
/**
 * Percentiles on the page are those of the newest messages, at most so many a lane.
 */
window: number, 
/**
 * The lanes.
 */
lanes: Array<LaneView>, 
/**
 * The newest messages, newest first.
 */
latest: Array<MessageView>, 
/**
 * Browser pages that the broadcaster serves now.
 */
clients: number, 
/**
 * Things that went wrong, newest first (incompatible QoS, a stepped clock, lost records).
 */
events: Array<EventView>, };

export type RunState = "waiting" | "running" | "ended";

export type LaneView = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its topic's QoS, as "RELIABLE VOLATILE KEEP_LAST 10".
 */
qos: string, 
/**
 * Its link to the services.
 */
transport: string, 
/**
 * What became of every message since the start.
 */
ledger: Ledger, 
/**
 * `ai`, `transport`, `overhead`, `communication` (transport + overhead) and `total` of the
 * pipeline span (taken → web_acked).
 */
classes: { [key in string]: Summary }, 
/**
 * Spans beside: pipeline, published, intended, glass, ai_transport, web_transport.
 */
spans: { [key in string]: SpanFigures }, 
/**
 * Each leg, by name.
 */
legs: { [key in string]: LegFigures }, 
/**
 * Whether percentiles mean anything.
 */
stability: Stability, 
/**
 * What the clocks of this lane's robots and services do, in sentences.
 */
findings: Array<Finding>, };

export type Ledger = { 
/**
 * Messages handed to DDS by the robots, as far as `published_source` knows.
 */
published: number, 
/**
 * Where `published` comes from; the weakest source of any robot.
 */
published_source: PublishedSource, 
/**
 * Published before a gateway's subscription was matched (also after another one had ended in
 * order); VOLATILE readers never get them.
 */
lost_before_discovery: number, 
/**
 * Lost in ROS, or overwritten in the reader's history before the gateway took them.
 */
lost_in_ros: number, 
/**
 * Of `lost_in_ros`: DDS itself says (MESSAGE_LOST) that so many never reached the reader.
 */
dds_lost: number, 
/**
 * Of `lost_in_ros`: so many are missing right before a message that had waited in the
 * reader's history for as long as one waits when KEEP_LAST overwrites. Circumstantial.
 */
overwritten_in_history: number, 
/**
 * Taken by a gateway, or meant for one, that ended without a word (killed), or could not
 * deliver its records: what became of them isn't known.
 */
outcome_unknown: number, 
/**
 * Dropped by the gateway's own full queue.
 */
queue_dropped: number, 
/**
 * The bytes weren't a message of the topic's type.
 */
undecodable: number, 
/**
 * The AI service gave no usable reply, by reason.
 */
ai_failed: { [key in Failure]?: number }, 
/**
 * The web service gave no usable reply, by reason.
 */
web_failed: { [key in Failure]?: number }, 
/**
 * The gateway was stopped first.
 */
abandoned: number, 
/**
 * Went the whole way.
 */
delivered: number, 
/**
 * On the way: published, and nothing else known yet.
 */
in_flight: number, 
/**
 * The same message taken again; not part of the sum.
 */
duplicates: number, 
/**
 * Messages with the message id of another message; part of the sum like any other.
 */
duplicate_ids: number, 
/**
 * Taken after a message that was published later; not part of the sum.
 */
reordered: number, 
/**
 * Starts of a robot after an earlier one of the same id had ended.
 */
restarts: number, 
/**
 * Every independent count agrees with every other.
 */
reconciles: boolean, 
/**
 * Sentences on what doesn't reconcile, or can't be known.
 */
notes: Array<string>, };

export type PublishedSource = "census" | "publication_sequence" | "header_sequence" | "nothing";

export type Failure = "unreachable" | "broken" | "timed_out" | "refused" | "failed" | "bad_reply";

export type Class = "ai" | "transport" | "overhead";

export type Leg = "schedule" | "write" | "ros" | "wake" | "queue" | "encode" | "ai_connect" | "ai_request" | "ai_wait" | "ai_infer" | "ai_reply" | "ai_transport" | "ai_round_trip" | "handoff" | "web_connect" | "web_request" | "web_handle" | "web_reply" | "web_transport" | "web_round_trip" | "fanout" | "push" | "paint";

export type Summary = { 
/**
 * How many values.
 */
n: number, 
/**
 * Arithmetic mean.
 */
mean_ns: number | null, 
/**
 * Sample standard deviation (n − 1); `None` for fewer than two values.
 */
sd_ns: number | null, 
/**
 * The smallest value.
 */
min_ns: number | null, 
/**
 * The largest value.
 */
max_ns: number | null, 
/**
 * Median.
 */
p50_ns: number | null, 
/**
 * 75th percentile.
 */
p75_ns: number | null, 
/**
 * 90th percentile.
 */
p90_ns: number | null, 
/**
 * 95th percentile.
 */
p95_ns: number | null, 
/**
 * 99th percentile.
 */
p99_ns: number | null, 
/**
 * Two-sided 95 % order-statistic interval of the 99th percentile.
 */
p99_ci_ns: [number | null, number | null], };

export type LegFigures = { 
/**
 * What its time is counted as.
 */
class: Class, 
/**
 * How many were negative by more than their half-width: kept in the figures, and a sign of a
 * clock that lies.
 */
negative: number, 
/**
 * How many values.
 */
n: number, 
/**
 * Arithmetic mean.
 */
mean_ns: number | null, 
/**
 * Sample standard deviation (n − 1); `None` for fewer than two values.
 */
sd_ns: number | null, 
/**
 * The smallest value.
 */
min_ns: number | null, 
/**
 * The largest value.
 */
max_ns: number | null, 
/**
 * Median.
 */
p50_ns: number | null, 
/**
 * 75th percentile.
 */
p75_ns: number | null, 
/**
 * 90th percentile.
 */
p90_ns: number | null, 
/**
 * 95th percentile.
 */
p95_ns: number | null, 
/**
 * 99th percentile.
 */
p99_ns: number | null, 
/**
 * Two-sided 95 % order-statistic interval of the 99th percentile.
 */
p99_ci_ns: [number | null, number | null], 
/**
 * One clock made it, or two whose difference doesn't matter: no interval.
 */
exact: boolean, 
/**
 * The median half-width of the messages' intervals; 0 when exact.
 */
half_width_ns: number, 
/**
 * False when the half-width exceeds both 10 % of the P50 and 0.1 ms: read the interval, not
 * the figure.
 */
resolved: boolean, 
/**
 * The true P50 lies in here: the P50 of the lower ends, and of the upper ones; `null` when
 * exact, unstable or without a message.
 */
p50_within_ns: [number, number] | null, 
/**
 * The same of the P99.
 */
p99_within_ns: [number, number] | null, };

export type SpanFigures = { 
/**
 * How many values.
 */
n: number, 
/**
 * Arithmetic mean.
 */
mean_ns: number | null, 
/**
 * Sample standard deviation (n − 1); `None` for fewer than two values.
 */
sd_ns: number | null, 
/**
 * The smallest value.
 */
min_ns: number | null, 
/**
 * The largest value.
 */
max_ns: number | null, 
/**
 * Median.
 */
p50_ns: number | null, 
/**
 * 75th percentile.
 */
p75_ns: number | null, 
/**
 * 90th percentile.
 */
p90_ns: number | null, 
/**
 * 95th percentile.
 */
p95_ns: number | null, 
/**
 * 99th percentile.
 */
p99_ns: number | null, 
/**
 * Two-sided 95 % order-statistic interval of the 99th percentile.
 */
p99_ci_ns: [number | null, number | null], 
/**
 * One clock made it, or two whose difference doesn't matter: no interval.
 */
exact: boolean, 
/**
 * The median half-width of the messages' intervals; 0 when exact.
 */
half_width_ns: number, 
/**
 * False when the half-width exceeds both 10 % of the P50 and 0.1 ms: read the interval, not
 * the figure.
 */
resolved: boolean, 
/**
 * The true P50 lies in here: the P50 of the lower ends, and of the upper ones; `null` when
 * exact, unstable or without a message.
 */
p50_within_ns: [number, number] | null, 
/**
 * The same of the P99.
 */
p99_within_ns: [number, number] | null, };

export type Finding = { 
/**
 * A word: "clock_step", "constant_offset", "drift", "wrong_clock_domain",
 * "unsynchronised_robot", "queueing_not_clock", "negative_delay".
 */
kind: string, 
/**
 * Whose: a robot, a service, the gateway.
 */
subject: string, 
/**
 * What it is, by how much, and what to do.
 */
text: string, };

export type Stability = { 
/**
 * True when messages came faster than they could be worked off: then percentiles tell how
 * long the run was, and nothing else.
 */
unstable: boolean, 
/**
 * Arrival rate × mean time in a worker ÷ workers; `null` before there are figures.
 */
utilisation: number | null, 
/**
 * How fast waiting grew, in µs of waiting a second of run; `null` before there are figures.
 */
waiting_slope_us_per_s: number | null, 
/**
 * The numbers in a sentence.
 */
reason: string, };

export type MessageView = { 
/**
 * Its trace id.
 */
trace_id: string, 
/**
 * Its lane.
 */
lane: string, 
/**
 * Its robot.
 */
robot_id: string, 
/**
 * The header's sequence.
 */
sequence: number, 
/**
 * "delivered", "queue_dropped", "undecodable", "abandoned", "ai timed_out", "web failed", …
 */
outcome: string, 
/**
 * A sentence on the outcome.
 */
detail: string | null, 
/**
 * Pipeline total (taken → web_acked) in ns.
 */
total_ns: number | null, 
/**
 * All its legs from intended to web_acked, in order.
 */
legs: Array<LegView>, 
/**
 * At each browser: published → painted.
 */
glass: Array<GlassView>, };

export type LegView = { 
/**
 * The leg.
 */
leg: Leg, 
/**
 * Its class.
 */
class: Class, 
/**
 * Its length in ns; negative ones are shown, not hidden.
 */
ns: number, 
/**
 * How far it may be off because two clocks are involved; 0 when it is exact.
 */
half_ns: number, };

export type GlassView = { 
/**
 * The page.
 */
client: string, 
/**
 * Smallest and largest length of the push leg (frame_sent → browser_received), in ns.
 */
push_ns: [number, number], 
/**
 * broadcaster's queue (web_received → frame_sent), in ns.
 */
fanout_ns: number | null, 
/**
 * browser_received → painted, in ns.
 */
paint_ns: number | null, };

export type EventView = { 
/**
 * When, in ms since the collector started.
 */
at_ms: number, 
/**
 * "incompatible_qos", "message_lost", "wall_clock_step", "bad_records", …
 */
kind: string, 
/**
 * A sentence that says what, where and what to do.
 */
text: string, };

export type PageConfig = { 
/**
 * The broadcaster's port, on the host that the page came from.
 */
broadcaster_port: number, 
/**
 * The collector's port, likewise.
 */
collector_port: number, };

export const VERSION = 1;
