// How much room there is: on a screen of 1440 × 900 all essentials stand without scrolling, and
// charts are drawn closer for it.

import { signal } from "@preact/signals";

/** The same condition stands in style/room.css. */
const ONE_SCREEN = "(min-width: 1280px) and (min-height: 820px)";

/** A higher one has room for charts as they are drawn elsewhere. */
const CLOSE = `${ONE_SCREEN} and (max-height: 1019.98px)`;

/** Whether the page is one screen that is just high enough. */
export const isClose = signal(false);

/** Follows the window's size. */
export function follow(): void {
  const query = matchMedia(CLOSE);
  isClose.value = query.matches;
  query.addEventListener("change", () => {
    isClose.value = query.matches;
  });
}
