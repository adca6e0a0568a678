// How much room there is: on a screen of 1440 × 900 all essentials stand without scrolling, and
// charts are drawn closer for it.

import { signal } from "@preact/signals";

/** The same condition stands in style/room.css. */
const ONE_SCREEN = "(min-width: 1280px) and (min-height: 820px)";

/** Whether the page is laid out as one screen. */
export const isOneScreen = signal(false);

/** Follows the window's size. */
export function follow(): void {
  const query = matchMedia(ONE_SCREEN);
  isOneScreen.value = query.matches;
  query.addEventListener("change", () => {
    isOneScreen.value = query.matches;
  });
}
