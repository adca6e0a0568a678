// The classes as figures of one picture: means, which add up, and quantiles with their intervals,
// which don't.

import type { Summary } from "../generated/wire";
import { logDomain } from "./ticks";

/** In the order of the picture. */
export const STACKED = ["ai", "transport", "overhead"] as const;
export type Stacked = (typeof STACKED)[number];

/** A part of the stack, 0 to 1 of the mean total. */
export interface StackPart {
  readonly id: Stacked;
  readonly mean: number;
  readonly from: number;
  readonly to: number;
}

/** The means one beside the other; empty without messages. */
export function stack(classes: Readonly<Record<string, Summary>>): StackPart[] {
  const means = STACKED.map((id) => Math.max(0, classes[id]?.mean_ns ?? 0));
  const whole = means.reduce((all, mean) => all + mean, 0);
  if (whole <= 0) return [];
  let at = 0;
  return STACKED.map((id, i) => {
    const mean = means[i] ?? 0;
    const from = at / whole;
    at += mean;
    return { id, mean, from, to: at / whole };
  });
}

/** A quantile with its interval: `null` for an end that the sample is too small for. */
export interface Whisker {
  readonly id: "P50" | "P95" | "P99";
  readonly ns: number;
  readonly lo: number | null;
  readonly hi: number | null;
}

/** Those that there are. */
export function whiskers(summary: Summary | undefined): Whisker[] {
  if (summary === undefined) return [];
  const all = [
    ["P50", summary.p50_ns, summary.p50_ci_ns],
    ["P95", summary.p95_ns, summary.p95_ci_ns],
    ["P99", summary.p99_ns, summary.p99_ci_ns],
  ] as const;
  return all.flatMap(([id, ns, [lo, hi]]) => (ns === null ? [] : [{ id, ns, lo, hi }]));
}

/** An axis of logarithms for all of them, with the limit if it isn't far away. */
export function splitDomain(
  rows: readonly (readonly Whisker[])[],
  limitNs: number | null,
): [number, number] | null {
  const values = rows
    .flat()
    .flatMap(({ ns, lo, hi }) => [ns, lo ?? ns, hi ?? ns])
    .filter((ns) => ns > 0);
  if (values.length === 0) return null;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const limit = limitNs !== null && limitNs < most * 20 ? limitNs : most;
  return logDomain(Math.min(least, limit), Math.max(most, limit));
}
