import { expect, test } from "vitest";
import { brief, said } from "../src/said";

const ROBOT = {
  header: { robot_id: "robot_001", sequence: 42, message_type: "alert" },
  battery: 97.5,
  robot_status: "error",
  command: "",
  error_message: "wheel 3 blocked",
};

test("a robot's message with the answer beside it, or one level down", () => {
  const line = {
    traceId: "t",
    robot: "robot_001",
    sequence: "42",
    kind: "alert",
    status: "error, battery 97.5\u00a0%, error wheel 3 blocked",
    answer: 'label: "normal"',
  };
  expect(said("t", { ...ROBOT, ai: { label: "normal" } })).toEqual(line);
  expect(said("t", { message: ROBOT, ai: { label: "normal" } })).toEqual(line);
  expect(said("t", ROBOT).answer).toBe("");
});

test("odd values are shown as they came", () => {
  const odd = { ...ROBOT, battery: "NaN", error_message: "a\0\ufffd", header: "none" };
  expect(said("t", odd)).toMatchObject({ robot: "", status: "error, battery NaN, error a␀\ufffd" });
  for (const body of [null, 7, "text", [1, 2], {}, { header: {} }]) {
    expect(said("t", body).traceId).toBe("t");
  }
  expect(said("t", "text").answer).toBe("text");
  expect(said("t", [1, { a: null }]).answer).toBe("[1, {a: null}]");
});

test("a million characters cost no more than a line", () => {
  const long = "x".repeat(1_000_000);
  const line = said("t", { ...ROBOT, error_message: long, ai: [long, { [long]: long }] });
  expect(line.status.length).toBeLessThan(200);
  expect(line.answer.length).toBeLessThan(500);
  expect(
    brief(
      Array.from({ length: 1e6 }, (_, i) => i),
      20,
    ),
  ).toMatch(/^\[0, 1, .* …$/);
});

test("depth has an end", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 1000; i += 1) deep = [deep];
  expect(brief(deep, 100)).toBe("[[[[…]]]]");
});
