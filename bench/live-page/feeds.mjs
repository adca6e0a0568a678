// Pages without a browser: both sockets of a page, read and acknowledged as it does.
//
// Twenty browsers on the machine of the pipeline would show what twenty browsers cost a machine.
// Elsewhere, what they cost the pipeline is their sockets: these.

import { createRequire } from "node:module";
import { ackOf, traceIdOf } from "./accounts.mjs";

const WebSocket = createRequire(new URL("../../e2e/browser/package.json", import.meta.url))("ws");
/** A page acknowledges once a frame. */
const FRAME_MS = 1000 / 60;
const PATIENCE_MS = 30_000;

/** Pages that can be opened and closed. */
export class Feeds {
  pages = [];

  constructor({ broadcaster_port, collector_port }) {
    this.urls = [
      `ws://127.0.0.1:${broadcaster_port}/ws`,
      `ws://127.0.0.1:${collector_port}/v1/live`,
    ];
  }

  /** Opens or closes pages until there are so many. */
  async show(_url, count) {
    while (this.pages.length > count) this.pages.pop().close();
    while (this.pages.length < count) this.pages.push(await connect(this.urls));
  }

  close() {
    return this.show("", 0);
  }
}

async function connect([messages, live]) {
  const waiting = [];
  const options = { origin: "http://127.0.0.1:3000", perMessageDeflate: false };
  const broadcaster = new WebSocket(messages, options);
  const collector = new WebSocket(live, options);
  const now = () => String(Math.round(performance.now() * 1e6));
  broadcaster.on("message", (data) => {
    const id = traceIdOf(data.toString("latin1", 0, 80));
    if (id !== null) waiting.push({ trace_id: id, received_ns: now() });
  });
  const acknowledging = setInterval(() => {
    if (waiting.length > 0 && broadcaster.readyState === WebSocket.OPEN) {
      broadcaster.send(ackOf(waiting.splice(0), now()));
    }
  }, FRAME_MS);
  await Promise.all([first(broadcaster), first(collector)]);
  return {
    close() {
      clearInterval(acknowledging);
      broadcaster.terminate();
      collector.terminate();
    },
  };
}

/** Waits for the first message of a socket. */
function first(socket) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${socket.url} says nothing`)), PATIENCE_MS);
    socket.once("message", () => {
      clearTimeout(late);
      resolve();
    });
    socket.on("error", reject);
  });
}
