// A broadcaster, a collector and a page server that do what a test tells them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";

const WEB_UI = fileURLToPath(new URL("../../../web-ui/", import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The policy of the page's real server, from the same file. */
function policy(host, ports) {
  return readFileSync(join(WEB_UI, "server/content-security-policy.txt"), "utf8")
    .trim()
    .replaceAll("{host}", host)
    .replaceAll("{broadcaster_port}", String(ports.broadcaster_port))
    .replaceAll("{collector_port}", String(ports.collector_port));
}

/**
 * Serves the page: by the real server where HOPWATCH_WEB_UI names the program, otherwise
 * web-ui/dist with the same headers.
 */
export function pageServer(ports) {
  const program = process.env.HOPWATCH_WEB_UI;
  return program === undefined ? fakePageServer(ports) : realPageServer(program, ports);
}

async function realPageServer(program, ports) {
  const server = spawn(
    program,
    [
      "--listen=127.0.0.1:0",
      `--broadcaster-port=${ports.broadcaster_port}`,
      `--collector-port=${ports.collector_port}`,
      "--end-with-parent",
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  for await (const line of createInterface({ input: server.stdout })) {
    const url = `http://${JSON.parse(line).listening}/`;
    return { url, close: () => server.kill() };
  }
  throw new Error(`${program} ended without telling where it listens`);
}

async function fakePageServer(ports) {
  const server = createServer((request, reply) => {
    const headers = {
      "content-security-policy": policy("127.0.0.1", ports),
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    };
    const path = request.url === "/" ? "/index.html" : normalize(request.url ?? "");
    if (path === "/config.json") {
      reply.writeHead(200, { ...headers, "content-type": "application/json" });
      reply.end(JSON.stringify(ports));
      return;
    }
    try {
      const body = readFileSync(join(WEB_UI, "dist", path));
      reply.writeHead(200, { ...headers, "content-type": TYPES[extname(path)] ?? "text/plain" });
      reply.end(body);
    } catch {
      reply.writeHead(404, headers).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * One side that a page connects to. `welcome` gives the frames that a new connection gets first;
 * `received` holds what pages sent. It can go away and come back at the same port.
 */
export class FakeFeed {
  port = 0;
  received = [];
  connections = 0;
  #server = null;
  #path;
  #welcome;

  constructor(path, welcome) {
    this.#path = path;
    this.#welcome = welcome;
  }

  async start() {
    this.#server = new WebSocketServer({ host: "127.0.0.1", port: this.port, path: this.#path });
    await once(this.#server, "listening");
    this.port = this.#server.address().port;
    this.#server.on("connection", (socket) => {
      this.connections += 1;
      for (const frame of this.#welcome()) socket.send(text(frame));
      socket.on("message", (data) => this.received.push(JSON.parse(String(data))));
    });
    return this;
  }

  /** To every page. Strings and buffers go as they are, anything else as JSON. */
  send(frame) {
    for (const socket of this.#server?.clients ?? []) socket.send(text(frame));
  }

  async stop() {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    for (const socket of server.clients) socket.terminate();
    await new Promise((closed) => server.close(closed));
  }
}

function text(frame) {
  return typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame);
}

/** Waits until `ask` gives something true; says what it last gave when it takes too long. */
export async function until(what, ask, ms = 10_000) {
  const end = Date.now() + ms;
  for (;;) {
    const last = await ask();
    if (last) return last;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms, last ${last}`);
    await new Promise((later) => setTimeout(later, 25));
  }
}
