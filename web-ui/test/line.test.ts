import { expect, test } from "vitest";
import { Coming, EMPTY, isShown, type Line, TAIL } from "../src/line";

const ids = ({ tail }: Line): string[] => tail.map(({ traceId }) => traceId);

test("the newest stand first, and push out the oldest", () => {
  const coming = new Coming();
  coming.put("a", {});
  coming.put("b", {});
  const first = coming.onto(EMPTY);
  expect(ids(first)).toEqual(["b", "a"]);
  for (const id of ["c", "d", "e"]) coming.put(id, {});
  const second = coming.onto(first);
  expect(second.tail).toHaveLength(TAIL);
  expect(ids(second)).toEqual(["e", "d", "c", "b"]);
  expect(second.received).toBe(5);
  expect(isShown(second, "a")).toBe(false);
  expect(isShown(second, "b")).toBe(true);
});

test("every message counts, also those that were never seen", () => {
  const coming = new Coming();
  for (let i = 0; i < 1000; i += 1) coming.put(String(i), { header: { sequence: i } });
  const line = coming.onto(EMPTY);
  expect(line.received).toBe(1000);
  expect(ids(line)).toEqual(["999", "998", "997", "996"]);
  expect(line.tail[0]?.sequence).toBe("999");
});

test("without news the line is the same one, and nothing is drawn", () => {
  const coming = new Coming();
  coming.put("a", {});
  const line = coming.onto(EMPTY);
  expect(coming.onto(line)).toBe(line);
});
