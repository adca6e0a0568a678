// One message: each leg a row, where it lies in time and how long it is. What two clocks leave open
// is hatched.

import { useId } from "preact/hooks";
import { count, durationText, outcome } from "../format";
import type { MessageView } from "../generated/wire";
import { legName } from "../legs";
import { isClose } from "../room";
import type { Scale } from "../scale";
import { cut, type FallRow, fallRows, fallScale, ownGlass } from "./fall";
import { Hatch } from "./hatch";
import { useWidth } from "./measure";
import { shorten, textWidth } from "./text";
import { tickText } from "./ticks";
import { words } from "./words";

/** On one screen with everything else there is less room. */
const rowHeight = (): number => (isClose.value ? 11.5 : 19);
const barHeight = (): number => (isClose.value ? 9 : 12);
const HEAD = 20;

export interface WaterfallProps {
  readonly message: MessageView;
  readonly withAi: boolean;
  /** What several waterfalls have in common, by `fallScale`; `null`: one of its own. */
  readonly scale: Scale | null;
  /** Which page's figures; without, or without figures of it, those of the first. */
  readonly client?: string | null;
}

interface Columns {
  readonly name: number;
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

/** The chart. */
export function Waterfall({ message, withAi, scale: given, client = null }: WaterfallProps) {
  const [box, width] = useWidth(560);
  const hatch = useId();
  const rows = fallRows(message, withAi, client);
  const scale = given ?? fallScale([message], withAi, client);
  const total = message.total_ns;
  const shown = withAi ? total : null;
  const lengths = [...rows.map(({ length }) => textWidth(length, 11)), textWidth("1.034 s", 11)];
  const name = Math.min(width < 480 ? 92 : 116, width * 0.3);
  const columns: Columns = {
    name,
    from: name + 6,
    to: width - Math.min(Math.max(...lengths) + 10, width * 0.42),
    width,
  };
  const label = words("waterfall", { sequence: count(message.sequence), robot: message.robot_id });
  if (rows.length === 0) {
    return (
      <div class="chart waterfall" ref={box}>
        <p class="chart-empty">{words("no_legs", { outcome: outcome(message.outcome) })}</p>
      </div>
    );
  }
  const x = placer(scale, columns);
  const firstGlass = rows.findIndex(({ glass }) => glass);
  const pipeline = firstGlass === -1 ? rows.length : firstGlass;
  const extra = (shown === null ? 0 : 1) + (firstGlass === -1 ? 0 : 1);
  const height = HEAD + (rows.length + extra) * rowHeight() + 4;
  const top = (i: number): number => {
    // The total stands between the pipeline and the page, and above that the page's name.
    const behind = i >= pipeline;
    return HEAD + (i + (behind ? (shown === null ? 0 : 1) + 1 : 0)) * rowHeight();
  };
  const zero = x(0);
  return (
    <div class="chart waterfall" ref={box} data-trace={message.trace_id}>
      <svg
        width="100%"
        height={height}
        role="img"
        aria-label={`${label}: ${rows.map((row) => `${legName(row.leg)} ${row.length}`).join(", ")}`}
        data-testid="waterfall"
      >
        <Hatch id={hatch} />
        <Axis scale={scale} columns={columns} height={height} />
        {rows.map((row, i) => (
          <Row
            key={`${row.leg} ${i}`}
            row={row}
            top={top(i)}
            scale={scale}
            columns={columns}
            hatch={hatch}
            next={i + 1 < rows.length && i + 1 !== pipeline ? top(i + 1) : null}
          />
        ))}
        {shown !== null && (
          <Total ns={shown} top={HEAD + pipeline * rowHeight()} scale={scale} columns={columns} />
        )}
        {firstGlass !== -1 && (
          <PageName
            message={message}
            client={client}
            top={top(pipeline) - rowHeight()}
            width={width}
            unplaced={rows[firstGlass]?.unplaced === true}
          />
        )}
        {zero !== null && (
          <g class="taken">
            <line
              x1={zero}
              x2={zero}
              y1={HEAD - 3}
              y2={firstGlass === -1 ? height : top(pipeline) - rowHeight()}
            />
          </g>
        )}
      </svg>
    </div>
  );
}

function placer(scale: Scale, { from, to }: Columns): (ns: number) => number | null {
  return (ns) => {
    const share = (ns - scale.from) / (scale.to - scale.from);
    return share < 0 || share > 1 ? null : from + share * (to - from);
  };
}

function Axis({ scale, columns, height }: { scale: Scale; columns: Columns; height: number }) {
  const x = placer(scale, columns);
  let end = Number.NEGATIVE_INFINITY;
  return (
    <g class="grid">
      {scale.marks.map((mark) => {
        const at = x(mark);
        if (at === null) return null;
        const text = mark === 0 ? words("taken_mark") : tickText(mark);
        const half = textWidth(text, 11) / 2;
        const room = at - half > end;
        if (room) end = at + half + 8;
        return (
          <g key={mark}>
            <line x1={at} x2={at} y1={HEAD - 3} y2={height} />
            {room && (
              <text x={Math.max(at, columns.from + half - 6)} y={HEAD - 7} text-anchor="middle">
                {text}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

interface RowProps {
  readonly row: FallRow;
  readonly top: number;
  readonly scale: Scale;
  readonly columns: Columns;
  readonly hatch: string;
  /** Where the next leg's row is. */
  readonly next: number | null;
}

function Row({ row, top, scale, columns, hatch, next }: RowProps) {
  const wide = columns.to - columns.from;
  const bar = cut(scale, row.from, row.to);
  const blur = row.blur && cut(scale, ...row.blur);
  const y = top + (rowHeight() - barHeight()) / 2;
  const middle = top + rowHeight() / 2 + 4;
  const kind = row.negative ? "negative" : `${row.class} shade${row.shade}`;
  const at = (share: number): number => columns.from + share * wide;
  const end = placer(scale, columns)(row.to);
  const early = Math.min(row.from, row.to) < scale.from;
  const late = Math.max(row.from, row.to) > scale.to;
  return (
    <g class={row.glass ? "row glass" : "row"} data-leg={row.leg}>
      <title>{rowTitle(row, scale)}</title>
      <rect class="hit" x="0" y={top} width={columns.width} height={rowHeight()} />
      <text x={columns.name} y={middle} text-anchor="end">
        {shorten(legName(row.leg), 11, columns.name)}
      </text>
      {bar !== null && (row.from !== row.to || blur === null) && (
        <rect
          class={`leg ${kind}`}
          x={at(bar[0])}
          y={y}
          width={Math.max(1.5, (bar[1] - bar[0]) * wide)}
          height={barHeight()}
        />
      )}
      {blur !== null && (
        <g class={`blur ${row.class}`} data-testid="blur">
          <rect
            x={at(blur[0])}
            y={y}
            width={Math.max(2, (blur[1] - blur[0]) * wide)}
            height={barHeight()}
            fill={`url(#${hatch})`}
          />
        </g>
      )}
      {early && (
        <path
          class="beyond"
          d={`M${columns.from + 6} ${y}l-6 ${barHeight() / 2}l6 ${barHeight() / 2}`}
        />
      )}
      {late && (
        <path
          class="beyond"
          d={`M${columns.to - 6} ${y}l6 ${barHeight() / 2}l-6 ${barHeight() / 2}`}
        />
      )}
      {next !== null && end !== null && (
        <line
          class="lead"
          x1={end}
          x2={end}
          y1={y + barHeight()}
          y2={next + (rowHeight() - barHeight()) / 2}
        />
      )}
      <text
        class={row.negative ? "warn" : undefined}
        x={columns.width}
        y={middle}
        text-anchor="end"
      >
        {row.negative ? `⚠ ${row.length}` : row.length}
      </text>
    </g>
  );
}

function rowTitle(row: FallRow, scale: Scale): string {
  const half = row.blur === null ? 0 : (row.blur[1] - row.blur[0]) / 2;
  const early = Math.min(row.from, row.to);
  return [
    `${legName(row.leg)}: ${row.length} (${words(row.class)})`,
    ...(half > 0 ? [words("between_clocks", { half: durationText(half) })] : []),
    ...(row.negative ? [words("negative_leg")] : []),
    ...(row.unplaced ? [words("unplaced")] : []),
    ...(early < scale.from ? [words("started", { early: durationText(scale.from - early) })] : []),
    ...(Math.max(row.from, row.to) > scale.to ? [words("beyond")] : []),
  ].join("; ");
}

function Total(props: { ns: number; top: number; scale: Scale; columns: Columns }) {
  const { ns, top, scale, columns } = props;
  const bar = cut(scale, 0, ns);
  const wide = columns.to - columns.from;
  const middle = top + rowHeight() / 2;
  return (
    <g class="total">
      <text x={columns.name} y={middle + 4} text-anchor="end">
        {shorten(words("total_row"), 11, columns.name)}
      </text>
      {bar !== null && (
        <path
          class="bracket"
          d={`M${columns.from + bar[0] * wide} ${middle - 4}v8m0 -4H${columns.from + bar[1] * wide}m0 -4v8`}
        />
      )}
      <text x={columns.width} y={middle + 4} text-anchor="end">
        {durationText(ns)}
      </text>
    </g>
  );
}

interface PageNameProps {
  readonly message: MessageView;
  readonly client: string | null;
  readonly top: number;
  readonly width: number;
  readonly unplaced: boolean;
}

function PageName({ message, client, top, width, unplaced }: PageNameProps) {
  const view = ownGlass(message, client);
  if (view === undefined) return null;
  const others = message.glass.length - 1;
  const text = [
    words("page", { client: view.client.slice(0, 8) }),
    ...(others > 0 ? [words("more_pages", { n: count(others) })] : []),
    ...(view.paint_ns === null ? [words("not_painted")] : []),
    ...(unplaced ? [words("unplaced")] : []),
  ].join(" · ");
  return (
    <text class="quiet" x="0" y={top + rowHeight() / 2 + 5}>
      {shorten(text, 11, width)}
    </text>
  );
}
