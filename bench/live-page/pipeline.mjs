// The real pipeline: `hopwatch up`, watched from outside.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { traceOf } from "./accounts.mjs";

const PATIENCE_MS = 60_000;

/** CLOCK_MONOTONIC in ns, the clock of the gateway's stamps on this machine. */
export const now = () => Number(process.hrtime.bigint());

/** The lanes' words: two qualities of service, or topics of their own in turn. */
export function laneWords(lanes) {
  return Array.from({ length: lanes }, (_, index) => {
    const qos = index % 2 === 0 ? "reliable" : "best-effort";
    const topic = lanes > 2 ? `,topic=/lane_${index + 1}` : "";
    return ["--lane", `name=lane-${index + 1},qos=${qos},depth=100${topic}`];
  }).flat();
}

/**
 * Starts it; `rate` is the messages a second of all lanes and robots together, `keep` how many of a lane
 * the collector keeps in memory.
 */
export async function start({ programs, out, rate, lanes, robots, aiMs, keep }) {
  const each = rate / lanes / robots;
  const words = ["up", "--any-ports", "--page-port", "0", "--out", out, "--ai-ms", String(aiMs)];
  words.push("--robots", String(robots), "--rate", String(each), ...laneWords(lanes));
  const child = spawn(`${programs}/hopwatch`, words, {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      ROS_AUTOMATIC_DISCOVERY_RANGE: "LOCALHOST",
      ...(keep === undefined ? {} : { HOPWATCH_COLLECTOR_KEEP_MESSAGES: String(keep) }),
    },
  });
  const ended = new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => resolve({ error }));
  });
  const lines = createInterface({ input: child.stdout });
  const page = new Promise((resolve) => {
    lines.on("line", (line) => {
      if (line.startsWith("live page: ")) resolve(line.slice("live page: ".length).trim());
    });
  });
  const stopped = ended.then((how) => {
    throw new Error(`hopwatch ended before it could be measured: ${JSON.stringify(how)}`);
  });
  stopped.catch(() => undefined);
  const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no live page within ${PATIENCE_MS / 1000} s`);
  });
  late.catch(() => undefined);
  try {
    const url = await Promise.race([page, stopped, late]);
    const config = await (await fetch(new URL("/config.json", url))).json();
    return new Pipeline(child, ended, url, config, out);
  } catch (error) {
    child.kill("SIGINT");
    throw error;
  }
}

class Pipeline {
  constructor(child, ended, url, config, out) {
    Object.assign(this, { child, ended, url, config, out });
  }

  /** What the collector says: each lane's account. */
  async status() {
    const reply = await fetch(`http://127.0.0.1:${this.config.collector_port}/v1/status`);
    if (!reply.ok) throw new Error(`the collector's /v1/status answered ${reply.status}`);
    return reply.json();
  }

  /** Waits until so many messages were delivered. */
  async delivered(count) {
    const deadline = now() + PATIENCE_MS * 1e6;
    for (;;) {
      const { lanes } = await this.status();
      const sum = Object.values(lanes).reduce((all, lane) => all + lane.delivered, 0);
      if (sum >= count) return;
      if (now() > deadline) throw new Error(`${sum} of ${count} messages were delivered in 60 s`);
      await sleep(200);
    }
  }

  /** Ends it in order: its report. */
  async stop() {
    this.child.kill("SIGINT");
    const how = await this.ended;
    const report = await readFile(`${this.out}/report.json`, "utf8").catch(() => null);
    if (report === null) throw new Error(`hopwatch left no report: ${JSON.stringify(how)}`);
    return JSON.parse(report);
  }

  /** The totals (taken → web_acked) in ns of the messages that were taken within this time. */
  async totals(from, to) {
    const reply = await fetch(`http://127.0.0.1:${this.config.collector_port}/v1/dataset`);
    if (!reply.ok) throw new Error(`the collector's /v1/dataset answered ${reply.status}`);
    const totals = [];
    for (const line of (await reply.text()).split("\n")) {
      const trace = traceOf(line);
      if (trace !== null && trace.taken >= from && trace.taken < to) totals.push(trace.total);
    }
    if (totals.length === 0) throw new Error("the collector has no message of this turn");
    return totals;
  }

  /** Ends it, whatever it does, and without a report. */
  async abandon() {
    if (this.child.exitCode === null) {
      this.child.kill("SIGINT");
      await sleep(1000);
      this.child.kill("SIGINT");
      await Promise.race([this.ended, sleep(20_000)]);
      if (this.child.exitCode === null) this.child.kill("SIGKILL");
    }
  }
}
