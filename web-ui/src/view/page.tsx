// The whole page.

import type { Feed } from "../state";
import { isLate, isStale, state } from "../store";
import { headWords } from "../words/head";
import { Account } from "./account";
import { AllFigures } from "./all";
import { Answers } from "./answers";
import { Course, Distribution, Where } from "./charts";
import { Controls } from "./controls";
import { Events } from "./events";
import { Explanations } from "./explain";
import { Banners, Header } from "./header";
import { Lanes } from "./lanes";
import { Links } from "./links";
import { Clocks, Robots } from "./robots";
import { Ticker } from "./ticker";
import { First, Slowest } from "./waterfalls";

/** Everything on it. */
export function Page({ retry }: { retry: (feed: Feed) => void }) {
  return (
    <>
      <a class="skip" href="#figures">
        {headWords("skip")}
      </a>
      <div class="top">
        <Header retry={retry} />
        <div class="bar">
          <Controls />
          <Ticker />
        </div>
        <Banners />
      </div>
      <Figures />
      <Explanations />
    </>
  );
}

function Figures() {
  return (
    <main
      id="figures"
      tabIndex={-1}
      data-stale={isStale.value}
      data-late={isLate.value}
      data-run={state.value.figures?.state ?? "unknown"}
    >
      <Answers />
      <Course />
      <Distribution />
      <Where />
      <Lanes />
      <First />
      <Slowest />
      <Account />
      <Robots />
      <Clocks />
      <Links />
      <Events />
      <AllFigures />
    </main>
  );
}
