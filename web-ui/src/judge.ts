// What the page says at a glance, computed from the figures: pure.

import type {
  BudgetReport,
  Check,
  LaneView,
  Ledger,
  MeasuredRun,
  MeasuredState,
  Summary,
} from "./generated/wire";

/** The messages that a ledger says are lost, by name of the fate; the largest first. */
export function losses(ledger: Ledger): [string, number][] {
  const sum = (reasons: { [key: string]: number }): number =>
    Object.values(reasons).reduce((a, b) => a + b, 0);
  const all: [string, number][] = [
    ["lost_before_discovery", ledger.lost_before_discovery],
    ["lost_in_ros", ledger.lost_in_ros],
    ["outcome_unknown", ledger.outcome_unknown],
    ["queue_dropped", ledger.queue_dropped],
    ["undecodable", ledger.undecodable],
    ["ai_failed", sum(ledger.ai_failed)],
    ["web_failed", sum(ledger.web_failed)],
    ["abandoned", ledger.abandoned],
  ];
  return all.filter(([, n]) => n > 0).sort(([, a], [, b]) => b - a);
}

/**
 * Delivered of what was published, without what is on the way and what came before discovery,
 * which says nothing of the link (METHOD 14).
 */
export function delivery(ledger: Ledger): { of: number; delivered: number; share: number | null } {
  const of = ledger.published - ledger.in_flight - ledger.lost_before_discovery;
  return { of, delivered: ledger.delivered, share: of > 0 ? ledger.delivered / of : null };
}

/** 97.5 % quantile of the standard normal distribution. */
const Z = 1.959964;

/**
 * 95 % interval of the probability behind `hits` of `n` (E. B. Wilson, 1927), if messages are lost
 * independently of each other; `null` for no messages.
 */
export function wilson(hits: number, n: number): [number, number] | null {
  if (n <= 0) return null;
  const share = hits / n;
  const middle = (share + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half =
    (Z / (1 + (Z * Z) / n)) * Math.sqrt((share * (1 - share)) / n + (Z * Z) / (4 * n * n));
  // At the ends the formula gives exactly 0 and 1, but for rounding.
  return [hits === 0 ? 0 : Math.max(0, middle - half), hits === n ? 1 : Math.min(1, middle + half)];
}

/** How two intervals lie to each other; `null` where one of them has no such end. */
export function apart(
  a: readonly [number | null, number | null],
  b: readonly [number | null, number | null],
): "below" | "above" | "overlap" | null {
  if (a[1] !== null && b[0] !== null && a[1] < b[0]) return "below";
  if (a[0] !== null && b[1] !== null && a[0] > b[1]) return "above";
  return [...a, ...b].some((end) => end === null) ? null : "overlap";
}

/** BEST_EFFORT or RELIABLE, as a lane's QoS says. */
export function reliability(lane: LaneView): "BEST_EFFORT" | "RELIABLE" | null {
  const words = lane.qos.split(/\s+/);
  if (words.includes("BEST_EFFORT")) return "BEST_EFFORT";
  return words.includes("RELIABLE") ? "RELIABLE" : null;
}

/** The two lanes that are to be compared: the first of each kind, of the same link if there are. */
export function pairOf(lanes: readonly LaneView[]): [LaneView, LaneView] | null {
  const best = lanes.filter((lane) => reliability(lane) === "BEST_EFFORT");
  const reliable = lanes.filter((lane) => reliability(lane) === "RELIABLE");
  for (const a of best) {
    const b = reliable.find(({ transport }) => transport === a.transport);
    if (b !== undefined) return [a, b];
  }
  const [a, b] = [best[0], reliable[0]];
  return a === undefined || b === undefined ? null : [a, b];
}

/** What is shown between BEST_EFFORT (first) and RELIABLE, one word each. */
export interface Difference {
  readonly delivered: ReturnType<typeof apart>;
  readonly p50: ReturnType<typeof apart>;
  readonly p99: ReturnType<typeof apart>;
}

/** Compares two lanes by whether their intervals are apart. */
export function difference(a: LaneView, b: LaneView): Difference {
  const share = ({ ledger }: LaneView): readonly [number | null, number | null] => {
    const { delivered, of } = delivery(ledger);
    return wilson(Math.min(delivered, of), of) ?? [null, null];
  };
  const of = (key: "p50_ci_ns" | "p99_ci_ns"): ReturnType<typeof apart> => {
    if (a.stability.unstable || b.stability.unstable) return null;
    const none: Summary["p50_ci_ns"] = [null, null];
    return apart(a.classes["total"]?.[key] ?? none, b.classes["total"]?.[key] ?? none);
  };
  return { delivered: apart(share(a), share(b)), p50: of("p50_ci_ns"), p99: of("p99_ci_ns") };
}

/** How much of a limit is used, 1 is all of it; `null` where nothing was measured. */
export function used({ quantity, limit_value: limit, measured_value: measured }: Check) {
  if (measured === null) return null;
  // Of what is to be delivered, what counts is the part that may be missing.
  if (quantity === "delivered") return limit >= 1 ? null : (1 - measured) / (1 - limit);
  return limit > 0 ? measured / limit : null;
}

/** Of each quantity the check that stands worst. */
export function worst({ checks }: BudgetReport): Check[] {
  const by = new Map<string, Check>();
  for (const check of checks) {
    const before = by.get(check.quantity);
    if (before === undefined || isWorse(check, before)) by.set(check.quantity, check);
  }
  return [...by.values()];
}

function isWorse(a: Check, b: Check): boolean {
  if (a.passed !== b.passed) return !a.passed;
  return (used(a) ?? Number.POSITIVE_INFINITY) > (used(b) ?? Number.POSITIVE_INFINITY);
}

/** The parts of the mean total, 0 to 1 each; `null` without messages. */
export function shares(lane: LaneView): { ai: number; transport: number; overhead: number } | null {
  const mean = (name: string): number => Math.max(0, lane.classes[name]?.mean_ns ?? 0);
  const sum = mean("ai") + mean("transport") + mean("overhead");
  if (sum <= 0) return null;
  return {
    ai: mean("ai") / sum,
    transport: mean("transport") / sum,
    overhead: mean("overhead") / sum,
  };
}

const STAGES: readonly MeasuredState[] = ["running", "writing", "done", "failed"];

/** Measured runs as snapshots have them, with one of an answer that is further than they are. */
export function withAnswer(
  runs: readonly MeasuredRun[],
  answer: MeasuredRun | null,
): readonly MeasuredRun[] {
  if (answer === null) return runs;
  const known = runs.find(({ name }) => name === answer.name);
  if (known === undefined) return [answer, ...runs];
  if (STAGES.indexOf(known.state) >= STAGES.indexOf(answer.state)) return runs;
  return runs.map((run) => (run === known ? answer : run));
}
