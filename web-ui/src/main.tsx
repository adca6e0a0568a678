// The page's wiring: configuration → sockets → state → view.

import { render } from "preact";
import { Refusal } from "./check";
import { readConfig } from "./frames";
import type { PageConfig } from "./generated/wire";
import { backOff, Socket, type Surroundings } from "./socket";
import { resolution, Stamps } from "./stamps";
import {
  connectionChanged,
  type Effect,
  type Feed,
  figured,
  isShown,
  type PageState,
  pushed,
} from "./state";
import { configTrouble, now, resolutionNs, state } from "./store";
import { Page } from "./view/page";

const clock = (): number => performance.now();

const surroundings: Surroundings = {
  open: (url, ends) => {
    const socket = new WebSocket(url);
    socket.onopen = ends.opened;
    socket.onmessage = ({ data }) => ends.message(data);
    socket.onclose = ends.closed;
    return socket;
  },
  now: clock,
  later: (ms, f) => {
    const timer = setTimeout(f, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

/** Tasks by way of a message port: unlike timers they are neither delayed nor throttled. */
function taskQueue(): (f: () => void) => void {
  const { port1, port2 } = new MessageChannel();
  const tasks: (() => void)[] = [];
  port1.onmessage = () => tasks.shift()?.();
  return (f) => {
    tasks.push(f);
    port2.postMessage(null);
  };
}

async function loadConfig(): Promise<PageConfig> {
  for (let failures = 0; ; failures += 1) {
    const config = await fetchConfig();
    if (!(config instanceof Refusal)) {
      configTrouble.value = null;
      return config;
    }
    configTrouble.value = config.reason;
    await new Promise((later) => setTimeout(later, backOff(failures, Math.random())));
  }
}

async function fetchConfig(): Promise<PageConfig | Refusal> {
  try {
    const reply = await fetch("/config.json", { cache: "no-store" });
    if (!reply.ok) return new Refusal(`config.json: status ${reply.status}`);
    return readConfig(await reply.json());
  } catch {
    return new Refusal("the page's own server doesn't answer");
  }
}

type Frame = (data: unknown, at: number) => [PageState, Effect];

/** Opens one of the feeds; `read` puts a frame into the state. */
function open(feed: Feed, url: string, read: Frame, stamps: Stamps | null): Socket {
  const socket = new Socket(
    url,
    {
      changed: (connection) => {
        stamps?.forget();
        state.value = connectionChanged(state.value, feed, connection);
      },
      frame: (data, at) => {
        const before = state.value;
        const [next, effect] = read(data, at);
        state.value = next;
        if (effect.kind === "acknowledge") stamps?.received(effect.traceId, at);
        if (effect.kind === "stop") socket.stop();
        // Whatever is odd about a frame becomes a notice.
        return next.notices === before.notices;
      },
    },
    surroundings,
  );
  return socket;
}

function connect(config: PageConfig): Record<Feed, Socket> {
  const url = (port: number, path: string): string => `ws://${location.hostname}:${port}${path}`;
  const stamps = new Stamps(
    {
      now: clock,
      nextFrame: (f) => requestAnimationFrame(f),
      nextTask: taskQueue(),
      hidden: () => document.hidden,
    },
    resolutionNs.value,
    (traceId) => isShown(state.value, traceId),
    (ack) => broadcaster.send(JSON.stringify(ack)),
  );
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stamps.becameHidden();
  });
  const broadcaster = open(
    "broadcaster",
    url(config.broadcaster_port, "/ws"),
    (data) => pushed(state.value, data),
    stamps,
  );
  const collector = open(
    "collector",
    url(config.collector_port, "/v1/live"),
    (data, at) => figured(state.value, data, at),
    null,
  );
  return { broadcaster, collector };
}

async function start(): Promise<void> {
  resolutionNs.value = resolution(clock);
  setInterval(() => {
    now.value = clock();
  }, 500);
  let sockets: Record<Feed, Socket> | null = null;
  const root = document.getElementById("page");
  if (root === null) return;
  root.replaceChildren();
  render(<Page retry={(feed) => sockets?.[feed].retry()} />, root);
  sockets = connect(await loadConfig());
}

void start();
