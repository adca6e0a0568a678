import { describe, expect, test } from "vitest";
import {
  clip,
  count,
  counted,
  duration,
  durationText,
  elapsed,
  interval,
  outcome,
  percent,
  range,
  shortInterval,
  unresolved,
} from "../src/format";

/** Figures are told with no-break and thin spaces; here they are plain. */
const plain = (text: string): string => text.replace(/[\u00a0\u202f]/g, " ");

describe("the unit of a duration", () => {
  test.each([
    [0, "0 ns"],
    [0.4, "0.40 ns"],
    [7, "7 ns"],
    [999, "999 ns"],
    [999.7, "1.00 µs"],
    [1_000, "1.00 µs"],
    [9_994, "9.99 µs"],
    [9_996, "10.0 µs"],
    [99_940, "99.9 µs"],
    [99_960, "100 µs"],
    [999_499, "999 µs"],
    [999_500, "1.00 ms"],
    [1_234_567, "1.23 ms"],
    [31_000_000, "31.0 ms"],
    [999_600_000, "1.000 s"],
    // S1's figures: these must stay apart.
    [1_034_000_000, "1.034 s"],
    [1_037_000_000, "1.037 s"],
    [75_000_000_000, "75.000 s"],
    [3_600_000_000_000, "3600 s"],
    [-200_000, "−200 µs"],
    [-0.4, "−0.40 ns"],
    [Number.NaN, "–"],
    [Number.POSITIVE_INFINITY, "–"],
  ])("%d ns", (ns, text) => {
    expect(plain(durationText(ns))).toBe(text);
  });

  test("nothing is not zero", () => {
    expect(durationText(null)).toBe("–");
  });

  test("never four digits below a second, whatever the value", () => {
    for (let ns = 1; ns < 1e9; ns = ns * 1.00731 + 1) {
      const { value, unit } = duration(ns);
      expect(Number(value)).toBeLessThan(unit === "s" ? 10 : 1000);
      expect(Number(value)).toBeGreaterThan(0);
    }
  });
});

test("counts, shares and words for them", () => {
  expect(plain(count(1_234_567))).toBe("1 234 567");
  expect(count(999)).toBe("999");
  expect(counted(1, "page")).toBe("1 page");
  expect(counted(0, "page")).toBe("0 pages");
  expect(plain(percent(0.024))).toBe("2.4 %");
  expect(plain(percent(1.037))).toBe("104 %");
  // Never rounded up to all, nor down to none.
  expect(plain(percent(0.9997))).toBe("99.9 %");
  expect(plain(percent(0.99996, 2))).toBe("99.99 %");
  expect(plain(percent(0.000001, 2))).toBe("< 0.01 %");
  expect(plain(percent(1, 2))).toBe("100 %");
  expect(plain(percent(0.9938, 2))).toBe("99.38 %");
});

describe("the interval of a P99", () => {
  test.each<[[number | null, number | null], number, string]>([
    [[12_500_000, 13_800_000], 1000, "12.5 … 13.8 ms"],
    [[997_000_000, 1_020_000_000], 400, "997 ms … 1.020 s"],
    [[1_057_000_000, null], 58, "≥ 1.057 s, no upper bound at n = 58"],
    [[null, null], 3, "no upper bound at n = 3"],
    [[null, 5_000], 3, "≤ 5.00 µs"],
    [[null, null], 0, "–"],
  ])("%j of %d", (ci, n, text) => {
    expect(plain(interval(ci, n))).toBe(text);
  });
});

test("an interval where there is no room", () => {
  expect(plain(shortInterval([12_500_000, 13_800_000]))).toBe("12.5 … 13.8 ms");
  expect(plain(shortInterval([1_057_000_000, null]))).toBe("≥ 1.057 s");
  expect(plain(shortInterval([null, 5_000]))).toBe("≤ 5.00 µs");
  expect(shortInterval([null, null])).toBe("–");
});

test("a figure that two clocks leave open", () => {
  expect(plain(unresolved(310_000, 180_000))).toBe("130 … 490 µs");
  expect(plain(unresolved(100_000, 180_000))).toBe("≤ 280 µs");
  expect(plain(unresolved(-900_000, 100_000))).toBe("−1.00 ms … −800 µs");
  expect(plain(range(1, 2))).toBe("1 … 2 ns");
});

test("time on the wall", () => {
  expect(plain(elapsed(-1))).toBe("0 s");
  expect(plain(elapsed(8_999))).toBe("8 s");
  expect(plain(elapsed(185_000))).toBe("3 min 05 s");
  expect(plain(elapsed(7_620_000))).toBe("2 h 07 min");
});

describe("texts of unknown origin", () => {
  test("what shows nothing is made visible", () => {
    expect(clip("a\0b\n\x1b\x7f", 20)).toBe("a␀b␊␛␡");
    // Right-to-left override, zero-width space, a C1 control, a lone surrogate.
    expect(clip("\u202e\u200b\u0085\ud800x", 20)).toBe("\ufffd\ufffd\ufffd\ufffdx");
    expect(clip("\ufffdé😀", 20)).toBe("\ufffdé😀");
  });
  test("long ones are cut, with their length", () => {
    expect(clip("abc", 3)).toBe("abc");
    expect(plain(clip("x".repeat(1_000_000), 3))).toBe("xxx… (1 000 000 characters)");
    // Not in the middle of a character of two code units.
    expect(clip("😀😀", 1)).toBe("😀… (4 characters)");
  });
});

test("outcomes in words", () => {
  expect(outcome("delivered")).toBe("delivered");
  expect(outcome("queue_dropped")).toBe("queue full");
  expect(outcome("ai timed_out")).toBe("AI timed out");
  expect(outcome("web bad_reply")).toBe("web bad reply");
  expect(outcome("something_new")).toBe("something new");
  expect(outcome("")).toBe("");
});
