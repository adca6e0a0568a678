// A course as a chart draws it: a grid of bins, where each lane's values stand or are missing.

import type { Bin } from "../generated/wire";
import { logDomain } from "./ticks";

/** What is shown over time. */
export type CourseQuantity = "total" | "ai" | "transport" | "overhead";

/** One lane's bins, and its tone. */
export interface CourseLane {
  readonly name: string;
  /** 0 to 14: colour and dash. */
  readonly tone: number;
  readonly bins: readonly Bin[];
}

/** One lane on the grid. NaN where nothing is known: a gap is no zero, and no line crosses it. */
export interface Track {
  p50: Float64Array;
  p99: Float64Array;
  max: Float64Array;
  lost: Float64Array;
  bins: (Bin | undefined)[];
}

/** All lanes on one grid of bins. */
export interface Grid {
  /** When the first bin begins, in ms. */
  startMs: number;
  widthMs: number;
  /** The middle of each bin, in ms. */
  x: Float64Array;
  tracks: Track[];
}

/** More bins than any window has: a wrong width must not take the page's memory. */
const MOST_BINS = 4096;

export function emptyGrid(): Grid {
  return { startMs: 0, widthMs: 1, x: new Float64Array(0), tracks: [] };
}

/** Fills the grid anew. Its arrays stay the same ones as long as the number of bins does. */
export function fill(
  grid: Grid,
  lanes: readonly CourseLane[],
  widthMs: number,
  fromMs: number,
  toMs: number,
  quantity: CourseQuantity,
): Grid {
  const width = widthMs > 0 ? widthMs : 1;
  const startMs = Math.floor(fromMs / width) * width;
  const count = Math.min(MOST_BINS, Math.max(2, Math.ceil((toMs - startMs) / width)));
  if (grid.x.length !== count) {
    grid.x = new Float64Array(count);
    grid.tracks = [];
  }
  grid.startMs = startMs;
  grid.widthMs = width;
  for (let i = 0; i < count; i += 1) grid.x[i] = startMs + (i + 0.5) * width;
  grid.tracks.length = Math.min(grid.tracks.length, lanes.length);
  while (grid.tracks.length < lanes.length) grid.tracks.push(emptyTrack(count));
  lanes.forEach((lane, l) => {
    const track = grid.tracks[l];
    if (track === undefined) return;
    track.p50.fill(Number.NaN);
    track.p99.fill(Number.NaN);
    track.max.fill(Number.NaN);
    track.lost.fill(0);
    track.bins.fill(undefined);
    for (const bin of lane.bins) {
      const i = Math.round((bin.at_ms - startMs) / width);
      if (i < 0 || i >= count) continue;
      track.bins[i] = bin;
      track.lost[i] = lostIn(bin);
      track.p50[i] = middle(bin, quantity) ?? Number.NaN;
      if (quantity !== "total") continue;
      track.p99[i] = bin.p99_ns ?? Number.NaN;
      track.max[i] = bin.max_ns ?? Number.NaN;
    }
  });
  return grid;
}

function emptyTrack(count: number): Track {
  const values = (): Float64Array => new Float64Array(count);
  return {
    p50: values(),
    p99: values(),
    max: values(),
    lost: values(),
    bins: new Array(count).fill(undefined),
  };
}

/** The median of a bin. */
export function middle(bin: Bin, quantity: CourseQuantity): number | null {
  switch (quantity) {
    case "total":
      return bin.p50_ns;
    case "ai":
      return bin.ai_p50_ns;
    case "transport":
      return bin.transport_p50_ns;
    case "overhead":
      return bin.overhead_p50_ns;
  }
}

/** How many messages of a bin did not go the whole way. */
export function lostIn(bin: Bin): number {
  return Object.values(bin.lost).reduce((sum, n) => sum + n, 0);
}

/** The bin at a moment, or -1 outside of the grid. */
export function binAt(grid: Grid, ms: number): number {
  const i = Math.floor((ms - grid.startMs) / grid.widthMs);
  return i >= 0 && i < grid.x.length ? i : -1;
}

/** An axis of durations. */
export interface YAxis {
  readonly log: boolean;
  readonly from: number;
  readonly to: number;
  /** The limit lies so far above that its line isn't in the picture. */
  readonly limitBeyond: boolean;
}

/**
 * The axis for what is drawn. From zero, so that heights compare; of logarithms where the largest
 * is so many times the smallest that from zero the small would lie flat. Once of logarithms it
 * stays so until that has clearly passed: an axis that jumps to and fro can't be read.
 */
