// What went wrong and what was marked: what the stamps tell about clocks, the collector's events,
// and what the page itself noticed.

import { computed } from "@preact/signals";
import { clip, count, elapsed, words as plain } from "../format";
import { figures, lanes, notices } from "../store";
import { eventName, noticeText } from "../words/names";
import { panelWords as words } from "../words/panels";
import { Panel } from "./panel";

const SHOWN = 100;

const events = computed(() => figures.value?.events ?? []);
const findings = computed(() =>
  lanes.value.flatMap(({ name, findings: found }) =>
    found.map((finding) => ({ lane: name, ...finding })),
  ),
);

const named = (kind: string): string => eventName(kind) ?? plain(kind);

/** The panel. */
export function Events() {
  const all = events.value.length + notices.value.length + findings.value.length;
  return (
    <Panel
      id="events"
      title={words("events")}
      term="event"
      aside={<small data-testid="event-count">{count(all)}</small>}
    >
      {all === 0 && (
        <p class="quiet empty">{words(figures.value === null ? "no_events_yet" : "no_events")}</p>
      )}
      {all > 0 && <List />}
    </Panel>
  );
}

/** In the page's language; the reason why a frame was refused stays as it is. */
function Noticed({ kind, text }: { kind: string; text: string }) {
  const known = noticeText(kind);
  if (known === undefined) return <span lang="en">{text}</span>;
  const [, why] = text.split("; last: ");
  return (
    <>
      {known}
      {why !== undefined && <span lang="en">: {why}</span>}
    </>
  );
}

function List() {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <ul class="scroll" tabIndex={0} aria-label={words("events")}>
      {notices.value.map(({ kind, text, count: times }) => (
        <li key={kind} data-testid="notice" data-kind={kind} data-count={times}>
          <small>{words("this_page")}</small> <b>{count(times)}</b>{" "}
          <Noticed kind={kind} text={text} />
        </li>
      ))}
      {events.value.slice(0, SHOWN).map(({ at_ms, kind, text }, i) => (
        <li key={i} data-testid="event" data-kind={kind}>
          <small>{words("at", { t: elapsed(at_ms) })}</small> <b>{named(kind)}</b>{" "}
          <span lang="en">{clip(text, 600)}</span>
        </li>
      ))}
      {findings.value.slice(0, SHOWN).map(({ lane, kind, subject, text }) => (
        <li key={`${lane} ${kind} ${subject}`} data-testid="finding" data-kind={kind}>
          <small>
            {lane}, <bdi>{clip(subject, 100)}</bdi>
          </small>{" "}
          <b>{named(kind)}</b> <span lang="en">{clip(text, 600)}</span>
        </li>
      ))}
    </ul>
  );
}
