// What became of every published message of the lane that is looked at.

import { signal } from "@preact/signals";
import { Flow } from "../chart/flow";
import { figures, lane } from "../store";
import { panelWords as words } from "../words/panels";
import { LedgerPanel } from "./ledger";
import { Panel } from "./panel";

const open = signal(false);

/** The flow, and on demand the exact table. */
export function Account() {
  const looked = lane.value;
  return (
    <Panel
      id="account"
      title={words("ledger")}
      term="ledger"
      picture={looked !== null && !open.value}
      aside={
        looked !== null && (
          <>
            <small class="quiet">
              <bdi>{looked.name}</bdi>
            </small>
            <button
              type="button"
              aria-pressed={open.value}
              data-testid="ledger-table"
              onClick={() => {
                open.value = !open.value;
              }}
            >
              {words("ledger_table")}
            </button>
          </>
        )
      }
    >
      {looked === null ? (
        <p class="quiet empty">{words(figures.value === null ? "no_figures" : "no_lanes")}</p>
      ) : open.value ? (
        <LedgerPanel ledger={looked.ledger} />
      ) : (
        <Flow ledger={looked.ledger} glass={looked.glass} />
      )}
    </Panel>
  );
}
