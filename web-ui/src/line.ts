// The live line: the newest messages as the broadcaster sends them. Between two drawings most of a
// busy line is pushed out again by what follows: only what will be seen is put into words.

import { type Said, said } from "./said";

/** What stands on the page. */
export interface Line {
  /** Newest first. */
  readonly tail: readonly Said[];
  /** Messages that this page got. */
  readonly received: number;
}

/** So many messages are in the live line at once. */
export const TAIL = 4;

/** Before anything has come. */
export const EMPTY: Line = { tail: [], received: 0 };

/** What has come since the page was last drawn. */
export class Coming {
  private newest: { readonly traceId: string; readonly body: unknown }[] = [];
  private count = 0;

  /** One more message. */
  put(traceId: string, body: unknown): void {
    this.count += 1;
    this.newest.unshift({ traceId, body });
    if (this.newest.length > TAIL) this.newest.pop();
  }

  /** The line with what has come, which is then no longer coming; the same one if that is nothing. */
  onto(line: Line): Line {
    if (this.count === 0) return line;
    const words = this.newest.map(({ traceId, body }) => said(traceId, body));
    const next = {
      tail: [...words, ...line.tail].slice(0, TAIL),
      received: line.received + this.count,
    };
    this.newest = [];
    this.count = 0;
    return next;
  }
}

/** Whether the message of that id is in the live line. */
export function isShown({ tail }: Line, traceId: string): boolean {
  return tail.some((message) => message.traceId === traceId);
}
