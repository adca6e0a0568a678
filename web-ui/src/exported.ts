// The figures that the page shows, as files: pure.

import type { Figures } from "./figures";
import type { LaneView } from "./generated/wire";

/** All that is shown, in JSON, with what it is of. */
export function asJson(figures: Figures): string {
  const { courses, ...rest } = figures;
  const course = [...courses].map(([lane, { widthMs, bins }]) => ({
    lane,
    width_ms: widthMs,
    bins,
  }));
  return `${JSON.stringify({ schema: "hopwatch.shown/1", ...rest, courses: course }, null, 2)}\n`;
}

const HEAD = ["run", "window", "robot", "elapsed_ms", "lane", "kind", "name", "figure", "value"];

/** Every figure of every lane in a line of its own, in CSV (RFC 4180); times in ns. */
export function asCsv(figures: Figures): string {
  const { runId, watch, elapsedMs } = figures;
  const of = [runId, watch.window, watch.robot ?? "", elapsedMs];
  const rows = figures.lanes.flatMap((lane) =>
    lines(lane).map((line) => [...of, lane.name, ...line]),
  );
  return [HEAD, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

type Line = readonly [kind: string, name: string, figure: string, value: unknown];

function lines(lane: LaneView): Line[] {
  const of = (kind: string, groups: Readonly<Record<string, object>>): Line[] =>
    Object.entries(groups).flatMap(([name, figures]) =>
      Object.entries(figures).flatMap(([figure, value]) => plain(kind, name, figure, value)),
    );
  return [
    ["lane", "", "qos", lane.qos],
    ["lane", "", "transport", lane.transport],
    ...of("class", lane.classes),
    ...of("span", lane.spans),
    ...of("leg", lane.legs),
    ...of("ledger", { "": lane.ledger }),
    ...of("rates", { "": lane.rates }),
    ...of("stability", { "": lane.stability }),
  ];
}

/** A pair is two figures; what has further parts is in the JSON alone. */
function plain(kind: string, name: string, figure: string, value: unknown): Line[] {
  if (Array.isArray(value)) {
    if (value.length !== 2 || !value.every((end) => end === null || typeof end === "number")) {
      return [];
    }
    return [
      [kind, name, `${figure}_lo`, value[0]],
      [kind, name, `${figure}_hi`, value[1]],
    ];
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).map(([part, n]) => [kind, name, `${figure}_${part}`, n]);
  }
  return [[kind, name, figure, value]];
}

/** Nothing is an empty field. A text that a spreadsheet would run as a formula stays a text. */
function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
