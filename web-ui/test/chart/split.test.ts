import { expect, test } from "vitest";
import { splitDomain, stack, whiskers } from "../../src/chart/splitlayout";
import { shorten, textWidth } from "../../src/chart/text";
import type { Summary } from "../../src/generated/wire";
import { SUMMARY } from "../snapshot";

const of = (mean_ns: number | null, change: Partial<Summary> = {}): Summary => ({
  ...SUMMARY,
  mean_ns,
  ...change,
});

test("the means fill the bar", () => {
  const parts = stack({ ai: of(60), transport: of(30), overhead: of(10), total: of(100) });
  expect(parts.map(({ id, from, to }) => [id, from, to])).toEqual([
    ["ai", 0, 0.6],
    ["transport", 0.6, 0.9],
    ["overhead", 0.9, 1],
  ]);
  expect(stack({ ai: of(null) })).toEqual([]);
  expect(stack({})).toEqual([]);
});

test("an interval without an upper end stays without one", () => {
  const marks = whiskers(of(1, { p95_ns: 6, p95_ci_ns: [5, null], p99_ns: null }));
  expect(marks).toEqual([
    { id: "P50", ns: 5, lo: 5, hi: 6 },
    { id: "P95", ns: 6, lo: 5, hi: null },
  ]);
  expect(whiskers(undefined)).toEqual([]);
});

test("the axis holds every interval, and the limit unless it is far away", () => {
  const rows = [[{ id: "P99" as const, ns: 50, lo: 20, hi: 90 }]];
  const ends = splitDomain(rows, 200);
  expect(ends?.[0]).toBeLessThan(20);
  expect(ends?.[1]).toBeGreaterThan(200);
  expect(splitDomain(rows, 1e6)?.[1]).toBeLessThan(200);
  expect(splitDomain([[]], 100)).toBeNull();
});

test("texts are cut to their room", () => {
  expect(textWidth("한국어", 10)).toBe(30);
  expect(shorten("short", 11, 100)).toBe("short");
  const cut = shorten("a text that is too long", 11, 60);
  expect(cut.endsWith("…")).toBe(true);
  expect(textWidth(cut, 11)).toBeLessThanOrEqual(60);
});
