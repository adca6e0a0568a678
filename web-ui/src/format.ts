// Figures and texts as they are read: units, counts, and strings of unknown origin.

import { figureWords } from "./words/figures";
import { failureName, outcomeName, stageName } from "./words/names";

/** What is shown where there is no figure: nothing is not zero. */
export const NOTHING = "–";

/** Of fewer messages the P99, by nearest rank, is just the largest value. */
export const FEWEST_FOR_P99 = 100;

/** A figure with its unit, apart so that a table can align and dim them. */
export interface Quantity {
  readonly value: string;
  readonly unit: string;
}

const UNITS: readonly { unit: string; ns: number }[] = [
  { unit: "ns", ns: 1 },
  { unit: "µs", ns: 1e3 },
  { unit: "ms", ns: 1e6 },
  { unit: "s", ns: 1e9 },
];

/**
 * A duration in the unit that leaves three digits, and in seconds with milliseconds: 1.034 s and
 * 1.037 s must not look alike where the AI takes a second.
 */
export function duration(ns: number): Quantity {
  if (!Number.isFinite(ns)) return { value: NOTHING, unit: "" };
  const sign = ns < 0 ? "−" : "";
  const size = Math.abs(ns);
  if (size === 0) return { value: "0", unit: "ns" };
  // Chosen after rounding: 999.7 µs is 1.00 ms, not 1000 µs.
  for (const { unit, ns: scale } of UNITS) {
    const digits = unit === "s" ? secondDigits(size / scale) : threeDigits(size / scale);
    const text = (size / scale).toFixed(unit === "ns" && size >= 1 ? 0 : digits);
    if (unit === "s" || Number(text) < 1000) return { value: sign + text, unit };
  }
  return { value: NOTHING, unit: "" };
}

function threeDigits(value: number): number {
  if (value >= 99.95) return 0;
  return value >= 9.995 ? 1 : 2;
}

function secondDigits(value: number): number {
  return value >= 1000 ? 0 : 3;
}

/** A duration as text. */
export function durationText(ns: number | null): string {
  if (ns === null) return NOTHING;
  const { value, unit } = duration(ns);
  // A no-break space: a figure is not parted from its unit.
  return unit === "" ? value : `${value}\u00a0${unit}`;
}

/** Two bounds, with the unit once where it is the same. */
export function range(lo: number, hi: number): string {
  const [a, b] = [duration(lo), duration(hi)];
  return a.unit === b.unit
    ? `${a.value} … ${b.value}\u00a0${b.unit}`
    : `${durationText(lo)} … ${durationText(hi)}`;
}

/** "1 page", "3 pages". */
export function counted(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

/** A count with thin spaces between thousands. */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/**
 * A share in percent. It is never rounded up to all of them, nor down to none: 99.996 % delivered
 * isn't 100 %. Without `digits` there are as many as a glance needs.
 */
export function percent(share: number, digits?: number): string {
  const places = digits ?? (share < 0.1 || (share > 0.99 && share < 1) ? 1 : 0);
  if (share <= 0 || share >= 1) {
    const whole = share === 1 ? 0 : places;
    return `${(share * 100).toFixed(whole)}\u00a0%`;
  }
  const power = 10 ** places;
  const part = share * 100 * power;
  // Cut, not rounded, from where rounding could make it all of them.
  const shown = (share > 0.99 ? Math.floor(part + 1e-6) : Math.round(part)) / power;
  if (shown >= 100) return `>\u00a0${(100 - 1 / power).toFixed(places)}\u00a0%`;
  return shown === 0 ? `<\u00a0${1 / power}\u00a0%` : `${shown.toFixed(places)}\u00a0%`;
}

/** The interval of a quantile: a bound that the sample is too small for is said to be missing. */
export function interval([lo, hi]: readonly [number | null, number | null], n: number): string {
  if (n === 0) return NOTHING;
  const missing = figureWords("no_upper", { n: count(n) });
  if (hi !== null) return shortInterval([lo, hi]);
  return lo === null ? missing : `${shortInterval([lo, hi])}, ${missing}`;
}

/** The same where there is no room: an end that is missing is not told, and not made up. */
export function shortInterval([lo, hi]: readonly [number | null, number | null]): string {
  if (lo === null) return hi === null ? NOTHING : `≤\u00a0${durationText(hi)}`;
  return hi === null ? `≥\u00a0${durationText(lo)}` : range(lo, hi);
}

/**
 * A figure that two clocks leave within ± `half`: what can be said of it (METHOD 4). An interval
 * that holds zero bounds the leg from above and says no more.
 */
export function unresolved(middle: number, half: number): string {
  const [lo, hi] = [middle - half, middle + half];
  return lo <= 0 && hi >= 0 ? `≤\u00a0${durationText(hi)}` : range(lo, hi);
}

/** A length of time on the wall: "8 s", "3 min 05 s", "2 h 07 min". */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const two = (n: number): string => String(n).padStart(2, "0");
  if (minutes === 0) return figureWords("seconds", { s: seconds });
  if (minutes < 60) return figureWords("minutes", { m: minutes, s: two(seconds % 60) });
  return figureWords("hours", { h: Math.floor(minutes / 60), m: two(minutes % 60) });
}

/**
 * A text of unknown origin, made fit to be shown in one line: cut to `limit` characters (with the
 * whole length told), and characters that show nothing or turn the reading direction made visible.
 */
export function clip(text: string, limit: number): string {
  let shown = "";
  let length = 0;
  for (const character of text) {
    if (length === limit)
      return `${shown}… ${figureWords("characters", { n: count(text.length) })}`;
    shown += visible(character);
    length += 1;
  }
  return shown;
}

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // The Control Pictures block has a sign for each of ASCII's control characters.
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  // C1 controls, marks and overrides of the direction, separators, and lone surrogates.
  const hidden =
    (code > 0x7f && code < 0xa0) ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069) ||
    (code >= 0xd800 && code <= 0xdfff);
  return hidden ? "\ufffd" : character;
}

/** Why a request failed, in words. */
export function failure(name: string): string {
  return failureName(name) ?? words(name);
}

/** What became of a message, in words. */
export function outcome(name: string): string {
  const known = outcomeName(name);
  if (known !== undefined) return known;
  const [stage = "", why] = name.split(" ");
  const service = stageName(stage) ?? words(stage);
  return why === undefined ? service : `${service} ${failure(why)}`;
}

/** A name of the wire as words: "incompatible_qos" → "incompatible qos". */
export function words(name: string): string {
  return clip(name.replaceAll("_", " "), 80);
}
