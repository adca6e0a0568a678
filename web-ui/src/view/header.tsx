// Who, how it stands, and whether what is shown is live.

import { computed, signal } from "@preact/signals";
import { dress, speak, THEMES, type Theme, theme } from "../choices";
import { clip, count, durationText, elapsed } from "../format";
import { VERSION } from "../generated/wire";
import type { Connection, Feed } from "../state";
import {
  client,
  configTrouble,
  figures,
  freeze,
  frozen,
  isStale,
  now,
  received,
  resolutionNs,
  runState,
  seenAt,
  state,
} from "../store";
import { headWords as words } from "../words/head";
import { LANGUAGES, type Language, language } from "../words/language";
import { runStateName } from "../words/names";
import { explain } from "./explain";

/** The collector sends several snapshots a second. */
const SILENT_MS = 3_000;

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

/** Since when nothing has come although something should; a page that wasn't seen asked for nothing. */
const silence = computed(() => {
  const { figures: known, figuresAt } = state.value;
  // After the end nothing changes any more.
  if (figuresAt === null || known?.state === "ended") return null;
  const age = now.value - Math.max(figuresAt, seenAt.value);
  return age > SILENT_MS ? Math.floor(age / 1000) * 1000 : null;
});
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

/** The newest event on a QoS that doesn't fit, and whether the user has put it aside. */
const qosTrouble = computed(
  () => figures.value?.events.find(({ kind }) => kind === "incompatible_qos") ?? null,
);
const putAside = signal<string | null>(null);

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
  const event = qosTrouble.value;
  if (event === null || putAside.value === `${event.at_ms} ${event.text}`) return null;
  return (
    <div class="banner" role="alert" data-testid="qos">
      <span>
        <b>{words("qos")}</b> {clip(event.text, 300)}{" "}
      </span>
      <button
        type="button"
        onClick={() => {
          putAside.value = `${event.at_ms} ${event.text}`;
        }}
      >
        {words("dismiss")}
      </button>
    </div>
  );
}
