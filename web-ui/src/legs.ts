// The legs in the order of a message's way, with what the page needs to know of each.

import type { Leg } from "./generated/wire";
import { className, legNames, legSays } from "./words/names";

/** One leg. */
export interface LegInfo {
  /** Which of its class's two shades it has: neighbours of one class differ. */
  readonly shade: 0 | 1;
  /** Whether it ends at or before the moment when the gateway took the message. */
  readonly beforeTake: boolean;
  /** From where to where, or what for. */
  readonly says: string;
}

const leg = (shade: 0 | 1, says: string): LegInfo => ({ shade, beforeTake: false, says });
const early = (shade: 0 | 1, says: string): LegInfo => ({ shade, beforeTake: true, says });

const LEGS: Readonly<Record<Leg, LegInfo>> = {
  schedule: early(0, "intended → published: the robot was late on its own schedule"),
  write: early(1, "published → written: publish() up to the DDS writer"),
  ros: early(0, "written → received: through DDS"),
  wake: early(0, "received → taken: the gateway's wake-up and take"),
  queue: leg(1, "taken → started: the gateway's queue"),
  encode: leg(0, "started → request ready: decoding and building the request"),
  ai_connect: leg(1, "opening a connection to the AI service"),
  ai_retry: leg(0, "the request to the AI service was lost, until it was sent again"),
  ai_request: leg(0, "request on its way to the AI service"),
  ai_wait: leg(1, "the AI service's waiting line"),
  ai_infer: leg(0, "the model"),
  ai_resend: leg(0, "the AI service's reply was lost, until it was sent again"),
  ai_reply: leg(1, "reply on its way from the AI service"),
  ai_transport: leg(0, "round trip to the AI service without the service's own time"),
  ai_round_trip: leg(0, "AI service that tells nothing: includes transport"),
  handoff: leg(1, "AI's answer read → request to the web service ready"),
  web_connect: leg(1, "opening a connection to the web service"),
  web_retry: leg(0, "the request to the web service was lost, until it was sent again"),
  web_request: leg(0, "request on its way to the web service"),
  web_handle: leg(0, "the broadcaster's own time"),
  web_resend: leg(0, "the web service's reply was lost, until it was sent again"),
  web_reply: leg(1, "reply on its way from the web service"),
  web_transport: leg(0, "round trip to the web service without the service's own time"),
  web_round_trip: leg(0, "web service that tells nothing: round trip"),
  fanout: leg(1, "the broadcaster's queue for one page"),
  push: leg(1, "frame sent → received by the browser, across two clocks"),
  paint: leg(0, "received by the browser → painted"),
};

const ORDER = Object.keys(LEGS);

/** What is known of a leg; one that this page doesn't know is shown all the same. */
export function info(name: Leg): LegInfo {
  if (!Object.hasOwn(LEGS, name)) return leg(0, "");
  const says = legSays(name);
  return says === undefined ? LEGS[name] : { ...LEGS[name], says };
}

/** Legs by name, in the order of the way; unknown ones last. */
export function inOrder<T>(legs: Readonly<Record<string, T>>): [string, T][] {
  const rank = (name: string): number => {
    const i = ORDER.indexOf(name);
    return i === -1 ? ORDER.length : i;
  };
  return Object.entries(legs).sort(([a], [b]) => rank(a) - rank(b));
}

/** The name as it is read. */
export function legName(name: string): string {
  return legNames(name) ?? name.replaceAll("_", " ").replace(/^ai\b/, "AI");
}

/** The name of a class, or of a row of classes, as it is read. */
export function classOf(name: string): string {
  return className(name) ?? name;
}
