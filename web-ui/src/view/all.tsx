// All figures, below the essentials: drawn only while they are wanted.

import { signal } from "@preact/signals";
import { panelWords as words } from "../words/panels";
import { LaneTables } from "./classtable";
import { Latest } from "./latest";
import { Legs } from "./legtable";

const open = signal(false);

/** The fold. */
export function AllFigures() {
  return (
    <section class="all" data-testid="all">
      <button
        type="button"
        class="fold"
        aria-expanded={open.value}
        data-testid="all-figures"
        onClick={() => {
          open.value = !open.value;
        }}
      >
        {open.value ? "▾" : "▸"} <b>{words("all_figures")}</b>{" "}
        <span class="quiet">{words("all_says")}</span>
      </button>
      {open.value && (
        <div class="all-figures" data-testid="all-open">
          <LaneTables />
          <Legs />
          <Latest />
        </div>
      )}
    </section>
  );
}
