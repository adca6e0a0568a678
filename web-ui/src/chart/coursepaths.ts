// The shapes of a course on uPlot's canvas.

import type uPlot from "uplot";
import type { Track } from "./coursedata";

/** Nothing is drawn beside the plot. */
export function clipTo({ ctx, bbox }: uPlot): void {
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}

/** A line that ends where values are missing; one alone between gaps is as wide as its bin. */
export function lineOf(plot: uPlot, series: number, from: number, to: number): uPlot.Series.Paths {
  const stroke = new Path2D();
  const x = plot.data[0];
  const y = plot.data[series] ?? [];
  const half =
    Math.abs(plot.valToPos(x[1] ?? 0, "x", true) - plot.valToPos(x[0] ?? 0, "x", true)) / 2;
  const has = (i: number): boolean => i >= 0 && i < x.length && !Number.isNaN(y[i] ?? Number.NaN);
  for (let i = from; i <= to; i += 1) {
    if (!has(i)) continue;
    const atX = plot.valToPos(x[i] ?? 0, "x", true);
    const atY = plot.valToPos(y[i] ?? 0, "y", true);
    if (has(i - 1) && i > from) {
      stroke.lineTo(atX, atY);
    } else if (has(i + 1)) {
      stroke.moveTo(atX, atY);
    } else {
      stroke.moveTo(atX - Math.max(half, 1), atY);
      stroke.lineTo(atX + Math.max(half, 1), atY);
    }
  }
  return { stroke, fill: null, clip: null, flags: 1 } as unknown as uPlot.Series.Paths;
}

/** From P50 up to the top, for each stretch without a gap. */
export function bandOf(plot: uPlot, { p50, top }: Track): Path2D {
  const path = new Path2D();
  const x = plot.data[0];
  const half =
    Math.abs(plot.valToPos(x[1] ?? 0, "x", true) - plot.valToPos(x[0] ?? 0, "x", true)) / 2;
  const missing = (i: number): boolean =>
    Number.isNaN(p50[i] ?? Number.NaN) || Number.isNaN(top[i] ?? Number.NaN);
  const at = (i: number, values: Float64Array): [number, number] => [
    plot.valToPos(x[i] ?? 0, "x", true),
    plot.valToPos(values[i] ?? 0, "y", true),
  ];
  for (let i = 0; i < p50.length; i += 1) {
    if (missing(i)) continue;
    let end = i;
    while (end + 1 < p50.length && !missing(end + 1)) end += 1;
    if (end === i) {
      const [[left, low], [, high]] = [at(i, p50), at(i, top)];
      path.rect(left - half, high, 2 * half, low - high);
    } else {
      path.moveTo(...at(i, p50));
      for (let k = i + 1; k <= end; k += 1) path.lineTo(...at(k, p50));
      for (let k = end; k >= i; k -= 1) path.lineTo(...at(k, top));
      path.closePath();
    }
    i = end;
  }
  return path;
}
