// The page's state as signals: each part of the page is drawn anew only when its part changes.

import { computed, signal } from "@preact/signals";
import type { Figures } from "./figures";
import type { LaneView, PageConfig, Watch } from "./generated/wire";
import { EMPTY } from "./line";
import { START } from "./state";

/** Everything that is known. */
export const state = signal(START);

/** What the page wants to see. */
export const watch = signal<Watch>({ window: "1min", robot: null });

/** The figures at the moment when the user stopped the page, and what had come by then. */
export interface Frozen {
  readonly figures: Figures;
  readonly received: number;
  readonly snapshots: number;
}
/** `null`: the page follows. */
export const frozen = signal<Frozen | null>(null);

/** The figures that are shown. */
export const figures = computed(() => frozen.value?.figures ?? state.value.figures);
/** The live line, as it stood when the page was last drawn. */
export const line = signal(EMPTY);
/** What the page noticed. */
export const notices = computed(() => state.value.notices);
/** Messages that this page got. */
export const received = computed(() => line.value.received);
/** This page's name at the broadcaster. */
export const client = computed(() => state.value.client);
/** ms of the page's clock, twice a second: for what is so many seconds old. */
export const now = signal(0);
/** When the page was last seen again, in ms of the page's clock: until then nothing was asked for. */
export const seenAt = signal(0);
/** The collector sends several snapshots a second. */
const SILENT_MS = 3_000;
/** So long without one, and what is shown may no longer be called live. */
const OLD_MS = 5_000;
/** For how long, in whole seconds, nothing has come although something should. */
export const silence = computed(() => {
  const { figures: known, figuresAt } = state.value;
  // After the end nothing changes any more, and a page that wasn't seen asked for nothing.
  if (figuresAt === null || known?.state === "ended") return null;
  const age = now.value - Math.max(figuresAt, seenAt.value);
  return age > SILENT_MS ? Math.floor(age / 1000) * 1000 : null;
});
/** Whether the collector is connected and has been silent for too long: it hangs. */
export const isHung = computed(() => (silence.value ?? 0) >= OLD_MS);
/** Whether the figures on the page are old: the collector is away, or hangs. */
export const isStale = computed(
  () => state.value.figures !== null && (state.value.collector.kind !== "live" || isHung.value),
);
/** Whether what is shown is still that of what was watched before. */
export const isLate = computed(() => {
  const [shown, wanted] = [figures.value?.watch, watch.value];
  return shown !== undefined && (shown.window !== wanted.window || shown.robot !== wanted.robot);
});
/** The smallest step of the browser's clock, in ns. */
export const resolutionNs = signal(0);
/** Where everything is; `null` before the page's server has told. */
export const config = signal<PageConfig | null>(null);
/** Why the page doesn't know where to connect; `null` once it does. */
export const configTrouble = signal<string | null>(null);

// Parts of the figures: a part that a snapshot left alone is the same object, and what shows it
// stays as it is.
const NO_LANES: readonly LaneView[] = [];
/** The lanes. */
export const lanes = computed(() => figures.value?.lanes ?? NO_LANES);
/** How the run stands. */
export const runState = computed(() => figures.value?.state ?? null);
/** Each lane's place in the order, which its colour and dashes go by. */
export const tones = computed(() => new Map(lanes.value.map(({ name }, i) => [name, i % 15])));

/** So many lanes are drawn before the user has chosen. */
const DRAWN_AT_FIRST = 6;
/** The lanes that are drawn, by name; `null`: the first ones. */
export const drawnLanes = signal<ReadonlySet<string> | null>(null);
/** They, as far as there are such lanes. */
export const drawn = computed(() => {
  const chosen = drawnLanes.value;
  if (chosen === null) return lanes.value.slice(0, DRAWN_AT_FIRST);
  return lanes.value.filter(({ name }) => chosen.has(name));
});
/** The lane that is looked at closely, by name; `null`: the first. */
export const chosenLane = signal<string | null>(null);
/** It. */
export const lane = computed(
  () => lanes.value.find(({ name }) => name === chosenLane.value) ?? lanes.value[0] ?? null,
);

/** Puts a lane into the charts, or takes it out. */
export function draw(name: string, on: boolean): void {
  const names = new Set(drawn.value.map((one) => one.name));
  if (on) names.add(name);
  else names.delete(name);
  drawnLanes.value = names;
}

/** Stops what is shown, or lets it follow again. Figures keep coming either way. */
export function freeze(on: boolean): void {
  const { figures: latest, snapshots } = state.value;
  frozen.value =
    on && latest !== null ? { figures: latest, received: received.value, snapshots } : null;
}

/** Whether waterfalls and bars show the AI's own time. */
export const withAi = signal(true);
