// The page's wiring: configuration → sockets → state → view.

import { effect, untracked } from "@preact/signals";
import { options, render } from "preact";
import { Asks } from "./asks";
import { Refusal } from "./check";
import { takeUp } from "./choices";
import { readConfig } from "./frames";
import type { PageConfig } from "./generated/wire";
import { Coming, isShown } from "./line";
import { Pace } from "./pace";
import { follow } from "./room";
import { backOff, Socket, type Surroundings } from "./socket";
import { resolution, Stamps } from "./stamps";
import {
  connectionChanged,
  type Effect,
  type Feed,
  figured,
  type PageState,
  pushed,
} from "./state";
import { config, configTrouble, line, now, resolutionNs, seenAt, state, watch } from "./store";
import { Page } from "./view/page";

const clock = (): number => performance.now();

const coming = new Coming();
const pace = new Pace(
  {
    now: clock,
    nextFrame: (f) => requestAnimationFrame(f),
    later: (ms, f) => setTimeout(f, ms),
  },
  () => {
    const before = line.value.received;
    line.value = coming.onto(line.value);
    return line.value.received - before;
  },
);
// However much comes between two frames, the page is drawn once for each frame, right before it is
// painted. What `Stamps` waits for is the same frame, after the drawing: what it then finds on the
// page is what is painted. A hidden tab has no frames and draws nothing.
options.debounceRendering = (draw) => pace.draw(draw);

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
    const told = await fetchConfig();
    if (!(told instanceof Refusal)) {
      configTrouble.value = null;
      return told;
    }
    configTrouble.value = told.reason;
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
function open(
  feed: Feed,
  url: string,
  read: Frame,
  stamps: Stamps | null,
  opened: () => void = () => undefined,
): Socket {
  const socket = new Socket(
    url,
    {
      opened,
      changed: (connection) => {
        stamps?.forget();
        state.value = connectionChanged(state.value, feed, connection);
      },
      frame: (data, at) => {
        const before = state.value;
        const [next, todo] = read(data, at);
        pace.news(() => {
          state.value = next;
        });
        if (todo.kind === "message") {
          coming.put(todo.traceId, todo.body);
          // A hidden tab stamps without a frame, and draws once it is seen again.
          pace.came();
          stamps?.received(todo.traceId, at);
        }
        if (todo.kind === "stop") socket.stop();
        // Whatever is odd about a frame becomes a notice.
        return next.notices === before.notices;
      },
    },
    surroundings,
  );
  return socket;
}

function connect({ broadcaster_port, collector_port }: PageConfig): Record<Feed, Socket> {
  // A page that came by TLS may open nothing without it.
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const url = (port: number, path: string): string =>
    `${scheme}://${location.hostname}:${port}${path}`;
  const stamps = new Stamps(
    {
      now: clock,
      afterDrawing: (f) => pace.afterDrawing(f),
      nextTask: taskQueue(),
      hidden: () => document.hidden,
    },
    resolutionNs.value,
    (traceId) => isShown(line.value, traceId),
    (ack) => broadcaster.send(JSON.stringify(ack)),
  );
  const asks = new Asks(
    () => collector,
    () => ({ watch: watch.value, traceId: due(state.value) }),
    surroundings.later,
    document.hidden,
  );
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stamps.becameHidden();
    else {
      seenAt.value = clock();
      broadcaster.retry();
    }
    asks.seen(!document.hidden);
  });
  const broadcaster = open(
    "broadcaster",
    url(broadcaster_port, "/ws"),
    (data) => pushed(state.value, data),
    stamps,
  );
  const collector: Socket = open(
    "collector",
    url(collector_port, "/v1/live"),
    (data, at) => {
      const next = figured(state.value, data, at);
      asks.answered(next[0].figures?.state !== "ended");
      return next;
    },
    null,
    () => asks.opened(),
  );
  let watched = watch.value;
  effect(() => {
    const wanted = watch.value;
    // Saying it reads the state, of which this must not become a part.
    if (wanted !== watched) untracked(() => asks.changed());
    watched = wanted;
  });
  let asked = due(state.value);
  effect(() => {
    const traceId = due(state.value);
    if (traceId !== null && traceId !== asked) untracked(() => asks.message(traceId));
    asked = traceId;
  });
  return { broadcaster, collector };
}

/** The message whose answer is still due. */
function due({ picked }: PageState): string | null {
  return picked?.message === "asked" ? picked.traceId : null;
}

async function start(): Promise<void> {
  takeUp();
  follow();
  resolutionNs.value = resolution(clock);
  setInterval(
    () =>
      pace.news(() => {
        now.value = clock();
      }),
    500,
  );
  let sockets: Record<Feed, Socket> | null = null;
  const root = document.getElementById("page");
  if (root === null) return;
  root.replaceChildren();
  render(<Page retry={(feed) => sockets?.[feed].retry()} />, root);
  const told = await loadConfig();
  config.value = told;
  sockets = connect(told);
}

void start();
