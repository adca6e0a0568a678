// Latency over time: each lane's P50 as a line, a band up to its P99 (of few messages: the largest),
// where messages were lost, and what was marked.

import { type Signal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, durationText, outcome } from "../format";
import type { Bin } from "../generated/wire";
import { language } from "../words/language";
import { fateName } from "../words/names";
import {
  binAt,
  type CourseLane,
  type CourseQuantity,
  emptyGrid,
  fill,
  type Grid,
  hasP99,
  lostIn,
  middle,
  nearest,
  newest,
  nextBin,
} from "./coursedata";
import { CoursePlot } from "./courseplot";
import { Key } from "./key";
import { timeText } from "./ticks";
import { onTheme } from "./tones";
import { words } from "./words";

export type { CourseLane } from "./coursedata";

export interface CourseProps {
  readonly lanes: readonly CourseLane[];
  readonly widthMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly quantity: CourseQuantity;
  /** As it is called. */
  readonly quantityName: string;
  readonly limitNs: number | null;
  readonly marks: readonly { readonly atMs: number; readonly text: string }[];
  /** Where the cursor is, in ms since the collector's start; shared with other courses. */
  readonly cursor: Signal<number | null>;
  /** A click on a bin: the trace id of its slowest message. */
  readonly pick: (traceId: string) => void;
}

/** What a reader of the screen says of the cursor. */
interface Spoken {
  readonly min: number;
  readonly max: number;
  readonly now: number;
  readonly text: string;
}

/** The chart, with a line of figures above it: those at the cursor, or else the newest. */
export function CourseChart(props: CourseProps) {
  const { lanes, widthMs, fromMs, toMs, quantity, quantityName, limitNs, marks, cursor } = props;
  const host = useRef<HTMLDivElement | null>(null);
  const plot = useRef<CoursePlot | null>(null);
  const now = useRef(props);
  now.current = props;
  const own = useState<Grid>(emptyGrid)[0];
  // The cursor moves far more often than the figures change.
  const grid = useMemo(
    () => fill(own, lanes, widthMs, fromMs, toMs, quantity),
    [own, lanes, widthMs, fromMs, toMs, quantity],
  );

  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    const made = new CoursePlot(element, own, {
      move: (ms) => {
        now.current.cursor.value = ms;
      },
      click: (ms, ns) => pickAt(made, now.current, ms, ns),
    });
    plot.current = made;
    made.update(now.current);
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(element);
    const forget = onTheme(() => made.repaint());
    return () => {
      observer.disconnect();
      forget();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => {
    plot.current?.update(now.current);
    // The figures have moved on under a cursor that stays at its moment.
    plot.current?.follow(cursor.peek());
  }, [lanes, widthMs, fromMs, toMs, quantity, limitNs, marks, cursor]);
  useSignalEffect(() => plot.current?.follow(cursor.value));
  useSignalEffect(() => {
    language.value;
    plot.current?.redraw();
  });

  const at = cursor.value === null ? -1 : binAt(grid, cursor.value);
  // What is spoken changes with keys only: with each snapshot a screen reader would never end.
  const [held, setSaid] = useState<Spoken | null>(null);
  const speak = (): Spoken => {
    const where = cursor.peek() === null ? -1 : binAt(grid, cursor.peek() ?? 0);
    return {
      min: Math.round(fromMs),
      max: Math.round(toMs),
      now: Math.round(cursor.peek() ?? toMs),
      text:
        where === -1
          ? `${words("no_cursor")}. ${words("newest")}: ${newestText(grid, lanes, quantity)}`
          : binText(grid, lanes, quantity, where),
    };
  };
  const say = (): void => setSaid(speak());
  const said = held ?? speak();
  return (
    <div class="chart course" data-quantity={quantity}>
      <Figures grid={grid} lanes={lanes} quantity={quantity} at={at} />
      <div
        class="course-plot"
        ref={host}
        role="slider"
        tabIndex={0}
        aria-label={words("course", { quantity: quantityName })}
        aria-valuemin={said.min}
        aria-valuemax={said.max}
        aria-valuenow={said.now}
        aria-valuetext={said.text}
        onKeyDown={(event) => {
          if (!key(event.key, grid, props)) return;
          event.preventDefault();
          say();
        }}
        onFocus={say}
        onBlur={() => setSaid(null)}
        data-testid="course"
      />
    </div>
  );
}

/** What a key does; whether it does anything. */
function key(name: string, grid: Grid, { cursor, pick, toMs }: CourseProps): boolean {
  const at = cursor.peek() === null ? -1 : binAt(grid, cursor.peek() ?? 0);
  const go = (i: number): boolean => {
    const ms = grid.x[i];
    if (ms !== undefined) cursor.value = ms;
    return true;
  };
  switch (name) {
    case "ArrowLeft":
      return go(nextBin(grid, at === -1 ? grid.x.length : at, -1));
    case "ArrowRight":
      return go(at === -1 ? nextBin(grid, binAt(grid, toMs - 1) + 1, -1) : nextBin(grid, at, 1));
    case "Home":
      return go(nextBin(grid, -1, 1));
    case "End":
      return go(nextBin(grid, grid.x.length, -1));
    case "Escape":
      cursor.value = null;
      return true;
    case "Enter": {
      const found = nearest(grid, at, 0, (track, i) => -(track.bins[i]?.max_ns ?? 0));
      if (found?.bin.slowest != null) pick(found.bin.slowest);
      return at !== -1;
    }
    default:
      return false;
  }
}

