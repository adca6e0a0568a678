import { expect, test } from "vitest";
import {
  binAt,
  type CourseLane,
  clusters,
  emptyGrid,
  fill,
  type Grid,
  nearest,
  newest,
  nextBin,
  placeMarks,
  yAxis,
} from "../../src/chart/coursedata";
import type { Bin } from "../../src/generated/wire";

const bin = (at_ms: number, ns: number | null, change: Partial<Bin> = {}): Bin => ({
  at_ms,
  n: ns === null ? 0 : 10,
  p50_ns: ns,
  p95_ns: ns,
  p99_ns: ns === null ? null : ns * 1.2,
  max_ns: ns === null ? null : ns * 1.4,
  ai_p50_ns: ns === null ? null : ns / 2,
  transport_p50_ns: ns === null ? null : ns / 4,
  overhead_p50_ns: ns === null ? null : ns / 8,
  slowest: ns === null ? null : `t${at_ms}`,
  lost: {},
  ...change,
});

const lane = (name: string, bins: Bin[]): CourseLane => ({
  name,
  tone: 0,
  bins,
  unstable: false,
});

function grid(bins: Bin[], from = 0, to = 1000): Grid {
  return fill(emptyGrid(), [lane("a", bins)], 100, from, to, "total");
}

test("a bin that is missing is a gap, not a zero", () => {
  const { x, tracks } = grid([bin(100, 5e6), bin(300, 6e6), bin(400, null)]);
  expect([...x]).toEqual([50, 150, 250, 350, 450, 550, 650, 750, 850, 950]);
  expect([...(tracks[0]?.p50 ?? [])].slice(0, 5)).toEqual([
    Number.NaN,
    5e6,
    Number.NaN,
    6e6,
    Number.NaN,
  ]);
  expect(tracks[0]?.max[1]).toBe(7e6);
});

test("the grid's bins are those of the feed, wherever the window begins", () => {
  const { startMs, tracks, x } = grid([bin(-100, 1e6), bin(0, 2e6), bin(900, 3e6)], -150, 950);
  expect(startMs).toBe(-200);
  expect(x).toHaveLength(12);
  expect(tracks[0]?.p50[1]).toBe(1e6);
  expect(tracks[0]?.p50[2]).toBe(2e6);
  expect(tracks[0]?.p50[11]).toBe(3e6);
});

test("filling again keeps the arrays and forgets the figures", () => {
  const own = grid([bin(0, 5e6, { lost: { lost_in_ros: 3 } })]);
  const before = { x: own.x, p50: own.tracks[0]?.p50 };
  fill(own, [lane("a", [bin(200, 7e6)])], 100, 100, 1100, "ai");
  expect(own.x).toBe(before.x);
  expect(own.tracks[0]?.p50).toBe(before.p50);
  expect(own.tracks[0]?.p50[0]).toBeNaN();
  expect(own.tracks[0]?.p50[1]).toBe(3.5e6);
  // Of the classes the feed has medians only.
  expect(own.tracks[0]?.top[1]).toBeNaN();
  expect(own.tracks[0]?.lost[0]).toBe(0);
  fill(own, [], 100, 0, 1000, "total");
  expect(own.tracks).toEqual([]);
});

test("the band ends at the P99 only where that is another figure than the largest", () => {
  const { tracks } = grid([bin(0, 10e6, { n: 99 }), bin(100, 10e6, { n: 100 })]);
  expect(tracks[0]?.top[0]).toBe(14e6);
  expect(tracks[0]?.top[1]).toBe(12e6);
});

test("a width or a window out of all reason takes no memory", () => {
  expect(fill(emptyGrid(), [], 0, 0, 1e12, "total").x.length).toBeLessThanOrEqual(4096);
  expect(fill(emptyGrid(), [], 100, 500, 500, "total").x.length).toBeGreaterThanOrEqual(2);
});

test("the axis is of logarithms where from zero the small would lie flat", () => {
  expect(yAxis(grid([bin(0, 5e6), bin(100, 20e6)]), null, null)).toMatchObject({
    kind: "zero",
    from: 0,
  });
  expect(yAxis(grid([bin(0, 5e6), bin(100, 500e6)]), null, null).kind).toBe("log");
});

test("figures that are about alike get an axis near them", () => {
  const axis = yAxis(grid([bin(0, 1.034e9), bin(100, 1.077e9)]), null, null);
  expect(axis.kind).toBe("near");
  expect(axis.from).toBeGreaterThan(0.8e9);
  expect(axis.from).toBeLessThanOrEqual(1.034e9);
  expect(axis.to).toBeGreaterThanOrEqual(1.077e9 * 1.4);
});

