// Figures as the collector would send them: the shapes of crates/wire/src/feed.rs with numbers of
// a pipeline whose AI takes about 10 ms.

const MS = 1_000_000;

/** Numbers that look random and are the same in every run. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A summary around `middle` ns of `n` values. */
export function summary(middle, n, spread = 0.08) {
  if (n === 0) {
    const none = ["mean", "sd", "min", "max", "p50", "p75", "p90", "p95", "p99"];
    return {
      n,
      n_eff: 0,
      ...Object.fromEntries(none.map((name) => [`${name}_ns`, null])),
      p50_ci_ns: [null, null],
      p95_ci_ns: [null, null],
      p99_ci_ns: [null, null],
      p95_upper_ns: null,
      p99_upper_ns: null,
      modes: null,
    };
  }
  const at = (factor) => Math.round(middle * (1 + factor * spread));
  return {
    n,
    n_eff: n,
    mean_ns: middle * 1.004,
    sd_ns: middle * spread * 0.7,
    min_ns: at(-1),
    max_ns: at(4),
    p50_ns: at(0),
    p75_ns: at(0.6),
    p90_ns: at(1.2),
    p95_ns: at(1.9),
    p99_ns: at(3),
    p50_ci_ns: [at(-0.1), at(0.1)],
    p95_ci_ns: [at(1.7), n < 72 ? null : at(2.1)],
    p99_ci_ns: [at(2.4), n < 368 ? null : at(3.9)],
    p95_upper_ns: n < 59 ? null : at(2.1),
    p99_upper_ns: n < 299 ? null : at(3.8),
    modes: null,
  };
}

const LEGS = [
  ["schedule", "overhead", 0.06],
  ["write", "overhead", 0.005],
  ["ros", "transport", 0.25],
  ["wake", "overhead", 0.09],
  ["queue", "overhead", 0.03],
  ["encode", "overhead", 0.12],
  ["ai_request", "transport", 0.31],
  ["ai_wait", "ai", 0.4],
  ["ai_infer", "ai", 10.1],
  ["ai_reply", "transport", 0.28],
  ["handoff", "overhead", 0.07],
  ["web_request", "transport", 0.22],
  ["web_handle", "overhead", 0.15],
  ["web_reply", "transport", 0.2],
];
const BEFORE_TAKE = ["schedule", "write", "ros", "wake"];

/** Message number `sequence`, delivered. */
export function message(sequence, change = {}) {
  const next = random(sequence);
  const legs = LEGS.map(([leg, kind, ms]) => ({
    leg,
    class: kind,
    ns: Math.round(ms * MS * (0.7 + 0.8 * next())),
    half_ns: leg === "ai_request" || leg === "ai_reply" ? 180_000 : 0,
  }));
  const total_ns = legs
    .filter(({ leg }) => !BEFORE_TAKE.includes(leg))
    .reduce((sum, { ns }) => sum + ns, 0);
  return {
    trace_id: sequence.toString(16).padStart(32, "0"),
    lane: "best-effort",
    robot_id: `robot_00${1 + (sequence % 3)}`,
    sequence,
    outcome: "delivered",
    detail: null,
    total_ns,
    legs,
    glass: [
      { client: "page-1", push_ns: [150_000, 420_000], fanout_ns: 31_000, paint_ns: 11_800_000 },
    ],
    ...change,
  };
}

/** What two clocks leave open of a figure; nothing when it is exact. */
function width(p50, half) {
  return {
    exact: half === 0,
    half_width_ns: half,
    resolved: half === 0,
    p50_within_ns: half === 0 ? null : [p50 - half, p50 + half],
    p99_within_ns: half === 0 ? null : [p50 - half, p50 + 2 * half],
  };
}

