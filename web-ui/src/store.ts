// The page's state as signals: each part of the page is drawn anew only when its part changes.

import { computed, signal } from "@preact/signals";
import { START } from "./state";

/** Everything that is known. */
export const state = signal(START);

/** The figures. */
export const snapshot = computed(() => state.value.snapshot);
/** The live line. */
export const tail = computed(() => state.value.tail);
/** What the page noticed. */
export const notices = computed(() => state.value.notices);
/** Messages that this page got. */
export const received = computed(() => state.value.received);
/** This page's name at the broadcaster. */
export const client = computed(() => state.value.client);
/** ms of the page's clock, twice a second: for what is so many seconds old. */
export const now = signal(0);
/** Whether the figures on the page are old: the collector is away. */
export const isStale = computed(
  () => state.value.snapshot !== null && state.value.collector.kind !== "live",
);
/** The smallest step of the browser's clock, in ns. */
export const resolutionNs = signal(0);
/** Why the page doesn't know where to connect; `null` once it does. */
export const configTrouble = signal<string | null>(null);

/** The lane whose legs are shown, by name; `null`: the first. */
export const chosenLane = signal<string | null>(null);
/** Whether the bars show the AI's own time. */
export const withAi = signal(true);
