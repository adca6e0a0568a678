// Generated from crates/wire/src/feed.rs and controls.rs: `cargo test -p hopwatch-wire` compares it,
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

export type FromViewer = { "type": "watch" } & Watch | { "type": "pause" } | { "type": "message", 
/**
 * 32 hexadecimal digits.
 */
trace_id: string, };

export type Watch = { 
/**
 * The messages of which stretch of time.
 */
window: Window, 
/**
 * Those of one robot; `null`: of all.
 */
robot: string | null, };

export type Window = "10s" | "1min" | "run";

export type Live = { "type": "snapshot" } & Snapshot | { "type": "message", 
/**
 * The one that was asked for.
 */
trace_id: string, 
/**
 * `null`: it isn't kept, or never was.
 */
message: MessageView | null, };

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
 * Browser pages that the broadcaster serves now.
 */
clients: number, 
/**
 * What the figures are of.
 */
watch: Watch, 
/**
 * All parts are here: what the page had is of something else. Otherwise a part that is missing
 * is as it was.
 */
whole: boolean, 
/**
 * What has changed.
 */
parts: Array<Part>, };

export type Part = { "kind": "lane", 
/**
 * Them.
 */
lane: LaneView, } | { "kind": "course" } & CourseView | { "kind": "latest", 
/**
 * Newest first.
 */
messages: Array<MessageView>, } | { "kind": "slowest", 
/**
 * Slowest first.
 */
messages: Array<MessageView>, } | { "kind": "robots", 
/**
 * By lane and name.
 */
robots: Array<RobotView>, } | { "kind": "clocks", 
/**
 * By name.
 */
clocks: Array<ClockReport>, } | { "kind": "verdict", 
/**
 * On replacing HTTP.
 */
verdict: Verdict, 
/**
 * Whether the limits hold.
 */
budget: BudgetReport, } | { "kind": "shadow", 
/**
 * `null` without probes.
 */
shadow: Shadow | null, } | { "kind": "events", 
/**
 * Newest first.
 */
events: Array<EventView>, } | { "kind": "measured", 
/**
 * Newest first.
 */
runs: Array<MeasuredRun>, };

export type CourseView = { 
/**
 * The lane.
 */
lane: string, 
/**
 * How long a bin is, in ms. With another width all chunks of the lane before are void.
 */
width_ms: number, 
/**
 * Which stretch: bins `chunk × 32` up to 31 further ones, counted from `elapsed_ms` 0; those
 * before the collector's start are negative.
 */
chunk: number, 
/**
 * Those in which anything happened, in order.
 */
bins: Array<Bin>, };

export type Bin = { 
/**
 * Where it begins, in ms since the collector's start.
 */
at_ms: number, 
/**
 * Messages that went the whole way.
 */
n: number, 
/**
 * Pipeline total of those, in ns; `null` for none.
 */
p50_ns: number | null, 
/**
 * The same.
 */
p95_ns: number | null, 
/**
 * The same.
 */
p99_ns: number | null, 
/**
 * The same.
 */
max_ns: number | null, 
/**
 * Median of the AI service's own time.
 */
ai_p50_ns: number | null, 
/**
 * Median of the transport.
 */
transport_p50_ns: number | null, 
/**
 * Median of the overhead.
 */
overhead_p50_ns: number | null, 
/**
 * The trace id of the slowest one.
 */
slowest: string | null, 
/**
 * Messages that did not go the whole way, by what became of them: "lost_in_ros",
 * "queue_dropped", "ai timed_out", … One lost in ROS stands where its absence was noticed.
 */
lost: { [key in string]: number }, };

export type RobotView = { 
/**
 * The lane.
 */
lane: string, 
/**
 * The robot.
 */
robot_id: string, 
/**
 * What it says it has published here, in all its starts; `null`: it doesn't tell.
 */
published: number | null, 
/**
 * Messages of the window.
 */
taken: number, 
/**
 * Those of them that went the whole way.
 */
delivered: number, 
/**
 * Takes a second in the window; `null` for fewer than two.
 */
rate_hz: number | null, 
/**
 * Pipeline total in the window; `null` for none.
 */
p50_ns: number | null, 
/**
 * The same.
 */
p99_ns: number | null, 
/**
 * When its newest message of the window was taken, in ms since the collector's start; `null`
 * for none.
 */
last_ms: number | null, };

