// The whole page.

import type { Feed } from "../state";
import { isStale, snapshot } from "../store";
import { Events } from "./events";
import { Banner, Header } from "./header";
import { Lanes } from "./lanes";
import { Latest } from "./latest";
import { Legs } from "./legtable";
import { Links } from "./links";
import { Ticker } from "./ticker";

/** Everything on it. */
export function Page({ retry }: { retry: (feed: Feed) => void }) {
  return (
    <>
      <div class="top">
        <Header retry={retry} />
        <Banner />
        <Ticker />
      </div>
      <Figures />
    </>
  );
}

function Figures() {
  return (
    <main data-stale={isStale.value} data-run={snapshot.value?.state ?? "unknown"}>
      <Lanes />
      <Latest />
      <div class="side">
        <Legs />
        <Links />
        <Events />
      </div>
    </main>
  );
}
