// The frames of both feeds, read from their text.

import {
  boolean,
  type Check,
  checkedAs,
  isRecord,
  list,
  map,
  natural,
  nullable,
  number,
  object,
  oneOf,
  pair,
  Refusal,
  string,
  tagged,
} from "./check";
import {
  type AiSettings,
  type Bin,
  type Check as BudgetCheck,
  type BudgetReport,
  type Class,
  type ClockReport,
  type Controls,
  type CourseView,
  type DeliveryGap,
  type EventView,
  type Finding,
  type GlassCounts,
  type GlassView,
  type LaneView,
  type Ledger,
  type Leg,
  type LegFigures,
  type LegView,
  type Live,
  type MeasuredRun,
  type MessageView,
  type Mode,
  type Modes,
  type Near,
  type NetworkSettings,
  type OpenLoop,
  type OverPublished,
  type PageConfig,
  type Part,
  type Push,
  type Rates,
  type RobotSettings,
  type RobotView,
  type Shadow,
  type ShadowLink,
  type SpanFigures,
  type SpanOverPublished,
  type Stability,
  type Summary,
  VERSION,
  type Verdict,
  type Watch,
  type Within,
} from "./generated/wire";

/** A frame of another version of the feed. */
export class OtherVersion {
  readonly version: number;
  constructor(version: number) {
    this.version = version;
  }
}

const classOf: Check<Class> = oneOf("ai", "transport", "overhead");
// A leg that this page doesn't know is shown by its name like all the others.
const leg: Check<Leg> = (value) => string(value);
const ns = nullable(number);

const mode = object<Mode>({ center_ns: number, n: natural, share: number });

const summaryFields = {
  n: natural,
  n_eff: number,
  mean_ns: ns,
  sd_ns: ns,
  min_ns: ns,
  max_ns: ns,
  p50_ns: ns,
  p75_ns: ns,
  p90_ns: ns,
  p95_ns: ns,
  p99_ns: ns,
  p50_ci_ns: pair(ns),
  p95_ci_ns: pair(ns),
  p99_ci_ns: pair(ns),
  p95_upper_ns: ns,
  p99_upper_ns: ns,
  modes: nullable(
    object<Modes>({
      low: mode,
      high: mode,
      valley_ns: pair(number),
      evidence: oneOf("test", "shape"),
    }),
  ),
};

const widthFields = {
  exact: boolean,
  half_width_ns: number,
  resolved: boolean,
  p50_within_ns: nullable(pair(number)),
  p99_within_ns: nullable(pair(number)),
};

const latency: Check<number | "lost"> = (value) => (value === "lost" ? null : number(value));
const change: Check<number | "lost" | "current-lost"> = (value) =>
  value === "current-lost" ? null : latency(value);

const spanOverPublished = object<SpanOverPublished>({
  delivered_within: object<Within>({
    n: natural,
    n_possibly: natural,
    ratio: number,
    ratio_ci: pair(number),
  }),
  p50_ns: nullable(latency),
  p95_ns: nullable(latency),
  p99_ns: nullable(latency),
  p50_within_ns: nullable(pair(latency)),
  p95_within_ns: nullable(pair(latency)),
  p99_within_ns: nullable(pair(latency)),
});

const ledger = object<Ledger>({
  published: natural,
  published_source: oneOf("census", "publication_sequence", "header_sequence", "nothing"),
  lost_before_discovery: natural,
  lost_in_ros: natural,
  dds_lost: natural,
  overwritten_in_history: natural,
  outcome_unknown: natural,
  queue_dropped: natural,
  undecodable: natural,
  ai_failed: map(natural),
  web_failed: map(natural),
  abandoned: natural,
  delivered: natural,
  in_flight: natural,
  duplicates: natural,
  duplicate_ids: natural,
  reordered: natural,
  restarts: natural,
  reconciles: boolean,
  notes: list(string),
});

