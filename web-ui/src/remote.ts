// Calls of what can be set: one request, and its answer or the sentence that refuses it.

import { type Check, checkedAs, isRecord, Refusal } from "./check";
import { clip } from "./format";
import { controlWords } from "./words/controls";

/** The browser's `fetch`, or a test's. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const LONGEST_SENTENCE = 300;
const WITHIN_MS = 10_000;

/** What to ask for. */
export interface Call {
  readonly method: "GET" | "PUT" | "POST";
  readonly url: string;
  readonly body?: unknown;
  /** Shown as a bearer token, where there is one. */
  readonly token: string | null;
}

/** Asks, and gives the answer's body as text. */
export async function ask(call: Call, fetch: Fetch): Promise<string | Refusal> {
  const headers: Record<string, string> = {};
  if (call.token !== null) headers["authorization"] = `Bearer ${call.token}`;
  if (call.body !== undefined) headers["content-type"] = "application/json";
  try {
    const reply = await fetch(call.url, {
      method: call.method,
      headers,
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(WITHIN_MS),
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    const text = await reply.text();
    return reply.ok ? text : new Refusal(sentence(text, reply.status));
  } catch {
    return new Refusal(controlWords("no_answer", { host: new URL(call.url).host }));
  }
}

/** The same, for an answer in JSON that must pass a check. */
export async function askFor<T>(call: Call, check: Check<T>, fetch: Fetch): Promise<T | Refusal> {
  const text = await ask(call, fetch);
  if (text instanceof Refusal) return text;
  try {
    return checkedAs(check, JSON.parse(text), "answer");
  } catch {
    return new Refusal(controlWords("no_json"));
  }
}

/** What a refusal says: services write a sentence, or JSON with one. */
function sentence(text: string, status: number): string {
  let said: unknown = text;
  try {
    const json: unknown = JSON.parse(text);
    if (isRecord(json)) said = json["error"] ?? json["message"] ?? text;
  } catch {
    // A plain sentence.
  }
  const line = typeof said === "string" ? clip(said.trim(), LONGEST_SENTENCE) : "";
  return line === "" ? controlWords("refused", { status }) : line;
}
