import { expect, test } from "vitest";
import {
  linearTicks,
  logAt,
  logDomain,
  logPlace,
  logTicks,
  tickText,
  timeText,
  timeTicks,
} from "../../src/chart/ticks";

test("moments stand at round seconds, minutes and hours", () => {
  expect(timeTicks(0, 10_000, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((s) => s * 1000));
  expect(timeTicks(1_234, 61_234, 6)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
  expect(timeTicks(-2_500, 2_500, 5)).toEqual([-2000, -1000, 0, 1000, 2000]);
  expect(timeTicks(0, 7_200_000, 4)).toEqual([0, 1_800_000, 3_600_000, 5_400_000, 7_200_000]);
});

test("ticks of time are few, whatever the stretch", () => {
  for (let stretch = 7; stretch < 1e9; stretch *= 1.7) {
    const ticks = timeTicks(123, 123 + stretch, 8);
    expect(ticks.length).toBeLessThanOrEqual(9);
  }
});

test("moments are as exact as their step", () => {
  expect(timeText(5000, 1000)).toBe("5\u00a0s");
  expect(timeText(65_000, 5000)).toBe("1:05");
  expect(timeText(3_725_000, 60_000)).toBe("1:02:05");
  expect(timeText(-5000, 1000)).toBe("−5\u00a0s");
  expect(timeText(5400, 200)).toBe("5.4\u00a0s");
  expect(timeText(65_400, 200)).toBe("1:05.4");
  expect(timeText(59_970, 200)).toBe("1:00.0");
  expect(timeText(1234, 50)).toBe("1.23\u00a0s");
});

test("durations stand at round figures with their unit", () => {
  expect(linearTicks(0, 1.7e9, 4).map(tickText)).toEqual([
    "0",
    "500\u00a0ms",
    "1\u00a0s",
    "1.5\u00a0s",
  ]);
  expect(linearTicks(1.01e9, 1.06e9, 5).map(tickText)).toContain("1.03\u00a0s");
  expect(linearTicks(3, 3, 5)).toEqual([3]);
  expect(tickText(250_000)).toBe("250\u00a0µs");
  expect(tickText(-2e6)).toBe("−2\u00a0ms");
});

test("an axis of logarithms has 1, 2, 5 where there is room, else powers of ten", () => {
  expect(logTicks(1e6, 1e8, 8)).toEqual([1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8]);
  expect(logTicks(1e6, 1e9, 4)).toEqual([1e6, 1e7, 1e8, 1e9]);
  expect(logTicks(1, 1e9, 4).length).toBeLessThanOrEqual(4);
  // Less than a decade: round steps, or there might be none.
  expect(logTicks(1.02e9, 1.24e9, 5).length).toBeGreaterThanOrEqual(3);
  expect(logTicks(0, 10, 5)).toEqual([]);
});

test("places on an axis of logarithms and back", () => {
  const ends = logDomain(1e6, 1e9);
  expect(ends[0]).toBeLessThan(1e6);
  expect(ends[1]).toBeGreaterThan(1e9);
  for (const ns of [1e6, 3.3e7, 1e9]) {
    expect(logAt(ends, logPlace(ends, ns))).toBeCloseTo(ns, -1);
  }
  expect(logPlace(ends, ends[0])).toBe(0);
  expect(logPlace(ends, ends[1])).toBe(1);
  const [lo, hi] = logDomain(5, 5);
  expect(lo).toBeLessThan(5);
  expect(hi).toBeGreaterThan(5);
});