/** A lane with `n` values. */
export function lane(name, n, change = {}) {
  const spread = { transport: 0.2, overhead: 0.3 };
  const per = { ai: 10.5, transport: 1.01, overhead: 0.37, communication: 1.38, total: 11.9 };
  return {
    name,
    qos: "BEST_EFFORT KEEP_LAST 1 VOLATILE",
    transport: "http1",
    ledger: ledger(n),
    classes: Object.fromEntries(
      Object.entries(per).map(([key, ms]) => [key, summary(ms * MS, n, spread[key])]),
    ),
    legs: Object.fromEntries(
      LEGS.map(([leg, kind, ms]) => [
        leg,
        {
          class: kind,
          ...summary(Math.round(ms * MS), n, 0.3),
          ...width(Math.round(ms * MS), leg === "ai_request" || leg === "ai_reply" ? 180_000 : 0),
          negative: 0,
        },
      ]),
    ),
    spans: {
      pipeline: { ...summary(11.9 * MS, n), ...width(11.9 * MS, 0) },
      published: { ...summary(12.3 * MS, n), ...width(12.3 * MS, 40) },
    },
    breakdown: [],
    variance_shares: null,
    open_loop: null,
    over_published: null,
    rates: { published_per_s: n === 0 ? null : 20, delivered_per_s: n === 0 ? null : 20 },
    delivery_gap: null,
    findings: [],
    stability: {
      unstable: false,
      utilisation: 0.24,
      utilisation_ci: [0.22, 0.26],
      waiting_slope_us_per_s: 0.8,
      waiting_grows: false,
      reason: "arrivals 20/s × 11.9 ms",
    },
    ...change,
  };
}

/** A ledger that adds up. */
export function ledger(delivered, change = {}) {
  const bad = delivered === 0 ? 0 : 1;
  return {
    published: delivered + 8 * bad,
    published_source: delivered === 0 ? "nothing" : "census",
    lost_before_discovery: bad,
    lost_in_ros: bad,
    dds_lost: bad,
    overwritten_in_history: 0,
    outcome_unknown: bad,
    queue_dropped: 0,
    undecodable: 0,
    ai_failed: delivered === 0 ? {} : { timed_out: 2, unreachable: 1 },
    web_failed: {},
    abandoned: 0,
    delivered,
    in_flight: 2 * bad,
    duplicates: bad,
    duplicate_ids: 0,
    reordered: 0,
    restarts: 0,
    reconciles: true,
    notes: [],
    ...change,
  };
}

/** A whole snapshot of a running pipeline. */
export function snapshot(change = {}) {
  const n = change.n ?? 1234;
  return {
    type: "snapshot",
    version: 1,
    run_id: "run-1",
    state: "running",
    elapsed_ms: 63_000,
    window: 2000,
    lanes: [lane("best-effort", n)],
    latest: Array.from({ length: 24 }, (_, i) => message(n - i)),
    shadow: shadow(),
    clients: 1,
    events: [],
    ...change,
  };
}

/** Shadow probes of three links, and what they say. */
export function shadow() {
  const link = (name, us, change, more = {}) => ({
    link: name,
    probes: 60,
    failed: 0,
    retries: 0,
    rounds: 30,
    p50_ns: us * 1000,
    p95_ns: us * 1500,
    pairs: 30,
    change_ns: change === null ? null : change * 1000,
    change_ci_ns: change === null ? [null, null] : [(change - 20) * 1000, (change + 30) * 1000],
    ...more,
  });
  return {
    rate_hz: 2,
    stages: ["ai", "web"],
    body_bytes: [412, 415],
    current: "http1",
    links: [
      link("http1", 520, null),
      link("http1-fresh", 830, 310),
      link("udp", 240, -281, { failed: 2, p95_ns: "lost" }),
    ],
  };
}

/** The first words of a collector that has seen nothing. */
export function waiting() {
  return snapshot({
    n: 0,
    state: "waiting",
    elapsed_ms: 2_000,
    latest: [],
    lanes: [
      lane("best-effort", 0, {
        stability: {
          unstable: false,
          utilisation: null,
          utilisation_ci: null,
          waiting_slope_us_per_s: null,
          waiting_grows: false,
          reason: "no message yet",
        },
      }),
    ],
  });
}

/** A frame of the broadcaster. */
export function push(sequence, change = {}) {
  return {
    type: "message",
    trace_id: sequence.toString(16).padStart(32, "0"),
    body: {
      header: { robot_id: "robot_001", sequence, message_type: "status", message_id: "m" },
      battery: 97.5,
      robot_status: "running",
      command: "",
      error_message: "",
      ai: { label: "normal", confidence: 0.93 },
      ...change,
    },
  };
}
