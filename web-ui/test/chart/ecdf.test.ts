import { expect, test } from "vitest";
import { extent, histogram, type Point, shareText, shareWithin } from "../../src/chart/ecdf";

const POINTS: Point[] = [
  [0, 10],
  [0.25, 20],
  [0.5, 30],
  [0.5, 30],
  [0.99, 80],
  [1, 100],
];

test("what quantile points tell of a share, and no more", () => {
  expect(shareWithin(POINTS, 9)).toEqual([0, 0]);
  expect(shareWithin(POINTS, 10)).toEqual([0, 0.25]);
  expect(shareWithin(POINTS, 29)).toEqual([0.25, 0.5]);
  expect(shareWithin(POINTS, 30)).toEqual([0.5, 0.99]);
  expect(shareWithin(POINTS, 99)).toEqual([0.99, 1]);
  expect(shareWithin(POINTS, 100)).toEqual([1, 1]);
  expect(shareWithin([], 5)).toEqual([0, 1]);
});

test("a share is never rounded up to all, nor down to none", () => {
  expect(shareText([1, 1])).toBe("100\u00a0%");
  expect(shareText([0.9996, 1])).toBe("99.9\u00a0%");
  expect(shareText([0.9951, 0.9951])).toBe("99.5\u00a0%");
  expect(shareText([0.97, 0.98])).toBe("97\u00a0%");
  expect(shareText([0.29, 0.29])).toBe("29\u00a0%");
  expect(shareText([0.052, 0.052])).toBe("5.2\u00a0%");
  expect(shareText([0.0002, 0.0002])).toBe("<\u00a00.1\u00a0%");
  expect(shareText([0, 0])).toBe("0.0\u00a0%");
  expect(shareText([0.5, 0.99])).toBe("50\u00a0% … 99\u00a0%");
});

test("the steps hold all messages, where the points say", () => {
  const ends = [8, 128] as const;
  const steps = histogram(POINTS, ends, 16);
  expect(steps.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
  // 8·2^(k/4): up to 20 there are 5.29 steps, with a quarter of the messages.
  const upTo20 = steps.slice(0, 5).reduce((sum, share) => sum + share, 0);
  expect(upTo20).toBeGreaterThan(0.15);
  expect(upTo20).toBeLessThan(0.25);
  expect(steps.every((share) => share >= 0)).toBe(true);
});

test("many of one length are one step", () => {
  const steps = histogram(
    [
      [0, 50],
      [0.5, 50],
      [1, 50],
    ],
    [10, 100],
    10,
  );
  expect(steps.filter((share) => share > 0)).toEqual([1]);
});

test("from the shortest to the longest of all lanes", () => {
  expect(extent([POINTS, [[1, 400]]])).toEqual([10, 400]);
  expect(extent([[], []])).toBeNull();
  expect(extent([[[0.5, 0]]])).toBeNull();
});