export type MeasuredRun = { 
/**
 * Its name, a folder's.
 */
name: string, 
/**
 * How it stands.
 */
state: MeasuredState, 
/**
 * When it began, in ms since the collector's start.
 */
from_ms: number, 
/**
 * When it ended.
 */
to_ms: number | null, 
/**
 * Messages in its report.
 */
messages: number | null, 
/**
 * The report's verdict: SWITCH, KEEP or INCONCLUSIVE.
 */
decision: string | null, 
/**
 * What went wrong, if it failed.
 */
trouble: string | null, };

export type MeasuredState = "running" | "writing" | "done" | "failed";

export type Verdict = { 
/**
 * SWITCH, KEEP or INCONCLUSIVE.
 */
decision: string, 
/**
 * Why.
 */
reason: string, };

export type BudgetReport = { 
/**
 * Each limit.
 */
checks: Array<Check>, 
/**
 * Whether all hold.
 */
passed: boolean, };

export type Check = { 
/**
 * The lane.
 */
lane: string, 
/**
 * The quantity.
 */
quantity: Quantity, 
/**
 * The limit, in the quantity's unit.
 */
limit_value: number, 
/**
 * What was measured; `null` when that is no number: nothing, unstable, lost.
 */
measured_value: number | null, 
/**
 * Lane and quantity.
 */
name: string, 
/**
 * The limit, in words.
 */
limit: string, 
/**
 * What was measured, in words.
 */
measured: string, 
/**
 * Whether it holds. Nothing measured does not.
 */
passed: boolean, };

export type Quantity = "mean_total" | "mean_communication" | "p99_total" | "delivered";

export type ClockReport = { 
/**
 * Its name.
 */
id: string, 
/**
 * What was stamped with it.
 */
used_for: string, 
/**
 * How it relates to the gateway's, in a sentence.
 */
relation: string, 
/**
 * It is the gateway's own clock: differences to its stamps are exact.
 */
exact: boolean, 
/**
 * θ = this clock − the gateway's (a browser's: − its broadcaster's) at the last exchange, as
 * an interval in ns; `null` when nothing relates the two, and for the gateway's own.
 */
offset_ns: [number, number] | null, 
/**
 * How fast it gains on the other one, as an interval in ppm; `null` for a run too short.
 */
drift_ppm: [number, number] | null, 
/**
 * Exchanges that the relation rests on.
 */
exchanges: number, 
/**
 * Pieces that steps cut the run into: 1 when no clock was set.
 */
epochs: number, };

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
 * pipeline span (taken → web_acked), of every message of the window.
 */
classes: { [key in string]: Summary }, 
/**
 * The distribution of the same rows: (share of the messages, at most so long in ns), in order.
 */
distribution: { [key: string]: [number, number][] }, 
/**
 * Everything below is of so many messages at most, the newest ones of the window.
 */
newest: number, 
/**
 * Those of them that a page got, and that were painted there.
 */
glass: GlassCounts, 
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
 * What the messages near P50, P95 and P99 of the total are made of; empty when unstable.
 */
breakdown: Array<Near>, 
/**
 * The part of each leg in the variance of the total; they sum to 1. `null`: it doesn't vary.
 */
variance_shares: { [key in Leg]?: number } | null, 
/**
 * From the schedule against from publication; `null` without a schedule, or when unstable.
 */
open_loop: OpenLoop | null, 
/**
 * Over what was published, a lost message taking forever, by the usual budget; `null` once
 * there are more messages than the window holds.
 */
over_published: OverPublished | null, 
/**
 * Messages a second.
 */
rates: Rates, 
/**
 * The longest time without a delivery; `null` for fewer than two.
 */
delivery_gap: DeliveryGap | null, 
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

export type Failure = "unreachable" | "broken" | "timed_out" | "refused" | "failed" | "bad_reply" | "not_made";

export type Class = "ai" | "transport" | "overhead";

