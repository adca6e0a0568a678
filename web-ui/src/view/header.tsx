// Who, how it stands, and whether what is shown is live.

import { computed, signal } from "@preact/signals";
import { dress, speak, THEMES, type Theme, theme } from "../choices";
import { clip, count, durationText, elapsed } from "../format";
import { type EventView, VERSION } from "../generated/wire";
import { unfit } from "../judge";
import type { Connection, Feed } from "../state";
import {
  client,
  configTrouble,
  figures,
  freeze,
  frozen,
  isHung,
  isStale,
  now,
  received,
  resolutionNs,
  runState,
  seenAt,
  silence,
  state,
} from "../store";
import { headWords as words } from "../words/head";
import { LANGUAGES, type Language, language } from "../words/language";
import { runStateName } from "../words/names";
import { explain } from "./explain";

interface Retry {
  retry: (feed: Feed) => void;
}

/** The head of the page. */
export function Header({ retry }: Retry) {
  return (
    <header class="head">
      <h1>
        <img src="/favicon.svg" alt="" width="20" height="20" /> Hopwatch
      </h1>
      <Run />
      <div class="connections">
        <Pill feed="broadcaster" retry={retry} />
        <Pill feed="collector" retry={retry} />
      </div>
      <Choices />
    </header>
  );
}

function Run() {
  return (
    <div class="run">
      <span
        class="pill"
        data-kind={runState.value ?? "unknown"}
        data-testid="run-state"
        role="status"
      >
        {isStale.value && `${words("last_known")} `}
        {runState.value === null ? words("no_figures") : runStateName(runState.value)}
      </span>
      <Where />
      <Own />
    </div>
  );
}

function Where() {
  const shown = figures.value;
  if (shown === null) return null;
  return (
    <span class="aside">
      {words("run")} <bdi data-testid="run-id">{shown.runId}</bdi> ·{" "}
      <span data-testid="elapsed">{elapsed(shown.elapsedMs)}</span> ·{" "}
      <span data-testid="clients" data-count={shown.clients}>
        {words("pages", { n: count(shown.clients) })}
      </span>
    </span>
  );
}

/** What is known of this page itself. */
function Own() {
  return (
    <span class="aside own">
      {client.value !== null && (
        <>
          {words("this_page")} <bdi data-testid="client">{client.value}</bdi>{" "}
          <span data-testid="received" data-count={received.value}>
            {words("messages_here", { n: count(received.value) })}
          </span>{" "}
          ·{" "}
        </>
      )}
      <span {...explain("clock_step")}>
        {words("clock_step")}{" "}
        <span data-testid="resolution" data-ns={resolutionNs.value}>
          {durationText(resolutionNs.value)}
        </span>
      </span>
    </span>
  );
}

const NAMES = { broadcaster: "messages", collector: "figures" } as const;

function Pill({ feed, retry }: { feed: Feed } & Retry) {
  const connection: Connection = state.value[feed];
  return (
    <span class="connection" data-testid={`connection-${feed}`} data-kind={connection.kind}>
      {words(NAMES[feed])} <strong role="status">{words(connection.kind)}</strong>
      {connection.kind === "disconnected" && (
        <>
          {" – "}
          {words("again_in", {
            s: Math.max(0, Math.ceil((connection.retryAt - now.value) / 1000)),
          })}{" "}
          <button type="button" onClick={() => retry(feed)}>
            {words("now")}
          </button>
        </>
      )}
      {feed === "collector" && connection.kind === "live" && <Silence />}
    </span>
  );
}

const isCatchingUp = computed(() => {
  const { figuresAt, figures: known } = state.value;
  return figuresAt !== null && figuresAt < seenAt.value && known?.state !== "ended";
});

function Silence() {
  if (silence.value !== null) {
    return <span class="warn"> – {words("silent", { t: elapsed(silence.value) })}</span>;
  }
  return isCatchingUp.value ? <span class="quiet"> – {words("catching_up")}</span> : null;
}

