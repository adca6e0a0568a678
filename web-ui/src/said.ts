// What a message says, for one line of the page: its body is whatever a robot and an AI made of it.

import { isRecord } from "./check";
import { clip } from "./format";

/** One message in the live line. */
export interface Said {
  readonly traceId: string;
  readonly robot: string;
  readonly sequence: string;
  /** "status", "alert" or "command". */
  readonly kind: string;
  /** "running, battery 97.5 %", with the command or the error if there is one. */
  readonly status: string;
  /** The AI's answer. */
  readonly answer: string;
}

const ROBOT_FIELDS = new Set(["header", "battery", "robot_status", "command", "error_message"]);
const SHORT = 40;
const LONG = 160;

/** Reads a message's body. What isn't there stays empty; nothing is too odd to be shown. */
export function said(traceId: string, body: unknown): Said {
  const { robot, rest } = parts(body);
  const header = isRecord(robot["header"]) ? robot["header"] : {};
  return {
    traceId,
    robot: field(header["robot_id"], SHORT),
    sequence: field(header["sequence"], SHORT),
    kind: field(header["message_type"], SHORT),
    status: status(robot),
    answer: rest === undefined ? "" : brief(rest, LONG),
  };
}

/** The robot's message, and what stands beside it: the answer. */
function parts(body: unknown): { robot: Record<string, unknown>; rest: unknown } {
  if (!isRecord(body)) return { robot: {}, rest: body };
  if (isRobots(body)) {
    return { robot: body, rest: beside(body, (key) => ROBOT_FIELDS.has(key)) };
  }
  for (const [name, inner] of Object.entries(body)) {
    if (isRecord(inner) && isRobots(inner)) {
      return { robot: inner, rest: beside(body, (key) => key === name) };
    }
  }
  return { robot: {}, rest: body };
}

function isRobots(value: Record<string, unknown>): boolean {
  return isRecord(value["header"]) || "robot_status" in value;
}

function beside(body: Record<string, unknown>, theirs: (key: string) => boolean): unknown {
  const others = Object.entries(body).filter(([key]) => !theirs(key));
  const [only] = others;
  if (only === undefined) return undefined;
  return others.length === 1 ? only[1] : Object.fromEntries(others);
}

function status(robot: Record<string, unknown>): string {
  const says: string[] = [];
  const put = (prefix: string, value: unknown, suffix = ""): void => {
    const text = field(value, SHORT);
    if (text !== "") says.push(prefix + text + suffix);
  };
  put("", robot["robot_status"]);
  // Not-a-number and the infinities come as texts: JSON has no numbers for them.
  put("battery ", robot["battery"], typeof robot["battery"] === "number" ? "\u00a0%" : "");
  put("command ", robot["command"]);
  put("error ", robot["error_message"]);
  return says.join(", ");
}

function field(value: unknown, limit: number): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? clip(value, limit) : brief(value, limit);
}

/**
 * A value in JSON's way, cut to about `limit` characters. Its own writing instead of
 * JSON.stringify: the answer may be megabytes, and writing them out only to cut them would be
 * counted in the paint leg.
 */
export function brief(value: unknown, limit: number): string {
  const out = new Cut(limit);
  write(value, out, 0);
  return out.text();
}

const DEPTH = 4;

class Cut {
  private readonly pieces: string[] = [];
  private left: number;
  private refused = false;
  constructor(limit: number) {
    this.left = limit;
  }
  /** Whether nothing more goes in; whoever asks has something more. */
  refuses(): boolean {
    this.refused ||= this.left <= 0;
    return this.refused;
  }
  put(piece: string): void {
    if (this.refuses()) return;
    this.pieces.push(piece);
    this.left -= piece.length;
  }
  text(): string {
    return this.pieces.join("") + (this.refused ? " …" : "");
  }
}

function write(value: unknown, out: Cut, depth: number): void {
  if (out.refuses()) return;
  if (typeof value === "string") {
    out.put(depth === 0 ? clip(value, LONG) : `"${clip(value, SHORT)}"`);
  } else if (depth === DEPTH && typeof value === "object" && value !== null) {
    out.put("…");
  } else if (Array.isArray(value)) {
    out.put("[");
    members(value, out, (item) => write(item, out, depth + 1));
    out.put("]");
  } else if (isRecord(value)) {
    if (depth > 0) out.put("{");
    members(Object.keys(value), out, (key) => {
      out.put(`${clip(key, SHORT)}: `);
      write(value[key], out, depth + 1);
    });
    if (depth > 0) out.put("}");
  } else {
    out.put(String(value));
  }
}

function members<T>(items: readonly T[], out: Cut, one: (item: T) => void): void {
  for (const [i, item] of items.entries()) {
    if (out.refuses()) return;
    if (i > 0) out.put(", ");
    one(item);
  }
}
