import { expect, test } from "vitest";
import { asCsv, asJson } from "../src/exported";
import { merge } from "../src/figures";
import { LANE, PARTS, snapshot } from "./snapshot";

const figures = merge(null, snapshot());

test("CSV has each figure in a line, with what it is of", () => {
  const lines = asCsv(figures).split("\r\n");
  expect(lines[0]).toBe("run,window,robot,elapsed_ms,lane,kind,name,figure,value");
  expect(lines).toContain("r,1min,,1000,a,class,ai,p99_ns,6");
  expect(lines).toContain("r,1min,,1000,a,class,ai,p95_ci_ns_lo,5");
  expect(lines).toContain("r,1min,,1000,a,class,ai,p95_ci_ns_hi,");
  expect(lines).toContain("r,1min,,1000,a,ledger,,ai_failed_timed_out,2");
  expect(lines).toContain("r,1min,,1000,a,ledger,,reconciles,true");
  expect(lines).toContain("r,1min,,1000,a,stability,,utilisation_ci,");
  expect(lines.at(-1)).toBe("");
});

test("names are no formulas, and break no line", () => {
  const odd = { ...LANE, name: '=cmd|"x",\n1', qos: "-1" };
  const csv = asCsv(merge(null, snapshot({ parts: [{ kind: "lane", lane: odd }] })));
  expect(csv).toContain(`"'=cmd|""x"",\n1",lane,,qos,'-1\r\n`);
});

test("JSON has all parts", () => {
  const shown = JSON.parse(asJson(figures));
  expect(shown).toMatchObject({ schema: "hopwatch.shown/1", runId: "r", lanes: [LANE] });
  expect(shown.courses[0].bins).toHaveLength(2);
  for (const { kind } of PARTS) {
    if (kind !== "lane" && kind !== "course") expect(shown[kind]).toBeTruthy();
  }
});
