// What went wrong: what the stamps tell about clocks, the collector's events, and what the page
// itself noticed.

import { clip, count, elapsed, words } from "../format";
import { notices, snapshot } from "../store";

const SHOWN = 100;

/** The panel. */
export function Events() {
  const events = snapshot.value?.events ?? [];
  const own = notices.value;
  const findings = (snapshot.value?.lanes ?? []).flatMap(({ name, findings }) =>
    findings.map((finding) => ({ lane: name, ...finding })),
  );
  return (
    <section class="panel events" aria-labelledby="events-title">
      <h2 id="events-title">
        Events{" "}
        <small data-testid="event-count">
          {count(events.length + own.length + findings.length)}
        </small>
      </h2>
      {events.length + own.length + findings.length === 0 && (
        <p class="quiet">
          {snapshot.value === null
            ? "None known: the collector hasn't answered yet."
            : "None: nothing went wrong as far as anybody has noticed."}
        </p>
      )}
      <ul>
        {own.map(({ kind, text, count: times }) => (
          <li key={kind} data-testid="notice" data-kind={kind} data-count={times}>
            <small>this page</small> <b>{count(times)}</b> {text}
          </li>
        ))}
        {findings.slice(0, SHOWN).map(({ lane, kind, subject, text }) => (
          <li key={`${lane} ${kind} ${subject}`} data-testid="finding" data-kind={kind}>
            <small>
              {lane}, <bdi>{clip(subject, 100)}</bdi>
            </small>{" "}
            <b>{words(kind)}</b> {clip(text, 600)}
          </li>
        ))}
        {events.slice(0, SHOWN).map(({ at_ms, kind, text }, i) => (
          <li key={i} data-testid="event" data-kind={kind}>
            <small>at {elapsed(at_ms)}</small> <b>{words(kind)}</b> {clip(text, 600)}
          </li>
        ))}
      </ul>
    </section>
  );
}