/** The message that a click at a moment and a height means. */
function pickAt(plot: CoursePlot, props: CourseProps, ms: number, ns: number): void {
  const at = binAt(plot.grid, ms);
  if (at === -1) return;
  const reach = Math.ceil(20 / Math.max(0.5, plot.binWidth()));
  const found = nearest(plot.grid, at, reach, (track, i) => {
    const values = [track.p50[i], track.top[i], track.max[i]];
    const away = values.map((value = Number.NaN) => plot.apart(value, ns));
    return Math.min(...away.filter((px) => !Number.isNaN(px)), 1e6);
  });
  if (found?.bin.slowest != null) props.pick(found.bin.slowest);
}

interface FiguresProps {
  readonly grid: Grid;
  readonly lanes: readonly CourseLane[];
  readonly quantity: CourseQuantity;
  readonly at: number;
}

function Figures({ grid, lanes, quantity, at }: FiguresProps) {
  const start = grid.startMs + at * grid.widthMs;
  return (
    <ul class="chart-key">
      <li class="chart-when">
        {at === -1 ? words("newest") : words("at", { at: timeText(start, grid.widthMs) })}
      </li>
      {lanes.map((lane, l) => {
        const track = grid.tracks[l];
        const bin = at === -1 ? track && newest(track) : track?.bins[at];
        return (
          <li key={lane.name} data-lane={lane.name}>
            <Key tone={lane.tone} name={lane.name} />
            <BinFigures lane={lane} bin={bin} quantity={quantity} few={lanes.length <= 3} />
          </li>
        );
      })}
    </ul>
  );
}

interface BinProps {
  readonly lane: CourseLane;
  readonly bin: Bin | undefined;
  readonly quantity: CourseQuantity;
  readonly few: boolean;
}

function BinFigures({ lane, bin, quantity, few }: BinProps) {
  if (bin === undefined) return <span class="quiet">{words("nothing")}</span>;
  const lost = lostIn(bin);
  return (
    <>
      {lane.unstable ? (
        <b class="warn" title={words("lane_unstable")}>
          {words("unstable")}
        </b>
      ) : (
        <b>{durationText(middle(bin, quantity))}</b>
      )}
      {few && quantity === "total" && (
        <span class="quiet">
          {" "}
          {hasP99(bin) && !lane.unstable && `P99 ${durationText(bin.p99_ns)} · `}
          {words("max")} {durationText(bin.max_ns)} · n&nbsp;=&nbsp;{count(bin.n)}
        </span>
      )}
      {lost > 0 && <span class="bad"> ✕ {few ? lostText(bin) : count(lost)}</span>}
    </>
  );
}

function lostText(bin: Bin): string {
  return Object.entries(bin.lost)
    .filter(([, n]) => n > 0)
    .map(([why, n]) => `${count(n)} ${lossName(why)}`)
    .join(", ");
}

function lossName(why: string): string {
  return (why === "lost_in_ros" ? fateName(why) : null) ?? outcome(why);
}

/** A bin in words, for a reader without the picture. */
function binText(
  grid: Grid,
  lanes: readonly CourseLane[],
  quantity: CourseQuantity,
  at: number,
): string {
  const figures = lanes.map((lane, l) => {
    const bin = grid.tracks[l]?.bins[at];
    return `${lane.name}: ${bin === undefined ? words("nothing") : binFigures(lane, bin, quantity)}`;
  });
  const start = timeText(grid.startMs + at * grid.widthMs, grid.widthMs);
  return `${words("at", { at: start })}. ${figures.join("; ")}`;
}

function binFigures(lane: CourseLane, bin: Bin, quantity: CourseQuantity): string {
  const lost = lostIn(bin);
  const whole = quantity === "total";
  return [
    lane.unstable ? words("lane_unstable") : `P50 ${durationText(middle(bin, quantity))}`,
    ...(whole && hasP99(bin) && !lane.unstable ? [`P99 ${durationText(bin.p99_ns)}`] : []),
    ...(whole ? [`${words("max")} ${durationText(bin.max_ns)}`] : []),
    `n ${count(bin.n)}`,
    ...(lost > 0 ? [`${words("lost_row")} ${lostText(bin)}`] : []),
  ].join(", ");
}

function newestText(grid: Grid, lanes: readonly CourseLane[], quantity: CourseQuantity): string {
  const figures = lanes.map((lane, l) => {
    const track = grid.tracks[l];
    const bin = track && newest(track);
    const text = bin === undefined ? words("nothing") : binFigures(lane, bin, quantity);
    return `${lane.name} ${text}`;
  });
  return figures.join("; ");
}
