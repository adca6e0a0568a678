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

/** The policy of the page's real server, from the same file, with what can be set. */
function policy(host, ports) {
  const { ai_port, robots_port, network_port } = ports.controls;
  const set = [ai_port, robots_port, network_port]
    .filter((port) => port !== null)
    .map((port) => ` http://${host}:${port}`)
    .join("");
  return readFileSync(join(WEB_UI, "server/content-security-policy.txt"), "utf8")
    .trim()
    .replaceAll("{host}", host)
    .replaceAll("{broadcaster_port}", String(ports.broadcaster_port))
    .replaceAll("{collector_port}", String(ports.collector_port))
    .replace(/connect-src [^;]*/, (sources) => sources.trimEnd() + set);
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
  const { token_needed, ...controls } = ports.controls;
  const set = Object.entries(controls).flatMap(([name, port]) =>
    port === null ? [] : [`--${name.replace("_", "-")}=${port}`],
  );
  const server = spawn(
    program,
    [
      "--listen=127.0.0.1:0",
      `--broadcaster-port=${ports.broadcaster_port}`,
      `--collector-port=${ports.collector_port}`,
      ...set,
      ...(token_needed ? ["--token-needed"] : []),
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
 * `received` holds what pages sent, `answer` may answer it. It can go away and come back at the
 * same port. Requests by HTTP get what `http` answers.
 */
export class FakeFeed {
  port = 0;
  received = [];
  connections = 0;
  #server = null;
  #sockets = null;
  #path;
  #welcome;
  #answer;
  #http;

  constructor(path, welcome, { answer = () => [], http = () => [404, "not found\n"] } = {}) {
    this.#path = path;
    this.#welcome = welcome;
    this.#answer = answer;
    this.#http = http;
  }

  async start() {
    this.#server = createServer((request, reply) => answerHttp(request, reply, this.#http));
    this.#sockets = new WebSocketServer({ server: this.#server, path: this.#path });
    this.#server.listen(this.port, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = this.#server.address().port;
    this.#sockets.on("connection", (socket) => {
      this.connections += 1;
      for (const frame of this.#welcome()) socket.send(text(frame));
      socket.on("message", (data) => {
        const frame = JSON.parse(String(data));
        this.received.push(frame);
        for (const answer of this.#answer(frame)) socket.send(text(answer));
      });
    });
    return this;
  }

  /** To every page. Strings and buffers go as they are, anything else as JSON. */
  send(frame) {
    for (const socket of this.#sockets?.clients ?? []) socket.send(text(frame));
  }

  async stop() {
    const [server, sockets] = [this.#server, this.#sockets];
    this.#server = null;
    this.#sockets = null;
    if (server === null) return;
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

/** As services answer pages of this machine: preflights, and `http(method, path, body, headers)`. */
async function answerHttp(request, reply, http) {
  const { method, url, headers } = request;
  const allowed = {
    "access-control-allow-origin": headers.origin ?? "*",
    "access-control-allow-methods": "GET, PUT, POST",
    "access-control-allow-headers": "authorization, content-type",
    "cross-origin-resource-policy": "cross-origin",
  };
  if (method === "OPTIONS") {
    reply.writeHead(204, allowed).end();
    return;
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const [status, answer] = http(method, url, body === "" ? null : JSON.parse(body), headers);
  reply.writeHead(status, { ...allowed, "content-type": "application/json" });
  reply.end(typeof answer === "string" ? answer : JSON.stringify(answer));
}

/** A service whose settings can be asked for and set; `refuse` may give a sentence. */
export async function fakeSettings(settings, { refuse = () => null, token = null } = {}) {
  const state = { settings, asked: 0, put: [], authorizations: [] };
  const server = createServer((request, reply) =>
    answerHttp(request, reply, (method, path, body, headers) => {
      state.asked += 1;
      state.authorizations.push(headers.authorization ?? null);
      if (path !== "/v1/settings") return [404, "not found\n"];
      if (token !== null && headers.authorization !== `Bearer ${token}`) {
        return [401, "a token is needed (HOPWATCH_TOKEN)\n"];
      }
      if (method === "GET") return [200, state.settings];
      state.put.push(body);
      const why = refuse(body);
      if (why !== null) return [400, `${why}\n`];
      state.settings = body;
      return [200, body];
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    state,
    port: server.address().port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
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
