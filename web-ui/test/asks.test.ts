import { beforeEach, expect, test } from "vitest";
import { Asks } from "../src/asks";
import type { Watch } from "../src/generated/wire";

let said: string[];
let timers: (() => void)[];
let wanted: Watch;
let traceId: string | null;

const line = {
  send: (text: string): boolean => {
    said.push(text);
    return true;
  },
  retry: () => said.push("retry"),
  renew: () => said.push("renew"),
};
const asks = (hidden = false): Asks =>
  new Asks(
    () => line,
    () => ({ watch: wanted, traceId }),
    (_ms, f) => {
      timers.push(f);
      return () => {
        timers = timers.filter((other) => other !== f);
      };
    },
    hidden,
  );
const WATCH = '{"type":"watch","window":"1min","robot":null}';
const PAUSE = '{"type":"pause"}';

beforeEach(() => {
  said = [];
  timers = [];
  wanted = { window: "1min", robot: null };
  traceId = null;
});

test("each connection is told what is watched, and what answer is due", () => {
  const a = asks();
  a.opened();
  wanted = { window: "run", robot: "robot_001" };
  a.changed();
  traceId = "ff";
  a.opened();
  const run = '{"type":"watch","window":"run","robot":"robot_001"}';
  expect(said).toEqual([WATCH, run, run, '{"type":"message","trace_id":"ff"}']);
});

test("a hidden page wants nothing, on new connections too", () => {
  const a = asks();
  a.opened();
  a.seen(false);
  a.seen(false);
  wanted = { window: "10s", robot: null };
  a.changed();
  a.opened();
  expect(said).toEqual([WATCH, PAUSE, PAUSE]);
  a.seen(true);
  expect(said.slice(3)).toEqual(["retry", '{"type":"watch","window":"10s","robot":null}']);
});

test("a connection that died asleep is opened anew", () => {
  const a = asks(true);
  a.opened();
  expect(said).toEqual([PAUSE]);
  a.seen(true);
  expect(timers).toHaveLength(1);
  timers[0]?.();
  expect(said.slice(1)).toEqual(["retry", WATCH, "renew"]);
});

test("one that answers is kept", () => {
  const a = asks(true);
  a.seen(true);
  a.answered(true);
  // From now on more are due, until the run has ended or nobody looks.
  expect(timers).toHaveLength(1);
  a.answered(false);
  expect(timers).toHaveLength(0);
  a.answered(true);
  a.seen(false);
  a.seen(true);
  a.seen(false);
  expect(timers).toHaveLength(0);
});

test("a collector that hangs is connected to anew", () => {
  const a = asks();
  a.opened();
  a.answered(true);
  a.answered(true);
  expect(timers).toHaveLength(1);
  timers[0]?.();
  expect(said.at(-1)).toBe("renew");
});