export type Leg = "schedule" | "write" | "ros" | "wake" | "queue" | "encode" | "ai_connect" | "ai_retry" | "ai_request" | "ai_wait" | "ai_infer" | "ai_resend" | "ai_reply" | "ai_transport" | "ai_round_trip" | "handoff" | "web_connect" | "web_retry" | "web_request" | "web_handle" | "web_resend" | "web_reply" | "web_transport" | "web_round_trip" | "fanout" | "push" | "paint";

export type Summary = { 
/**
 * How many values.
 */
n: number, 
/**
 * How many independent values they are worth: `n`, or less where each depends on the one
 * before (METHOD 12). Intervals and bounds are those of so many.
 */
n_eff: number, 
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
 * Two-sided 95 % order-statistic interval of the median.
 */
p50_ci_ns: [number | null, number | null], 
/**
 * The same of the 95th percentile.
 */
p95_ci_ns: [number | null, number | null], 
/**
 * The same of the 99th percentile.
 */
p99_ci_ns: [number | null, number | null], 
/**
 * One-sided 95 % upper bound of the 95th percentile; needs 59 independent values.
 */
p95_upper_ns: number | null, 
/**
 * The same of the 99th percentile; needs 299.
 */
p99_upper_ns: number | null, 
/**
 * Two modes: then the mean and the standard deviation describe no value (METHOD 18). `null`
 * where none were found, or not looked for, as in fewer than 30 values.
 */
modes: Modes | null, };

export type Modes = { 
/**
 * The values below the valley.
 */
low: Mode, 
/**
 * The values above it. Both shares sum to less than 1 when values lie in the valley.
 */
high: Mode, 
/**
 * The largest value of the low mode and the smallest of the high one, in ns.
 */
valley_ns: [number, number], 
/**
 * How sure this is.
 */
evidence: Evidence, };

export type Mode = { 
/**
 * The median of its values, in ns.
 */
center_ns: number, 
/**
 * How many values.
 */
n: number, 
/**
 * Its part of all values, from 0 to 1.
 */
share: number, };

export type Evidence = "test" | "shape";

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
 * How many independent values they are worth: `n`, or less where each depends on the one
 * before (METHOD 12). Intervals and bounds are those of so many.
 */
n_eff: number, 
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
 * Two-sided 95 % order-statistic interval of the median.
 */
p50_ci_ns: [number | null, number | null], 
/**
 * The same of the 95th percentile.
 */
p95_ci_ns: [number | null, number | null], 
/**
 * The same of the 99th percentile.
 */
p99_ci_ns: [number | null, number | null], 
/**
 * One-sided 95 % upper bound of the 95th percentile; needs 59 independent values.
 */
p95_upper_ns: number | null, 
/**
 * The same of the 99th percentile; needs 299.
 */
p99_upper_ns: number | null, 
/**
 * Two modes: then the mean and the standard deviation describe no value (METHOD 18). `null`
 * where none were found, or not looked for, as in fewer than 30 values.
 */
modes: Modes | null, 
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
 * How many independent values they are worth: `n`, or less where each depends on the one
 * before (METHOD 12). Intervals and bounds are those of so many.
 */
n_eff: number, 
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
 * Two-sided 95 % order-statistic interval of the median.
 */
p50_ci_ns: [number | null, number | null], 
/**
 * The same of the 95th percentile.
 */
p95_ci_ns: [number | null, number | null], 
/**
 * The same of the 99th percentile.
 */
p99_ci_ns: [number | null, number | null], 
/**
 * One-sided 95 % upper bound of the 95th percentile; needs 59 independent values.
 */
p95_upper_ns: number | null, 
/**
 * The same of the 99th percentile; needs 299.
 */
p99_upper_ns: number | null, 
/**
 * Two modes: then the mean and the standard deviation describe no value (METHOD 18). `null`
 * where none were found, or not looked for, as in fewer than 30 values.
 */
modes: Modes | null, 
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
 * A word: "clock_step", "delay_jumped", "constant_offset", "drift", "delay_drifts",
 * "wrong_clock_domain", "unsynchronised_robot", "ambiguous_host", "queueing_not_clock".
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
 * True when messages surely came faster than they could be worked off, or their backlog
 * grew: then percentiles tell how long the run was, and nothing else.
 */
