// The browser's two hops of a message, received and painted, and the acknowledgement that
// carries them (METHOD 7).

import type { AckItem, FromPage } from "./generated/wire";

/** What stamping needs of a browser; tests give their own. */
export interface Browser {
  /** `performance.now()`: ms. */
  now(): number;
  /** Calls `f` in the frame that draws what has come, after drawing and before layout and paint. */
  afterDrawing(f: () => void): void;
  /** Calls `f` in a task of its own, after the one that runs now. */
  nextTask(f: () => void): void;
  /** Whether nobody can see the page. */
  hidden(): boolean;
}

/** So many items go into one acknowledgement at most: frames stay small after a stall. */
const ITEMS = 256;
/** So many messages wait for their frame at most; above, they go out as not painted. */
const WAITING = 4096;

interface Received {
  readonly traceId: string;
  readonly at: number;
}

/** Stamps messages and acknowledges them, once a drawing. */
export class Stamps {
  private waiting: Received[] = [];
  private frameAsked = false;
  private readonly browser: Browser;
  private readonly resolutionNs: number;
  private readonly isShown: (traceId: string) => boolean;
  private readonly send: (ack: FromPage) => void;

  /** `isShown` tells whether a message stands on the page, `send` sends an acknowledgement. */
  constructor(
    browser: Browser,
    resolutionNs: number,
    isShown: (traceId: string) => boolean,
    send: (ack: FromPage) => void,
  ) {
    this.browser = browser;
    this.resolutionNs = resolutionNs;
    this.isShown = isShown;
    this.send = send;
  }

  /** A message came at `at` (ms) and was put on the page. */
  received(traceId: string, at: number): void {
    this.waiting.push({ traceId, at });
    // A hidden page has no frames: waiting for one would hold back the stamp of receiving, too.
    if (this.browser.hidden() || this.waiting.length > WAITING) this.withoutPaint();
    else this.askForFrame();
  }

  /** The page became hidden: what waits for a frame won't be painted soon. */
  becameHidden(): void {
    this.withoutPaint();
  }

  /** The connection is gone: nobody wants to know any more. */
  forget(): void {
    this.waiting = [];
  }

  private askForFrame(): void {
    if (this.frameAsked) return;
    this.frameAsked = true;
    this.browser.afterDrawing(() => {
      this.frameAsked = false;
      const batch = this.waiting;
      this.waiting = [];
      if (batch.length === 0) return;
      // Several messages may come between two frames; one that others have already pushed out of
      // the live line is in no picture.
      const shown = new Set(batch.filter((m) => this.isShown(m.traceId)).map((m) => m.traceId));
      // Callbacks of requestAnimationFrame run *before* style, layout and paint of their frame,
      // all in one turn of the event loop. The first task after that turn is therefore the first
      // moment at which the frame is certainly painted and handed to the compositor. What comes
      // then (rasterising, the screen's own refresh) no script can see.
      this.browser.nextTask(() => this.acknowledge(batch, this.browser.now(), shown));
    });
  }

  private withoutPaint(): void {
    const batch = this.waiting;
    this.waiting = [];
    this.acknowledge(batch, null, new Set());
  }

  private acknowledge(batch: Received[], painted: number | null, shown: Set<string>): void {
    const items = batch.map(({ traceId, at }): AckItem => {
      const seen = painted !== null && shown.has(traceId);
      return {
        trace_id: traceId,
        received_ns: nanoseconds(at),
        painted_ns: seen ? nanoseconds(painted) : null,
      };
    });
    for (let i = 0; i < items.length; i += ITEMS) {
      this.send({
        type: "ack",
        sent_ns: nanoseconds(this.browser.now()),
        resolution_ns: this.resolutionNs,
        items: items.slice(i, i + ITEMS),
      });
    }
  }
}

/** ms of `performance.now()` as whole nanoseconds in decimal digits. */
export function nanoseconds(ms: number): string {
  return String(Math.round(ms * 1e6));
}

const LOOK_FOR_MS = 5;
/** A clock that stands still must not hold up the page. */
const READINGS = 2_000_000;

/**
 * The smallest step of a clock, in ns: looked for during 5 ms. Where not one step was seen, the
 * whole time looked is the step.
 */
export function resolution(now: () => number): number {
  const start = now();
  let last = start;
  let smallest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < READINGS && last - start < LOOK_FOR_MS; i += 1) {
    const next = now();
    if (next > last) smallest = Math.min(smallest, next - last);
    last = next;
  }
  return Math.max(1, Math.round(Math.min(smallest, LOOK_FOR_MS) * 1e6));
}
