import { beforeEach, expect, test } from "vitest";
import type { FromPage } from "../src/generated/wire";
import { nanoseconds, resolution, Stamps } from "../src/stamps";

/** A browser whose frames and tasks come when a test says so. */
class Browser {
  time = 100;
  hiddenNow = false;
  frames: (() => void)[] = [];
  tasks: (() => void)[] = [];

  now = (): number => this.time;
  afterDrawing = (f: () => void): void => {
    this.frames.push(f);
  };
  nextTask = (f: () => void): void => {
    this.tasks.push(f);
  };
  hidden = (): boolean => this.hiddenNow;

  frame(): void {
    for (const f of this.frames.splice(0)) f();
  }
  task(): void {
    for (const f of this.tasks.splice(0)) f();
  }
}

let browser: Browser;
let acks: FromPage[];
let hiddenFromLine: Set<string>;
let stamps: Stamps;

beforeEach(() => {
  browser = new Browser();
  acks = [];
  hiddenFromLine = new Set();
  stamps = new Stamps(
    browser,
    5000,
    (id) => !hiddenFromLine.has(id),
    (ack) => acks.push(ack),
  );
});

test("painted is stamped in the task after the frame, not in the frame", () => {
  stamps.received("a", 100.25);
  browser.time = 110;
  browser.frame();
  expect(acks).toEqual([]);
  browser.time = 112.5;
  browser.task();
  expect(acks).toEqual([
    {
      type: "ack",
      sent_ns: "112500000",
      resolution_ns: 5000,
      items: [{ trace_id: "a", received_ns: "100250000", painted_ns: "112500000" }],
    },
  ]);
});

test("one acknowledgement a frame; what comes after the frame waits for the next", () => {
  stamps.received("a", 1);
  stamps.received("b", 2);
  expect(browser.frames).toHaveLength(1);
  browser.frame();
  // Between the frame and its task: not in that picture.
  stamps.received("c", 3);
  browser.task();
  expect(acks.map((ack) => ack.items.map((item) => item.trace_id))).toEqual([["a", "b"]]);
  browser.frame();
  browser.task();
  expect(acks[1]?.items.map((item) => item.trace_id)).toEqual(["c"]);
});

test("what was pushed out of the live line before the frame was not painted", () => {
  stamps.received("a", 1);
  stamps.received("b", 2);
  hiddenFromLine.add("a");
  browser.frame();
  browser.task();
  expect(acks[0]?.items).toMatchObject([
    { trace_id: "a", painted_ns: null },
    { trace_id: "b", painted_ns: "100000000" },
  ]);
});

test("a hidden tab acknowledges at once, without a paint", () => {
  browser.hiddenNow = true;
  stamps.received("a", 1);
  expect(acks).toMatchObject([
    { items: [{ trace_id: "a", received_ns: "1000000", painted_ns: null }] },
  ]);
  expect(browser.frames).toEqual([]);
});

test("becoming hidden lets nothing wait for a frame that won't come", () => {
  stamps.received("a", 1);
  browser.hiddenNow = true;
  stamps.becameHidden();
  expect(acks).toMatchObject([{ items: [{ trace_id: "a", painted_ns: null }] }]);
  // The frame that was asked for comes when the tab is seen again: nothing is left for it.
  browser.frame();
  browser.task();
  expect(acks).toHaveLength(1);
  // And the next message is stamped as ever.
  browser.hiddenNow = false;
  stamps.received("b", 2);
  browser.frame();
  browser.task();
  expect(acks[1]?.items).toMatchObject([{ trace_id: "b", painted_ns: "100000000" }]);
});

test("a lost connection is forgotten", () => {
  stamps.received("a", 1);
  stamps.forget();
  browser.frame();
  browser.task();
  expect(acks).toEqual([]);
});

test("nobody waits without bound, and acknowledgements stay small", () => {
  for (let i = 0; i < 5000; i += 1) stamps.received(String(i), 1);
  expect(acks.length).toBeGreaterThan(0);
  browser.frame();
  browser.task();
  const items = acks.flatMap((ack) => ack.items);
  expect(items.map((item) => item.trace_id)).toEqual(
    Array.from({ length: 5000 }, (_, i) => String(i)),
  );
  for (const ack of acks) expect(ack.items.length).toBeLessThanOrEqual(256);
});

test("nanoseconds are whole and in digits, after months too", () => {
  expect(nanoseconds(0)).toBe("0");
  expect(nanoseconds(1.0000004)).toBe("1000000");
  expect(nanoseconds(12.345678)).toBe("12345678");
  expect(nanoseconds(90 * 24 * 3600 * 1000)).toBe("7776000000000000");
});

test("the clock's step", () => {
  // A step of 0.1 ms that is read many times before it changes.
  let reading = 0;
  const coarse = (): number => Math.floor(reading++ / 50) / 10;
  expect(resolution(coarse)).toBe(100_000);
  // Uneven steps: the smallest counts.
  const steps = [0, 0, 1, 1, 1.005, 3, 9];
  let at = 0;
  expect(resolution(() => steps[Math.min(at++, steps.length - 1)] ?? 9)).toBe(5000);
  // A clock that stands still.
  expect(resolution(() => 7)).toBe(5_000_000);
});
