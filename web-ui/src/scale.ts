// The legs of messages as lengths on one scale. Zero is the moment when the gateway took the
// message: to its right the pipeline, to its left what came before.

import type { Class, Leg, LegView, MessageView } from "./generated/wire";
import { info } from "./legs";

/** A leg between two points of the scale, in ns from the take. */
export interface Segment {
  readonly leg: Leg;
  readonly class: Class;
  readonly ns: number;
  readonly from: number;
  readonly to: number;
  /** Which of its class's two shades: neighbours of one class differ. */
  readonly shade: 0 | 1;
}

/** What a bar's width stands for, in ns from the take, with its marks. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly marks: readonly number[];
}

/** The legs one after the other. A negative leg leads back, so that the sum stays the total. */
export function segments(legs: readonly LegView[]): Segment[] {
  const before = legs.filter((l) => info(l.leg).beforeTake).reduce((sum, l) => sum + l.ns, 0);
  let at = -before;
  return legs.map(({ leg, class: kind, ns }) => {
    const from = at;
    at += ns;
    return { leg, class: kind, ns, from, to: at, shade: info(leg).shade };
  });
}

/**
 * One scale for all of them. What lies before the take gets at most half the width: between
 * clocks without a relation it may be hours.
 */
export function sharedScale(messages: readonly (readonly Segment[])[]): Scale {
  let [least, most] = [0, 0];
  for (const segment of messages.flat()) {
    least = Math.min(least, segment.from, segment.to);
    most = Math.max(most, segment.from, segment.to);
  }
  if (most === 0) most = least === 0 ? 1e6 : -least;
  const step = niceStep(most / 4);
  const to = Math.ceil(most / step) * step;
  const marks = Array.from({ length: Math.round(to / step) + 1 }, (_, i) => i * step);
  return { from: Math.max(least, -to), to, marks };
}

/** The next of 1, 2, 5, 10, 20 … that is not below. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((f) => f * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Where a point of the scale lies, 0 to 1; beyond its ends: at them. */
export function place(scale: Scale, ns: number): number {
  return Math.min(1, Math.max(0, (ns - scale.from) / (scale.to - scale.from)));
}

/** The legs that are drawn: with or without the AI's own time, which dwarfs all the rest. */
export function drawn(message: MessageView, withAi: boolean): Segment[] {
  return segments(withAi ? message.legs : message.legs.filter((l) => l.class !== "ai"));
}

/** The legs that can't be: kept and flagged (METHOD 3). */
export function negative(message: MessageView): LegView[] {
  return message.legs.filter((l) => l.ns < 0);
}
