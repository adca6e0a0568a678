import { beforeEach, expect, test } from "vitest";
import { BUSY_GAP_MS, GAP_MS, Pace } from "../src/pace";
import { Stamps } from "../src/stamps";

const FRAME_MS = 1000 / 60;

/** A screen of 60 Hz whose time passes when a test says so. */
class Screen {
  time = 0;
  private frames: (() => void)[] = [];
  private timers: { at: number; f: () => void }[] = [];
  private vsync = FRAME_MS;

  now = (): number => this.time;
  nextFrame = (f: () => void): void => {
    this.frames.push(f);
  };
  later = (ms: number, f: () => void): void => {
    this.timers.push({ at: this.time + ms, f });
  };
  get waits(): boolean {
    return this.frames.length + this.timers.length > 0;
  }
  /** Timers and frames up to then, in their order. */
  until(time: number): void {
    for (;;) {
      const timer = Math.min(...this.timers.map(({ at }) => at));
      const next = Math.min(timer, this.vsync);
      if (next > time) break;
      this.time = next;
      if (timer <= this.vsync) {
        const due = this.timers.filter(({ at }) => at <= next);
        this.timers = this.timers.filter(({ at }) => at > next);
        for (const { f } of due) f();
      } else {
        // What a callback of a frame asks for is of the next one.
        for (const f of this.frames.splice(0)) f();
        this.vsync += FRAME_MS;
      }
    }
    this.time = time;
  }
}

let screen: Screen;
let drawings: number[];
let published: number;
let coming: number;
let pace: Pace;

beforeEach(() => {
  screen = new Screen();
  drawings = [];
  published = 0;
  coming = 0;
  pace = new Pace(screen, () => {
    published += 1;
    pace.draw(() => drawings.push(screen.time));
    const came = coming;
    coming = 0;
    return came;
  });
});

const message = (): void => {
  coming += 1;
  pace.afterDrawing(() => undefined);
};

test.each([
  { rate: 1000, gap: BUSY_GAP_MS },
  { rate: 200, gap: BUSY_GAP_MS },
  // All of these can be seen, four in each drawing at most.
  { rate: 60, gap: GAP_MS },
  { rate: 40, gap: GAP_MS },
])("$rate messages a second are drawn every $gap ms", ({ rate, gap }) => {
  for (let i = 0; i < 2 * rate; i += 1) {
    screen.until((i * 1000) / rate);
    message();
  }
  expect(drawings.length).toBeGreaterThanOrEqual((0.85 * 2000) / gap);
  expect(drawings.length).toBeLessThanOrEqual(2000 / gap + 2);
  for (const [i, at] of drawings.slice(2).entries()) {
    // By the frames of the screen, which come at times of their own.
    expect(at - (drawings[i + 1] ?? 0)).toBeGreaterThan(gap - FRAME_MS - 1e-6);
    expect(at - (drawings[i + 1] ?? 0)).toBeLessThan(gap + 2.5 * FRAME_MS);
  }
});

test("after a busy time a quiet line is drawn at once again", () => {
  for (let ms = 0; ms < 500; ms += 1) {
    screen.until(ms);
    message();
  }
  screen.until(1000);
  const busy = drawings.length;
  for (const at of [1000, 1100, 1150]) {
    screen.until(at);
    message();
    screen.until(at + FRAME_MS);
  }
  expect(drawings.length).toBe(busy + 3);
});

test("up to twenty messages a second each is drawn in the next frame", () => {
  const waits: number[] = [];
  for (let i = 0; i < 50; i += 1) {
    screen.until(7 + i * GAP_MS);
    const came = screen.time;
    pace.afterDrawing(() => waits.push(screen.time - came));
  }
  screen.until(5000);
  expect(waits).toHaveLength(50);
  for (const wait of waits) expect(wait).toBeLessThanOrEqual(FRAME_MS + 1e-6);
});

test("the last of a burst is drawn, and then nothing more", () => {
  for (let ms = 0; ms < 120; ms += 1) {
    screen.until(ms);
    message();
  }
  screen.until(120 + BUSY_GAP_MS + 2 * FRAME_MS);
  const last = drawings.at(-1) ?? 0;
  expect(last).toBeGreaterThanOrEqual(119);
  expect(screen.waits).toBe(false);
  screen.until(2000);
  expect(drawings.at(-1)).toBe(last);
  expect(published).toBe(drawings.length);
});

test("what is published is drawn in the same frame, and before those who wait for it", () => {
  const order: string[] = [];
  pace = new Pace(screen, () => {
    order.push("published");
    pace.draw(() => order.push("drawn"));
    return 1;
  });
  pace.afterDrawing(() => order.push("told"));
  screen.until(FRAME_MS);
  expect(order).toEqual(["published", "drawn", "told"]);
});

test("what the user does isn't held back by messages", () => {
  message();
  screen.until(FRAME_MS);
  message();
  let at = 0;
  pace.draw(() => {
    at = screen.time;
  });
  screen.until(2 * FRAME_MS);
  expect(at).toBeCloseTo(2 * FRAME_MS);
  // The messages' own drawing still keeps its time.
  expect(drawings).toHaveLength(1);
});

test("figures from a feed keep the pace, and are drawn together with messages", () => {
  message();
  screen.until(FRAME_MS);
  const seen: number[] = [];
  pace.news(() => pace.draw(() => seen.push(screen.time)));
  message();
  screen.until(2 * FRAME_MS);
  expect(seen).toEqual([]);
  screen.until(GAP_MS + 2 * FRAME_MS);
  expect(seen).toEqual([drawings[1]]);
});

test("painted is after the frame in which the message was on the page, also when it was held", () => {
  const tasks: (() => void)[] = [];
  let onPage = new Set<string>();
  let coming: string[] = [];
  pace = new Pace(screen, () => {
    const now = new Set(coming.slice(-2));
    coming = [];
    pace.draw(() => {
      onPage = now;
    });
    return now.size;
  });
  const painted = new Map<string, number | null>();
  const stamps = new Stamps(
    {
      now: screen.now,
      afterDrawing: (f) => pace.afterDrawing(f),
      nextTask: (f) => tasks.push(f),
      hidden: () => false,
    },
    5000,
    (id) => onPage.has(id),
    (ack) => {
      if (ack.type !== "ack") return;
      for (const { trace_id, painted_ns } of ack.items) {
        painted.set(trace_id, painted_ns === null ? null : Number(painted_ns) / 1e6);
      }
    },
  );
  const came = (id: string): void => {
    coming.push(id);
    stamps.received(id, screen.time);
  };
  const run = (until: number): void => {
    for (let ms = screen.time; ms <= until; ms += 1) {
      screen.until(ms);
      for (const f of tasks.splice(0)) f();
    }
  };
  came("a");
  run(20);
  expect(painted.get("a")).toBeGreaterThanOrEqual(FRAME_MS);
  // Three while the pace holds: one of them is pushed out before anybody saw it.
  for (const id of ["b", "c", "d"]) came(id);
  run(45);
  expect([...painted.keys()]).toEqual(["a"]);
  run(90);
  expect(painted.get("b")).toBeNull();
  for (const id of ["c", "d"]) expect(painted.get(id)).toBeGreaterThanOrEqual(GAP_MS);
});

test("what came to a tab that nobody saw is drawn when it is seen again", () => {
  // A hidden tab has no frames; messages are acknowledged without one.
  pace.came();
  pace.came();
  expect(drawings).toEqual([]);
  screen.until(FRAME_MS);
  expect(drawings).toHaveLength(1);
  expect(screen.waits).toBe(false);
});
