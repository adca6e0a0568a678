// A small, whole snapshot for tests.

import type { LaneView, Ledger, MessageView, Snapshot, Summary } from "../src/generated/wire";

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

/** As a frame of the collector. */
export function frame(change: Partial<Snapshot> = {}): string {
  const snapshot: Snapshot = {
    version: 1,
    run_id: "r",
    state: "running",
    elapsed_ms: 1000,
    window: 100,
    lanes: [LANE],
    latest: [MESSAGE],
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
    clients: 1,
    events: [{ at_ms: 1, kind: "k", text: "t" }],
    ...change,
  };
  return JSON.stringify({ type: "snapshot", ...snapshot });
}
