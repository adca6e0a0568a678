// Where the time goes: AI, transport and overhead. Above their means as one bar, which add up;
// below each one's quantiles with their intervals, which don't.

import { durationText, interval } from "../format";
import type { Summary } from "../generated/wire";
import { isClose } from "../room";
import { shareText } from "./ecdf";
import { useWidth } from "./measure";
import { type StackPart, splitDomain, stack, type Whisker, whiskers } from "./splitlayout";
import { textWidth } from "./text";
import { logPlace, logTicks, tickText } from "./ticks";
import { words } from "./words";

const STACK = 26;
/** On one screen with everything else there is less room. */
const rowHeight = (): number => (isClose.value ? 19 : 30);
const HEAD = 18;
const AXIS = 22;
const LINE = 14;
const ROWS = ["ai", "transport", "overhead", "total"] as const;
type ClassId = (typeof ROWS)[number];
type Named = (id: ClassId) => string;

export interface SplitProps {
  /** `ai`, `transport`, `overhead` and `total`. */
  readonly classes: Readonly<Record<string, Summary>>;
  /** The limit of the total. */
  readonly limitNs: number | null;
  /** The AI service doesn't tell its own time: what counts as AI includes transport. */
  readonly aiIncludes: boolean;
}

/** The chart. */
export function Split({ classes, limitNs, aiIncludes }: SplitProps) {
  const named = (id: ClassId): string => words(id === "ai" && aiIncludes ? "ai_includes" : id);
  const [box, width] = useWidth(480);
  const rows = ROWS.map((id) => ({ id, marks: whiskers(classes[id]), of: classes[id] }));
  const parts = stack(classes);
  const domain = splitDomain(
    rows.map(({ marks }) => marks),
    limitNs,
  );
  if (parts.length === 0 || domain === null) {
    return (
      <div class="chart split" ref={box}>
        <p class="chart-empty">{words("no_messages")}</p>
      </div>
    );
  }
  const left = Math.max(...ROWS.map((id) => textWidth(named(id), 11))) + 10;
  const right = width - 14;
  const x = (ns: number): number => left + logPlace(domain, ns) * (right - left);
  const limitShown = limitNs !== null && limitNs <= domain[1];
  // The limit's text has a line of its own: it must not lie over a figure.
  const top = HEAD + STACK + 14 + HEAD + (limitShown ? LINE : 0);
  const title = HEAD + STACK + 14 + HEAD - 6;
  const bottom = top + ROWS.length * rowHeight();
  const mean = parts.reduce((all, part) => all + part.mean, 0);
  return (
    <div class="chart split" ref={box} data-testid="split">
      <svg width="100%" height={bottom + AXIS} role="img" aria-label={spoken(parts, rows, named)}>
        <text class="quiet" x="0" y="12">
          {words("mean_stack")}
        </text>
        <text x={width} y="12" text-anchor="end">
          {durationText(mean)}
        </text>
        <Stack parts={parts} width={width} named={named} />
        <text class="quiet" x="0" y={title}>
          {words("quantiles")}
        </text>
        <Legend right={width} y={title} left={textWidth(words("quantiles"), 11) + 12} />
        <g class="grid">
          {logTicks(domain[0], domain[1], (right - left) / 46).map((tick) => (
            <g key={tick}>
              <line x1={x(tick)} x2={x(tick)} y1={top} y2={bottom + 4} />
              <text x={x(tick)} y={bottom + 16} text-anchor="middle">
                {tickText(tick)}
              </text>
            </g>
          ))}
        </g>
        {limitShown && (
          <Limit x={x(limitNs)} top={top} bottom={bottom} ns={limitNs} width={width} />
        )}
        {rows.map(({ id, marks, of }, i) => (
          <g key={id} class={`quantiles ${id}`} data-class={id}>
            <text x={left - 8} y={top + i * rowHeight() + rowHeight() / 2 + 4} text-anchor="end">
              {named(id)}
            </text>
            {marks.map((mark) => (
              <Mark
                key={mark.id}
                mark={mark}
                n={of?.n ?? 0}
                x={x}
                ends={[left, right]}
                y={top + i * rowHeight() + rowHeight() / 2}
              />
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

interface StackProps {
  readonly parts: readonly StackPart[];
  readonly width: number;
  readonly named: Named;
}

function Stack({ parts, width, named }: StackProps) {
  return (
    <>
      {parts.map(({ id, mean, from, to }) => {
        const share = shareText([to - from, to - from]);
        const wide = Math.max((to - from) * width, mean > 0 ? 1.5 : 0);
        const texts = [
          `${named(id)} ${durationText(mean)} · ${share}`,
          `${named(id)} ${durationText(mean)}`,
          named(id),
        ];
        const text = texts.find((one) => textWidth(one, 11) * 1.2 + 14 < wide);
        return (
          <g key={id} data-class={id}>
            <title>{`${texts[1]}: ${words("of_total", { share })}`}</title>
            <rect
              class={`leg ${id} shade0`}
              x={Math.min(from * width, width - wide)}
              y={HEAD}
              width={wide}
              height={STACK}
            />
            {text !== undefined && (
              <text class={`inside ${id}`} x={from * width + 7} y={HEAD + STACK / 2 + 4}>
                {text}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** Each quantile has its own shape: ● P50, ▲ P95, ■ P99. */
const SHAPES: Readonly<Record<Whisker["id"], string>> = {
  P50: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
  P95: "M0 -5L5 4H-5Z",
  P99: "M-4 -4H4V4H-4Z",
};

function Legend({ right, y, left }: { right: number; y: number; left: number }) {
  const ids = ["P50", "P95", "P99"] as const;
  const step = 44;
  if (right - ids.length * step < left) return null;
  return (
    <g class="legend">
      {ids.map((id, i) => (
        <g key={id} transform={`translate(${right - (ids.length - i) * step + 8} ${y - 4})`}>
          <path d={SHAPES[id]} />
          <text x="8" y="4">
            {id}
          </text>
        </g>
      ))}
    </g>
  );
}

interface MarkProps {
  readonly mark: Whisker;
  readonly n: number;
  readonly x: (ns: number) => number;
  readonly ends: readonly [number, number];
  readonly y: number;
}

function Mark({ mark: { id, ns, lo, hi }, n, x, ends, y }: MarkProps) {
  const up = { P50: -8, P95: 0, P99: 8 }[id];
  const at = y + up;
  const [from, to] = [lo === null ? ends[0] : x(lo), hi === null ? ends[1] : x(hi)];
  const range = interval([lo, hi], n);
  return (
    <g class="mark" data-quantile={id}>
      <title>{`${id} ${durationText(ns)}; ${words("interval", { range })}`}</title>
      <line class={hi === null ? "open" : undefined} x1={x(ns)} x2={to} y1={at} y2={at} />
      <line class={lo === null ? "open" : undefined} x1={from} x2={x(ns)} y1={at} y2={at} />
      {lo !== null && <line x1={from} x2={from} y1={at - 3} y2={at + 3} />}
      {hi !== null && <line x1={to} x2={to} y1={at - 3} y2={at + 3} />}
      {hi === null && <path class="arrow" d={`M${to - 5} ${at - 4}l6 4l-6 4`} />}
      <path class="shape" d={SHAPES[id]} transform={`translate(${x(ns).toFixed(1)} ${at})`} />
    </g>
  );
}

interface LimitProps {
  readonly x: number;
  readonly top: number;
  readonly bottom: number;
  readonly ns: number;
  readonly width: number;
}

function Limit({ x, top, bottom, ns, width }: LimitProps) {
  const text = words("limit", { limit: tickText(ns) });
  const before = x + textWidth(text, 11) + 6 > width;
  return (
    <g class="limit">
      <line x1={x} x2={x} y1={top - LINE} y2={bottom} />
      <text x={x + (before ? -4 : 4)} y={top - 4} text-anchor={before ? "end" : "start"}>
        {text}
      </text>
    </g>
  );
}

interface Row {
  readonly id: (typeof ROWS)[number];
  readonly marks: readonly Whisker[];
  readonly of: Summary | undefined;
}

function spoken(parts: readonly StackPart[], rows: readonly Row[], named: Named): string {
  const means = parts.map(({ id, mean }) => `${named(id)} ${durationText(mean)}`);
  const quantiles = rows.map(({ id, marks, of }) => {
    const figures = marks.map(
      (mark) => `${mark.id} ${durationText(mark.ns)} (${interval([mark.lo, mark.hi], of?.n ?? 0)})`,
    );
    return `${named(id)}: ${figures.join(", ")}`;
  });
  return `${words("split")}. ${words("mean_stack")}: ${means.join(", ")}. ${quantiles.join(". ")}`;
}
