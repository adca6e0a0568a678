// Pages in Debian's Chromium, and what its own instruments say of them.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { launch, openPage } from "../../e2e/browser/chromium.mjs";
import { observe } from "../../e2e/browser/observe.mjs";

/**
 * Starts the browser, with what is left of the processors if it is to be `nice`: users' browsers are
 * on other machines, or give way.
 */
export async function open({ nice, page, motion, out }) {
  const built = page === null ? null : await readBuilt(page);
  if (nice > 0) {
    const script = `${out}/chromium.sh`;
    const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
    await writeFile(script, `#!/bin/sh\nexec nice -n ${nice} '${chromium}' "$@"\n`, {
      mode: 0o755,
    });
    process.env.CHROMIUM = script;
  }
  return new Browser(await launch(), built, motion);
}

const TYPES = { css: "text/css", js: "text/javascript" };

/** The scripts and styles of a page that vite built into this folder. */
async function readBuilt(folder) {
  const names = await readdir(`${folder}/assets`);
  const files = names.filter((name) => name.split(".").at(-1) in TYPES);
  if (files.length === 0) throw new Error(`${folder}/assets: no page is built there`);
  const read = async (name) => [name, await readFile(`${folder}/assets/${name}`, "utf8")];
  return new Map(await Promise.all(files.map(read)));
}

/**
 * What is answered instead of a file of the page in the programs: its own, or for the two that
 * index.html names by another hash those of the same kind.
 *
 * @param {Map<string, string>} built
 * @param {string} path
 */
export function insteadOf(built, path) {
  const asked = path.slice(path.lastIndexOf("/") + 1);
  const kind = asked.split(".").at(-1);
  const name = built.has(asked)
    ? asked
    : [...built.keys()].find((one) => one.startsWith("index-") && one.endsWith(`.${kind}`));
  return name === undefined ? null : { body: built.get(name), contentType: TYPES[kind] };
}

class Browser {
  pages = [];

  constructor(browser, built, motion) {
    Object.assign(this, { browser, built, motion });
  }

  /** Opens or closes pages until so many show the run. */
  async show(url, count) {
    while (this.pages.length > count) await this.pages.pop().close();
    while (this.pages.length < count) {
      const opened = await openPage(
        this.browser,
        this.motion ? { reducedMotion: "no-preference" } : {},
      );
      this.pages.push(opened);
      // The policy of the page is its own affair; frames of sockets aren't kept here.
      opened.page.removeAllListeners("websocket");
      // Only scripts and styles: a document that didn't come from the loopback interface may open
      // no sockets there.
      if (this.built !== null) {
        await opened.page.route("**/assets/*", (route) => {
          const answer = insteadOf(this.built, new URL(route.request().url()).pathname);
          return answer === null ? route.abort() : route.fulfill(answer);
        });
      }
      await opened.page.goto(url, { timeout: 120_000 });
      await opened.page.waitForSelector('main[data-run="running"]', {
        state: "attached",
        timeout: 120_000,
      });
    }
  }

  /** The instruments of the first page. */
  async instruments() {
    const { page } = this.pages[0];
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "timeTicks" });
    return new Instruments(cdp);
  }

  /** What the first page shows; null with the reason when it can't be read. */
  async observe() {
    const { page, seen } = this.pages[0];
    try {
      return { shown: await observe(page, seen), why: null };
    } catch (error) {
      return { shown: null, why: error.message };
    }
  }

  /** Processor seconds of each kind of the browser's processes. */
  async processors() {
    const cdp = await this.browser.newBrowserCDPSession();
    const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
    await cdp.detach();
    const seconds = {};
    for (const { type, cpuTime } of processInfo) seconds[type] = (seconds[type] ?? 0) + cpuTime;
    return seconds;
  }

  close() {
    return this.browser.close();
  }
}

/** What Chromium counts of one page. */
class Instruments {
  constructor(cdp) {
    this.cdp = cdp;
  }

  /**
   * Times in seconds, sizes in bytes. `task` is the time of tasks by the clock, `cpu` the main
   * thread's processor time: less, where others wanted the processor.
   */
  async read() {
    const { metrics } = await this.cdp.send("Performance.getMetrics");
    const of = Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
    return {
      at: of.Timestamp,
      task: of.TaskDuration,
      cpu: of.ThreadTime,
      script: of.ScriptDuration,
      layout: of.LayoutDuration + of.RecalcStyleDuration,
      nodes: of.Nodes,
      heap: of.JSHeapUsedSize,
    };
  }

  /** What the main thread's scripts do for so long, for the tools of a browser to show. */
  async profile(seconds, path) {
    await this.cdp.send("Profiler.enable");
    await this.cdp.send("Profiler.start");
    await sleep(seconds * 1000);
    const { profile } = await this.cdp.send("Profiler.stop");
    await writeFile(path, JSON.stringify(profile));
  }

  /** The heap after everything that is garbage is gone, in bytes. */
  async settledHeap() {
    await this.cdp.send("HeapProfiler.collectGarbage");
    return (await this.read()).heap;
  }
}

/** Looks at a page for so long: how busy it was in each interval, and its heap at each end. */
export async function look(instruments, seconds, intervals) {
  const looks = [];
  const begun = performance.now();
  for (let n = 1; n <= intervals; n += 1) {
    const before = await instruments.read();
    const due = begun + (n * seconds * 1000) / intervals;
    await sleep(Math.max(due - performance.now(), 0));
    const after = await instruments.read();
    const heap = await instruments.settledHeap();
    const took = after.at - before.at;
    looks.push({
      at: (performance.now() - begun) / 1000,
      busy: (after.task - before.task) / took,
      cpu: (after.cpu - before.cpu) / took,
      script: (after.script - before.script) / took,
      layout: (after.layout - before.layout) / took,
      nodes: after.nodes,
      heap,
    });
  }
  return looks;
}
