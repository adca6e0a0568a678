import { expect, test } from "vitest";
import type { Leg, LegView } from "../src/generated/wire";
import { info, inOrder, legName } from "../src/legs";
import { drawn, negative, place, segments, sharedScale } from "../src/scale";
import { MESSAGE } from "./snapshot";

const leg = (name: Leg, ns: number): LegView => ({ leg: name, class: "overhead", ns, half_ns: 0 });

test("legs stand in a row, the take at zero", () => {
  const all = segments(MESSAGE.legs);
  expect(all.map(({ leg, from, to }) => [leg, from, to])).toEqual([
    ["ros", -150, -50],
    ["wake", -50, 0],
    ["queue", 0, 100],
    ["ai_infer", 100, 500],
    ["web_round_trip", 500, 600],
  ]);
  expect(all.at(-1)?.to).toBe(MESSAGE.total_ns);
});

test("a negative leg leads back, and the sum stays the total", () => {
  const all = segments([leg("ros", 300), leg("wake", -200), leg("queue", 50), leg("encode", -20)]);
  expect(all.map(({ from, to }) => [from, to])).toEqual([
    [-100, 200],
    [200, 0],
    [0, 50],
    [50, 30],
  ]);
  const message = { ...MESSAGE, legs: [leg("wake", -200), leg("queue", 0)] };
  expect(negative(message).map((l) => l.leg)).toEqual(["wake"]);
});

test("without the AI's own time the rest closes up", () => {
  expect(drawn(MESSAGE, false).at(-1)?.to).toBe(200);
  expect(drawn(MESSAGE, true).at(-1)?.to).toBe(600);
});

test("one scale for all, to a round figure, with marks", () => {
  const scale = sharedScale([segments(MESSAGE.legs), segments([leg("queue", 830)])]);
  expect(scale).toEqual({ from: -150, to: 1000, marks: [0, 500, 1000] });
  expect(place(scale, 1000)).toBe(1);
  expect(place(scale, -150)).toBe(0);
  expect(place(scale, 425)).toBe(0.5);
});

test("hours before the take don't hide the pipeline", () => {
  const scale = sharedScale([segments([leg("ros", 7.2e12), leg("queue", 8e6)])]);
  expect(scale.from).toBe(-scale.to);
  expect(place(scale, -7.2e12)).toBe(0);
  expect(place(scale, 0)).toBe(0.5);
});

test("no messages, or nothing but what came before the take", () => {
  expect(sharedScale([])).toMatchObject({ from: 0 });
  expect(sharedScale([[], []]).to).toBeGreaterThan(0);
  expect(sharedScale([segments([leg("ros", 100)])])).toMatchObject({ from: -100, to: 100 });
});

test("marks are few, whatever the size", () => {
  for (let most = 1; most < 1e13; most *= 1.37) {
    const { marks, to } = sharedScale([segments([leg("queue", most)])]);
    expect(marks.length).toBeGreaterThanOrEqual(3);
    expect(marks.length).toBeLessThanOrEqual(6);
    expect(to).toBeGreaterThanOrEqual(most);
  }
});

test("legs in the order of the way, unknown ones last", () => {
  const legs = { paint: 1, ai_infer: 2, brand_new: 3, schedule: 4 };
  expect(inOrder(legs).map(([name]) => name)).toEqual([
    "schedule",
    "ai_infer",
    "paint",
    "brand_new",
  ]);
  expect(info("constructor" as Leg)).toMatchObject({ says: "" });
  expect(legName("ai_round_trip")).toBe("AI round trip");
});

test("neighbours of one class can be told apart", () => {
  const way: [Leg, Leg][] = [
    ["schedule", "write"],
    ["wake", "queue"],
    ["queue", "encode"],
    ["ai_connect", "ai_request"],
    ["ai_wait", "ai_infer"],
    ["web_connect", "web_request"],
    ["web_connect", "web_transport"],
  ];
  for (const [a, b] of way) expect([a, info(a).shade]).not.toEqual([a, info(b).shade]);
});
