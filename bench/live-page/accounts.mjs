// Whether a page's figures are those of the collector, and what traces.csv says. Pure.

/** Columns of traces.csv that are needed. */
const COLUMNS = ["outcome", "taken_ns", "total_ns"];

/**
 * Reads rows of traces.csv one by one: `next(line)` gives {taken, total} of a delivered message in
 * ns, null for another. Only cells of ours that hold quotes matter: one row may have several lines,
 * of which all but the first have too few cells, and are passed over.
 *
 * @param {string} header
 */
export function traceReader(header) {
  const names = cells(header);
  const [outcome, taken, total] = COLUMNS.map((name) => names.indexOf(name));
  if ([outcome, taken, total].includes(-1)) {
    throw new Error(`traces.csv lacks one of the columns ${COLUMNS.join(", ")}: ${header}`);
  }
  return (line) => {
    const row = cells(line);
    if (row.length !== names.length || row[outcome] !== "delivered") return null;
    if (row[taken] === "" || row[total] === "") return null;
    return { taken: Number(row[taken]), total: Number(row[total]) };
  };
}

/** The cells of a line (RFC 4180). */
export function cells(line) {
  if (!line.includes('"')) return line.split(",");
  const row = [];
  const cell = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/gy;
  for (const [, quoted, plain] of line.matchAll(cell)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
  }
  return row;
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

/** What of a report's accounts doesn't add up, in sentences. */
export function faults(report) {
  const found = [];
  for (const { name, ledger } of report.lanes) {
    if (ledger.reconciles !== true) found.push(`${name}: ${ledger.notes.join("; ")}`);
  }
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