test("an axis doesn't jump to and fro", () => {
  const log = yAxis(grid([bin(0, 5e6), bin(100, 80e6)]), null, null);
  expect(log.kind).toBe("log");
  const milder = grid([bin(0, 5e6), bin(100, 40e6)]);
  expect(yAxis(milder, null, log).kind).toBe("log");
  expect(yAxis(milder, null, null).kind).toBe("zero");
  const zero = yAxis(grid([bin(0, 5e6), bin(100, 20e6)]), null, null);
  expect(yAxis(grid([bin(0, 6e6), bin(100, 19e6)]), null, zero)).toBe(zero);
  // Unless what is drawn leaves it, or uses little of it.
  expect(yAxis(grid([bin(0, 5e6), bin(100, 40e6)]), null, zero).to).toBeGreaterThan(zero.to);
  expect(yAxis(grid([bin(0, 2e6), bin(100, 5e6)]), null, zero).to).toBeLessThan(zero.to);
});

test("a limit is in the picture unless it would press everything flat", () => {
  const own = grid([bin(0, 5e6), bin(100, 20e6)]);
  const near = yAxis(own, 50e6, null);
  expect(near).toMatchObject({ limitBeyond: false });
  expect(near.to).toBeGreaterThan(50e6);
  expect(yAxis(own, 2e9, null)).toMatchObject({ limitBeyond: true });
  expect(yAxis(own, 2e9, null).to).toBeLessThan(100e6);
  expect(yAxis(grid([]), 2e9, null).to).toBeGreaterThan(2e9);
});

test("losses that stand close have one sign, and none is lost", () => {
  const lost = Float64Array.of(0, 2, 0, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1);
  expect(clusters(lost, 1).map(({ lost: n }) => n)).toHaveLength(9);
  const found = clusters(lost, 3);
  expect(found[0]).toEqual({ from: 1, to: 3, lost: 5 });
  expect(found.reduce((sum, c) => sum + c.lost, 0)).toBe(12);
  for (const { from, to } of found) expect(to - from).toBeLessThan(6);
});

test("a click means the slowest message of the nearest bin, and the lane that is nearest there", () => {
  const own = fill(
    emptyGrid(),
    [lane("a", [bin(200, 5e6)]), lane("b", [bin(200, 50e6, { slowest: "b" }), bin(500, 9e6)])],
    100,
    0,
    1000,
    "total",
  );
  const to = (ns: number) => (track: Grid["tracks"][number], i: number) =>
    Math.abs((track.p50[i] ?? 0) - ns);
  expect(nearest(own, 2, 0, to(45e6))).toMatchObject({ lane: 1, bin: { slowest: "b" } });
  expect(nearest(own, 2, 0, to(1e6))).toMatchObject({ lane: 0, bin: { slowest: "t200" } });
  expect(nearest(own, 4, 2, to(1e6))?.bin.slowest).toBe("t500");
  expect(nearest(own, 8, 2, to(1e6))).toBeNull();
});

test("keys go from bin to bin over the gaps", () => {
  const own = grid([bin(100, 5e6), bin(500, 6e6)]);
  expect(nextBin(own, 1, 1)).toBe(5);
  expect(nextBin(own, 5, 1)).toBe(5);
  expect(nextBin(own, own.x.length, -1)).toBe(5);
  expect(nextBin(own, -1, 1)).toBe(1);
  expect(binAt(own, 199)).toBe(1);
  expect(binAt(own, -1)).toBe(-1);
  expect(own.tracks[0] && newest(own.tracks[0])?.at_ms).toBe(500);
});

test("texts of marks don't lie over one another", () => {
  const mark = (x: number, width: number) => ({ x, width, text: `${x}` });
  const placed = placeMarks([mark(100, 60), mark(120, 60), mark(130, 60), mark(390, 40)], 2, 400);
  expect(placed.map(({ x, row, text }) => [x, row, text])).toEqual([
    [100, 0, "100"],
    [120, 1, "120"],
    [130, 1, ""],
    [390, 0, "390"],
  ]);
  expect(placed.at(-1)?.before).toBe(true);
  // One that stands before its line must not lie over the one before it.
  const tight = placeMarks([mark(300, 50), mark(390, 60)], 1, 400);
  expect(tight[1]?.text).toBe("");
});
