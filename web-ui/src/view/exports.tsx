// What is shown, as files.

import { signal } from "@preact/signals";
import { save } from "../control/calls";
import { asCsv, asJson } from "../exported";
import { figures } from "../store";
import { controlWords as words } from "../words/controls";
import { Files } from "./measure";
import { Menu } from "./menu";

const SO_FAR = ["report.html", "report.json", "report.md", "traces.csv"];

/** The menu. */
export function Exports() {
  const shown = figures.value;
  const name = (ending: string): string => `hopwatch-${shown?.runId ?? "none"}.${ending}`;
  return (
    <Menu id="export" label={words("export")} title={words("export_title")}>
      <p class="quiet">{words("shown_here")}</p>
      <p class="files">
        <button
          type="button"
          disabled={shown === null}
          data-testid="export-csv"
          onClick={() => {
            if (shown !== null) save(name("csv"), new Blob([asCsv(shown)], { type: "text/csv" }));
          }}
        >
          {words("csv")}
        </button>
        <button
          type="button"
          disabled={shown === null}
          data-testid="export-json"
          onClick={() => {
            if (shown === null) return;
            save(name("json"), new Blob([asJson(shown)], { type: "application/json" }));
          }}
        >
          {words("json")}
        </button>
      </p>
      <p class="quiet">{words("of_all")}</p>
      <p>
        <Files of="/v1/" names={SO_FAR} />
      </p>
    </Menu>
  );
}

const trouble = signal<{ id: string; why: string } | null>(null);

/** Saves the chart of a panel as a picture. */
export function Png({ id }: { id: string }) {
  const failed = trouble.value?.id === id ? trouble.value.why : null;
  return (
    <button
      type="button"
      class="png"
      title={failed === null ? words("png_title") : words("png_failed", { why: failed })}
      aria-label={words("png_title")}
      data-testid={`png-${id}`}
      onClick={async (event) => {
        const panel = event.currentTarget.closest(".panel");
        const chart = panel?.querySelector(".chart") ?? panel;
        if (chart == null) return;
        try {
          // Only whoever wants a picture loads what makes it.
          const { chartPng } = await import("../chart/png");
          save(`hopwatch-${id}.png`, await chartPng(chart));
          trouble.value = null;
        } catch (error) {
          trouble.value = { id, why: error instanceof Error ? error.message : String(error) };
        }
      }}
    >
      {failed === null ? "⤓" : "⚠"}
    </button>
  );
}
