// Who, how it stands, and whether what is shown is live.

import { counted, durationText, elapsed } from "../format";
import { VERSION } from "../generated/wire";
import type { Connection, Feed } from "../state";
import {
  client,
  configTrouble,
  isStale,
  now,
  received,
  resolutionNs,
  snapshot,
  state,
} from "../store";

const RUN_STATES = {
  waiting: "waiting for messages",
  running: "running",
  ended: "ended",
} as const;

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
        <img src="/favicon.svg" alt="" width="22" height="22" /> Hopwatch
      </h1>
      <Run />
      <div class="links">
        <Pill feed="broadcaster" name="messages" retry={retry} />
        <Pill feed="collector" name="figures" retry={retry} />
      </div>
    </header>
  );
}

function Run() {
  const figures = snapshot.value;
  const run = figures?.state ?? "unknown";
  return (
    <div class="run">
      <span class="pill" data-kind={run} data-testid="run-state" role="status">
        {isStale.value && "last known: "}
        {figures === null ? "no figures yet" : RUN_STATES[figures.state]}
      </span>
      {figures !== null && (
        <span class="aside">
          run <bdi data-testid="run-id">{figures.run_id}</bdi> · {elapsed(figures.elapsed_ms)} ·{" "}
          <span data-testid="clients" data-count={figures.clients}>
            {counted(figures.clients, "page")}
          </span>
        </span>
      )}
      <span
        class="aside"
        title="The smallest step of this browser's clock: push and paint can't be known better."
      >
        {client.value !== null && (
          <>
            this page: <bdi data-testid="client">{client.value}</bdi>,{" "}
            <span data-testid="received" data-count={received.value}>
              {counted(received.value, "message")}
            </span>{" "}
            ·{" "}
          </>
        )}
        clock step{" "}
        <span data-testid="resolution" data-ns={resolutionNs.value}>
          {durationText(resolutionNs.value)}
        </span>
      </span>
    </div>
  );
}

const KINDS: Readonly<Record<Connection["kind"], string>> = {
  connecting: "connecting …",
  live: "live",
  disconnected: "disconnected",
  incompatible: "incompatible version",
};

function Pill({ feed, name, retry }: { feed: Feed; name: string } & Retry) {
  const connection = state.value[feed];
  return (
    <span class="connection" data-testid={`connection-${feed}`} data-kind={connection.kind}>
      {name}: <strong role="status">{KINDS[connection.kind]}</strong>
      {connection.kind === "disconnected" && (
        <>
          {" – reconnecting in "}
          {Math.max(0, Math.ceil((connection.retryAt - now.value) / 1000))} s{" "}
          <button type="button" onClick={() => retry(feed)}>
            now
          </button>
        </>
      )}
      {feed === "collector" && connection.kind === "live" && <Silence />}
    </span>
  );
}

function Silence() {
  const age = now.value - (state.value.snapshotAt ?? now.value);
  // After the end nothing changes any more.
  return age > SILENT_MS && snapshot.value?.state !== "ended" ? (
    <span class="warn"> – silent for {elapsed(age)}</span>
  ) : null;
}

/** What must be known before any figure is read. */
export function Banner() {
  const { broadcaster, collector, snapshotAt } = state.value;
  for (const [feed, connection] of Object.entries({ broadcaster, collector })) {
    if (connection.kind !== "incompatible") continue;
    return (
      <div class="banner" role="alert" data-testid="incompatible">
        Incompatible version: this page speaks version {VERSION} of the feed, the {feed} speaks
        version {connection.version}. Reload to get the page that fits.{" "}
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    );
  }
  if (configTrouble.value !== null) {
    return (
      <div class="banner" role="alert" data-testid="no-config">
        This page doesn't know where to connect yet: {configTrouble.value}. It tries again by
        itself.
      </div>
    );
  }
  if (snapshotAt !== null && collector.kind !== "live") {
    return (
      <div class="banner" role="alert" data-testid="stale">
        The collector is away: the figures below are old.{" "}
        <span aria-hidden="true">They came {elapsed(now.value - snapshotAt)} ago.</span>
      </div>
    );
  }
  return null;
}
