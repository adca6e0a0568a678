// Round figures for axes, and how they are written.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Steps of an axis of time, in ms. */
export const TIME_STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((s) => s * 1000),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * MINUTE),
  ...[1, 2, 4, 6, 12, 24, 48, 96, 240].map((h) => h * HOUR),
];

/** Multiples of a round step of time from `from` to `to` ms, at most `most`. */
export function timeTicks(from: number, to: number, most: number): number[] {
  const step = TIME_STEPS.find((s) => (to - from) / s <= Math.max(1, most)) ?? 240 * HOUR;
  return multiples(from, to, step);
}

/** A moment since the collector's start, as exact as its axis' step. */
export function timeText(ms: number, step: number): string {
  if (ms < 0) return `−${timeText(-ms, step)}`;
  const digits = step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  // Rounded first: 59.97 s to a tenth is 1:00.0, not 0:60.0.
  const power = 10 ** digits;
  const all = Math.round((ms / 1000) * power) / power;
  if (all < 60) return `${all.toFixed(digits)}\u00a0s`;
  const whole = Math.floor(all);
  const two = (n: number): string => String(n).padStart(2, "0");
  const seconds = (all % 60).toFixed(digits).padStart(digits === 0 ? 2 : digits + 3, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${seconds}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${seconds}`;
}

function multiples(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  // `+ 0` makes a plain zero of a negative one.
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step + 0);
}

/** The next of 1, 2, 5, 10, 20 … that is not below. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((f) => f * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Multiples of a round step from `from` to `to`, at most about `most`. */
export function linearTicks(from: number, to: number, most: number): number[] {
  if (!(to > from)) return [from];
  return multiples(from, to, niceStep((to - from) / Math.max(1, most)));
}

/**
 * Figures for an axis of logarithms, at most about `most`: powers of ten with 2 and 5 between them
 * where there is room; on an axis shorter than a decade, multiples of a round step.
 */
export function logTicks(from: number, to: number, most: number): number[] {
  if (!(from > 0) || !(to > from)) return [];
  const decades = Math.log10(to / from);
  if (decades < 0.9) return linearTicks(from, to, Math.min(most, 5));
  const factors = decades * 3 <= most ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / Math.max(1, most)));
  const ticks: number[] = [];
  const first = Math.floor(Math.log10(from));
  for (let power = first; power <= Math.log10(to); power += 1) {
    if ((power - first) % every !== 0) continue;
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= from * (1 - 1e-9) && tick <= to * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}

/** A round duration without the zeros that a measured one has: "1 s", "500 ms". */
export function tickText(ns: number): string {
  if (ns === 0) return "0";
  const size = Math.abs(ns);
  const [unit, scale] =
    size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const value = Number((size / Number(scale)).toPrecision(4));
  return `${ns < 0 ? "−" : ""}${value}\u00a0${unit}`;
}

/** An axis' ends in logarithms around `lo` … `hi`, a little wider and to round figures. */
export function logDomain(lo: number, hi: number): [number, number] {
  const [a, b] = [Math.max(1, lo), Math.max(1, hi)];
  if (b / a < 1.2) return [a / 1.12, b * 1.12];
  const room = (b / a) ** 0.04;
  return [a / room, b * room];
}

/** Where `ns` lies on an axis of logarithms, 0 to 1 between its ends. */
export function logPlace([lo, hi]: readonly [number, number], ns: number): number {
  return Math.log(Math.max(ns, 1e-3) / lo) / Math.log(hi / lo);
}

/** What lies there. */
export function logAt([lo, hi]: readonly [number, number], share: number): number {
  return lo * (hi / lo) ** share;
}