const lane = object<LaneView>({
  name: string,
  qos: string,
  transport: string,
  ledger,
  classes: map(object<Summary>(summaryFields)),
  distribution: map(list(pair(number))),
  newest: natural,
  glass: object<GlassCounts>({ delivered: natural, received: natural, painted: natural }),
  spans: map(object<SpanFigures>({ ...summaryFields, ...widthFields })),
  legs: map(
    object<LegFigures>({ ...summaryFields, ...widthFields, class: classOf, negative: natural }),
  ),
  stability: object<Stability>({
    unstable: boolean,
    utilisation: ns,
    utilisation_ci: nullable(pair(number)),
    waiting_slope_us_per_s: ns,
    waiting_grows: boolean,
    reason: string,
  }),
  breakdown: list(
    object<Near>({
      near: string,
      n: natural,
      quantile_ns: number,
      lo_ns: number,
      hi_ns: number,
      mean_ns: number,
      legs: map(number),
    }),
  ),
  variance_shares: nullable(map(number)),
  open_loop: nullable(
    object<OpenLoop>({
      n: natural,
      from_schedule_p99_ns: number,
      from_publication_p99_ns: number,
      late_p99_ns: number,
      late_max_ns: number,
      differs: boolean,
    }),
  ),
  over_published: nullable(
    object<OverPublished>({
      limit_ns: number,
      of: natural,
      lost: natural,
      in_flight: natural,
      untimed: natural,
      before_discovery: natural,
      pipeline: spanOverPublished,
      published: nullable(spanOverPublished),
    }),
  ),
  rates: object<Rates>({ published_per_s: ns, delivered_per_s: ns }),
  delivery_gap: nullable(
    object<DeliveryGap>({
      longest_gap_ns: number,
      began_ns: number,
      after_ns: number,
      median_gap_ns: number,
    }),
  ),
  findings: list(object<Finding>({ kind: string, subject: string, text: string })),
});

const message = object<MessageView>({
  trace_id: string,
  lane: string,
  robot_id: string,
  sequence: number,
  // The gateway may have begun before the collector did.
  at_ms: number,
  outcome: string,
  detail: nullable(string),
  total_ns: ns,
  legs: list(object<LegView>({ leg, class: classOf, ns: number, half_ns: number })),
  glass: list(
    object<GlassView>({ client: string, push_ns: pair(number), fanout_ns: ns, paint_ns: ns }),
  ),
});

const shadow = object<Shadow>({
  rate_hz: number,
  stages: list(oneOf("ai", "web")),
  body_bytes: pair(natural),
  current: string,
  links: list(
    object<ShadowLink>({
      link: string,
      probes: natural,
      failed: natural,
      retries: natural,
      rounds: natural,
      p50_ns: nullable(latency),
      p95_ns: nullable(latency),
      pairs: natural,
      change_ns: nullable(change),
      change_ci_ns: pair(nullable(change)),
    }),
  ),
});

const course = object<CourseView & { kind: "course" }>({
  kind: oneOf("course"),
  lane: string,
  width_ms: natural,
  chunk: number,
  bins: list(
    object<Bin>({
      at_ms: number,
      n: natural,
      p50_ns: ns,
      p95_ns: ns,
      p99_ns: ns,
      max_ns: ns,
      ai_p50_ns: ns,
      transport_p50_ns: ns,
      overhead_p50_ns: ns,
      slowest: nullable(string),
      lost: map(natural),
    }),
  ),
});

const robot = object<RobotView>({
  lane: string,
  robot_id: string,
  published: nullable(natural),
  taken: natural,
  delivered: natural,
  rate_hz: ns,
  p50_ns: ns,
  p99_ns: ns,
  last_ms: ns,
});

const clock = object<ClockReport>({
  id: string,
  used_for: string,
  relation: string,
  exact: boolean,
  offset_ns: nullable(pair(number)),
  drift_ppm: nullable(pair(number)),
  exchanges: natural,
  epochs: natural,
});

const budget = object<BudgetReport>({
  checks: list(
    object<BudgetCheck>({
      lane: string,
      quantity: oneOf("mean_total", "mean_communication", "p99_total", "delivered"),
      limit_value: number,
      measured_value: ns,
      name: string,
      limit: string,
      measured: string,
      passed: boolean,
    }),
  ),
  passed: boolean,
});

/** A measured run, as a snapshot and the answer to starting one have it. */
export const measured = object<MeasuredRun>({
  name: string,
  state: oneOf("running", "writing", "done", "failed"),
  from_ms: number,
  to_ms: ns,
  messages: nullable(natural),
  decision: nullable(string),
  trouble: nullable(string),
});

type Of<Kind extends Part["kind"]> = Extract<Part, { kind: Kind }>;