unstable: boolean, 
/**
 * Arrival rate × mean time in a worker ÷ workers; `null` before there are figures.
 */
utilisation: number | null, 
/**
 * Its 95 % interval; `null` for fewer than 20 messages or less than 3 s: too little to be
 * judged by.
 */
utilisation_ci: [number, number] | null, 
/**
 * How fast waiting grew, in µs of waiting a second of run, by least squares; `null` before
 * there are figures.
 */
waiting_slope_us_per_s: number | null, 
/**
 * The shortest waits grew, too: a backlog that never emptied.
 */
waiting_grows: boolean, 
/**
 * The numbers in a sentence.
 */
reason: string, };

export type Near = { 
/**
 * The quantile: "p50", "p95" or "p99".
 */
near: string, 
/**
 * How many messages.
 */
n: number, 
/**
 * The total at the quantile.
 */
quantile_ns: number, 
/**
 * The smallest total of these messages.
 */
lo_ns: number, 
/**
 * The largest.
 */
hi_ns: number, 
/**
 * Their mean total, rounded down.
 */
mean_ns: number, 
/**
 * The mean of each leg, to within 1 ns: the sum is the mean total to the last ns.
 */
legs: { [key in Leg]?: number }, };

export type OpenLoop = { 
/**
 * How many messages.
 */
n: number, 
/**
 * P99 of intended → web_acked: what whoever relies on the schedule sees.
 */
from_schedule_p99_ns: number, 
/**
 * P99 of published → web_acked: a late message begins anew here.
 */
from_publication_p99_ns: number, 
/**
 * P99 of intended → published: how late the robot was.
 */
late_p99_ns: number, 
/**
 * The latest that it was.
 */
late_max_ns: number, 
/**
 * The first two differ by more than a tenth, 1 ms and what the clocks leave open.
 */
differs: boolean, };

export type OverPublished = { 
/**
 * The limit: the budget of the total.
 */
limit_ns: number, 
/**
 * The denominator: published, without those in flight, those without a time and those before
 * discovery.
 */
of: number, 
/**
 * Of these, not delivered.
 */
lost: number, 
/**
 * Not in the denominator: what becomes of them isn't known yet.
 */
in_flight: number, 
/**
 * Not in the denominator: delivered, but their stamps don't tell the time.
 */
untimed: number, 
/**
 * Not in the denominator: published before writer and reader had found each other, which says
 * nothing of the link (METHOD 14).
 */
before_discovery: number, 
/**
 * taken → web_acked; the way to the gateway isn't in its time.
 */
pipeline: SpanOverPublished, 
/**
 * published → web_acked; `null` unless it is known of every message.
 */
published: SpanOverPublished | null, };

export type SpanOverPublished = { 
/**
 * Delivered within the limit.
 */
delivered_within: Within, 
/**
 * The median, "lost" when half of the messages are; `null` for an unstable lane.
 */
p50_ns: number | "lost" | null, 
/**
 * The 95th percentile, likewise.
 */
p95_ns: number | "lost" | null, 
/**
 * The 99th percentile, likewise.
 */
p99_ns: number | "lost" | null, 
/**
 * The true median lies in here: those of the lower and of the upper ends; `null` when exact.
 */
p50_within_ns: [number | "lost", number | "lost"] | null, 
/**
 * The same of the 95th percentile.
 */
p95_within_ns: [number | "lost", number | "lost"] | null, 
/**
 * The same of the 99th percentile.
 */
p99_within_ns: [number | "lost", number | "lost"] | null, };

export type Within = { 
/**
 * How many, of all that were published. One whose time isn't exact counts when it certainly
 * was in time.
 */
n: number, 
/**
 * The same and those that may have been in time; `n` when all times are exact.
 */
n_possibly: number, 
/**
 * The part of `n`, from 0 to 1.
 */
ratio: number, 
/**
 * 95 % interval of the probability behind it (Clopper–Pearson), if losses are independent:
 * its lower end is that of `n`, its upper end that of `n_possibly`.
 */
ratio_ci: [number, number], };

