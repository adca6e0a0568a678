import { expect, test } from "vitest";
import { merge } from "../src/figures";
import type { Bin, Part, Snapshot } from "../src/generated/wire";
import { bin, LANE, snapshot } from "./snapshot";

const whole = merge(null, snapshot());
const changes = (parts: Part[], more: Partial<Snapshot> = {}): Snapshot =>
  snapshot({ whole: false, parts, elapsed_ms: 2000, ...more });
const chunk = (number: number, bins: Bin[], width_ms = 100, lane = "a"): Part => ({
  kind: "course",
  lane,
  width_ms,
  chunk: number,
  bins,
});
const times = (figures: typeof whole, lane = "a"): number[] =>
  (figures.courses.get(lane)?.bins ?? []).map(({ at_ms }) => at_ms);

test("what didn't change is the same object", () => {
  const next = merge(whole, changes([{ kind: "events", events: [] }]));
  expect(next.events).toEqual([]);
  expect(next.elapsedMs).toBe(2000);
  for (const key of ["lanes", "courses", "latest", "slowest", "robots", "clocks"] as const) {
    expect(next[key]).toBe(whole[key]);
  }
  for (const key of ["verdict", "budget", "shadow", "measured", "watch"] as const) {
    expect(next[key]).toBe(whole[key]);
  }
});

test("lanes are replaced by name, and keep their places", () => {
  const two = merge(whole, changes([{ kind: "lane", lane: { ...LANE, name: "b" } }]));
  const changed = merge(two, changes([{ kind: "lane", lane: { ...LANE, transport: "udp" } }]));
  expect(changed.lanes.map(({ name, transport }) => [name, transport])).toEqual([
    ["a", "udp"],
    ["b", "http1"],
  ]);
  expect(changed.lanes[1]).toBe(two.lanes[1]);
});

test("a whole snapshot forgets all that was", () => {
  const anew = merge(whole, snapshot({ parts: [chunk(7, [bin(700)], 100, "b")] }));
  expect(anew.lanes).toEqual([]);
  expect(anew.verdict).toBeNull();
  expect([...anew.courses.keys()]).toEqual(["b"]);
});

test("chunks are put in a row, whatever order they came in", () => {
  const later = merge(whole, changes([chunk(2, [bin(6400)]), chunk(-1, [bin(-100)])]));
  expect(times(later)).toEqual([-100, 0, 900, 6400]);
  const again = merge(later, changes([chunk(0, [bin(0), bin(100), bin(900)])]));
  expect(times(again)).toEqual([-100, 0, 100, 900, 6400]);
});

test("another width voids the chunks of its lane alone", () => {
  const two = merge(whole, changes([chunk(0, [bin(0)], 100, "b")]));
  const wider = merge(two, changes([chunk(0, [bin(0), bin(200)], 200)]));
  expect(times(wider)).toEqual([0, 200]);
  expect(times(wider, "b")).toEqual([0]);
});

test("bins leave with the window", () => {
  const watch = { window: "10s", robot: null } as const;
  const first = merge(null, snapshot({ watch, elapsed_ms: 9_000 }));
  expect(times(first)).toEqual([0, 900]);
  const next = merge(first, changes([], { watch, elapsed_ms: 10_100 }));
  // The bin of 0 … 100 ms ended ten seconds ago.
  expect(times(next)).toEqual([900]);
  const gone = merge(next, changes([chunk(3, [bin(10_200)])], { watch, elapsed_ms: 12_000 }));
  expect(times(gone)).toEqual([10_200]);
  expect(gone.courses.get("a")?.chunks.size).toBe(1);
  // The whole run keeps them.
  const run = merge(null, snapshot({ watch: { window: "run", robot: null }, elapsed_ms: 1e9 }));
  expect(times(run)).toEqual([0, 900]);
});
