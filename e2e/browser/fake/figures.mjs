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
    at_ms: sequence * 50,
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
    distribution: n === 0 ? {} : distributions(per, spread),
    newest: Math.min(n, 2000),
    glass: { delivered: Math.min(n, 2000), received: n, painted: Math.max(0, n - 3) },
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

/** Around the same figures as the summaries: a quarter of the width below, a long tail above. */
function distributions(per, spread) {
  const points = (ms, wide) =>
    Array.from({ length: 60 }, (_, i) => {
      const share = (i + 1) / 60;
      const tail = share < 0.5 ? share - 0.5 : (share - 0.5) * 1.2 + 3 * (share - 0.5) ** 6 * 32;
      return [share, Math.round(ms * MS * (1 + wide * tail))];
    });
  return Object.fromEntries(
    Object.entries(per).map(([key, ms]) => [key, points(ms, spread[key] ?? 0.08)]),
  );
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
  const elapsed_ms = change.elapsed_ms ?? 63_000;
  const watch = change.watch ?? { window: "1min", robot: null };
  const lanes = change.lanes ?? [lane("best-effort", n)];
  const latest = change.latest ?? Array.from({ length: 24 }, (_, i) => message(n - i));
  const slow = message(n - 600, { total_ns: undefined });
  const slowest = change.slowest ?? (latest.length === 0 ? [] : [slower(slow)]);
  const parts = [
    ...lanes.map((one) => ({ kind: "lane", lane: one })),
    ...(change.courses ??
      (n === 0 ? [] : lanes.flatMap(({ name }, i) => course(name, elapsed_ms, i)))),
    { kind: "latest", messages: latest },
    { kind: "slowest", messages: slowest },
    { kind: "robots", robots: change.robots ?? (n === 0 ? [] : robots(lanes[0].name, elapsed_ms)) },
    { kind: "clocks", clocks: change.clocks ?? clocks() },
    {
      kind: "verdict",
      verdict: change.verdict ?? verdict(n),
      budget: change.budget ?? budget(lanes),
    },
    { kind: "shadow", shadow: change.shadow === undefined ? shadow() : change.shadow },
    { kind: "events", events: change.events ?? [] },
    { kind: "measured", runs: change.measured ?? [] },
  ];
  return {
    type: "snapshot",
    version: 2,
    run_id: change.run_id ?? "run-1",
    state: change.state ?? "running",
    elapsed_ms,
    clients: change.clients ?? 1,
    watch,
    whole: true,
    parts,
  };
}

/** What has changed since. */
export function changes(elapsed_ms, parts = [], change = {}) {
  return { ...snapshot({ elapsed_ms, ...change }), whole: false, parts };
}

function slower(one) {
  const legs = one.legs.map((leg) =>
    leg.leg === "queue"
      ? { ...leg, ns: 9.4 * MS }
      : leg.leg === "ai_wait"
        ? { ...leg, ns: 6.1 * MS }
        : leg,
  );
  const total_ns = legs
    .filter(({ leg }) => !BEFORE_TAKE.includes(leg))
    .reduce((sum, { ns }) => sum + ns, 0);
  return { ...one, legs, total_ns };
}

/** A lane's last minute in bins of half a second, with a loss here and there. */
export function course(name, elapsed_ms, seed = 0) {
  const width_ms = 500;
  const next = random(seed + 7);
  const bins = Array.from({ length: 120 }, (_, i) => {
    const at_ms = elapsed_ms - 60_000 + i * width_ms - (elapsed_ms % width_ms);
    const p50 = Math.round((11.4 + seed * 0.7 + next() + Math.sin(i / 9)) * MS);
    const spike = next() < 0.05 ? 1.6 : 1;
    return {
      at_ms,
      n: 10,
      p50_ns: p50,
      p95_ns: Math.round(p50 * 1.12 * spike),
      p99_ns: Math.round(p50 * 1.2 * spike),
      max_ns: Math.round(p50 * 1.25 * spike),
      ai_p50_ns: Math.round(p50 * 0.88),
      transport_p50_ns: Math.round(p50 * 0.085),
      overhead_p50_ns: Math.round(p50 * 0.035),
      slowest: (at_ms + 1_000_000).toString(16).padStart(32, "0"),
      lost: i % 40 === 17 ? { lost_in_ros: 1 } : i % 60 === 31 ? { "ai timed_out": 2 } : {},
    };
  });
  const chunks = new Map();
  for (const bin of bins) {
    const chunk = Math.floor(bin.at_ms / (32 * width_ms));
    chunks.set(chunk, [...(chunks.get(chunk) ?? []), bin]);
  }
  return [...chunks].map(([chunk, some]) => ({
    kind: "course",
    lane: name,
    width_ms,
    chunk,
    bins: some,
  }));
}

function robots(name, elapsed_ms) {
  const shown = [1, 2, 3].map((i) => ({
    lane: name,
    robot_id: `robot_00${i}`,
    published: 414,
    taken: 412,
    delivered: i === 2 ? 409 : 412,
    rate_hz: 6.66,
    p50_ns: 11.9 * MS,
    p99_ns: (14 + i) * MS,
    last_ms: elapsed_ms - i * 40,
  }));
  // It has said how much it published, and nothing of it has come in this window.
  const silent = { taken: 0, delivered: 0, rate_hz: null, p50_ns: null, p99_ns: null };
  return [...shown, { ...shown[0], ...silent, robot_id: "robot_004", last_ms: null }];
}

function clocks() {
  const clock = (id, used_for, change) => ({
    id,
    used_for,
    relation: "a sentence on how it relates to the gateway's",
    exact: false,
    offset_ns: null,
    drift_ppm: null,
    exchanges: 0,
    epochs: 1,
    ...change,
  });
  return [
    clock("3f1c/4026", "gateway", { exact: true }),
    clock("9ab0/4026", "AI service", {
      offset_ns: [-310_000, 50_000],
      drift_ppm: [-3.1, 4.2],
      exchanges: 1234,
    }),
    clock("browser:page-1", "browser_received, painted", {
      offset_ns: [120_000_000, 120_400_000],
      exchanges: 60,
      epochs: 2,
    }),
    clock("CLOCK_REALTIME", "DDS reader; header and DDS writer of robots on this host", {}),
  ];
}

function verdict(n) {
  return {
    decision: "INCONCLUSIVE",
    reason:
      n === 0
        ? "no message yet"
        : "communication takes 1.38 ms of 11.9 ms at P50: one run compares nothing; `hopwatch compare` tells",
  };
}

/** The usual budget of each lane; a share that must be delivered only if it is told. */
export function budget(lanes, change = {}) {
  const checks = lanes.flatMap(({ name, classes, ledger: account }) => {
    const check = (quantity, limit_value, measured_value, passed) => ({
      lane: name,
      quantity,
      limit_value,
      measured_value,
      name: `${name}: ${quantity}`,
      limit: String(limit_value),
      measured: measured_value === null ? "nothing" : String(measured_value),
      passed,
    });
    const under = (quantity, limit, value) =>
      check(quantity, limit, value, value !== null && value < limit);
    const { published, delivered } = account;
    const least = change.min_delivered ?? null;
    const share = published > 0 ? delivered / published : null;
    return [
      under("mean_total", 2000 * MS, classes.total.mean_ns),
      under("mean_communication", 100 * MS, classes.communication.mean_ns),
      under("p99_total", change.p99_ns ?? 2000 * MS, classes.total.p99_ns),
      ...(least === null
        ? []
        : [check("delivered", least, share, share !== null && share >= least)]),
    ];
  });
  return { checks, passed: checks.every(({ passed }) => passed) };
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
    shadow: null,
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
