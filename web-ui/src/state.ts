// What the page knows, and how each frame changes it: pure, time is an argument.

import { Refusal } from "./check";
import { type Figures, merge } from "./figures";
import { OtherVersion, readLive, readPush } from "./frames";
import type { MessageView } from "./generated/wire";

/** The two services that the page listens to. */
export type Feed = "broadcaster" | "collector";

/** How the page stands with one of them. */
export type Connection =
  /** A connection was asked for, and no frame has come yet. */
  | { readonly kind: "connecting" }
  /** Frames come. */
  | { readonly kind: "live" }
  /** It was lost; the next try is at `retryAt`, in ms of the page's clock. */
  | { readonly kind: "disconnected"; readonly retryAt: number }
  /** The other side speaks another version: only a new page can help. */
  | { readonly kind: "incompatible"; readonly version: number };

/** What the page itself noticed, beside the events of the collector. */
export interface Notice {
  readonly kind: string;
  readonly text: string;
  readonly count: number;
}

/** One message that is looked at. */
export interface Picked {
  readonly traceId: string;
  /** It; `null`: the collector doesn't keep it; "asked": no answer yet. */
  readonly message: MessageView | null | "asked";
}

/** Everything that is shown. */
export interface PageState {
  readonly broadcaster: Connection;
  readonly collector: Connection;
  /** The broadcaster's name for this page. */
  readonly client: string | null;
  /** The last figures, and when they came. */
  readonly figures: Figures | null;
  readonly figuresAt: number | null;
  /** Snapshots that came. */
  readonly snapshots: number;
  /** The message that was asked for; `null`: none was. */
  readonly picked: Picked | null;
  /** By kind. */
  readonly notices: readonly Notice[];
}

/** Before anything has come. */
export const START: PageState = {
  broadcaster: { kind: "connecting" },
  collector: { kind: "connecting" },
  client: null,
  figures: null,
  figuresAt: null,
  snapshots: 0,
  picked: null,
  notices: [],
};

/** What to do about a frame, beside showing it. */
export type Effect =
  /** Nothing. */
  | { readonly kind: "none" }
  /** A message for the live line, to be acknowledged. */
  | { readonly kind: "message"; readonly traceId: string; readonly body: unknown }
  /** Close the connection and leave it closed. */
  | { readonly kind: "stop" };

const NONE: Effect = { kind: "none" };

/** A connection changed. */
export function connectionChanged(state: PageState, feed: Feed, to: Connection): PageState {
  // The broadcaster's name for the page is the connection's.
  const client = feed === "broadcaster" ? null : state.client;
  return { ...state, [feed]: to, client };
}

/** A frame of the broadcaster. */
export function pushed(state: PageState, data: unknown): [PageState, Effect] {
  const frame = readPush(data);
  if (frame instanceof Refusal) return [refused(state, "broadcaster", frame), NONE];
  if (frame instanceof OtherVersion) return incompatible(state, "broadcaster", frame);
  if (frame.type === "hello") {
    return [{ ...state, broadcaster: { kind: "live" }, client: frame.client }, NONE];
  }
  if (state.broadcaster.kind !== "live") {
    // Without a hello nobody knows which version this is.
    const early = new Refusal(`${frame.type} before hello`);
    return [refused(state, "broadcaster", early), NONE];
  }
  if (frame.type === "dropped") {
    const text = "messages that the broadcaster dropped for this page, which was too slow";
    return [noticed(state, "dropped_for_this_page", text, frame.count), NONE];
  }
  // There may be a thousand a second: the state, on which the whole page stands, stays the same.
  return [state, { kind: "message", traceId: frame.trace_id, body: frame.body }];
}

/** A frame of the collector, which came at `now`. */
export function figured(state: PageState, data: unknown, now: number): [PageState, Effect] {
  const frame = readLive(data);
  if (frame instanceof Refusal) return [refused(state, "collector", frame), NONE];
  if (frame instanceof OtherVersion) return incompatible(state, "collector", frame);
  if (frame.type === "message") return [answered(state, frame.trace_id, frame.message), NONE];
  const last = state.figures;
  const goesOn = state.collector.kind === "live" && last?.runId === frame.run_id;
  if (goesOn && frame.elapsed_ms < last.elapsedMs) {
    // Only within a connection: a collector that was started anew begins at zero.
    return [noticed(state, "out_of_order", "figures older than those shown were left out"), NONE];
  }
  if (!goesOn && !frame.whole) {
    // What changed is of no use to a page that doesn't know what it changed from.
    return [noticed(state, "torn_feed", "figures that began in the middle were left out"), NONE];
  }
  const figures = merge(goesOn ? last : null, frame);
  const snapshots = state.snapshots + 1;
  // Another run knows nothing of a message of the one before.
  const picked = last !== null && last.runId !== frame.run_id ? null : state.picked;
  const collector: Connection = { kind: "live" };
  return [{ ...state, collector, figures, figuresAt: now, snapshots, picked }, NONE];
}

/** A message is to be looked at: what is on the page already needs no answer. */
export function picked(state: PageState, traceId: string): PageState {
  const known = [...(state.figures?.latest ?? []), ...(state.figures?.slowest ?? [])];
  const message = known.find((one) => one.trace_id === traceId) ?? "asked";
  return { ...state, picked: { traceId, message } };
}

function answered(state: PageState, traceId: string, message: MessageView | null): PageState {
  if (state.picked?.traceId !== traceId) return state;
  // What is shown stays when the collector has forgotten it meanwhile.
  if (message === null && state.picked.message !== "asked") return state;
  return { ...state, picked: { traceId, message } };
}

/** Something that the page noticed; of each kind the newest text is kept, and how many. */
export function noticed(state: PageState, kind: string, text: string, times = 1): PageState {
  const before = state.notices.find((notice) => notice.kind === kind)?.count ?? 0;
  const others = state.notices.filter((notice) => notice.kind !== kind);
  return { ...state, notices: [{ kind, text, count: before + times }, ...others] };
}

function refused(state: PageState, feed: Feed, { reason }: Refusal): PageState {
  return noticed(state, `rubbish_${feed}`, `frames of the ${feed} not understood; last: ${reason}`);
}

function incompatible(
  state: PageState,
  feed: Feed,
  { version }: OtherVersion,
): [PageState, Effect] {
  return [{ ...state, [feed]: { kind: "incompatible", version } }, { kind: "stop" }];
}
