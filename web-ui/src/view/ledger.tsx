// The account of what became of every published message, in figures.

import { count, failure } from "../format";
import type { Ledger } from "../generated/wire";
import { fateName, sourceName } from "../words/names";
import { panelWords as words } from "../words/panels";
import { explain } from "./explain";

interface Fate {
  readonly id: string;
  readonly of: number;
  readonly reasons?: { [key: string]: number };
  /** What is known of some of them. */
  readonly parts?: readonly string[];
}

/** The sum of every named fate. */
export function accounted(ledger: Ledger): number {
  return fates(ledger).reduce((sum, fate) => sum + fate.of, 0);
}

function fates(l: Ledger): Fate[] {
  const sum = (reasons: { [key: string]: number }): number =>
    Object.values(reasons).reduce((a, b) => a + b, 0);
  return [
    { id: "delivered", of: l.delivered },
    { id: "in_flight", of: l.in_flight },
    { id: "lost_before_discovery", of: l.lost_before_discovery },
    { id: "lost_in_ros", of: l.lost_in_ros, parts: lossParts(l) },
    { id: "outcome_unknown", of: l.outcome_unknown },
    { id: "queue_dropped", of: l.queue_dropped },
    { id: "undecodable", of: l.undecodable },
    { id: "ai_failed", of: sum(l.ai_failed), reasons: l.ai_failed },
    { id: "web_failed", of: sum(l.web_failed), reasons: l.web_failed },
    { id: "abandoned", of: l.abandoned },
  ];
}

function lossParts(l: Ledger): string[] {
  const parts: string[] = [];
  if (l.dds_lost > 0) {
    parts.push(words("by_dds", { n: count(l.dds_lost) }));
  }
  if (l.overwritten_in_history > 0) {
    parts.push(words("overwritten", { n: count(l.overwritten_in_history) }));
  }
  return parts;
}

const BESIDE = ["duplicates", "duplicate_ids", "reordered", "restarts"] as const;

/** The ledger of one lane. */
export function LedgerPanel({ ledger }: { ledger: Ledger }) {
  const sum = accounted(ledger);
  // The page adds up for itself as well: what it shows must be right as it is shown.
  const off = ledger.published - sum;
  const fine = ledger.reconciles && off === 0;
  return (
    <section
      class="ledger"
      aria-label={words("ledger_name")}
      data-testid="ledger"
      data-reconciles={fine}
    >
      <p class="published">
        <b data-testid="ledger-published" data-count={ledger.published} {...explain("published")}>
          {count(ledger.published)}
        </b>{" "}
        {words("published")} <span class="quiet">{words("since_start")}</span>{" "}
        <span class="quiet" data-testid="ledger-source" data-source={ledger.published_source}>
          {sourceName(ledger.published_source)}
        </span>
      </p>
      <dl>
        {fates(ledger).map((fate) => (
          <FateRow key={fate.id} fate={fate} />
        ))}
      </dl>
      <p class="beside">
        {words("beside")}
        {BESIDE.map((name, i) => (
          <span key={name}>
            {i === 0 ? " " : ", "}
            <span data-testid={`ledger-${name}`} data-count={ledger[name]}>
              {words(name, { n: count(ledger[name]) })}
            </span>
          </span>
        ))}
      </p>
      <p class={fine ? "fine" : "warn"} data-testid="ledger-verdict">
        {words(fine ? "reconciles" : "reconciles_not")}
        {off > 0 && words("fewer", { sum: count(sum) })}
        {off < 0 && words("more_than", { sum: count(sum) })}
      </p>
      {ledger.notes.map((note) => (
        <p class="note" key={note} lang="en" data-testid="ledger-note">
          {note}
        </p>
      ))}
    </section>
  );
}

/** What comes before discovery says nothing of the link. */
const NOT_LOST = new Set(["delivered", "in_flight", "lost_before_discovery"]);

function FateRow({ fate }: { fate: Fate }) {
  const reasons = Object.entries(fate.reasons ?? {}).filter(([, n]) => n > 0);
  const known = [
    ...reasons.map(([why, n]) => `${failure(why)} ${count(n)}`),
    ...(fate.parts ?? []),
  ];
  const bad = fate.of > 0 && !NOT_LOST.has(fate.id);
  return (
    <div class={fate.of === 0 ? "zero" : bad ? "bad" : ""}>
      <dt>
        {fateName(fate.id)}
        {known.length > 0 && <small> {known.join(", ")}</small>}
      </dt>
      <dd data-testid={`ledger-${fate.id}`} data-count={fate.of}>
        {count(fate.of)}
      </dd>
    </div>
  );
}
