// What the live page costs: the browser's main thread and memory, and the measured figures.
//
//   node measure.mjs page  [--minutes N] [--lanes N]   one page: is it busy, does it grow, is it right
//                          [--profile] and of its last seconds a CPU profile, which costs some itself
//   node measure.mjs pages [--blocks N] [--block-seconds N] [--open 1,20] [--feeds]
//                          p50 of the pipeline with 0 and with N pages; --feeds: their sockets alone
//
// Both: [--page DIR] (a built page instead of the one in the programs) [--nice N] (of the browser) [--motion]
// (as for a user who doesn't ask for less of it) [--rate HZ] [--robots N] [--lanes N] [--ai-ms MS] [--programs DIR] [--out DIR] [--seed N]
// The ROS environment must be sourced (.hopwatch/env.sh), and the programs be built
// (cargo build --release --workspace --bins). Exit codes: 0 as promised, 1 not, 2 wrong usage,
// 3 not resolved, 4 it could not be measured.

import { mkdir, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { differences, faults, unreconciled } from "./accounts.mjs";
import { look, open } from "./browser.mjs";
import { Feeds } from "./feeds.mjs";
import { now, start } from "./pipeline.mjs";
import { generator, quantile, shuffled, slope } from "./statistics.mjs";
import { compared, judgePage, pagesTable, pageTable } from "./verdict.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** A page opened or closed, and everything settled again. */
const SETTLE_S = 3;
/** So long a profile is taken, after everything that is measured. */
const PROFILE_S = 10;

function usage(problem) {
  process.stderr.write(`measure.mjs: ${problem}\n`);
  process.exit(2);
}

function asked() {
  const string = (value) => ({ type: "string", default: value });
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        minutes: string("1"),
        intervals: string("20"),
        lanes: string("2"),
        robots: string("5"),
        rate: string("1000"),
        "ai-ms": string("2"),
        blocks: string("8"),
        "block-seconds": string("12"),
        open: string("1,20"),
        seed: string("1"),
        nice: string("0"),
        feeds: { type: "boolean", default: false },
        motion: { type: "boolean", default: false },
        page: string(""),
        profile: { type: "boolean", default: false },
        programs: string(process.env.HOPWATCH_PROGRAMS ?? `${ROOT}target/release`),
        out: string(`${ROOT}out/live-page-${new Date().toISOString().replaceAll(":", "")}`),
      },
    });
    const number = (name) => {
      const value = Number(values[name]);
      if (!(value > 0)) usage(`--${name} ${values[name]}: must be a number above 0`);
      return value;
    };
    const counts = values.open.split(",").map(Number);
    if (!counts.every((count) => Number.isInteger(count) && count > 0 && count <= 50)) {
      usage(`--open ${values.open}: numbers of pages from 1 to 50, with commas between`);
    }
    const [what, ...more] = positionals;
    if (!["page", "pages"].includes(what) || more.length > 0) usage("say `page` or `pages`");
    return {
      what,
      seconds: number("minutes") * 60,
      intervals: number("intervals"),
      blocks: number("blocks"),
      blockSeconds: number("block-seconds"),
      counts,
      seed: number("seed"),
      feeds: values.feeds && what === "pages",
      nice: Number(values.nice) || 0,
      motion: values.motion,
      page: values.page === "" ? null : resolve(values.page),
      profile: values.profile && what === "page",
      pipeline: {
        lanes: number("lanes"),
        robots: number("robots"),
        rate: number("rate"),
        aiMs: number("ai-ms"),
        programs: resolve(values.programs),
        out: resolve(values.out),
      },
    };
  } catch (error) {
    return usage(error.message);
  }
}

const said = (text) => process.stderr.write(`${text}\n`);

