// The rows of a waterfall: a message's legs on the axis of time from its take, then what came
// behind at one page, which its total doesn't hold.

import { durationText, unresolved } from "../format";
import type { Class, GlassView, Leg, MessageView } from "../generated/wire";
import { drawn, type Scale, type Segment, sharedScale } from "../scale";

/** One row. All places are ns from the take. */
export interface FallRow {
  readonly leg: Leg;
  readonly class: Class;
  readonly shade: 0 | 1;
  /** Where the leg surely lies; `from` > `to` for a negative one, which leads back. */
  readonly from: number;
  readonly to: number;
  /** Where its end may lie because two clocks are involved: hatched. `null`: it is exact. */
  readonly blur: readonly [number, number] | null;
  readonly length: string;
  readonly negative: boolean;
  /** Behind the pipeline: at a page. */
  readonly glass: boolean;
  /** It isn't known when it began: it stands at the end of the pipeline. */
  readonly unplaced: boolean;
}

/** A leg's length as it is read: what two clocks leave open is told, or only a bound (METHOD 4). */
export function lengthText(ns: number, half: number): string {
  if (half <= 0) return durationText(ns);
  if (half > Math.max(Math.abs(ns) / 10, 100_000)) return unresolved(ns, half);
  return `${durationText(ns)} ±\u00a0${durationText(half)}`;
}

/** This page's figures, or else those of the first page that has any. */
export function ownGlass(message: MessageView, client: string | null): GlassView | undefined {
  return message.glass.find((view) => view.client === client) ?? message.glass[0];
}

/** All rows of a message, in the order of its way. */
export function fallRows(message: MessageView, withAi: boolean, client: string | null): FallRow[] {
  const legs = withAi ? message.legs : message.legs.filter((l) => l.class !== "ai");
  const segments = drawn(message, withAi);
  const rows = segments.map((segment, i) => legRow(segment, legs[i]?.half_ns ?? 0));
  const view = ownGlass(message, client);
  return view === undefined ? rows : [...rows, ...glassRows(view, segments)];
}

function legRow(segment: Segment, half: number): FallRow {
  const { leg, class: kind, shade, from, to, ns } = segment;
  return {
    leg,
    class: kind,
    shade,
    from,
    to,
    blur: half > 0 ? [to - half, to + half] : null,
    length: lengthText(ns, half),
    negative: ns < 0,
    glass: false,
    unplaced: false,
  };
}

/** fanout begins when the broadcaster has the request, which is before the pipeline's end. */
function glassRows(view: GlassView, segments: readonly Segment[]): FallRow[] {
  const received = segments.find(({ leg }) => leg === "web_handle")?.from;
  const unplaced = received === undefined || view.fanout_ns === null;
  const sent = unplaced ? (segments.at(-1)?.to ?? 0) : received + (view.fanout_ns ?? 0);
  const [lo, hi] = view.push_ns;
  const [middle, half] = [(lo + hi) / 2, (hi - lo) / 2];
  const glass = { negative: false, glass: true, unplaced } as const;
  const rows: FallRow[] = [];
  if (view.fanout_ns !== null) {
    const length = durationText(view.fanout_ns);
    const from = sent - view.fanout_ns;
    const shape = { leg: "fanout", class: "overhead", shade: 1, from, to: sent } as const;
    rows.push({ ...glass, ...shape, blur: null, length });
  }
  rows.push({
    ...glass,
    leg: "push",
    class: "transport",
    shade: 1,
    from: sent,
    to: sent + Math.max(0, lo),
    blur: half > 0 ? [sent + lo, sent + hi] : null,
    length: half > 0 ? unresolved(middle, half) : durationText(lo),
    negative: hi < 0,
  });
  if (view.paint_ns !== null) {
    const from = sent + middle;
    const to = from + view.paint_ns;
    const blur = half > 0 ? ([to - half, to + half] as const) : null;
    const shape = { leg: "paint", class: "overhead", shade: 0, from, to } as const;
    rows.push({ ...glass, ...shape, blur, length: durationText(view.paint_ns) });
  }
  return rows;
}

/** One scale for several waterfalls, with what came behind at pages. */
export function fallScale(
  messages: readonly MessageView[],
  withAi: boolean,
  client: string | null,
): Scale {
  return sharedScale(
    messages.map((message) =>
      fallRows(message, withAi, client).map((row) => ({
        leg: row.leg,
        class: row.class,
        shade: row.shade,
        ns: row.to - row.from,
        from: Math.min(row.from, row.to),
        to: Math.max(row.from, row.to, row.glass ? (row.blur?.[1] ?? row.to) : row.to),
      })),
    ),
  );
}

/** A part of a bar on the scale, 0 to 1, cut at its ends; `null`: outside. */
export function cut(scale: Scale, a: number, b: number): readonly [number, number] | null {
  const at = (ns: number): number => (ns - scale.from) / (scale.to - scale.from);
  const [left, right] = [at(Math.min(a, b)), at(Math.max(a, b))];
  if (right < 0 || left > 1) return null;
  return [Math.max(0, left), Math.min(1, right)];
}
