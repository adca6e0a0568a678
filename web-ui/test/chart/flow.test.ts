import { expect, test } from "vitest";
import { glassStages, LEAST, ledgerStages, lostOf, thickness } from "../../src/chart/flowlayout";
import { branchPath, exits, place, stretches } from "../../src/chart/flowplace";
import type { Ledger } from "../../src/generated/wire";
import { LEDGER } from "../snapshot";

const MANY: Ledger = {
  ...LEDGER,
  published: 1_000_000,
  lost_before_discovery: 3,
  lost_in_ros: 40_000,
  dds_lost: 5,
  queue_dropped: 1,
  undecodable: 1,
  ai_failed: { timed_out: 7, refused: 2 },
  web_failed: { broken: 1 },
  abandoned: 1,
  in_flight: 4,
  outcome_unknown: 2,
  delivered: 959_978,
};

test("each stage is the next one and all that leaves between", () => {
  const stages = ledgerStages(MANY);
  expect(stages.map(({ id }) => id)).toEqual([
    "published",
    "taken",
    "to_ai",
    "to_web",
    "delivered",
  ]);
  expect(stages[0]?.count).toBe(MANY.published);
  stages.forEach((stage, i) => {
    const next = stages[i + 1];
    if (next === undefined) return;
    const left = stage.leaving.reduce((sum, { count }) => sum + count, 0);
    expect(stage.count).toBe(next.count + left);
  });
  expect(stages.at(-1)?.count).toBe(MANY.delivered);
  expect(stages[2]?.leaving).toEqual([
    { id: "ai_failed", count: 9, kind: "lost", reasons: { timed_out: 7, refused: 2 } },
  ]);
});

test("every named fate of a ledger that adds up is in the flow", () => {
  expect(ledgerStages(LEDGER)[0]?.count).toBe(LEDGER.published);
  // In flight isn't lost, nor by the link what came before discovery.
  expect(lostOf(ledgerStages(LEDGER))).toBe(3);
  expect(lostOf(ledgerStages(MANY))).toBe(40_015);
});

test("a ledger that doesn't add up shows by another sum", () => {
  expect(ledgerStages({ ...LEDGER, delivered: 6 })[0]?.count).not.toBe(LEDGER.published);
});

test("nothing that happened is invisible, and thicknesses add up", () => {
  const stages = ledgerStages(MANY);
  const { stages: thick, branches } = thickness(stages, 50);
  for (const own of branches) for (const t of own) expect(t).toBeGreaterThanOrEqual(LEAST);
  thick.forEach((t, i) => {
    if (i + 1 === thick.length) return;
    const left = (branches[i] ?? []).reduce((sum, b) => sum + b, 0);
    expect(t).toBeCloseTo((thick[i + 1] ?? 0) + left, 9);
  });
  // 4 % of all is 4 % of the thickness.
  expect(branches[0]?.[1]).toBeCloseTo(2, 9);
  expect(thick.at(-1)).toBeCloseTo(48, 1);
});

test("without messages nothing is drawn", () => {
  const none = ledgerStages({ ...MANY, ...zero() });
  expect(thickness(none, 50).stages).toEqual([0, 0, 0, 0, 0]);
});

function zero(): Partial<Ledger> {
  return {
    lost_before_discovery: 0,
    lost_in_ros: 0,
    outcome_unknown: 0,
    queue_dropped: 0,
    undecodable: 0,
    ai_failed: {},
    web_failed: {},
    abandoned: 0,
    delivered: 0,
    in_flight: 0,
  };
}

test("what no page got isn't lost", () => {
  const stages = glassStages({ delivered: 10, received: 8, painted: 3 });
  expect(stages.map(({ count }) => count)).toEqual([10, 8, 3]);
  expect(stages.map(({ leaving }) => leaving[0]?.count)).toEqual([2, 5, undefined]);
  expect(lostOf(stages)).toBe(0);
});

test("branches turn away one after the other, the outermost first", () => {
  const stages = ledgerStages(MANY);
  const thick = thickness(stages, 50);
  const out = thick.branches.map(exits);
  const placed = place(
    stages,
    thick,
    [0, 300, 500, 700, 900],
    (i, b) => out[i]?.[b] ?? 0,
    () => 100,
  );
  const first = placed[0];
  expect(first?.on).toBe(placed[1]?.thick);
  let edge = first?.thick ?? 0;
  for (const { offset, thick: t } of first?.branches ?? []) {
    expect(offset + t).toBeCloseTo(edge, 9);
    edge = offset;
  }
  expect(edge).toBeCloseTo(first?.on ?? 0, 9);
  const turns = first?.branches.map(({ exit }) => exit) ?? [];
  expect([...turns].sort((a, b) => a - b)).toEqual(turns);
  for (const branch of first?.branches ?? []) {
    expect(branchPath(branch, false)).not.toContain("NaN");
    expect(branchPath(branch, true)).not.toBe(branchPath(branch, false));
  }
});

test("a flow to the right needs room for its texts", () => {
  expect(stretches([100, 50], 200)).toEqual([125, 75]);
  expect(stretches([100, 50], 149)).toBeNull();
});
