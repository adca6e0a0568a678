import { expect, test } from "vitest";
import type { Check, LaneView, MeasuredRun } from "../src/generated/wire";
import {
  apart,
  delivery,
  difference,
  losses,
  pairOf,
  shares,
  used,
  wilson,
  withAnswer,
  worst,
} from "../src/judge";
import { LANE, LEDGER, SUMMARY } from "./snapshot";

test("what is lost, the largest first; what is on the way isn't", () => {
  expect(losses({ ...LEDGER, lost_in_ros: 7 })).toEqual([
    ["lost_in_ros", 7],
    ["ai_failed", 2],
    ["lost_before_discovery", 1],
  ]);
  expect(delivery(LEDGER)).toEqual({ of: 8, delivered: 5, share: 5 / 8 });
  expect(delivery({ ...LEDGER, published: 2, in_flight: 1 }).share).toBeNull();
});

test("Wilson's interval", () => {
  // Values of Newcombe (1998), table I.
  const [lo, hi] = wilson(81, 263) ?? [];
  expect(lo).toBeCloseTo(0.2553, 4);
  expect(hi).toBeCloseTo(0.3662, 4);
  expect(wilson(0, 20)?.[0]).toBe(0);
  expect(wilson(0, 20)?.[1]).toBeCloseTo(0.1611, 4);
  expect(wilson(29, 29)?.[1]).toBe(1);
  expect(wilson(0, 0)).toBeNull();
});

test("intervals are apart, or overlap, or can't say", () => {
  expect(apart([1, 2], [3, 4])).toBe("below");
  expect(apart([3, null], [1, 2])).toBe("above");
  expect(apart([1, 3], [2, 4])).toBe("overlap");
  expect(apart([1, null], [2, 4])).toBeNull();
  expect(apart([null, null], [2, 4])).toBeNull();
});

const lane = (name: string, qos: string, transport: string): LaneView => ({
  ...LANE,
  name,
  qos,
  transport,
});

test("the pair that is compared has one link, if there is one", () => {
  const a = lane("a", "BEST_EFFORT KEEP_LAST 1", "http1");
  const b = lane("b", "BEST_EFFORT KEEP_LAST 1", "udp");
  const c = lane("c", "RELIABLE KEEP_LAST 10", "udp");
  expect(pairOf([a, b, c])?.map(({ name }) => name)).toEqual(["b", "c"]);
  expect(pairOf([a, c])?.map(({ name }) => name)).toEqual(["a", "c"]);
  expect(pairOf([a, b])).toBeNull();
});

test("a difference is shown by intervals alone, and never of an unstable lane", () => {
  const total = (lo: number, hi: number) => ({
    ...SUMMARY,
    p50_ci_ns: [lo, hi] as [number, number],
    p99_ci_ns: [hi, null] as [number, null],
  });
  const a = { ...LANE, classes: { total: total(1, 2) } };
  const b = { ...LANE, classes: { total: total(3, 4) } };
  expect(difference(a, b)).toEqual({ delivered: "overlap", p50: "below", p99: null });
  const unstable = { ...b, stability: { ...b.stability, unstable: true } };
  expect(difference(a, unstable).p50).toBeNull();
});

test("budget: the part of a limit that is used, and what stands worst", () => {
  const check = (change: Partial<Check>): Check => ({
    lane: "a",
    quantity: "p99_total",
    limit_value: 2e9,
    measured_value: 1e9,
    name: "",
    limit: "",
    measured: "",
    passed: true,
    ...change,
  });
  expect(used(check({}))).toBe(0.5);
  expect(used(check({ measured_value: null }))).toBeNull();
  const delivered = check({ quantity: "delivered", limit_value: 0.99, measured_value: 0.98 });
  expect(used(delivered)).toBeCloseTo(2);
  const checks = [
    check({ lane: "a" }),
    check({ lane: "b", measured_value: 1.5e9 }),
    check({ lane: "c", measured_value: 0, passed: false }),
    delivered,
  ];
  expect(worst({ passed: false, checks }).map(({ lane }) => lane)).toEqual(["c", "a"]);
});

test("shares of the mean total", () => {
  const mean = (ns: number) => ({ ...SUMMARY, mean_ns: ns });
  const classes = { ai: mean(6), transport: mean(3), overhead: mean(1) };
  expect(shares({ ...LANE, classes })).toEqual({ ai: 0.6, transport: 0.3, overhead: 0.1 });
  expect(shares({ ...LANE, classes: {} })).toBeNull();
});

test("the answer to a start stands until a snapshot has it", () => {
  const run = (name: string, state: MeasuredRun["state"]): MeasuredRun => ({
    name,
    state,
    from_ms: 1,
    to_ms: null,
    messages: null,
    decision: null,
    trouble: null,
  });
  const names = (runs: readonly MeasuredRun[]) => runs.map(({ name, state }) => [name, state]);
  const old = [run("a", "done")];
  expect(withAnswer(old, null)).toBe(old);
  expect(names(withAnswer(old, run("b", "running")))).toEqual([
    ["b", "running"],
    ["a", "done"],
  ]);
  const both = [run("b", "running"), run("a", "done")];
  expect(names(withAnswer(both, run("b", "writing")))[0]).toEqual(["b", "writing"]);
  const ended = [run("b", "done"), run("a", "done")];
  expect(withAnswer(ended, run("b", "writing"))).toBe(ended);
});
