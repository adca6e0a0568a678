// What is looked at, and whether it stands still.

import type { Window } from "../generated/wire";
import { figures, freeze, frozen, isLate, watch } from "../store";
import { controlWords as words } from "../words/controls";
import { explain } from "./explain";
import { Exports } from "./exports";
import { MarkMenu, Measure } from "./measure";
import { Settings } from "./settings";

const WINDOWS: readonly Window[] = ["10s", "1min", "run"];

/** The bar. */
export function Controls() {
  return (
    <section class="controls" aria-label={words("controls")} data-late={isLate.value}>
      <Windows />
      <Robot />
      <Pause />
      <div class="menus">
        <Measure />
        <MarkMenu />
        <Settings />
        <Exports />
      </div>
    </section>
  );
}

function Windows() {
  return (
    <fieldset class="segments" data-testid="window">
      <legend {...explain("window")}>{words("window")}</legend>
      {WINDOWS.map((name) => (
        <label key={name}>
          <input
            type="radio"
            name="window"
            value={name}
            checked={watch.value.window === name}
            onChange={() => {
              watch.value = { ...watch.value, window: name };
            }}
          />
          <span>{words(name)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Robot() {
  const chosen = watch.value.robot;
  // With one robot chosen the others may not be among the figures: the choice keeps its own place.
  const names = new Set((figures.value?.robots ?? []).map(({ robot_id }) => robot_id));
  if (chosen !== null) names.add(chosen);
  return (
    <label class="choice">
      <span {...explain("robot")}>{words("robot")}</span>{" "}
      <select
        data-testid="robot"
        value={chosen ?? ""}
        onChange={(event) => {
          const robot = event.currentTarget.value;
          watch.value = { ...watch.value, robot: robot === "" ? null : robot };
        }}
      >
        <option value="">{words("all_robots")}</option>
        {[...names].sort().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Pause() {
  const still = frozen.value !== null;
  return (
    <button
      type="button"
      class="pause"
      aria-pressed={still}
      disabled={figures.value === null}
      data-testid="pause"
      data-explain="pause"
      onClick={() => freeze(!still)}
    >
      {still ? "▶" : "❚❚"} {words(still ? "follow" : "pause")}
    </button>
  );
}
