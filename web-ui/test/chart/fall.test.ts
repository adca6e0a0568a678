import { expect, test } from "vitest";
import { cut, fallRows, fallScale, lengthText } from "../../src/chart/fall";
import type { LegView, MessageView } from "../../src/generated/wire";

const leg = (name: LegView["leg"], ns: number, half_ns = 0): LegView => ({
  leg: name,
  class: name.startsWith("ai_i") ? "ai" : "overhead",
  ns,
  half_ns,
});

const MESSAGE: MessageView = {
  trace_id: "00",
  lane: "a",
  robot_id: "robot_001",
  sequence: 1,
  at_ms: 5,
  outcome: "delivered",
  detail: null,
  total_ns: 600,
  legs: [
    leg("ros", 100, 40),
    leg("queue", 100),
    leg("ai_infer", 400),
    leg("web_handle", 60),
    leg("web_reply", 40),
  ],
  glass: [
    { client: "other", push_ns: [5, 5], fanout_ns: 1, paint_ns: null },
    { client: "own", push_ns: [-20, 60], fanout_ns: 30, paint_ns: 50 },
  ],
};

test("a leg's end is hatched as far as two clocks leave it open", () => {
  const rows = fallRows(MESSAGE, true, "own");
  expect(rows[0]).toMatchObject({ leg: "ros", from: -100, to: 0, blur: [-40, 40] });
  expect(rows[1]).toMatchObject({ leg: "queue", from: 0, to: 100, blur: null });
});

test("what is behind at the page begins where the broadcaster had the message", () => {
  const [fanout, push, paint] = fallRows(MESSAGE, true, "own").filter(({ glass }) => glass);
  expect(fanout).toMatchObject({ leg: "fanout", from: 500, to: 530, blur: null, unplaced: false });
  // −20 … 60: surely no longer than nothing, hatched over all that it may be.
  expect(push).toMatchObject({ leg: "push", from: 530, to: 530, blur: [510, 590] });
  expect(paint).toMatchObject({ leg: "paint", from: 550, to: 600, blur: [560, 640] });
  // Without the AI's time all that is behind closes up.
  expect(fallRows(MESSAGE, false, "own").find((r) => r.leg === "fanout")?.from).toBe(100);
});

test("without this page the first one's figures, and what isn't known isn't drawn", () => {
  const rows = fallRows(MESSAGE, true, null).filter(({ glass }) => glass);
  expect(rows.map((row) => row.leg)).toEqual(["fanout", "push"]);
  const bare: MessageView = {
    ...MESSAGE,
    glass: [{ client: "own", push_ns: [1, 9], fanout_ns: null, paint_ns: null }],
  };
  expect(fallRows(bare, true, "own").at(-1)).toMatchObject({ unplaced: true, from: 600 });
  expect(fallRows({ ...MESSAGE, glass: [] }, true, "own")).toHaveLength(5);
});

test("a negative leg is flagged and leads back", () => {
  const message = { ...MESSAGE, legs: [leg("ros", 100), leg("wake", -30)], glass: [] };
  const [, wake] = fallRows(message, true, null);
  expect(wake).toMatchObject({ negative: true, from: 30, to: 0 });
});

test("lengths say what two clocks leave open", () => {
  expect(lengthText(5e6, 0)).toBe("5.00\u00a0ms");
  expect(lengthText(5e6, 2e5)).toBe("5.00\u00a0ms ±\u00a0200\u00a0µs");
  expect(lengthText(5e6, 2e6)).toBe("3.00 … 7.00\u00a0ms");
  expect(lengthText(1e6, 2e6)).toBe("≤\u00a03.00\u00a0ms");
});

test("one scale for several, with what is behind", () => {
  const scale = fallScale([MESSAGE, { ...MESSAGE, glass: [] }], true, "own");
  expect(scale.to).toBeGreaterThanOrEqual(640);
  expect(scale.from).toBe(-100);
});

test("bars are cut at the scale's ends", () => {
  const scale = { from: 0, to: 100, marks: [] };
  expect(cut(scale, -50, 50)).toEqual([0, 0.5]);
  expect(cut(scale, 80, 20)).toEqual([0.2, 0.8]);
  expect(cut(scale, 120, 150)).toBeNull();
  expect(cut(scale, 90, 150)).toEqual([0.9, 1]);
});
