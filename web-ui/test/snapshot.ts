// A small, whole snapshot for tests.

import type {
  Bin,
  LaneView,
  Ledger,
  MessageView,
  Part,
  Snapshot,
  Summary,
} from "../src/generated/wire";
import { VERSION } from "../src/generated/wire";

export const SUMMARY: Summary = {
  n: 1,
  n_eff: 1,
  mean_ns: 5.5,
  sd_ns: null,
  min_ns: 5,
  max_ns: 6,
  p50_ns: 5,
  p75_ns: 5,
  p90_ns: 6,
  p95_ns: 6,
  p99_ns: 6,
  p50_ci_ns: [5, 6],
  p95_ci_ns: [5, null],
  p99_ci_ns: [5, null],
  p95_upper_ns: null,
  p99_upper_ns: null,
  modes: null,
};

const EXACT = {
  exact: true,
  half_width_ns: 0,
  resolved: true,
  p50_within_ns: null,
  p99_within_ns: null,
};

export const LEDGER: Ledger = {
  published: 10,
  published_source: "census",
  lost_before_discovery: 1,
  lost_in_ros: 1,
  dds_lost: 1,
  overwritten_in_history: 0,
  outcome_unknown: 0,
  queue_dropped: 0,
  undecodable: 0,
  ai_failed: { timed_out: 2 },
  web_failed: {},
  abandoned: 0,
  delivered: 5,
  in_flight: 1,
  duplicates: 3,
  duplicate_ids: 0,
  reordered: 0,
  restarts: 0,
  reconciles: true,
  notes: [],
};

export const LANE: LaneView = {
  name: "a",
  qos: "RELIABLE KEEP_LAST 10 VOLATILE",
  transport: "http1",
  ledger: LEDGER,
  classes: { ai: SUMMARY },
  distribution: {
    total: [
      [0.5, 5],
      [1, 6],
    ],
  },
  newest: 1,
  glass: { delivered: 1, received: 1, painted: 1 },
  spans: { pipeline: { ...SUMMARY, ...EXACT } },
  legs: { wake: { ...SUMMARY, ...EXACT, class: "overhead", negative: 0 } },
  stability: {
    unstable: false,
    utilisation: null,
    utilisation_ci: null,
    waiting_slope_us_per_s: null,
    waiting_grows: false,
    reason: "",
  },
  breakdown: [
    { near: "p99", n: 1, quantile_ns: 6, lo_ns: 6, hi_ns: 6, mean_ns: 6, legs: { queue: 6 } },
  ],
  variance_shares: { queue: 1 },
  open_loop: null,
  over_published: {
    limit_ns: 2_000_000_000,
    of: 9,
    lost: 4,
    in_flight: 1,
    untimed: 0,
    before_discovery: 0,
    pipeline: {
      delivered_within: { n: 5, n_possibly: 5, ratio: 5 / 9, ratio_ci: [0.2, 0.9] },
      p50_ns: 6,
      p95_ns: "lost",
      p99_ns: "lost",
      p50_within_ns: null,
      p95_within_ns: null,
      p99_within_ns: null,
    },
    published: null,
  },
  rates: { published_per_s: 10, delivered_per_s: null },
  delivery_gap: null,
  findings: [{ kind: "drift", subject: "robot_001", text: "a sentence" }],
};

export const MESSAGE: MessageView = {
  trace_id: "00",
  lane: "a",
  robot_id: "robot_001",
  sequence: 1,
  at_ms: -20,
  outcome: "delivered",
  detail: null,
  total_ns: 600,
  legs: [
    { leg: "ros", class: "transport", ns: 100, half_ns: 0 },
    { leg: "wake", class: "overhead", ns: 50, half_ns: 0 },
    { leg: "queue", class: "overhead", ns: 100, half_ns: 0 },
    { leg: "ai_infer", class: "ai", ns: 400, half_ns: 0 },
    { leg: "web_round_trip", class: "transport", ns: 100, half_ns: 0 },
  ],
  glass: [{ client: "c", push_ns: [1, 2], fanout_ns: null, paint_ns: null }],
};

/** A bin that begins at `at_ms`. */
export function bin(at_ms: number, n = 1): Bin {
  const p = n === 0 ? null : 600;
  return {
    at_ms,
    n,
    p50_ns: p,
    p95_ns: p,
    p99_ns: p,
    max_ns: p,
    ai_p50_ns: p,
    transport_p50_ns: p,
    overhead_p50_ns: p,
    slowest: n === 0 ? null : "00",
    lost: { lost_in_ros: 1 },
  };
}

/** One part of each kind. */
export const PARTS: Part[] = [
  { kind: "lane", lane: LANE },
  { kind: "course", lane: "a", width_ms: 100, chunk: 0, bins: [bin(0), bin(900)] },
  { kind: "latest", messages: [MESSAGE] },
  { kind: "slowest", messages: [{ ...MESSAGE, trace_id: "01" }] },
  {
    kind: "robots",
    robots: [
      {
        lane: "a",
        robot_id: "robot_001",
        published: null,
        taken: 5,
        delivered: 5,
        rate_hz: 10,
        p50_ns: 5,
        p99_ns: null,
        last_ms: 900,
      },
    ],
  },
  {
    kind: "clocks",
    clocks: [
      {
        id: "b/1",
        used_for: "the AI service",
        relation: "within 1 µs",
        exact: false,
        offset_ns: [-5, 7],
        drift_ppm: null,
        exchanges: 4,
        epochs: 1,
      },
    ],
  },
  {
    kind: "verdict",
    verdict: { decision: "INCONCLUSIVE", reason: "one run compares nothing" },
    budget: {
      passed: true,
      checks: [
        {
          lane: "a",
          quantity: "p99_total",
          limit_value: 2e9,
          measured_value: 6,
          name: "P99 total",
          limit: "2 s",
          measured: "6 ns",
          passed: true,
        },
      ],
    },
  },
  {
    kind: "shadow",
    shadow: {
      rate_hz: 2,
      stages: ["web"],
      body_bytes: [300, 301],
      current: "http1",
      links: [
        {
          link: "udp",
          probes: 4,
          failed: 1,
          retries: 0,
          rounds: 2,
          p50_ns: 7,
          p95_ns: "lost",
          pairs: 1,
          change_ns: "current-lost",
          change_ci_ns: [-5, null],
        },
      ],
    },
  },
  { kind: "events", events: [{ at_ms: -1, kind: "k", text: "t" }] },
  {
    kind: "measured",
    runs: [
      {
        name: "run-1",
        state: "running",
        from_ms: 3,
        to_ms: null,
        messages: null,
        decision: null,
        trouble: null,
      },
    ],
  },
];

/** A snapshot. */
export function snapshot(change: Partial<Snapshot> = {}): Snapshot {
  return {
    version: VERSION,
    run_id: "r",
    state: "running",
    elapsed_ms: 1000,
    clients: 1,
    watch: { window: "1min", robot: null },
    whole: true,
    parts: PARTS,
    ...change,
  };
}

/** As a frame of the collector. */
export function frame(change: Partial<Snapshot> = {}): string {
  return JSON.stringify({ type: "snapshot", ...snapshot(change) });
}
