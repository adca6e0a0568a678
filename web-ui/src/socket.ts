// A WebSocket that comes back: after each loss it waits longer, up to five seconds, and never
// exactly as long as its neighbours.

import type { Connection } from "./state";

/** An open or opening WebSocket. */
export interface Line {
  send(text: string): void;
  close(): void;
}

/** What a WebSocket tells. */
export interface Ends {
  opened(): void;
  message(data: unknown): void;
  closed(): void;
}

/** What a socket stands in; tests give their own. */
export interface Surroundings {
  /** Opens a WebSocket that tells `ends`, never before this call has returned. */
  open(url: string, ends: Ends): Line;
  /** ms of the page's clock. */
  now(): number;
  /** Calls `f` after `ms`; the answer calls it off. */
  later(ms: number, f: () => void): () => void;
  /** From 0 up to, and without, 1. */
  random(): number;
}

/** Who is told. */
export interface Listener {
  /** The connection changed: connecting or disconnected. */
  changed(connection: Connection): void;
  /** It is open: frames can be sent. */
  opened?(): void;
  /** A frame came at `at`, in ms of the page's clock. Says whether it was a good one. */
  frame(data: unknown, at: number): boolean;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
/** A host that swallows the request would hold a connection in "connecting" for minutes. */
const OPEN_WITHIN_MS = 5_000;

/**
 * How long to wait before the try after `failures` failed ones: it doubles, is never above five
 * seconds, and is drawn from the upper half so that pages don't come back in step.
 */
export function backOff(failures: number, random: number): number {
  const whole = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 16));
  return whole * (0.5 + random / 2);
}

/** One connection that is kept up. */
export class Socket {
  private line: Line | null = null;
  private failures = 0;
  private callOff: () => void = () => undefined;
  private stopped = false;
  private readonly url: string;
  private readonly listener: Listener;
  private readonly around: Surroundings;

  constructor(url: string, listener: Listener, around: Surroundings) {
    this.url = url;
    this.listener = listener;
    this.around = around;
    this.connect();
  }

  /** Sends, if there is somebody to send to; says whether there was. */
  send(text: string): boolean {
    if (this.line === null) return false;
    try {
      this.line.send(text);
      return true;
    } catch {
      // Not open yet: the other side has nothing that could be answered either.
      return false;
    }
  }

  /** Tries now instead of waiting on. */
  retry(): void {
    if (this.stopped || this.line !== null) return;
    this.callOff();
    this.connect();
  }

  /** Gives up a connection that seems dead, and opens another one at once. */
  renew(): void {
    if (this.stopped) return;
    const line = this.line;
    this.line = null;
    this.callOff();
    line?.close();
    this.connect();
  }

  /** Closes, and stays closed. */
  stop(): void {
    this.stopped = true;
    this.callOff();
    const line = this.line;
    this.line = null;
    line?.close();
  }

  private connect(): void {
    this.listener.changed({ kind: "connecting" });
    let line: Line | null = null;
    // A line that was given up may still have something to tell.
    const current = (): boolean => line !== null && this.line === line;
    try {
      line = this.around.open(this.url, {
        opened: () => {
          if (!current()) return;
          this.callOff();
          this.listener.opened?.();
        },
        message: (data) => {
          // The stamp first: whatever is done before it would be counted as transport.
          const at = this.around.now();
          // Only a good frame proves the other side: one that accepts and hangs up at once would
          // otherwise be asked again and again without a pause.
          if (current() && this.listener.frame(data, at)) this.failures = 0;
        },
        closed: () => {
          if (current()) this.drop();
        },
      });
    } catch {
      this.lost();
      return;
    }
    this.line = line;
    this.callOff = this.around.later(OPEN_WITHIN_MS, () => {
      this.drop();
    });
  }

  private drop(): void {
    const line = this.line;
    this.line = null;
    this.callOff();
    line?.close();
    this.lost();
  }

  private lost(): void {
    if (this.stopped) return;
    const wait = backOff(this.failures, this.around.random());
    this.failures += 1;
    this.callOff = this.around.later(wait, () => this.connect());
    this.listener.changed({ kind: "disconnected", retryAt: this.around.now() + wait });
  }
}