export function yAxis(grid: Grid, limitNs: number | null, before: YAxis | null): YAxis {
  let [least, most, middles] = [Number.POSITIVE_INFINITY, 0, 0];
  for (const { p50, p99, max } of grid.tracks) {
    for (const values of [p50, p99, max]) {
      for (const value of values) {
        if (!(value > 0)) continue;
        least = Math.min(least, value);
        most = Math.max(most, value);
        if (values === p50) middles = Math.max(middles, value);
      }
    }
  }
  if (most === 0) {
    const to = limitNs === null ? 1e9 : limitNs * 1.25;
    return { log: false, from: 0, to, limitBeyond: false };
  }
  const limitBeyond = limitNs !== null && limitNs > most * 4;
  const shown = limitNs === null || limitBeyond ? most : Math.max(most, limitNs);
  const ratio = most / least;
  const log = before?.log === true ? ratio > 8 : ratio > 20;
  if (!log) return { log, from: 0, to: shown * 1.08, limitBeyond };
  const [from, to] = logDomain(Math.min(least, limitNs ?? least), shown);
  return { log, from, to, limitBeyond };
}

/** Losses that stand so close that they have one sign. */
export interface Cluster {
  /** First and last bin. */
  readonly from: number;
  readonly to: number;
  readonly lost: number;
}

/**
 * The losses of a lane (or of several together), neighbours within `apart` bins as one. None spans
 * more than twice that, so that the sign stays where the losses happened.
 */
export function clusters(lost: Float64Array, apart: number): Cluster[] {
  const found: Cluster[] = [];
  for (let i = 0; i < lost.length; i += 1) {
    const n = lost[i] ?? 0;
    if (n <= 0) continue;
    const last = found.at(-1);
    if (last !== undefined && i - last.to < apart && i - last.from < 2 * apart) {
      found[found.length - 1] = { from: last.from, to: i, lost: last.lost + n };
    } else {
      found.push({ from: i, to: i, lost: n });
    }
  }
  return found;
}

/**
 * What a click shows: the slowest message of the bin that is nearest, among bins that have one and
 * lie within `reach` bins. `away` tells how far a lane is from the pointer there, in px.
 */
export function nearest(
  grid: Grid,
  at: number,
  reach: number,
  away: (track: Track, i: number) => number,
): { readonly lane: number; readonly bin: Bin } | null {
  let best: { lane: number; bin: Bin } | null = null;
  for (let step = 0; step <= reach; step += 1) {
    let least = Number.POSITIVE_INFINITY;
    for (const i of step === 0 ? [at] : [at - step, at + step]) {
      grid.tracks.forEach((track, lane) => {
        const bin = track.bins[i];
        if (bin === undefined || bin.slowest === null) return;
        const distance = away(track, i);
        if (distance >= least) return;
        least = distance;
        best = { lane, bin };
      });
    }
    if (best !== null) return best;
  }
  return best;
}

/** The next bin from `at` in which any lane has something, in the direction `by` (±1). */
export function nextBin(grid: Grid, at: number, by: number): number {
  for (let i = at + by; i >= 0 && i < grid.x.length; i += by) {
    if (grid.tracks.some((track) => track.bins[i] !== undefined)) return i;
  }
  return at;
}

/** The newest bin of a lane that has a figure. */
export function newest(track: Track): Bin | undefined {
  for (let i = track.bins.length - 1; i >= 0; i -= 1) {
    if (!Number.isNaN(track.p50[i] ?? Number.NaN)) return track.bins[i];
  }
  return undefined;
}

/** Where the text of a mark stands. */
export interface PlacedMark {
  readonly x: number;
  readonly row: number;
  readonly text: string;
}

/** Puts each mark's text into the first row with room; without room in any it has no text. */
export function placeMarks(
  marks: readonly { readonly x: number; readonly text: string; readonly width: number }[],
  rows: number,
  room: number,
): PlacedMark[] {
  const ends = new Array<number>(rows).fill(Number.NEGATIVE_INFINITY);
  return [...marks]
    .sort((a, b) => a.x - b.x)
    .map(({ x, text, width }) => {
      const row = ends.findIndex((end) => end <= x);
      if (row === -1 || x + width > room + 40) return { x, row: Math.max(row, 0), text: "" };
      ends[row] = x + width + 8;
      return { x, row, text };
    });
}
