// Opens the live page for a while and tells what it showed, as one line of JSON.
//
//   node page.mjs --url URL --seconds N [--screenshot FILE] [--width W] [--height H] [--dark]
//                 [--until STATE]
//
// URL may also come from HOPWATCH_PAGE_URL. With --until the page is left as soon as the run is
// in that state ("running", "ended"), after N seconds at the latest. Exit codes: 0 the page was
// seen, 2 wrong usage, 4 it could not be opened.

import { parseArgs } from "node:util";
import { launch, openPage } from "./chromium.mjs";
import { observe } from "./observe.mjs";

function usage(problem) {
  process.stderr.write(`page.mjs: ${problem}\n`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        url: { type: "string", default: process.env.HOPWATCH_PAGE_URL },
        seconds: { type: "string", default: "3" },
        screenshot: { type: "string" },
        width: { type: "string", default: "1440" },
        height: { type: "string", default: "900" },
        dark: { type: "boolean", default: false },
        until: { type: "string" },
      },
    }).values;
  } catch (error) {
    return usage(error.message);
  }
}

const { url, seconds, screenshot, width, height, dark, until } = options();
if (url === undefined) usage("no --url and no HOPWATCH_PAGE_URL");
const [ms, w, h] = [Number(seconds) * 1000, Number(width), Number(height)];
if (![ms, w, h].every((n) => Number.isFinite(n) && n > 0)) usage("a number is no number above 0");

const browser = await launch();
try {
  const { page, seen } = await openPage(browser, {
    viewport: { width: w, height: h },
    colorScheme: dark ? "dark" : "light",
  });
  await page.goto(url, { timeout: 30_000 });
  if (until === undefined) {
    await page.waitForTimeout(ms);
  } else {
    // The observation tells whether the state was reached.
    await page.waitForSelector(`main[data-run="${until}"]`, { timeout: ms }).catch(() => undefined);
  }
  if (screenshot !== undefined) await page.screenshot({ path: screenshot });
  process.stdout.write(`${JSON.stringify(await observe(page, seen))}\n`);
} catch (error) {
  process.stderr.write(`page.mjs: failed to look at ${url}: ${error.message}\n`);
  process.exitCode = 4;
} finally {
  await browser.close();
}
