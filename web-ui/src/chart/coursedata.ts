// A course as a chart draws it: a grid of bins, where each lane's values stand or are missing.

import { FEWEST_FOR_P99 } from "../format";
import type { Bin } from "../generated/wire";
import { logDomain, niceStep } from "./ticks";

/** What is shown over time. */
export type CourseQuantity = "total" | "ai" | "transport" | "overhead";

/** One lane's bins, and its tone. */
export interface CourseLane {
  readonly name: string;
  /** 0 to 14: colour and dash. */
  readonly tone: number;
  readonly bins: readonly Bin[];
  /** Its percentiles tell how long the run was: they aren't told. */
  readonly unstable: boolean;
}

/** One lane on the grid. NaN where nothing is known: a gap is no zero, and no line crosses it. */
export interface Track {
  p50: Float64Array;
  /** Where the band ends: P99, or of fewer messages than it takes the largest value. */
  top: Float64Array;
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
    track.top.fill(Number.NaN);
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
      track.top[i] = (hasP99(bin) ? bin.p99_ns : bin.max_ns) ?? Number.NaN;
      track.max[i] = bin.max_ns ?? Number.NaN;
    }
  });
  return grid;
}

function emptyTrack(count: number): Track {
  const values = (): Float64Array => new Float64Array(count);
  return {
    p50: values(),
    top: values(),
    max: values(),
    lost: values(),
    bins: new Array(count).fill(undefined),
  };
}

/** Whether a bin has enough messages for its P99 to be another figure than its largest value. */
export function hasP99({ n }: Bin): boolean {
  return n >= FEWEST_FOR_P99;
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
  /** Of logarithms; from zero; or from near the smallest, where all are about alike. */
  readonly kind: "log" | "zero" | "near";
  readonly from: number;
  readonly to: number;
  /** The limit lies so far above that its line isn't in the picture. */
  readonly limitBeyond: boolean;
}

/** With which ratio of the largest to the smallest an axis begins to be, and ends being, of logarithms. */
const [TO_LOG, FROM_LOG] = [20, 8];
/** The same of one near the smallest. */
const [TO_NEAR, FROM_NEAR] = [1.6, 2.2];

/**
 * The axis for what is drawn. From zero, so that heights compare; of logarithms where the largest
 * is so many times the smallest that from zero the small would lie flat; near the smallest where
 * all are about alike: 1.034 s and 1.077 s beside an AI's second must not look the same. As long as
 * what is drawn fits and fills it, an axis stays as it is: one that jumps to and fro can't be read.
 */
export function yAxis(grid: Grid, limitNs: number | null, before: YAxis | null): YAxis {
  const [least, most] = ends(grid);
  if (most === 0) {
    const to = limitNs === null ? 1e9 : limitNs * 1.25;
    return { kind: "zero", from: 0, to, limitBeyond: false };
  }
  const ratio = most / least;
  const kind: YAxis["kind"] =
    ratio > (before?.kind === "log" ? FROM_LOG : TO_LOG)
      ? "log"
      : ratio < (before?.kind === "near" ? FROM_NEAR : TO_NEAR)
        ? "near"
        : "zero";
  const limitBeyond = limitNs !== null && limitNs > most * (kind === "near" ? 1.3 : 4);
  const limit = limitNs === null || limitBeyond ? null : limitNs;
  const [low, high] = [Math.min(least, limit ?? least), Math.max(most, limit ?? most)];
  const axis: YAxis = { kind, ...around(kind, low, high), limitBeyond };
  return before !== null && stays(before, axis, low, high) ? before : axis;
}

function ends(grid: Grid): [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const { p50, top, max } of grid.tracks) {
    for (const values of [p50, top, max]) {
      for (const value of values) {
        if (!(value > 0)) continue;
        if (value < least) least = value;
        if (value > most) most = value;
      }
    }
  }
  return [least, most];
}

function around(kind: YAxis["kind"], low: number, high: number): { from: number; to: number } {
  if (kind === "log") {
    const [from, to] = logDomain(low, high);
    return { from, to };
  }
  const least = kind === "zero" ? 0 : low;
  const step = niceStep(Math.max(high - least, high * 1e-3) / 8);
  const to = Math.ceil((high + step * 0.3) / step) * step;
  const from = kind === "zero" ? 0 : Math.max(0, Math.floor((low - step * 0.3) / step) * step);
  return { from, to };
}

function stays(before: YAxis, axis: YAxis, low: number, high: number): boolean {
  if (before.kind !== axis.kind || before.limitBeyond !== axis.limitBeyond) return false;
  if (low < before.from || high > before.to) return false;
  const size = ({ from, to, kind }: YAxis): number =>
    kind === "log" ? Math.log(to / from) : to - from;
  return size(axis) > 0.6 * size(before);
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
  /** Left of its line: at the right end there is no room. */
  readonly before: boolean;
  readonly text: string;
}

/** Puts each mark's text into the first row with room; without room in any it has no text. */
export function placeMarks(
  marks: readonly { readonly x: number; readonly text: string; readonly width: number }[],
  rows: number,
  room: number,
): PlacedMark[] {
  const taken = new Array<number>(rows).fill(Number.NEGATIVE_INFINITY);
  return [...marks]
    .sort((a, b) => a.x - b.x)
    .map(({ x, text, width }) => {
      const before = x + width + 4 > room;
      const [from, to] = before ? [x - width - 4, x] : [x, x + width + 4];
      const row = taken.findIndex((end) => end <= from);
      if (row === -1) return { x, row: rows - 1, before, text: "" };
      taken[row] = to + 6;
      return { x, row, before, text };
    });
}
