// Calls of the services' controls from this page, with the token where one is needed.

import { computed, signal } from "@preact/signals";
import { Refusal } from "../check";
import { ask, type Call } from "../remote";
import { config } from "../store";

/** The token; in this page's memory only. */
export const token = signal<string | null>(null);
/** Whether nothing can be set before the token was entered. */
export const isLocked = computed(
  () => (config.value?.controls.token_needed ?? false) && token.value === null,
);

/** The address of a path at one of the host's ports, by TLS where the page came by it. */
export function address(port: number, path: string): string {
  const scheme = location.protocol === "https:" ? "https" : "http";
  return `${scheme}://${location.hostname}:${port}${path}`;
}

/** A call of one of them. */
export function call(
  method: Call["method"],
  port: number,
  path: string,
  ...body: readonly unknown[]
): Call {
  const url = address(port, path);
  return body.length === 0
    ? { method, url, token: token.value }
    : { method, url, token: token.value, body: body[0] };
}

/** The browser's own `fetch`; it doesn't bear being called as a method of anything else. */
export const byBrowser = (url: string, init: RequestInit): Promise<Response> => fetch(url, init);

/** Hands a file to the user. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after this task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Fetches a file that needs the token, and hands it over; or says why not. */
export async function saveFrom(port: number, path: string): Promise<Refusal | null> {
  const text = await ask(call("GET", port, path), byBrowser);
  if (text instanceof Refusal) return text;
  save(path.split("/").at(-1) ?? "hopwatch", new Blob([text]));
  return null;
}
