// The parts that need neither pipeline nor browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ackOf, differences, faults, traceIdOf, traceOf, unreconciled } from "../accounts.mjs";
import { insteadOf } from "../browser.mjs";
import { laneWords } from "../pipeline.mjs";
import {
  againstNoise,
  generator,
  median,
  noiseOf,
  pairedShift,
  quantile,
  shuffled,
  slope,
} from "../statistics.mjs";
import { compared, judgePage } from "../verdict.mjs";

test("quantiles are nearest rank", () => {
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2);
  assert.equal(quantile([4, 1, 3, 2], 0.99), 4);
  assert.equal(quantile([], 0.5), undefined);
  assert.equal(median([4, 1, 3, 2]), 2.5);
});

test("a paired shift has the interval of the published tables", () => {
  // n = 6: only W ≤ 0 has less than 2.5 %, so the interval is that of the extremes.
  const shift = pairedShift([1, 2, 3, 4, 5, 6]);
  assert.deepEqual(shift, { estimate: 3.5, low: 1, high: 6 });
  assert.equal(pairedShift([1, 2, 3, 4, 5]).low, null);
  // n = 8: W ≤ 3 (Wilcoxon's table), so the 4th smallest and largest of the 36 Walsh averages.
  const eight = pairedShift([1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([eight.low, eight.high], [2, 7]);
  assert.equal(pairedShift([]).estimate, null);
});

test("a difference is less than the noise only with its whole interval", () => {
  const of = (low, high) => againstNoise({ low, high }, 10);
  assert.equal(of(-5, 5), "less");
  assert.equal(of(-5, 11), "not resolved");
  assert.equal(of(10, 30), "more");
  assert.equal(of(-30, -10), "more");
  assert.equal(of(null, null), "too few blocks");
  assert.ok(Math.abs(noiseOf([3, -3, 3, -3]) - 5.88) < 1e-9);
});

test("a slope has its interval", () => {
  const flat = slope([0, 1, 2, 3, 4, 5].map((x) => [x, 7 + (x % 2)]));
  assert.ok(flat.low < 0 && flat.high > 0);
  const grows = slope([0, 1, 2, 3, 4, 5].map((x) => [x, 100 + 3 * x]));
  assert.ok(Math.abs(grows.estimate - 3) < 1e-9 && grows.high - grows.low < 1e-6);
  assert.equal(
    slope([
      [0, 1],
      [1, 2],
    ]),
    null,
  );
});

test("the same seed draws the same order, and each item once", () => {
  const order = (seed) => shuffled([1, 2, 3, 4, 5, 6, 7, 8], generator(seed));
  assert.deepEqual(order(3), order(3));
  assert.notDeepEqual(order(3), order(4));
  assert.deepEqual(order(3).toSorted(), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("delivered messages are read from records", () => {
  const line = (outcome, stamps) =>
    JSON.stringify({ source: "g", number: 1, kind: "trace", outcome, stamps });
  const gateway = { taken: "9007199254740993", web_acked: "9007199254740999" };
  const stamps = { robot: { published: "1" }, gateway };
  assert.deepEqual(traceOf(line("delivered", stamps)), { taken: 9007199254740992, total: 6 });
  assert.equal(traceOf(line("ai timed_out", stamps)), null);
  assert.equal(traceOf(line("delivered", { gateway: { taken: "1" } })), null);
  assert.equal(traceOf('{"source":"g","number":2,"kind":"census"}'), null);
  assert.equal(traceOf(""), null);
});

test("a page's counts must lie between the collector's", () => {
  const lane = (published, delivered) => ({ l: { published, delivered } });
  const page = (published, delivered) => [{ name: "l", ledger: { published, delivered } }];
  assert.deepEqual(differences(page(11, 10), lane(10, 9), lane(12, 12)), []);
  assert.equal(differences(page(13, 10), lane(10, 9), lane(12, 12)).length, 1);
  assert.equal(differences(page(11, 8), lane(10, 9), lane(12, 12)).length, 1);
  assert.match(differences([], lane(1, 1), lane(1, 1))[0], /lanes/);
});

test("a report's accounts must add up", () => {
  const report = (reconciles, waiting) => ({
    lanes: [{ name: "l", ledger: { reconciles, notes: ["n"] } }],
    clients: [{ client: "c", offered: 3, frames_sent: 1, frames_dropped: 1, waiting }],
  });
  assert.deepEqual(faults(report(true, 1)), []);
  assert.equal(faults(report(false, 2)).length, 2);
  assert.deepEqual(unreconciled({ l: { reconciles: false, notes: ["n"] } }), ["l: n"]);
});

test("a page is judged by time, memory and truth", () => {
  const looks = [1, 2, 3, 4].map((at) => ({ at, busy: 0.1, heap: 1000 }));
  const judge = (slope, wrong = [], busy = 0.1) =>
    judgePage({ looks: looks.map((one) => ({ ...one, busy })), slope, wrong }, 60);
  assert.equal(judge({ low: -0.01, high: 0.01 }).code, 0);
  assert.equal(judge({ low: -0.01, high: 1 }).code, 3);
  assert.equal(judge({ low: 0.5, high: 1 }).memory, "grows");
  assert.equal(judge({ low: -0.01, high: 0.01 }, ["wrong"]).code, 1);
  assert.equal(judge({ low: -0.01, high: 0.01 }, [], 0.3).code, 1);
});

test("pages are compared within blocks", () => {
  const cells = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((block) => {
    // Blocks differ by far more than conditions do.
    const base = 1000 * (block + 1);
    const noise = block % 2 === 0 ? 8 : -8;
    return [
      { block, name: "0", p50_us: base },
      { block, name: "control", p50_us: base + noise },
      { block, name: "1", p50_us: base + 1 },
      { block, name: "20", p50_us: base + 500 + noise },
    ];
  });
  const { rows, code } = compared(cells, ["1", "20"]);
  assert.deepEqual(
    rows.map((row) => row.verdict),
    ["less", "more"],
  );
  assert.equal(code, 1);
});

test("lanes beyond two have topics of their own", () => {
  assert.equal(laneWords(2).filter((word) => word.includes("topic=")).length, 0);
  const topics = laneWords(15)
    .map((word) => word.match(/topic=(\S+)/)?.[1])
    .filter(Boolean);
  assert.equal(new Set(topics).size, 15);
});

test("a page without a browser knows messages, and acknowledges them as a page does", () => {
  const id = "0123456789abcdef0123456789abcdef";
  assert.equal(traceIdOf(`{"type":"message","trace_id":"${id}","body":{`), id);
  assert.equal(traceIdOf('{"type":"hello","version":2}'), null);
  const ack = JSON.parse(ackOf([{ trace_id: id, received_ns: "1" }], "2"));
  const items = [{ trace_id: id, received_ns: "1", painted_ns: "2" }];
  assert.deepEqual(ack, { type: "ack", sent_ns: "2", resolution_ns: 100_000, items });
});

test("a page that is built takes the place of the one in the programs", () => {
  const built = new Map([
    ["index-new.js", "js"],
    ["index-new.css", "css"],
    ["png-same.js", "png"],
  ]);
  assert.equal(insteadOf(built, "/assets/index-old.js").body, "js");
  assert.equal(insteadOf(built, "/assets/index-old.css").contentType, "text/css");
  assert.equal(insteadOf(built, "/assets/png-same.js").body, "png");
  assert.equal(insteadOf(built, "/assets/index-old.woff"), null);
});
