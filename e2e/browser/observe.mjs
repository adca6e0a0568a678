// What the page shows, read from its data-testid attributes.

/**
 * Everything that the page shows, as one object.
 *
 * @param {import("playwright-core").Page} page
 * @param {{consoleErrors: string[], pageErrors: string[], requests: string[], sent: string[]}} seen
 */
export async function observe(page, seen) {
  const opened = await openAll(page);
  const shown = await page.evaluate(readPage);
  if (opened) {
    await page.click('[data-testid="all-figures"]');
    await page.waitForSelector('[data-testid="all-open"]', { state: "detached" });
  }
  const origin = new URL(page.url());
  const acks = seen.sent.map((text) => JSON.parse(text)).filter((frame) => frame.type === "ack");
  const items = acks.flatMap((ack) => ack.items);
  return {
    ...shown,
    acks: {
      frames: acks.length,
      items: items.length,
      painted: items.filter((item) => item.painted_ns !== null).length,
      resolution_ns: acks[0]?.resolution_ns ?? null,
    },
    console_errors: seen.consoleErrors,
    page_errors: seen.pageErrors,
    // Another port of the page's host is one of Hopwatch's own services.
    foreign_requests: seen.requests.filter((url) => {
      const { protocol, hostname } = new URL(url);
      return protocol !== "data:" && protocol !== "blob:" && hostname !== origin.hostname;
    }),
  };
}

/** All figures stand in a fold below the essentials. */
async function openAll(page) {
  const fold = page.locator('[data-testid="all-figures"][aria-expanded="false"]');
  if ((await fold.count()) === 0) return false;
  await fold.click();
  await page.waitForSelector('[data-testid="all-open"]');
  return true;
}

/** Runs in the browser. */
function readPage() {
  const find = (id, within = document) => within.querySelector(`[data-testid="${id}"]`);
  const all = (id, within = document) => [...within.querySelectorAll(`[data-testid="${id}"]`)];
  const text = (element) => element?.textContent?.trim() ?? null;
  const figure = (element, name) => {
    const value = element?.dataset[name];
    return value === undefined ? null : Number(value);
  };
  const prefixed = (prefix, within) =>
    Object.fromEntries(
      [...within.querySelectorAll(`[data-testid^="${prefix}"]`)].map((element) => [
        element.dataset.testid.slice(prefix.length),
        figure(element, "count") ?? figure(element, "ns") ?? text(element),
      ]),
    );
  const CLASSES = ["ai", "transport", "overhead", "communication", "total"];
  return {
    title: document.title,
    cross_origin_isolated: globalThis.crossOriginIsolated,
    csp_violations: globalThis.policyViolations ?? [],
    state: document.querySelector("main")?.dataset.run ?? null,
    state_text: text(find("run-state")),
    run_id: text(find("run-id")),
    stale: document.querySelector("main")?.dataset.stale === "true",
    incompatible: text(find("incompatible")),
    connection: {
      broadcaster: find("connection-broadcaster")?.dataset.kind ?? null,
      collector: find("connection-collector")?.dataset.kind ?? null,
    },
    client: text(find("client")),
    clients: figure(find("clients"), "count"),
    received: figure(find("received"), "count") ?? 0,
    resolution_ns: figure(find("resolution"), "ns"),
    last_message: text(find("last-message")),
    lanes: all("lane").map((lane) => ({
      name: lane.dataset.lane,
      unstable: lane.dataset.unstable === "true",
      unstable_text: text(find("unstable", lane)),
      classes: Object.fromEntries(CLASSES.map((name) => [name, prefixed(`class-${name}-`, lane)])),
      ledger: {
        ...prefixed("ledger-", find("ledger", lane)),
        source: find("ledger-source", lane).dataset.source,
        reconciles: find("ledger", lane).dataset.reconciles === "true",
        notes: all("ledger-note", lane).map(text),
      },
    })),
    legs: {
      lane: find("legs")?.dataset.lane ?? null,
      rows: Object.fromEntries(
        all("leg").map((row) => [
          row.dataset.leg,
          {
            resolved: row.dataset.resolved === "true",
            ...prefixed(`leg-${row.dataset.leg}-`, row),
          },
        ]),
      ),
    },
    messages: all("message").map((message) => ({
      trace_id: message.dataset.trace,
      outcome: message.dataset.outcome,
      outcome_text: text(message.querySelector(".outcome")),
      total_ns: figure(find("message-total", message), "ns"),
      legs: [...message.querySelectorAll("[data-leg]")].map((leg) => leg.dataset.leg),
      negative: all("negative-leg", message).map(text),
      glass: all("glass", message).map(text),
    })),
    events: all("event").map((event) => ({ kind: event.dataset.kind, text: text(event) })),
    notices: Object.fromEntries(
      all("notice").map((notice) => [notice.dataset.kind, figure(notice, "count")]),
    ),
    scrolls_sideways: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
}
