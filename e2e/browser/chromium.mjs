// Debian's Chromium with a fresh profile, told to speak with nobody but the page's servers.

import { chromium } from "playwright-core";

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the browser; `close()` ends it and removes its profile. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ARGUMENTS,
    timeout: 60_000,
  });
}

/**
 * A page with all that it did beside being shown: errors, violations of its policy, requests to
 * others, and the frames of its sockets.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions} options
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  const seen = { consoleErrors: [], pageErrors: [], requests: [], sent: [] };
  page.on("console", (message) => {
    if (message.type() === "error") seen.consoleErrors.push(message.text());
  });
  page.on("pageerror", (error) => seen.pageErrors.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("websocket", (socket) => {
    seen.requests.push(socket.url());
    socket.on("framesent", ({ payload }) => seen.sent.push(String(payload)));
  });
  await page.addInitScript(() => {
    globalThis.policyViolations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      globalThis.policyViolations.push(`${event.effectiveDirective}: ${event.blockedURI}`);
    });
  });
  return { page, seen, close: () => context.close() };
}
