// What the page says to the collector: what it watches, and when it does not look.

import type { FromViewer, Watch } from "./generated/wire";

/** What asking needs; tests give their own. */
export interface Line {
  /** Sends, if there is somebody to send to. */
  send(text: string): boolean;
  /** Tries to connect now, if it waits to. */
  retry(): void;
  /** Opens another connection: this one seems dead. */
  renew(): void;
}

/** After being seen again, figures come within this time, or the connection died asleep. */
const ANSWER_WITHIN_MS = 3_000;

/** Several come a second; a connection that is silent for so long seems dead. */
const SILENT_WITHIN_MS = 8_000;

/** Keeps the collector knowing what one page wants. */
export class Asks {
  private readonly line: () => Line | null;
  private readonly wants: () => { watch: Watch; traceId: string | null };
  private readonly later: (ms: number, f: () => void) => () => void;
  private hidden: boolean;
  private callOff: () => void = () => undefined;

  /** `wants` tells what is watched now, and which message's answer is still due. */
  constructor(
    line: () => Line | null,
    wants: () => { watch: Watch; traceId: string | null },
    later: (ms: number, f: () => void) => () => void,
    hidden: boolean,
  ) {
    this.line = line;
    this.wants = wants;
    this.later = later;
    this.hidden = hidden;
  }

  /** A connection was opened: the collector knows nothing of this page. */
  opened(): void {
    this.callOff();
    // A new connection begins with figures.
    if (this.tell() && !this.hidden) this.watchFor(SILENT_WITHIN_MS);
    const { traceId } = this.wants();
    if (traceId !== null) this.message(traceId);
  }

  /** Something else is wanted. */
  changed(): void {
    if (!this.hidden) this.tell();
  }

  /** One message is wanted. */
  message(traceId: string): void {
    this.send({ type: "message", trace_id: traceId });
  }

  /** Figures came; `more` are to come, unless the run has ended. */
  answered(more: boolean): void {
    this.callOff();
    // A collector that hangs keeps its connection open: only its silence tells.
    if (more && !this.hidden) this.watchFor(SILENT_WITHIN_MS);
  }

  private watchFor(ms: number): void {
    this.callOff();
    this.callOff = this.later(ms, () => this.line()?.renew());
  }

  /** The page is seen, or no longer. */
  seen(visible: boolean): void {
    if (visible !== this.hidden) return;
    this.hidden = !visible;
    this.callOff();
    if (visible) this.line()?.retry();
    if (this.tell() && visible) {
      this.watchFor(ANSWER_WITHIN_MS);
    }
  }

  private tell(): boolean {
    return this.send(this.hidden ? { type: "pause" } : { type: "watch", ...this.wants().watch });
  }

  private send(frame: FromViewer): boolean {
    return this.line()?.send(JSON.stringify(frame)) ?? false;
  }
}
