import { expect, test } from "vitest";
import { backOff, type Ends, Socket } from "../src/socket";
import type { Connection } from "../src/state";

/** Time and WebSockets that do what a test says. */
class World {
  time = 0;
  readonly lines: { ends: Ends; sent: string[]; closed: boolean }[] = [];
  readonly changes: Connection[] = [];
  opened = 0;
  readonly frames: [unknown, number][] = [];
  private timers: { at: number; f: () => void }[] = [];

  readonly socket = new Socket(
    "ws://here",
    {
      changed: (connection) => this.changes.push(connection),
      opened: () => {
        this.opened += 1;
      },
      frame: (data, at) => {
        this.frames.push([data, at]);
        return data !== "rubbish";
      },
    },
    {
      open: (_url, ends) => {
        const line = { ends, sent: [] as string[], closed: false };
        this.lines.push(line);
        return {
          send: (text) => line.sent.push(text),
          close: () => {
            line.closed = true;
          },
        };
      },
      now: () => this.time,
      later: (ms, f) => {
        const timer = { at: this.time + ms, f };
        this.timers.push(timer);
        return () => {
          this.timers = this.timers.filter((other) => other !== timer);
        };
      },
      random: () => 0.5,
    },
  );

  get line() {
    const line = this.lines.at(-1);
    if (line === undefined) throw new Error("no line was opened");
    return line;
  }

  pass(ms: number): void {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.f();
  }

  get pending(): number {
    return this.timers.length;
  }
}

test("the back-off doubles, is capped at five seconds, and scatters", () => {
  const middle = [0, 1, 2, 3, 4, 5, 6, 1000].map((failures) => backOff(failures, 0.5));
  expect(middle).toEqual([187.5, 375, 750, 1500, 3000, 3750, 3750, 3750]);
  for (const failures of [0, 3, 50]) {
    expect(backOff(failures, 0.999999)).toBeLessThanOrEqual(5000);
    expect(backOff(failures, 0)).toBeGreaterThanOrEqual(125);
  }
});

test("it comes back, waiting longer each time, and says until when", () => {
  const w = new World();
  const waits: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    w.line.ends.closed();
    const last = w.changes.at(-1);
    if (last?.kind !== "disconnected") throw new Error("not disconnected");
    waits.push(last.retryAt - w.time);
    w.pass(last.retryAt - w.time);
  }
  expect(waits).toEqual([187.5, 375, 750, 1500, 3000, 3750, 3750]);
  expect(w.lines).toHaveLength(8);
});

test("only a good frame makes the wait short again", () => {
  const w = new World();
  const wait = (): number => {
    w.line.ends.closed();
    const before = w.time;
    w.pass(5000);
    const last = w.changes.at(-2);
    return last?.kind === "disconnected" ? last.retryAt - before : Number.NaN;
  };
  expect(wait()).toBe(187.5);
  w.line.ends.opened();
  w.line.ends.message("rubbish");
  expect(wait()).toBe(375);
  w.line.ends.opened();
  w.line.ends.message("good");
  expect(wait()).toBe(187.5);
});

test("it says when it is open, and can be made anew", () => {
  const w = new World();
  const [first] = w.lines;
  expect(w.opened).toBe(0);
  w.line.ends.opened();
  expect(w.opened).toBe(1);
  w.socket.renew();
  expect(first?.closed).toBe(true);
  expect(w.lines).toHaveLength(2);
  first?.ends.closed();
  first?.ends.message("late");
  w.line.ends.opened();
  expect(w.opened).toBe(2);
  expect(w.frames).toEqual([]);
  expect(w.pending).toBe(0);
});

test("frames are stamped with the time of their coming", () => {
  const w = new World();
  w.line.ends.opened();
  w.pass(7);
  w.line.ends.message("x");
  expect(w.frames).toEqual([["x", 7]]);
});

test("a connection that doesn't open in time is given up, and not listened to afterwards", () => {
  const w = new World();
  const [first] = w.lines;
  w.pass(5000);
  expect(first?.closed).toBe(true);
  expect(w.changes.at(-1)?.kind).toBe("disconnected");
  first?.ends.opened();
  first?.ends.message("late");
  first?.ends.closed();
  expect(w.frames).toEqual([]);
  w.pass(188);
  expect(w.lines).toHaveLength(2);
  // The second one opens: no timer is left that could close it.
  w.line.ends.opened();
  expect(w.pending).toBe(0);
});

test("sends when there is somebody, retries at once when asked, stays closed when stopped", () => {
  const w = new World();
  w.line.ends.opened();
  expect(w.socket.send("a")).toBe(true);
  expect(w.line.sent).toEqual(["a"]);
  w.socket.retry();
  expect(w.lines).toHaveLength(1);
  w.line.ends.closed();
  expect(w.socket.send("b")).toBe(false);
  w.socket.retry();
  expect(w.lines).toHaveLength(2);
  expect(w.pending).toBe(1);
  w.socket.stop();
  expect(w.line.closed).toBe(true);
  w.line.ends.closed();
  w.socket.retry();
  w.pass(60_000);
  expect(w.lines).toHaveLength(2);
});
