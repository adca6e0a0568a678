// Distributions from quantile points: (share of the messages, at most so long in ns), in order.

import { percent } from "../format";

export type Point = readonly [share: number, ns: number];

/**
 * What the points tell of the share within `ns`: at least and at most so much. They are quantiles,
 * so between two of them it is known between which shares it lies, and no closer.
 */
export function shareWithin(points: readonly Point[], ns: number): [number, number] {
  let [low, high] = [0, points.length - 1];
  // The first point above `ns`.
  while (low <= high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[1] ?? 0) <= ns) low = middle + 1;
    else high = middle - 1;
  }
  return [points[low - 1]?.[0] ?? 0, points[low]?.[0] ?? 1];
}

/** A share that is known to lie between two, in words. */
export function shareText([low, high]: readonly [number, number]): string {
  if (high - low <= 0.0101) return percent(low);
  return low <= 0 ? `<\u00a0${percent(high)}` : `${percent(low)} … ${percent(high)}`;
}

/** From the shortest to the longest of all lanes; `null` without any. */
export function extent(lanes: readonly (readonly Point[])[]): [number, number] | null {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const points of lanes) {
    for (const [, ns] of points) {
      if (!(ns > 0)) continue;
      least = Math.min(least, ns);
      most = Math.max(most, ns);
    }
  }
  return most === 0 ? null : [least, most];
}

/**
 * The share of the messages in each of `count` steps of equal ratio from `lo` to `hi`. What lies
 * between two points is spread evenly over the logarithms between them.
 */
export function histogram(
  points: readonly Point[],
  [lo, hi]: readonly [number, number],
  count: number,
): number[] {
  const steps = new Array<number>(count).fill(0);
  const step = Math.log(hi / lo) / count;
  const place = (ns: number): number => Math.log(Math.max(ns, 1e-3) / lo) / step;
  const add = (i: number, share: number): void => {
    const k = Math.min(count - 1, Math.max(0, i));
    steps[k] = (steps[k] ?? 0) + share;
  };
  let [shareBefore, before] = [0, place(points[0]?.[1] ?? lo)];
  for (const [share, ns] of points) {
    const at = place(ns);
    const mass = share - shareBefore;
    if (at - before < 1e-9) {
      add(Math.floor(at), mass);
    } else {
      for (let i = Math.floor(before); i < at; i += 1) {
        const part = Math.min(at, i + 1) - Math.max(before, i);
        add(i, (mass * part) / (at - before));
      }
    }
    [shareBefore, before] = [share, at];
  }
  return steps;
}
