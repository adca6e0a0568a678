// Whether a page's figures are those of the collector, and what records say. Pure.

/**
 * What a record of the collector says of a delivered message: when it was taken and how long it took
 * to web_acked, in ns of the gateway's clock; null of any other record.
 *
 * @param {string} line
 */
export function traceOf(line) {
  if (!line.includes('"kind":"trace"')) return null;
  const { outcome, stamps } = JSON.parse(line);
  const own = Object.values(stamps).find((of) => of.taken !== undefined);
  if (outcome !== "delivered" || own?.web_acked === undefined) return null;
  return { taken: Number(own.taken), total: Number(BigInt(own.web_acked) - BigInt(own.taken)) };
}

/**
 * What doesn't fit between what the page shows and what the collector said before and after, in
 * sentences. The page may be behind by a snapshot, so each count must lie between the two.
 *
 * @param {{name: string, ledger: Record<string, number|boolean>}[]} shown
 * @param {Record<string, Record<string, unknown>>} before
 * @param {Record<string, Record<string, unknown>>} after
 */
export function differences(shown, before, after) {
  const found = [];
  const names = Object.keys(before).sort();
  const own = shown.map((lane) => lane.name).sort();
  if (names.join() !== own.join()) found.push(`lanes: the page has ${own}, the collector ${names}`);
  for (const { name, ledger } of shown) {
    for (const fate of ["published", "delivered"]) {
      const [low, high] = [before[name]?.[fate], after[name]?.[fate]];
      const value = ledger[fate];
      if (typeof value !== "number") found.push(`${name}: the page shows no ${fate}`);
      else if (!(value >= low && value <= high)) {
        found.push(`${name}: the page shows ${fate} ${value}, the collector ${low} to ${high}`);
      }
    }
  }
  return found;
}

/** Lanes whose account doesn't add up, in sentences. */
export function unreconciled(lanes) {
  return Object.entries(lanes)
    .filter(([, ledger]) => ledger.reconciles !== true)
    .map(([name, { notes }]) => `${name}: ${notes.join("; ")}`);
}

/** What of a report's accounts doesn't add up, in sentences. */
export function faults(report) {
  const found = unreconciled(
    Object.fromEntries(report.lanes.map(({ name, ledger }) => [name, ledger])),
  );
  for (const page of report.clients ?? []) {
    const { client, offered, frames_sent, frames_dropped, waiting } = page;
    if (offered !== frames_sent + frames_dropped + waiting) {
      found.push(
        `page ${client}: ${offered} offered, ${frames_sent + frames_dropped + waiting} known`,
      );
    }
  }
  return found;
}

/** The trace id of a message's frame by its beginning; null of another frame. */
export function traceIdOf(frame) {
  return frame.match(/^\{"type":"message","trace_id":"([0-9a-f]{32})"/)?.[1] ?? null;
}

/** A page's acknowledgement of what it received, all of it painted now. */
export function ackOf(waiting, now) {
  const items = waiting.map((item) => ({ ...item, painted_ns: now }));
  return JSON.stringify({ type: "ack", sent_ns: now, resolution_ns: 100_000, items });
}