const part = tagged<Part>({
  lane: object<Of<"lane">>({ kind: oneOf("lane"), lane }),
  course,
  latest: object<Of<"latest">>({ kind: oneOf("latest"), messages: list(message) }),
  slowest: object<Of<"slowest">>({ kind: oneOf("slowest"), messages: list(message) }),
  robots: object<Of<"robots">>({ kind: oneOf("robots"), robots: list(robot) }),
  clocks: object<Of<"clocks">>({ kind: oneOf("clocks"), clocks: list(clock) }),
  verdict: object<Of<"verdict">>({
    kind: oneOf("verdict"),
    verdict: object<Verdict>({ decision: string, reason: string }),
    budget,
  }),
  shadow: object<Of<"shadow">>({ kind: oneOf("shadow"), shadow: nullable(shadow) }),
  events: object<Of<"events">>({
    kind: oneOf("events"),
    events: list(object<EventView>({ at_ms: number, kind: string, text: string })),
  }),
  measured: object<Of<"measured">>({ kind: oneOf("measured"), runs: list(measured) }),
});

const lives = {
  snapshot: object<Extract<Live, { type: "snapshot" }>>({
    type: oneOf("snapshot"),
    version: number,
    run_id: string,
    state: oneOf("waiting", "running", "ended"),
    elapsed_ms: natural,
    clients: natural,
    watch: object<Watch>({ window: oneOf("10s", "1min", "run"), robot: nullable(string) }),
    whole: boolean,
    parts: list(part),
  }),
  message: object<Extract<Live, { type: "message" }>>({
    type: oneOf("message"),
    trace_id: string,
    message: nullable(message),
  }),
};

const pushes = {
  hello: object<Extract<Push, { type: "hello" }>>({
    type: oneOf("hello"),
    version: number,
    client: string,
  }),
  message: object<Extract<Push, { type: "message" }>>({
    type: oneOf("message"),
    trace_id: string,
    // Whatever it is, it is shown as text.
    body: () => null,
  }),
  dropped: object<Extract<Push, { type: "dropped" }>>({ type: oneOf("dropped"), count: natural }),
};

/** A frame of the broadcaster. */
export function readPush(data: unknown): Push | OtherVersion | Refusal {
  const frame = parse(data);
  if (frame instanceof Refusal) return frame;
  switch (frame["type"]) {
    case "hello":
      return otherVersion(frame) ?? checkedAs(pushes.hello, frame, "hello");
    case "message":
      return checkedAs(pushes.message, frame, "message");
    case "dropped":
      return checkedAs(pushes.dropped, frame, "dropped");
    default:
      return new Refusal(`unknown type ${JSON.stringify(frame["type"])}`);
  }
}

/** A frame of the collector. */
export function readLive(data: unknown): Live | OtherVersion | Refusal {
  const frame = parse(data);
  if (frame instanceof Refusal) return frame;
  switch (frame["type"]) {
    case "snapshot":
      return otherVersion(frame) ?? checkedAs(lives.snapshot, frame, "snapshot");
    case "message":
      return checkedAs(lives.message, frame, "message");
    default:
      return new Refusal(`unknown type ${JSON.stringify(frame["type"])}`);
  }
}

const pageConfig = object<PageConfig>({
  broadcaster_port: natural,
  collector_port: natural,
  controls: object<Controls>({
    ai_port: nullable(natural),
    robots_port: nullable(natural),
    network_port: nullable(natural),
    token_needed: boolean,
  }),
});

/** The page's configuration. */
export function readConfig(value: unknown): PageConfig | Refusal {
  return checkedAs(pageConfig, value, "config.json");
}

/** What the simulated AI service, the robots and the network were set to. */
export const settings = {
  ai: object<AiSettings>({ model_ms: number }),
  robots: object<RobotSettings>({ rate_hz: number, payload_bytes: natural }),
  network: object<NetworkSettings>({ loss: number }),
};

function parse(data: unknown): Record<string, unknown> | Refusal {
  if (typeof data !== "string") return new Refusal("a binary frame");
  let frame: unknown;
  try {
    frame = JSON.parse(data);
  } catch {
    return new Refusal("not JSON");
  }
  return isRecord(frame) ? frame : new Refusal("no object");
}

/** The version is looked at before anything else: another one may have any shape. */
function otherVersion(frame: Record<string, unknown>): OtherVersion | null {
  const version = frame["version"];
  return typeof version === "number" && version !== VERSION ? new OtherVersion(version) : null;
}
