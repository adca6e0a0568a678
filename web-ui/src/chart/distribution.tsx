// How long messages took: for each duration the share of the messages within it, or how many took
// about so long. All lanes on one axis of logarithms.

import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { durationText, NOTHING } from "../format";
import { isClose } from "../room";
import { extent, histogram, type Point, shareText, shareWithin } from "./ecdf";
import { Key } from "./key";
import { useWidth } from "./measure";
import { textWidth } from "./text";
import { linearTicks, logAt, logDomain, logPlace, logTicks, tickText } from "./ticks";
import { dash, toneClass } from "./tones";
import { words } from "./words";

/** On one screen with everything else there is less room. */
const height = (): number => (isClose.value ? 139 : 210);
const LEFT = 44;
const RIGHT = 12;
const TOP = 16;
const BOTTOM = 24;
const STEPS = 48;

export interface DistributionLane {
  readonly name: string;
  /** 0 to 14: colour and dash. */
  readonly tone: number;
  /** (share of the messages, at most so long in ns), in order. */
  readonly points: readonly Point[];
}

export interface DistributionProps {
  readonly lanes: readonly DistributionLane[];
  readonly mode: "ecdf" | "histogram";
  readonly limitNs: number | null;
  /** Where the cursor is, in ns; shared with other distributions. */
  readonly cursor: Signal<number | null>;
}

interface Frame {
  readonly domain: readonly [number, number];
  readonly x: (ns: number) => number;
  readonly y: (share: number) => number;
  readonly width: number;
}

/** The chart, with a line above it that reads the lanes at the cursor, or else at the limit. */
export function DistributionChart({ lanes, mode, limitNs, cursor }: DistributionProps) {
  const [box, width] = useWidth(480);
  const clip = useId();
  const found = extent(lanes.map(({ points }) => points));
  if (found === null) {
    return (
      <div class="chart distribution" ref={box}>
        <p class="chart-empty">{words("no_messages")}</p>
      </div>
    );
  }
  const limitShown = limitNs !== null && limitNs < found[1] * 4 && limitNs > found[0] / 4;
  const ends = limitShown
    ? logDomain(Math.min(found[0], limitNs), Math.max(found[1], limitNs))
    : logDomain(...found);
  // A lane without figures has no line: one along zero would say that none of them was so fast.
  const shown = lanes.filter(({ points }) => points.length > 0);
  const bars = shown.map(({ points }) => histogram(points, ends, STEPS));
  const top = mode === "ecdf" ? 1 : Math.max(...bars.flat(), 1e-6) * 1.05;
  const frame: Frame = {
    domain: ends,
    width,
    x: (ns) => LEFT + logPlace(ends, ns) * (width - LEFT - RIGHT),
    y: (share) => TOP + (1 - share / top) * (height() - TOP - BOTTOM),
  };
  const at = cursor.value ?? limitNs;
  const readings = lanes.map(({ name, points }) => {
    if (points.length === 0) return { name, share: NOTHING };
    return { name, share: at === null ? "" : read(points, at) };
  });
  const spoken = at === null ? "" : `${words("within", { ns: durationText(at) })}: `;
  const text = spoken + readings.map(({ name, share }) => `${name} ${share}`).join("; ");
  return (
    <div class="chart distribution" ref={box} data-mode={mode}>
      <ul class="chart-key">
        <li class="chart-when">{at !== null && words("within", { ns: durationText(at) })}</li>
        {lanes.map((lane, l) => (
          <li key={lane.name} data-lane={lane.name}>
            <Key tone={lane.tone} name={lane.name} /> <b>{readings[l]?.share}</b>
          </li>
        ))}
      </ul>
      <div
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={`${words("distribution")}. ${text}`}
        aria-valuemin={Math.round(ends[0])}
        aria-valuemax={Math.round(ends[1])}
        aria-valuenow={Math.round(at ?? ends[0])}
        aria-valuetext={at === null ? words("no_duration") : text}
        data-testid="distribution"
        onPointerMove={(event) => {
          const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
          const share = (left - LEFT) / (width - LEFT - RIGHT);
          cursor.value = share < 0 || share > 1 ? null : logAt(ends, share);
        }}
        onPointerLeave={() => {
          cursor.value = null;
        }}
        onKeyDown={(event) => {
          if (key(event.key, ends, cursor, at)) event.preventDefault();
        }}
      >
        <svg width="100%" height={height()} aria-hidden="true">
          <clipPath id={clip}>
            <rect
              x={LEFT}
              y={TOP - 2}
              width={Math.max(0, width - LEFT - RIGHT)}
              height={height() - TOP - BOTTOM + 4}
            />
          </clipPath>
          <Grid frame={frame} mode={mode} top={top} />
          {limitShown && <Limit frame={frame} ns={limitNs} />}
          <g clip-path={`url(#${clip})`}>
            {mode === "histogram" &&
              shown.length <= 3 &&
              shown.map((lane, l) => (
                <path
                  key={lane.name}
                  class={`area ${toneClass(lane.tone)}`}
                  d={`${outline(bars[l] ?? [], frame)}V${frame.y(0)}H${frame.x(ends[0])}Z`}
                />
              ))}
            {shown.map((lane, l) => (
              <path
                key={lane.name}
                class={`line ${toneClass(lane.tone)}`}
                stroke-dasharray={dash(lane.tone).join(" ")}
                data-lane={lane.name}
                d={mode === "ecdf" ? steps(lane.points, frame) : outline(bars[l] ?? [], frame)}
              />
            ))}
            {mode === "ecdf" &&
              shown.length <= 3 &&
              shown.map((lane) => <Quantiles key={lane.name} lane={lane} frame={frame} />)}
          </g>
          <Cursor frame={frame} lanes={shown} mode={mode} cursor={cursor} />
        </svg>
      </div>
    </div>
  );
}

