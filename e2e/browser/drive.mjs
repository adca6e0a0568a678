// Keeps the live page open and does what it is told, a line of JSON each on standard input; each is
// answered by a line of JSON on standard output. It ends with standard input.
//
//   node drive.mjs --url URL [--shots FOLDER]
//
// {"do":"look"}                          everything that the page shows
// {"do":"fed"}                           the lanes as the collector sent them last, by name
// {"do":"wait","for":SELECTOR,"ms":N}    → {"there":true} once it is visible, else false
// {"do":"click","on":SELECTOR} · {"do":"fill","on":SELECTOR,"text":T} · {"do":"press","key":K}
// {"do":"choose","on":SELECTOR,"value":V}
// {"do":"shot","name":NAME}              a screenshot of that name, for a person to look at
//
// Exit codes: 0, 2 wrong usage, 4 the page could not be opened or something could not be done.

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { launch, openPage } from "./chromium.mjs";
import { observe } from "./observe.mjs";

const { url, shots } = parseArgs({
  options: { url: { type: "string" }, shots: { type: "string" } },
}).values;
if (url === undefined) {
  process.stderr.write("drive.mjs: no --url\n");
  process.exit(2);
}

const browser = await launch();
try {
  const { page, seen } = await openPage(browser);
  const fed = new Map();
  page.on("websocket", (socket) => {
    if (!socket.url().endsWith("/v1/live")) return;
    socket.on("framereceived", ({ payload }) => {
      const frame = JSON.parse(String(payload));
      if (frame.type !== "snapshot") return;
      if (frame.whole) fed.clear();
      for (const part of frame.parts) if (part.kind === "lane") fed.set(part.lane.name, part.lane);
    });
  });
  await page.goto(url, { timeout: 30_000 });
  for await (const line of createInterface({ input: process.stdin })) {
    const told = JSON.parse(line);
    const answer = await act(page, seen, fed, told);
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
} catch (error) {
  process.stderr.write(`drive.mjs: ${error.message}\n`);
  process.exitCode = 4;
} finally {
  await browser.close();
}

async function act(page, seen, fed, told) {
  switch (told.do) {
    case "look":
      return { ...(await observe(page, seen)), fates: await page.evaluate(fates) };
    case "fed":
      return Object.fromEntries(fed);
    case "wait": {
      const waiting = page.waitForSelector(told.for, { timeout: told.ms });
      return {
        there: await waiting.then(
          () => true,
          () => false,
        ),
      };
    }
    case "click":
      await page.click(told.on, { timeout: 10_000 });
      return {};
    case "fill":
      await page.fill(told.on, told.text, { timeout: 10_000 });
      return {};
    case "press":
      await page.keyboard.press(told.key);
      return {};
    case "choose":
      await page.selectOption(told.on, told.value, { timeout: 10_000 });
      return {};
    case "shot":
      if (shots !== undefined) await page.screenshot({ path: `${shots}/${told.name}.png` });
      return {};
    default:
      throw new Error(`nothing is done for ${JSON.stringify(told)}`);
  }
}

/** Runs in the browser: what the flow says became of the messages, by fate. */
function fates() {
  const named = [...document.querySelectorAll("[data-testid=flow] [data-fate]")];
  return Object.fromEntries(
    named.map((element) => [element.dataset.fate, Number(element.dataset.count)]),
  );
}
