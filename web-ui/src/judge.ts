// What the page says at a glance, computed from the figures: pure.

import type { Figures } from "./figures";
import type {
  BudgetReport,
  Check,
  EventView,
  LaneView,
  Ledger,
  MeasuredRun,
  MeasuredState,
  PublishedSource,
  Summary,
} from "./generated/wire";

/**
 * The messages that a ledger says are lost, by name of the fate; the largest first. Those before
 * discovery aren't among them: they say nothing of the link (METHOD 14).
 */
export function losses(ledger: Ledger): [string, number][] {
  const sum = (reasons: { [key: string]: number }): number =>
    Object.values(reasons).reduce((a, b) => a + b, 0);
  const all: [string, number][] = [
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
export type Apart = "below" | "above" | "overlap" | null;

/** That of two intervals. */
export function apart(
  a: readonly [number | null, number | null],
  b: readonly [number | null, number | null],
): Apart {
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
  readonly delivered: Apart;
  /** Of percentiles that tell how long the run was nothing is said. */
  readonly p50: Apart | "unstable";
  readonly p99: Apart | "unstable";
}

/** Compares two lanes by whether their intervals are apart. */
export function difference(a: LaneView, b: LaneView): Difference {
  const share = ({ ledger }: LaneView): readonly [number | null, number | null] => {
    const { delivered, of } = delivery(ledger);
    return wilson(Math.min(delivered, of), of) ?? [null, null];
  };
  const of = (key: "p50_ci_ns" | "p99_ci_ns"): Apart | "unstable" => {
    if (a.stability.unstable || b.stability.unstable) return "unstable";
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
  return badness(a) > badness(b);
}

/** Lost is worse than any figure; where nothing was measured, a figure that missed tells more. */
function badness(check: Check): number {
  if (found(check) === "lost") return Number.POSITIVE_INFINITY;
  return used(check) ?? -1;
}

/** What a check found: a number, or what stands in its place. */
export function found({
  measured_value,
  measured,
}: Check): "number" | "lost" | "unstable" | "none" {
  if (measured_value !== null) return "number";
  if (/^lost\b/.test(measured)) return "lost";
  return /^unstable\b/.test(measured) ? "unstable" : "none";
}

/**
 * Whether a budget that holds does so for sure: of each lane the upper bound of the P99, with 95 %
 * confidence, is known and within the limit.
 */
export function isSure({ checks }: BudgetReport, lanes: readonly LaneView[]): boolean {
  return checks
    .filter(({ quantity }) => quantity === "p99_total")
    .every(({ lane: name, limit_value }) => {
      const of = lanes.find((lane) => lane.name === name)?.classes["total"];
      const bound = of?.p99_upper_ns ?? null;
      return bound !== null && bound < limit_value;
    });
}

/**
 * Whether a lane's AI time includes transport: its AI service tells nothing of its own time, so the
 * whole round trip counts as AI.
 */
export function aiIncludesTransport({ legs }: LaneView): boolean {
  return Object.hasOwn(legs, "ai_round_trip");
}

/** Where published numbers come from, of several lanes: the source that knows least. */
export function weakestSource(lanes: readonly LaneView[]): PublishedSource {
  const known: readonly PublishedSource[] = ["header_sequence", "publication_sequence", "census"];
  const of = lanes.map(({ ledger }) => ledger.published_source);
  return known.find((source) => of.includes(source)) ?? "nothing";
}

/**
 * The part of a verdict's reason that bounds it, where it holds of a part of the messages only. It
 * must be seen however little room there is.
 */
export function boundOf(reason: string): string | null {
  const bound = /in at least [\d.]+ % of those to come \([^)]*\); nothing is said of its P99/;
  return bound.exec(reason)?.[0] ?? null;
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

/**
 * Events of a QoS that doesn't fit and still holds, newest first. One is over as soon as the
 * publisher is told to be gone, or messages come that were taken after it: of the robot that it
 * names, or else of each lane that it is about. Which lane that is, it says by name or by QoS.
 */
export function unfit(figures: Figures | null): EventView[] {
  if (figures === null) return [];
  const { events, lanes } = figures;
  const takes = newestTakes(figures);
  return events
    .filter(({ kind }) => kind === "incompatible_qos")
    .filter(({ at_ms, text }) => {
      const who = /^(\S+): (\S+) offers /.exec(text);
      if (who !== null && isGone(events, at_ms, who[1] ?? "", who[2] ?? "")) return false;
      const robot = takes.robots.get(who?.[2]?.split("/").at(-1) ?? "");
      if (robot !== undefined) return robot <= at_ms;
      const named = lanes.filter(({ name }) => saysWord(text, name));
      const alike = named.length > 0 ? named : lanes.filter(({ qos }) => text.includes(qos));
      const about = alike.length > 0 ? alike : lanes.length === 1 ? lanes : [];
      if (about.length === 0) return true;
      return about.some(({ name }) => (takes.lanes.get(name) ?? Number.NEGATIVE_INFINITY) <= at_ms);
    });
}

function isGone(events: readonly EventView[], since: number, topic: string, who: string): boolean {
  return events.some(
    ({ kind, at_ms, text }) =>
      kind === "silence_over" && at_ms >= since && text.startsWith(`${topic}: ${who}, `),
  );
}

/** Whether a text has a name as a word of its own: "reliable", and not in "best-reliable". */
function saysWord(text: string, name: string): boolean {
  const isPart = (character: string | undefined): boolean => /[\w./-]/.test(character ?? " ");
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!isPart(text[at - 1]) && !/[\w/-]/.test(text[at + name.length] ?? " ")) return true;
  }
  return false;
}

/** When the newest message of each lane and of each robot was taken, as far as the page knows. */
function newestTakes({ robots, latest, slowest }: Figures): {
  lanes: ReadonlyMap<string, number>;
  robots: ReadonlyMap<string, number>;
} {
  const [byLane, byRobot] = [new Map<string, number>(), new Map<string, number>()];
  const take = (lane: string, robot: string, at: number | null): void => {
    if (at === null) return;
    byLane.set(lane, Math.max(byLane.get(lane) ?? at, at));
    byRobot.set(robot, Math.max(byRobot.get(robot) ?? at, at));
  };
  for (const { lane, robot_id, last_ms } of robots) take(lane, robot_id, last_ms);
  for (const { lane, robot_id, at_ms } of [...latest, ...slowest]) take(lane, robot_id, at_ms);
  return { lanes: byLane, robots: byRobot };
}
