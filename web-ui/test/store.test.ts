import { beforeEach, expect, test } from "vitest";
import { figured, START } from "../src/state";
import { freeze, frozen, isLate, isStale, now, silence, state, watch } from "../src/store";
import { frame } from "./snapshot";

beforeEach(() => {
  frozen.value = null;
  now.value = 1000;
  watch.value = { window: "1min", robot: null };
  [state.value] = figured(START, frame(), 1000);
});

test("figures of a collector that hangs are old, though it is connected", () => {
  expect(isStale.value).toBe(false);
  now.value = 4500;
  expect([silence.value, isStale.value]).toEqual([3000, false]);
  now.value = 6500;
  expect([silence.value, isStale.value]).toEqual([5000, true]);
  [state.value] = figured(state.value, frame({ elapsed_ms: 2000 }), 6500);
  expect(isStale.value).toBe(false);
});

test("after the end silence means nothing", () => {
  [state.value] = figured(state.value, frame({ elapsed_ms: 2000, state: "ended" }), 1000);
  now.value = 99_000;
  expect(isStale.value).toBe(false);
});

test("figures that stand still are late as long as they are of another window", () => {
  freeze(true);
  watch.value = { window: "10s", robot: null };
  [state.value] = figured(state.value, frame({ elapsed_ms: 2000, watch: watch.value }), 1100);
  expect(isLate.value).toBe(true);
  freeze(false);
  expect(isLate.value).toBe(false);
});
