// Services and a page that are connected, for each test anew.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openPage } from "../chromium.mjs";
import { snapshot } from "../fake/figures.mjs";
import { FakeFeed, pageServer } from "../fake/servers.mjs";
import { observe } from "../observe.mjs";

const OUT = fileURLToPath(new URL("../out/", import.meta.url));
export const HELLO = { type: "hello", version: 2, client: "page-1" };
const NOTHING_TO_SET = {
  ai_port: null,
  robots_port: null,
  network_port: null,
  token_needed: false,
};

/** The services and a page that is connected to them. */
export async function openWorld(
  browser,
  { hello = HELLO, first = snapshot(), controls = {}, answer, http, ...options } = {},
) {
  mkdirSync(OUT, { recursive: true });
  const broadcaster = await new FakeFeed("/ws", () => [hello]).start();
  const begin = typeof first === "function" ? first : () => first;
  const collector = await new FakeFeed("/v1/live", () => [begin()], { answer, http }).start();
  const server = await pageServer({
    broadcaster_port: broadcaster.port,
    collector_port: collector.port,
    controls: { ...NOTHING_TO_SET, ...controls },
  });
  const opened = await openPage(browser, options);
  const { page, seen } = opened;
  await page.goto(server.url);
  return {
    broadcaster,
    collector,
    page,
    seen,
    look: () => observe(page, seen),
    shot: (name, fullPage = false) => page.screenshot({ path: `${OUT}${name}.png`, fullPage }),
    end: async () => {
      await opened.close();
      server.close();
      await Promise.all([broadcaster.stop(), collector.stop()]);
    },
  };
}

export const kind = (page, feed, wanted) =>
  page.waitForSelector(`[data-testid="connection-${feed}"][data-kind="${wanted}"]`);

/** Both connections are there, and figures on the page. */
export const live = ({ page }) =>
  Promise.all([kind(page, "broadcaster", "live"), kind(page, "collector", "live")]);

/** Nothing odd happened beside what the test wanted. */
export function clean(shown) {
  assert.deepEqual(shown.csp_violations, []);
  assert.deepEqual(shown.page_errors, []);
  assert.deepEqual(shown.console_errors, []);
  assert.deepEqual(shown.foreign_requests, []);
}

/** All essentials stand on the screen, in full and side by side, and nothing scrolls to see them. */
export async function onOneScreen(page, { crowded = false } = {}) {
  const found = await page.evaluate(() => {
    const panels = [...document.querySelectorAll("main > .panel, .answer-card")].map((panel) => {
      const { top, bottom, left, right } = panel.getBoundingClientRect();
      return { name: panel.dataset.testid, top, bottom, left, right };
    });
    // Nothing is cut off inside a panel either, nor has to be scrolled to; lists grow, though.
    const within = "main > .panel, .scroll:not(ul), .chart, .answer-card, .budget .name";
    const cut = [...document.querySelectorAll(within)]
      .filter((one) => {
        const { scrollWidth, clientWidth, scrollHeight, clientHeight } = one;
        return scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1;
      })
      .map((one) => {
        const { scrollWidth, clientWidth, scrollHeight, clientHeight } = one;
        const name = one.closest("[data-testid]")?.dataset.testid;
        return `${name} .${one.className}: ${scrollWidth} × ${scrollHeight} in ${clientWidth} × ${clientHeight}`;
      });
    return { panels, cut, height: document.documentElement.scrollHeight, innerHeight, innerWidth };
  });
  assert.ok(found.height <= found.innerHeight, `page is ${found.height} px high`);
  assert.equal(found.panels.length, 16);
  // Below a banner, and with more lanes than a table has room for, some must be scrolled to.
  if (!crowded) assert.deepEqual(found.cut, []);
  for (const { name, top, bottom, left, right } of found.panels) {
    assert.ok(top >= 0 && bottom <= found.innerHeight, `${name}: ${top} … ${bottom}`);
    assert.ok(left >= 0 && right <= found.innerWidth, `${name}: ${left} … ${right}`);
  }
}