export type Rates = { 
/**
 * Published, by the messages' numbers: those that were lost count, too. Of all writers, over
 * the lane's time from the first take to the last. `null` when that is less than a second.
 */
published_per_s: number | null, 
/**
 * Delivered, by the end of the pipeline; `null` likewise.
 */
delivered_per_s: number | null, };

export type DeliveryGap = { 
/**
 * How long it was.
 */
longest_gap_ns: number, 
/**
 * When it began: the web_acked of the message before, on the gateway's clock.
 */
began_ns: number, 
/**
 * The same since the lane's first take.
 */
after_ns: number, 
/**
 * The median time from one delivery to the next.
 */
median_gap_ns: number, };

export type GlassCounts = { 
/**
 * Delivered messages that are looked at.
 */
delivered: number, 
/**
 * Those that at least one page acknowledged.
 */
received: number, 
/**
 * Those that at least one page painted.
 */
painted: number, };

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
 * When it was taken, in ms since the collector's start.
 */
at_ms: number, 
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
 * "incompatible_qos", "message_lost", "wall_clock_step", "bad_records", "mark", …
 */
kind: string, 
/**
 * A sentence that says what, where and what to do.
 */
text: string, };

export type Shadow = { 
/**
 * Probes a second, of all links and services together.
 */
rate_hz: number, 
/**
 * The services that are probed: both, or only the web service where the AI service is somebody
 * else's.
 */
stages: ("ai" | "web")[], 
/**
 * Size of the bodies, in bytes: the smallest and the largest.
 */
body_bytes: [number, number], 
/**
 * The link that messages go over, which the others are compared with.
 */
current: string, 
/**
 * Each link: the current one first, then by name.
 */
links: Array<ShadowLink>, };

export type ShadowLink = { 
/**
 * Its name.
 */
link: string, 
/**
 * Requests.
 */
probes: number, 
/**
 * Of these, without a reply.
 */
failed: number, 
/**
 * Times that requests were sent again.
 */
retries: number, 
/**
 * Rounds that reached for every service, with replies or without.
 */
rounds: number, 
/**
 * Median of what a round's requests cost together: connection and round trip, without the
 * services' own time; "lost" when as many rounds miss a reply. `null` without rounds.
 */
p50_ns: number | "lost" | null, 
/**
 * The 95th percentile, likewise.
 */
p95_ns: number | "lost" | null, 
/**
 * Rounds of this link and the current one, but those that both lost: of these nothing can be
 * said.
 */
pairs: number, 
/**
 * Median of (this link − the current one) within a round; negative: it saves time.
 */
change_ns: number | "lost" | "current-lost" | null, 
/**
 * Its 95 % interval by order statistics; `null` for an end that the rounds don't give.
 */
change_ci_ns: [number | "lost" | "current-lost" | null, number | "lost" | "current-lost" | null], };

export type PageConfig = { 
/**
 * The broadcaster's port, on the host that the page came from.
 */
broadcaster_port: number, 
/**
 * The collector's port, likewise.
 */
collector_port: number, 
/**
 * What can be set from the page.
 */
controls: Controls, };

export type Controls = { 
/**
 * The AI service's; `null`: it isn't ours.
 */
ai_port: number | null, 
/**
 * The simulated robots'; `null`: there are none.
 */
robots_port: number | null, 
/**
 * `hopwatch`'s, where it can make a network lose packets.
 */
network_port: number | null, 
/**
 * Whether the token must be shown. On loopback it need not.
 */
token_needed: boolean, };

export type AiSettings = { 
/**
 * Model time in ms, the median; 0 to an hour.
 */
model_ms: number, };

export type RobotSettings = { 
/**
 * Messages a second of each robot on each topic.
 */
rate_hz: number, 
/**
 * Bytes of filler in each message.
 */
payload_bytes: number, };

export type NetworkSettings = { 
/**
 * The share of packets that is lost, 0 to 1.
 */
loss: number, };

export type Mark = { 
/**
 * What happened, 1 to 200 characters.
 */
text: string, };

export type MeasureRequest = { 
/**
 * Which of the two.
 */
action: MeasureAction, };

export type MeasureAction = "start" | "stop";

export const VERSION = 2;
