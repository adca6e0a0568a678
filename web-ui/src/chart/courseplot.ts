// The canvas of a course: uPlot with axes, lines and cursor, and what it doesn't know drawn beside:
// bands, largest values, losses, marks and the limit.

import uPlot from "uplot";
import { count } from "../format";
import {
  type CourseLane,
  type CourseQuantity,
  clusters,
  type Grid,
  placeMarks,
  type YAxis,
  yAxis,
} from "./coursedata";
import { bandOf, clipTo, lineOf } from "./coursepaths";
import { shorten, textWidth } from "./text";
import { linearTicks, logTicks, TIME_STEPS, tickText, timeText, timeTicks } from "./ticks";
import { colour, dash, type Paint, paintOf } from "./tones";
import { words } from "./words";

/** With more lanes than these: no bands, and one row for the losses of all. */
const FEW = 3;
const ROW = 15;
const MARK_ROW = 14;

/** What is drawn. */
export interface CourseInput {
  readonly lanes: readonly CourseLane[];
  readonly widthMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly quantity: CourseQuantity;
  readonly limitNs: number | null;
  readonly marks: readonly { readonly atMs: number; readonly text: string }[];
}

/** What the pointer does. */
export interface CourseEvents {
  readonly move: (ms: number | null) => void;
  readonly click: (ms: number, ns: number) => void;
}

/** A chart in an element, until `destroy`. */
export class CoursePlot {
  readonly grid: Grid;
  private plot: uPlot | null = null;
  private input: CourseInput | null = null;
  private axis: YAxis | null = null;
  private shape = "";
  private paint: Paint;
  private readonly host: HTMLElement;
  private readonly events: CourseEvents;

  constructor(host: HTMLElement, grid: Grid, events: CourseEvents) {
    this.host = host;
    this.grid = grid;
    this.events = events;
    this.paint = paintOf(host);
  }

  /** Shows the grid as it is now filled. Only another set of lanes makes another chart. */
  update(input: CourseInput): void {
    const quantityChanged = this.input?.quantity !== input.quantity;
    this.input = input;
    this.axis = yAxis(this.grid, input.limitNs, quantityChanged ? null : this.axis);
    const shape = input.lanes.map(({ tone }) => tone).join(" ");
    if (this.plot === null || shape !== this.shape) {
      this.plot?.destroy();
      this.shape = shape;
      this.plot = new uPlot(this.options(input.lanes), this.data(), this.host);
      this.listen(this.plot.over);
    } else {
      this.plot.setData(this.data());
    }
  }

  /** Takes the host's size. */
  resize(): void {
    const { width, height } = this.size();
    const plot = this.plot;
    if (plot === null || (plot.width === width && plot.height === height)) return;
    plot.setSize({ width, height });
  }

  /** Reads the colours anew. */
  repaint(): void {
    this.paint = paintOf(this.host);
    this.plot?.redraw(false);
  }

  /** Draws anew, as when the language changed. */
  redraw(): void {
    this.plot?.redraw(false);
  }

  /** Puts the cursor where another chart, or a key, has it. */
  follow(ms: number | null): void {
    const plot = this.plot;
    if (plot === null) return;
    const out =
      ms === null || ms < (plot.scales["x"]?.min ?? 0) || ms > (plot.scales["x"]?.max ?? 0);
    plot.setCursor({ left: out ? -10 : plot.valToPos(ms, "x"), top: out ? -10 : 0 });
  }

  /** A length on the axis of durations in px of the page: how far two values look apart. */
  apart(a: number, b: number): number {
    const plot = this.plot;
    if (plot === null) return Number.POSITIVE_INFINITY;
    return Math.abs(plot.valToPos(a, "y") - plot.valToPos(b, "y"));
  }

  /** How many px of the page a bin has. */
  binWidth(): number {
    const plot = this.plot;
    if (plot === null) return 1;
    return plot.valToPos(this.grid.widthMs, "x") - plot.valToPos(0, "x");
  }

