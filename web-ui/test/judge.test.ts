import { expect, test } from "vitest";
import { type Figures, merge } from "../src/figures";
import type { Check, EventView, LaneView, MeasuredRun, Part } from "../src/generated/wire";
import {
  aiIncludesTransport,
  apart,
  boundOf,
  delivery,
  difference,
  found,
  isSure,
  losses,
  pairOf,
  shares,
  unfit,
  used,
  weakestSource,
  wilson,
  withAnswer,
  worst,
} from "../src/judge";
import { LANE, LEDGER, MESSAGE, PARTS, SUMMARY, snapshot } from "./snapshot";

test("what is lost, the largest first; what is on the way isn't", () => {
  expect(losses({ ...LEDGER, lost_in_ros: 7 })).toEqual([
    ["lost_in_ros", 7],
    ["ai_failed", 2],
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
  expect(difference(a, unstable)).toMatchObject({ p50: "unstable", p99: "unstable" });
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
  // Lost is worse than any figure that missed, and that worse than none.
  const missed = check({ lane: "d", measured_value: 3e9, passed: false });
  const none = check({ lane: "e", measured_value: null, measured: "nothing", passed: false });
  const lost = check({
    lane: "f",
    measured_value: null,
    measured: "lost: more than 1 % of the messages were",
    passed: false,
  });
  expect([missed, none, lost].map(found)).toEqual(["number", "none", "lost"]);
  const of = (checks: Check[]) => worst({ passed: false, checks }).map(({ lane }) => lane);
  expect(of([none, missed])).toEqual(["d"]);
  expect(of([none, missed, lost])).toEqual(["f"]);
});

test("a budget that holds does so for sure only with an upper bound within the limit", () => {
  const p99 = (PARTS.find(({ kind }) => kind === "verdict") as Extract<Part, { kind: "verdict" }>)
    .budget;
  const lane = (p99_upper_ns: number | null): LaneView => ({
    ...LANE,
    classes: { total: { ...SUMMARY, p99_upper_ns } },
  });
  expect(isSure(p99, [lane(null)])).toBe(false);
  expect(isSure(p99, [lane(3e9)])).toBe(false);
  expect(isSure(p99, [lane(1e9)])).toBe(true);
  expect(isSure(p99, [])).toBe(false);
});

test("an AI service that tells nothing is known by its leg", () => {
  expect(aiIncludesTransport(LANE)).toBe(false);
  const { wake } = LANE.legs;
  expect(aiIncludesTransport({ ...LANE, legs: { ai_round_trip: wake as never } })).toBe(true);
});

test("where the numbers come from: the source that knows least", () => {
  const of = (source: LaneView["ledger"]["published_source"]): LaneView => ({
    ...LANE,
    ledger: { ...LEDGER, published_source: source },
  });
  expect(weakestSource([of("census"), of("header_sequence")])).toBe("header_sequence");
  expect(weakestSource([of("census"), of("nothing")])).toBe("census");
  expect(weakestSource([])).toBe("nothing");
});

test("a verdict's bound is found in its reason", () => {
  const bound = "in at least 90.5 % of those to come (95 %); nothing is said of its P99";
  expect(
    boundOf(`met with HTTP, below the margin of 10 ms in all 30 messages, so ${bound}. And`),
  ).toBe(bound);
  expect(boundOf("the whole communication's P99 is at most 2 ms (95 %, n = 400)")).toBeNull();
});

test("a QoS that doesn't fit is told until messages come after it", () => {
  const figures = (events: EventView[], change: Partial<Figures> = {}): Figures => ({
    ...merge(null, snapshot()),
    lanes: [lane("fast", "BEST_EFFORT KEEP_LAST 1", "http1"), lane("a", "RELIABLE X", "http1")],
    events,
    robots: [],
    latest: [],
    slowest: [],
    ...change,
  });
  const asks = (at_ms: number, who = "/pub", kind = "incompatible_qos"): EventView => ({
    at_ms,
    kind,
    text: `/status: ${who} offers BEST_EFFORT, the subscription asks for RELIABLE X; publish so`,
  });
  const message = (lane: string, at_ms: number) => ({ ...MESSAGE, lane, at_ms, robot_id: "r" });
  const at = (found: EventView[]) => found.map(({ at_ms }) => at_ms);
  expect(unfit(null)).toEqual([]);
  expect(at(unfit(figures([asks(50), asks(7, "/other")])))).toEqual([50, 7]);
  // Messages of another lane, or from before, say nothing.
  expect(at(unfit(figures([asks(50)], { latest: [message("fast", 60)] })))).toEqual([50]);
  expect(at(unfit(figures([asks(50)], { latest: [message("a", 40)] })))).toEqual([50]);
  expect(unfit(figures([asks(50)], { latest: [message("a", 60)] }))).toEqual([]);
  // Of the robot that it names, where that is known.
  const latest = [message("a", 60), { ...message("a", 40), robot_id: "pub" }];
  expect(at(unfit(figures([asks(50)], { latest })))).toEqual([50]);
  const gone = {
    at_ms: 70,
    kind: "silence_over",
    text: "/status: /pub, which did not fit, is gone",
  };
  expect(unfit(figures([gone, asks(50)]))).toEqual([]);
  expect(at(unfit(figures([gone, asks(50, "/other")])))).toEqual([50]);
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
