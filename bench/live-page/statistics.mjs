// What a series of numbers says. Pure: no clock, no file, no chance but from a seed.

/** The smallest x of `values` with F(x) ≥ share (nearest rank); undefined of nothing. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * share), 1) - 1];
}

/** The middle of the values; of an even number the mean of the middle two. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/**
 * The shift of pairs by their differences: Hodges-Lehmann with the exact interval of Wilcoxon's
 * signed ranks, as `hopwatch_stats::Shift::paired` has it. Fewer than six pairs have no interval
 * at 95 %: `low` and `high` are null then.
 *
 * @param {number[]} differences
 */
export function pairedShift(differences, level = 0.95) {
  const n = differences.length;
  if (n === 0) return { estimate: null, low: null, high: null };
  const walsh = [];
  for (let i = 0; i < n; i += 1) {
    for (let j = i; j < n; j += 1) walsh.push((differences[i] + differences[j]) / 2);
  }
  walsh.sort((a, b) => a - b);
  // ways[w]: of the 2ⁿ signs, how many give the sum of ranks w.
  let ways = [1];
  for (let rank = 1; rank <= n; rank += 1) {
    const before = ways;
    ways = Array.from(
      { length: before.length + rank },
      (_, w) => (before[w] ?? 0) + (before[w - rank] ?? 0),
    );
  }
  let tail = 0;
  let outside = -1;
  for (let w = 0; w < ways.length; w += 1) {
    tail += ways[w];
    if (tail / 2 ** n > (1 - level) / 2) break;
    outside = w;
  }
  const estimate = median(walsh);
  if (outside < 0) return { estimate, low: null, high: null };
  return { estimate, low: walsh[outside], high: walsh[walsh.length - 1 - outside] };
}

/**
 * Whether a difference is less than the noise, which is what the control shows: the same condition
 * twice in each block. "less": the whole interval lies within ± noise; "more": all of it outside;
 * else "not resolved".
 *
 * @param {{low: number|null, high: number|null}} shift
 * @param {number} noise
 */
export function againstNoise(shift, noise) {
  if (shift.low === null || shift.high === null) return "too few blocks";
  if (shift.low > -noise && shift.high < noise) return "less";
  if (shift.low >= noise || shift.high <= -noise) return "more";
  return "not resolved";
}

/** How far two blocks of one condition lie apart in 95 of 100 cases, if that is normal. */
export function noiseOf(differences) {
  const mean = differences.reduce((sum, d) => sum + d ** 2, 0) / differences.length;
  return 1.96 * Math.sqrt(mean);
}

/** Two-sided 97.5 % points of Student's t. */
const T_975 = [
  Number.NaN,
  12.706,
  4.303,
  3.182,
  2.776,
  2.571,
  2.447,
  2.365,
  2.306,
  2.262,
  2.228,
  2.201,
  2.179,
  2.16,
  2.145,
  2.131,
  2.12,
  2.11,
  2.101,
  2.093,
  2.086,
  2.08,
  2.074,
  2.069,
  2.064,
  2.06,
  2.056,
  2.052,
  2.048,
  2.045,
  2.042,
];

/**
 * The slope of y over x by least squares with its 95 % interval (Student's t, independent errors);
 * null where three points or more are missing, or x doesn't vary.
 *
 * @param {[number, number][]} points
 */
export function slope(points) {
  const n = points.length;
  const mean = (index) => points.reduce((sum, point) => sum + point[index], 0) / n;
  const [x, y] = [mean(0), mean(1)];
  const sxx = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  if (n < 3 || sxx === 0) return null;
  const estimate = points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0) / sxx;
  const rest = points.reduce((sum, [px, py]) => sum + (py - y - estimate * (px - x)) ** 2, 0);
  const half = (T_975[n - 2] ?? 1.96) * Math.sqrt(rest / (n - 2) / sxx);
  return { estimate, low: estimate - half, high: estimate + half };
}

/**
 * A generator of numbers from 0 to 1: mulberry32, for orders that can be drawn again.
 *
 * @param {number} seed
 */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The items in an order that is drawn (Fisher, Yates). */
export function shuffled(items, random) {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