async function onePage(plan, pipeline, browser) {
  await browser.show(pipeline.url, 1);
  const instruments = await browser.instruments();
  const [cpu, begun] = [await browser.processors(), now()];
  const looks = await look(instruments, plan.seconds, plan.intervals);
  const [cpuAfter, took] = [await browser.processors(), (now() - begun) / 1e9];
  if (plan.profile) await instruments.profile(PROFILE_S, `${plan.pipeline.out}/page.cpuprofile`);
  const before = await pipeline.status();
  // Longer than a snapshot takes to come and to be shown.
  await sleep(1500);
  const { shown, why } = await browser.observe();
  const after = await pipeline.status();
  const wrong =
    shown === null
      ? [`it can't be read: ${why}`]
      : differences(shown.lanes, before.lanes, after.lanes);
  for (const fault of shown === null ? [] : ["csp_violations", "console_errors", "page_errors"]) {
    wrong.push(...shown[fault].map((text) => `${fault}: ${text}`));
  }
  const processors = Object.fromEntries(
    Object.entries(cpuAfter).map(([kind, s]) => [kind, (s - (cpu[kind] ?? 0)) / took]),
  );
  const report = await pipeline.stop();
  wrong.push(...faults(report));
  const measured = {
    looks,
    processors,
    wrong,
    legs: Object.fromEntries(report.lanes.map((lane) => [lane.name, lane.legs])),
    ledgers: Object.fromEntries(report.lanes.map((lane) => [lane.name, lane.ledger])),
    clients: report.clients,
    slope: slope(looks.slice(Math.floor(looks.length / 4)).map(({ at, heap }) => [at, heap])),
  };
  const verdict = judgePage(measured, plan.seconds);
  return { measured, verdict, text: pageTable(plan, measured, verdict) };
}

async function manyPages(plan, pipeline, browser) {
  const random = generator(plan.seed);
  // 0 stands twice in each block: how far these lie apart is the noise.
  const conditions = [
    { name: "0", count: 0 },
    { name: "control", count: 0 },
    ...plan.counts.map((count) => ({ name: String(count), count })),
  ];
  const cells = [];
  for (let block = 0; block < plan.blocks; block += 1) {
    for (const { name, count } of shuffled(conditions, random)) {
      await browser.show(pipeline.url, count);
      await sleep(SETTLE_S * 1000);
      const from = now();
      await sleep(plan.blockSeconds * 1000);
      const to = now();
      // What was taken last has to be recorded, and the collector tells after the turn.
      await sleep(1000);
      const totals = await pipeline.totals(from, to);
      const [p50_us, p99_us] = [0.5, 0.99].map((share) => quantile(totals, share) / 1000);
      cells.push({ block, name, n: totals.length, p50_us, p99_us, load: loadavg()[0] });
      said(`block ${block + 1} of ${plan.blocks}: ${name}: p50 ${p50_us.toFixed(1)} us`);
    }
  }
  const { lanes } = await pipeline.status();
  const measured = { cells, faults: unreconciled(lanes), lanes };
  const verdict = compared(cells, plan.counts.map(String));
  return { measured, verdict, text: pagesTable(plan, measured, verdict) };
}

const plan = asked();
await mkdir(plan.pipeline.out, { recursive: true });
let [pipeline, browser] = [null, null];
try {
  // In turns the collector is asked for its messages: it keeps those of two turns.
  const turn = plan.blockSeconds + SETTLE_S + 5;
  const keep = Math.ceil((2 * turn * plan.pipeline.rate) / plan.pipeline.lanes);
  pipeline = await start({ ...plan.pipeline, keep: plan.what === "pages" ? keep : undefined });
  browser = plan.feeds
    ? new Feeds(pipeline.config)
    : await open({ ...plan, out: plan.pipeline.out });
  await pipeline.delivered(plan.pipeline.rate * 3);
  const load = loadavg()[0];
  const made = await (plan.what === "page" ? onePage : manyPages)(plan, pipeline, browser);
  const result = {
    schema: "hopwatch.live-page/1",
    plan,
    load,
    ...made.measured,
    verdict: made.verdict,
  };
  await writeFile(`${plan.pipeline.out}/live-page.json`, `${JSON.stringify(result, null, 1)}\n`);
  process.stdout.write(
    `${made.text}\nload average of the machine: ${load.toFixed(1)} to ${loadavg()[0].toFixed(1)}\n`,
  );
  process.exitCode = made.verdict.code;
} catch (error) {
  process.stderr.write(`measure.mjs: failed to measure: ${error.stack}\n`);
  process.exitCode = 4;
} finally {
  await browser?.close();
  await pipeline?.abandon();
}