  destroy(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  private size(): { width: number; height: number } {
    return {
      width: Math.max(120, this.host.clientWidth),
      height: Math.max(90, this.host.clientHeight),
    };
  }

  private data(): uPlot.AlignedData {
    return [this.grid.x, ...this.grid.tracks.map((track) => track.p50)];
  }

  private lossRows(): number {
    const lanes = this.input?.lanes.length ?? 0;
    return lanes <= FEW ? Math.max(1, lanes) : 1;
  }

  private markRows(): number {
    const marks = this.input?.marks.length ?? 0;
    return marks === 0 ? 0 : marks === 1 ? 1 : 2;
  }

  /** The pointer's own events: uPlot tells of a cursor that it has moved itself, too. */
  private listen(over: HTMLElement): void {
    const at = (event: MouseEvent): [number, number] => {
      const { left, top } = over.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    over.addEventListener("mousemove", (event) => {
      const ms = this.plot?.posToVal(at(event)[0], "x");
      if (ms !== undefined) this.events.move(ms);
    });
    over.addEventListener("mouseleave", () => this.events.move(null));
    over.addEventListener("click", (event) => {
      const plot = this.plot;
      if (plot === null) return;
      const [left, top] = at(event);
      this.events.click(plot.posToVal(left, "x"), plot.posToVal(top, "y"));
    });
  }

  private options(lanes: readonly CourseLane[]): uPlot.Options {
    const font = `11px ${this.paint.font}`;
    const quiet = (): string => this.paint.quiet;
    const line = (): string => this.paint.line;
    const ticks = { show: true, stroke: line, size: 4, width: 1 };
    return {
      ...this.size(),
      padding: [() => this.markRows() * MARK_ROW + 6, 22, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false, setScale: false },
        dataIdx: (plot, series, i) =>
          series > 0 && Number.isNaN(plot.data[series]?.[i] ?? Number.NaN)
            ? (null as unknown as number)
            : i,
        points: {
          size: 7,
          width: 2,
          stroke: (_, i) => this.tone(lanes[i - 1]),
          fill: () => this.paint.panel,
        },
      },
      scales: {
        x: { time: false, range: () => [this.input?.fromMs ?? 0, this.input?.toMs ?? 1] },
        // One scale that is linear or of logarithms as the figures need it.
        y: {
          distr: 100,
          fwd: (value) => (this.axis?.kind === "log" ? Math.log10(Math.max(value, 1e-3)) : value),
          bwd: (value) => (this.axis?.kind === "log" ? 10 ** value : value),
          range: () => [this.axis?.from ?? 0, this.axis?.to ?? 1],
        },
      },
      axes: [
        // Room for the losses, between the plot and the axis of time.
        {
          scale: "x",
          side: 2,
          size: () => this.lossRows() * ROW + 3,
          splits: () => [],
          values: () => [],
          grid: { show: false },
          ticks: { show: false },
        },
        {
          scale: "x",
          side: 2,
          size: 26,
          font,
          stroke: quiet,
          grid: { stroke: line, width: 1 },
          ticks,
          incrs: [...TIME_STEPS],
          splits: (plot, _, from, to) => timeTicks(from, to, plot.bbox.width / uPlot.pxRatio / 70),
          values: (_, splits) => splits.map((at) => timeText(at, stepOf(splits))),
        },
        {
          scale: "y",
          side: 3,
          size: 58,
          gap: 4,
          font,
          stroke: quiet,
          grid: { stroke: line, width: 1 },
          ticks,
          splits: (plot, _, from, to) => {
            const most = plot.bbox.height / uPlot.pxRatio / 34;
            return this.axis?.kind === "log"
              ? logTicks(from, to, most)
              : linearTicks(from, to, most);
          },
          // uPlot's own filter keeps powers of ten only.
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map(tickText),
        },
      ],
      series: [
        {},
        ...lanes.map(
          (lane): uPlot.Series => ({
            scale: "y",
            auto: false,
            width: lanes.length <= FEW ? 2 : 1.5,
            stroke: () => this.tone(lane),
            dash: [...dash(lane.tone)],
            paths: lineOf,
            points: { show: false },
          }),
        ),
      ],
      hooks: {
        drawAxes: [(plot) => this.drawBelow(plot)],
        draw: [(plot) => this.drawAbove(plot)],
      },
    };
  }

  private tone(lane: CourseLane | undefined): string {
    return this.paint.tones[colour(lane?.tone ?? 0)] ?? this.paint.text;
  }

  private drawBelow(plot: uPlot): void {
    const { ctx } = plot;
    const lanes = this.input?.lanes ?? [];
    ctx.save();
    clipTo(plot);
    if (lanes.length <= FEW) {
      lanes.forEach((lane, l) => {
        const track = this.grid.tracks[l];
        if (track === undefined) return;
        ctx.fillStyle = this.tone(lane);
        ctx.globalAlpha = 0.16;
        ctx.fill(bandOf(plot, track));
      });
    }
    ctx.restore();
    if (this.axis?.kind === "near") this.drawBreak(plot);
    this.drawLimit(plot);
  }

  /** The sign of an axis that doesn't begin at zero. */
  private drawBreak({ ctx, bbox }: uPlot): void {
    const px = uPlot.pxRatio;
    ctx.save();
    ctx.strokeStyle = this.paint.quiet;
    ctx.lineWidth = 1.5 * px;
    ctx.beginPath();
    const bottom = bbox.top + bbox.height;
    [0, -3, 3, -3, 3, 0].forEach((aside, i) => {
      ctx.lineTo(bbox.left + aside * px, bottom - (2 + i * 3) * px);
    });
    ctx.stroke();
    ctx.restore();
  }

  private drawLimit(plot: uPlot): void {
    const limit = this.input?.limitNs ?? null;
    if (limit === null || this.axis?.limitBeyond === true) return;
    const { ctx, bbox } = plot;
    const px = uPlot.pxRatio;
    const y = Math.round(plot.valToPos(limit, "y", true));
    ctx.save();
    ctx.strokeStyle = this.paint.warn;
    ctx.lineWidth = 1.5 * px;
    ctx.setLineDash([8 * px, 4 * px]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }

  /** Over everything else, on a rim of the ground: its place is where lines are, too. */
  private nameLimit(plot: uPlot): void {
    const limit = this.input?.limitNs ?? null;
    if (limit === null) return;
    const { ctx, bbox } = plot;
    const px = uPlot.pxRatio;
    const beyond = this.axis?.limitBeyond === true;
    const y = beyond ? bbox.top : Math.round(plot.valToPos(limit, "y", true));
    const above = !beyond && y - 16 * px > bbox.top;
    const text = `${beyond ? "↑ " : ""}${words("limit", { limit: tickText(limit) })}`;
    ctx.save();
    this.write(ctx, 11, this.paint.warn);
    ctx.textAlign = "right";
    ctx.textBaseline = above ? "bottom" : "top";
    ctx.strokeStyle = this.paint.panel;
    ctx.lineWidth = 4 * px;
    ctx.lineJoin = "round";
    const [right, at] = [bbox.left + bbox.width - 4 * px, y + (above ? -3 : 3) * px];
    ctx.strokeText(text, right, at);
    ctx.fillText(text, right, at);
    ctx.restore();
  }

  private drawAbove(plot: uPlot): void {
    const lanes = this.input?.lanes ?? [];
    if (lanes.length <= FEW) this.drawLargest(plot, lanes);
    this.nameLimit(plot);
    this.drawLosses(plot, lanes);
    this.drawMarks(plot);
  }

  private drawLargest(plot: uPlot, lanes: readonly CourseLane[]): void {
    const { ctx } = plot;
    const size = Math.min(3, Math.max(1.6, this.binWidth() / 3)) * uPlot.pxRatio;
    ctx.save();
    clipTo(plot);
    ctx.globalAlpha = 0.75;
    lanes.forEach((lane, l) => {
      const track = this.grid.tracks[l];
      if (track === undefined) return;
      ctx.fillStyle = this.tone(lane);
      for (let i = 0; i < track.max.length; i += 1) {
        const value = track.max[i] ?? Number.NaN;
        if (Number.isNaN(value)) continue;
        const x = plot.valToPos(this.grid.x[i] ?? 0, "x", true);
        const y = plot.valToPos(value, "y", true);
        ctx.fillRect(x - size / 2, y - size / 2, size, size);
      }
    });
    ctx.restore();
  }

  /** A row of signs under the plot: ✕ where messages were lost, with how many. */
  private drawLosses(plot: uPlot, lanes: readonly CourseLane[]): void {
    const { ctx, bbox } = plot;
    const px = uPlot.pxRatio;
    const apart = Math.max(1, Math.ceil(26 / Math.max(this.binWidth(), 0.1)));
    ctx.save();
    for (let row = 0; row < this.lossRows(); row += 1) {
      const own = lanes.length <= FEW ? lanes[row] : undefined;
      const lost = own === undefined ? this.lostByAll() : this.grid.tracks[row]?.lost;
      const y = bbox.top + bbox.height + (row * ROW + ROW / 2 + 2) * px;
      this.write(ctx, 10, this.paint.quiet);
      ctx.textBaseline = "middle";
      ctx.textAlign = "right";
      ctx.fillText(words("lost_row"), bbox.left - 8 * px, y);
      ctx.strokeStyle = own === undefined ? this.paint.line : this.tone(own);
      ctx.globalAlpha = 0.35;
      ctx.lineWidth = px;
      ctx.setLineDash((own === undefined ? [] : dash(own.tone)).map((d) => d * px));
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
      ctx.beginPath();
      ctx.rect(bbox.left - 4 * px, y - ROW * px, bbox.width + 24 * px, 2 * ROW * px);
      ctx.save();
      ctx.clip();
      for (const cluster of lost === undefined ? [] : clusters(lost, apart)) {
        this.drawLoss(plot, cluster.from, cluster.to, cluster.lost, y);
      }
      ctx.restore();
    }
    ctx.restore();
  }

  private drawLoss(plot: uPlot, from: number, to: number, lost: number, y: number): void {
    const { ctx } = plot;
    const px = uPlot.pxRatio;
    const half = this.grid.widthMs / 2;
    const left = plot.valToPos((this.grid.x[from] ?? 0) - half, "x", true);
    const right = plot.valToPos((this.grid.x[to] ?? 0) + half, "x", true);
    const text = count(lost);
    this.write(ctx, 10, this.paint.bad);
    ctx.font = `bold ${ctx.font}`;
    const width = (11 + textWidth(text, 10)) * px;
    // The whole stretch in which it happened, and the sign in its middle on clear ground.
    ctx.fillStyle = this.paint.bad;
    ctx.globalAlpha = 0.22;
    ctx.fillRect(left, y - 6 * px, Math.max(right - left, 2 * px), 12 * px);
    ctx.globalAlpha = 1;
    const start = (left + right) / 2 - width / 2;
    ctx.strokeStyle = this.paint.bad;
    ctx.lineWidth = 2 * px;
    const [x, s] = [start + 4 * px, 3 * px];
    ctx.beginPath();
    ctx.moveTo(x - s, y - s);
    ctx.lineTo(x + s, y + s);
    ctx.moveTo(x + s, y - s);
    ctx.lineTo(x - s, y + s);
    ctx.stroke();
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillText(text, start + 10 * px, y + px / 2);
  }

  private lostByAll(): Float64Array {
    const sum = new Float64Array(this.grid.x.length);
    for (const { lost } of this.grid.tracks) {
      for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] ?? 0) + (lost[i] ?? 0);
    }
    return sum;
  }

  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const px = uPlot.pxRatio;
    const { marks, fromMs, toMs } = this.input ?? { marks: [], fromMs: 0, toMs: 0 };
    const shown = marks
      .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
      .map(({ atMs, text }) => {
        const short = shorten(text, 11, 140);
        return { x: plot.valToPos(atMs, "x"), text: short, width: textWidth(short, 11) };
      });
    ctx.save();
    this.write(ctx, 11, this.paint.text);
    ctx.textBaseline = "middle";
    ctx.strokeStyle = this.paint.text;
    ctx.lineWidth = px;
    for (const { x, row, text, before } of placeMarks(shown, this.markRows(), bbox.width / px)) {
      const at = Math.round(bbox.left + x * px) + 0.5;
      const top = bbox.top - (this.markRows() - row) * MARK_ROW * px;
      ctx.globalAlpha = 0.7;
      ctx.setLineDash([2 * px, 3 * px]);
      ctx.beginPath();
      ctx.moveTo(at, top + 2 * px);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
      ctx.textAlign = before ? "right" : "left";
      ctx.fillText(text, at + (before ? -4 : 4) * px, top + (MARK_ROW / 2) * px);
    }
    ctx.restore();
  }

  private write(ctx: CanvasRenderingContext2D, size: number, style: string): void {
    ctx.font = `${size * uPlot.pxRatio}px ${this.paint.font}`;
    ctx.fillStyle = style;
  }
}

function stepOf(splits: readonly number[]): number {
  return (splits[1] ?? 1000) - (splits[0] ?? 0);
}
