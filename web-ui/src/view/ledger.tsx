// The account of what became of every published message.

import { count, counted, failure } from "../format";
import type { Ledger, PublishedSource } from "../generated/wire";

const SOURCES: Readonly<Record<PublishedSource, string>> = {
  census: "by the robots' own count",
  publication_sequence: "by DDS's publication numbers: what came after the last is unknown",
  header_sequence: "by the header's sequence: the robot's word",
  nothing: "nothing was seen",
};

interface Fate {
  readonly id: string;
  readonly name: string;
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
    { id: "delivered", name: "delivered", of: l.delivered },
    { id: "in_flight", name: "in flight", of: l.in_flight },
    { id: "lost_before_discovery", name: "lost before discovery", of: l.lost_before_discovery },
    { id: "lost_in_ros", name: "lost in ROS", of: l.lost_in_ros, parts: lossParts(l) },
    { id: "outcome_unknown", name: "outcome unknown", of: l.outcome_unknown },
    { id: "queue_dropped", name: "dropped by queue", of: l.queue_dropped },
    { id: "undecodable", name: "undecodable", of: l.undecodable },
    { id: "ai_failed", name: "AI failed", of: sum(l.ai_failed), reasons: l.ai_failed },
    { id: "web_failed", name: "web failed", of: sum(l.web_failed), reasons: l.web_failed },
    { id: "abandoned", name: "abandoned", of: l.abandoned },
  ];
}

function lossParts(l: Ledger): string[] {
  const parts: string[] = [];
  if (l.dds_lost > 0) {
    parts.push(`${count(l.dds_lost)} by DDS's word`);
  }
  if (l.overwritten_in_history > 0) {
    parts.push(`${count(l.overwritten_in_history)} look overwritten`);
  }
  return parts;
}

/** The ledger of one lane. */
export function LedgerPanel({ ledger }: { ledger: Ledger }) {
  const sum = accounted(ledger);
  // The page adds up for itself as well: what it shows must be right as it is shown.
  const off = ledger.published - sum;
  const fine = ledger.reconciles && off === 0;
  return (
    <section class="ledger" aria-label="Ledger" data-testid="ledger" data-reconciles={fine}>
      <p class="published">
        <b data-testid="ledger-published" data-count={ledger.published}>
          {count(ledger.published)}
        </b>{" "}
        published{" "}
        <span class="quiet" data-testid="ledger-source" data-source={ledger.published_source}>
          {SOURCES[ledger.published_source]}
        </span>
      </p>
      <dl>
        {fates(ledger).map((fate) => (
          <FateRow key={fate.id} fate={fate} />
        ))}
      </dl>
      <p class="beside">
        beside the sum:{" "}
        <span data-testid="ledger-duplicates" data-count={ledger.duplicates}>
          {counted(ledger.duplicates, "duplicate")}
        </span>
        ,{" "}
        <span data-testid="ledger-duplicate_ids" data-count={ledger.duplicate_ids}>
          {counted(ledger.duplicate_ids, "id")} used again
        </span>
        ,{" "}
        <span data-testid="ledger-reordered" data-count={ledger.reordered}>
          {count(ledger.reordered)} reordered
        </span>
        ,{" "}
        <span data-testid="ledger-restarts" data-count={ledger.restarts}>
          {counted(ledger.restarts, "robot restart")}
        </span>
      </p>
      <p class={fine ? "fine" : "warn"} data-testid="ledger-verdict">
        {fine ? "reconciles ✓" : "⚠ doesn't reconcile"}
        {off !== 0 && `: the sum is ${count(sum)}, ${off > 0 ? "fewer" : "more"} than published`}
      </p>
      {ledger.notes.map((note) => (
        <p class="note" key={note} data-testid="ledger-note">
          {note}
        </p>
      ))}
    </section>
  );
}

function FateRow({ fate }: { fate: Fate }) {
  const reasons = Object.entries(fate.reasons ?? {}).filter(([, n]) => n > 0);
  const known = [
    ...reasons.map(([why, n]) => `${failure(why)} ${count(n)}`),
    ...(fate.parts ?? []),
  ];
  const bad = fate.of > 0 && fate.id !== "delivered" && fate.id !== "in_flight";
  return (
    <div class={fate.of === 0 ? "zero" : bad ? "bad" : ""}>
      <dt>
        {fate.name}
        {known.length > 0 && <small> {known.join(", ")}</small>}
      </dt>
      <dd data-testid={`ledger-${fate.id}`} data-count={fate.of}>
        {count(fate.of)}
      </dd>
    </div>
  );
}