function read(points: readonly Point[], ns: number): string {
  return shareText(shareWithin(points, ns));
}

function key(
  name: string,
  ends: readonly [number, number],
  cursor: Signal<number | null>,
  at: number | null,
): boolean {
  const share = logPlace(ends, at ?? logAt(ends, 0.5));
  const go = (to: number): boolean => {
    cursor.value = logAt(ends, Math.min(1, Math.max(0, to)));
    return true;
  };
  switch (name) {
    case "ArrowLeft":
    case "ArrowDown":
      return go(share - 0.01);
    case "ArrowRight":
    case "ArrowUp":
      return go(share + 0.01);
    case "PageDown":
      return go(share - 0.1);
    case "PageUp":
      return go(share + 0.1);
    case "Home":
      return go(0);
    case "End":
      return go(1);
    case "Escape":
      cursor.value = null;
      return true;
    default:
      return false;
  }
}

/** The shares as steps: from a point's duration on it is at least the point's share. */
function steps(points: readonly Point[], { x, y, domain }: Frame): string {
  let path = `M${x(domain[0]).toFixed(1)} ${y(0).toFixed(1)}`;
  for (const [share, ns] of points) path += `H${x(ns).toFixed(1)}V${y(share).toFixed(1)}`;
  return `${path}H${x(domain[1]).toFixed(1)}`;
}

function outline(bars: readonly number[], { x, y, domain }: Frame): string {
  const [from, to] = [x(domain[0]), x(domain[1])];
  const wide = (to - from) / bars.length;
  let path = `M${from.toFixed(1)} ${y(0).toFixed(1)}`;
  bars.forEach((share, i) => {
    path += `V${y(share).toFixed(1)}H${(from + (i + 1) * wide).toFixed(1)}`;
  });
  return path;
}

function Grid({ frame, mode, top }: { frame: Frame; mode: "ecdf" | "histogram"; top: number }) {
  const { domain, x, y, width } = frame;
  const shares = mode === "ecdf" ? [0, 0.25, 0.5, 0.75, 1] : linearTicks(0, top, 4);
  const ticks = logTicks(domain[0], domain[1], (width - LEFT - RIGHT) / 48);
  let end = Number.NEGATIVE_INFINITY;
  return (
    <g class="grid">
      {shares.map((share) => (
        <g key={share}>
          <line x1={LEFT} x2={width - RIGHT} y1={y(share)} y2={y(share)} />
          <text x={LEFT - 6} y={y(share) + 3.5} text-anchor="end">
            {`${Number((share * 100).toPrecision(3))}\u00a0%`}
          </text>
        </g>
      ))}
      {ticks.map((tick) => {
        const at = x(tick);
        const half = textWidth(tickText(tick), 11) / 2;
        const room = at - half > end && at + half < width;
        if (room) end = at + half + 6;
        return (
          <g key={tick}>
            <line x1={at} x2={at} y1={TOP} y2={height() - BOTTOM + 4} />
            {room && (
              <text x={at} y={height() - 7} text-anchor="middle">
                {tickText(tick)}
              </text>
            )}
          </g>
        );
      })}
      <text x={LEFT} y={TOP - 6}>
        {words(mode === "ecdf" ? "share_of_messages" : "messages_each")}
      </text>
    </g>
  );
}

function Limit({ frame: { x, width }, ns }: { frame: Frame; ns: number }) {
  const at = x(ns);
  const text = words("limit", { limit: tickText(ns) });
  const left = at + textWidth(text, 11) + 8 > width;
  return (
    <g class="limit">
      <line x1={at} x2={at} y1={TOP} y2={height() - BOTTOM} />
      <text x={at + (left ? -4 : 4)} y={TOP + 10} text-anchor={left ? "end" : "start"}>
        {text}
      </text>
    </g>
  );
}

const QUANTILES: readonly { share: number; name: string; d: string }[] = [
  { share: 0.5, name: "P50", d: "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0" },
  { share: 0.95, name: "P95", d: "M0 -4.5L4.5 3.5H-4.5Z" },
  { share: 0.99, name: "P99", d: "M-3.5 -3.5H3.5V3.5H-3.5Z" },
];

function Quantiles({ lane, frame: { x, y } }: { lane: DistributionLane; frame: Frame }) {
  return (
    <>
      {QUANTILES.map(({ share, name, d }) => {
        const point = lane.points.find(([of]) => of >= share - 1e-9);
        // Only where a point stands for just this quantile.
        if (point === undefined || point[0] > share + 0.006) return null;
        return (
          <path
            key={name}
            class={`sign ${toneClass(lane.tone)}`}
            d={d}
            transform={`translate(${x(point[1]).toFixed(1)} ${y(point[0]).toFixed(1)})`}
          >
            <title>{`${lane.name}: ${name} ${durationText(point[1])}`}</title>
          </path>
        );
      })}
    </>
  );
}

interface CursorProps {
  readonly frame: Frame;
  readonly lanes: readonly DistributionLane[];
  readonly mode: "ecdf" | "histogram";
  readonly cursor: Signal<number | null>;
}

function Cursor({ frame: { x, y, domain }, lanes, mode, cursor }: CursorProps) {
  const ns = cursor.value;
  if (ns === null || ns < domain[0] || ns > domain[1]) return null;
  return (
    <g class="cursor">
      <line x1={x(ns)} x2={x(ns)} y1={TOP} y2={height() - BOTTOM} />
      {mode === "ecdf" &&
        lanes.map(({ name, tone, points }) => (
          <circle
            key={name}
            class={`sign ${toneClass(tone)}`}
            cx={x(ns)}
            cy={y(shareWithin(points, ns)[0])}
            r="3"
          />
        ))}
    </g>
  );
}