function Choices() {
  return (
    <div class="choices">
      <select
        aria-label={words("language")}
        data-testid="language"
        value={language.value}
        onChange={(event) => speak(event.currentTarget.value as Language)}
      >
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label={words("theme")}
        data-testid="theme"
        value={theme.value}
        onChange={(event) => dress(event.currentTarget.value as Theme)}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {words(name)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** What is told of QoS that doesn't fit and still holds, and what the user has put aside. */
const qosTroubles = computed(() => unfit(figures.value));
const putAside = signal<ReadonlySet<string>>(new Set());
const nameOf = ({ at_ms, text }: EventView): string => `${at_ms} ${text}`;

/** What must be known before any figure is read. */
export function Banners() {
  return (
    <div class="banners">
      <Connections />
      <Paused />
      <Qos />
    </div>
  );
}

function Connections() {
  const { broadcaster, collector, figuresAt } = state.value;
  for (const [feed, connection] of Object.entries({ broadcaster, collector })) {
    if (connection.kind !== "incompatible") continue;
    return (
      <div class="banner" role="alert" data-testid="incompatible">
        {words("incompatible_says", { own: VERSION, feed, other: connection.version })}{" "}
        <button type="button" onClick={() => location.reload()}>
          {words("reload")}
        </button>
      </div>
    );
  }
  if (configTrouble.value !== null) {
    return (
      <div class="banner" role="alert" data-testid="no-config">
        {words("no_config", { why: configTrouble.value })}
      </div>
    );
  }
  if (figuresAt !== null && collector.kind !== "live") {
    return (
      <div class="banner" role="alert" data-testid="stale">
        {words("stale")} <Age of={figuresAt} />
      </div>
    );
  }
  if (figuresAt !== null && isHung.value) {
    return (
      <div class="banner" role="alert" data-testid="hung">
        {words("hung")} <Age of={figuresAt} />
      </div>
    );
  }
  if (broadcaster.kind === "disconnected") {
    return (
      <div class="banner" role="alert" data-testid="broadcaster-away">
        {words("broadcaster_away")}
      </div>
    );
  }
  return runState.value === "ended" ? (
    <div class="banner calm" role="status" data-testid="ended">
      {words("ended")}
    </div>
  ) : null;
}

function Age({ of }: { of: number }) {
  const age = Math.floor((now.value - of) / 1000) * 1000;
  return <span aria-hidden="true">{words("stale_age", { t: elapsed(age) })}</span>;
}

function Paused() {
  const since = frozen.value;
  if (since === null) return null;
  const messages = received.value - since.received;
  const snapshots = state.value.snapshots - since.snapshots;
  return (
    <div class="banner calm" role="status" data-testid="paused" data-messages={messages}>
      <span>
        {words("paused", { at: elapsed(since.figures.elapsedMs) })}{" "}
        <span aria-hidden="true" data-testid="paused-since" data-count={snapshots}>
          {words("paused_since", { messages: count(messages), snapshots: count(snapshots) })}
        </span>{" "}
      </span>
      <button type="button" onClick={() => freeze(false)} data-testid="follow">
        {words("follow")}
      </button>
    </div>
  );
}

function Qos() {
  const troubles = qosTroubles.value.filter((event) => !putAside.value.has(nameOf(event)));
  const [event, ...others] = troubles;
  if (event === undefined) return null;
  return (
    <div class="banner" role="alert" data-testid="qos" data-count={troubles.length}>
      <span>
        <b>{words("qos")}</b> <small>{words("since", { t: elapsed(event.at_ms) })}</small>{" "}
        <span lang="en">{clip(event.text, 300)}</span>{" "}
        {others.length > 0 && <b>{words("more_qos", { n: count(others.length) })} </b>}
      </span>
      <button
        type="button"
        onClick={() => {
          putAside.value = new Set([...putAside.value, ...troubles.map(nameOf)]);
        }}
      >
        {words("dismiss")}
      </button>
    </div>
  );
}
