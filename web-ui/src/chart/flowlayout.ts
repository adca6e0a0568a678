// A ledger as a flow: how many messages reach each stage, what leaves between, and how thick that
// is drawn.

import type { GlassCounts, Ledger } from "../generated/wire";

/** What becomes of a message that leaves. */
export type Leaving = "lost" | "calm";

/** A branch. */
export interface Branch {
  readonly id: string;
  readonly count: number;
  /** `calm`: in flight, before discovery, or on no page: the link lost nothing. */
  readonly kind: Leaving;
  /** By reason, as the ledger names them. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** A stage with the branches that leave behind it. */
export interface Stage {
  readonly id: string;
  readonly count: number;
  readonly leaving: readonly Branch[];
}

const sum = (reasons: { readonly [key: string]: number }): number =>
  Object.values(reasons).reduce((a, b) => a + b, 0);

/** From published to delivered. Each stage's count is the next one's and what leaves between. */
export function ledgerStages(l: Ledger): Stage[] {
  const lost = (id: string, count: number, reasons: Record<string, number> = {}): Branch => ({
    id,
    count,
    kind: "lost",
    reasons,
  });
  const calm = (id: string, count: number): Branch => ({ id, count, kind: "calm", reasons: {} });
  const ros: Record<string, number> = {};
  if (l.dds_lost > 0) ros["dds_lost"] = l.dds_lost;
  if (l.overwritten_in_history > 0) ros["overwritten"] = l.overwritten_in_history;
  const leaving: readonly [string, readonly Branch[]][] = [
    [
      "published",
      [
        calm("lost_before_discovery", l.lost_before_discovery),
        lost("lost_in_ros", l.lost_in_ros, ros),
        lost("outcome_unknown", l.outcome_unknown),
        calm("in_flight", l.in_flight),
      ],
    ],
    [
      "taken",
      [
        lost("queue_dropped", l.queue_dropped),
        lost("undecodable", l.undecodable),
        lost("abandoned", l.abandoned),
      ],
    ],
    ["to_ai", [lost("ai_failed", sum(l.ai_failed), { ...l.ai_failed })]],
    ["to_web", [lost("web_failed", sum(l.web_failed), { ...l.web_failed })]],
    ["delivered", []],
  ];
  // Backwards from what was delivered, so that each stage is what the counts say it is.
  const stages: Stage[] = [];
  let count = l.delivered;
  for (const [id, branches] of [...leaving].reverse()) {
    const going = branches.filter((branch) => branch.count > 0);
    count += going.reduce((all, branch) => all + branch.count, 0);
    stages.unshift({ id, count, leaving: going });
  }
  return stages;
}

/** What a page got of the newest ones. With no page that looked, nothing was lost. */
export function glassStages(glass: GlassCounts): Stage[] {
  const branch = (id: string, count: number): Branch[] =>
    count > 0 ? [{ id, count, kind: "calm", reasons: {} }] : [];
  return [
    {
      id: "delivered",
      count: glass.delivered,
      leaving: branch("not_received", glass.delivered - glass.received),
    },
    {
      id: "received",
      count: glass.received,
      leaving: branch("unpainted", glass.received - glass.painted),
    },
    { id: "painted", count: glass.painted, leaving: [] },
  ];
}

/** All that left as lost. */
export function lostOf(stages: readonly Stage[]): number {
  return stages
    .flatMap(({ leaving }) => leaving)
    .reduce((all, { kind, count }) => all + (kind === "lost" ? count : 0), 0);
}

/** How thick the stages and branches are. */
export interface Thickness {
  /** One for each stage. */
  readonly stages: readonly number[];
  /** For each stage one for each branch. */
  readonly branches: readonly (readonly number[])[];
}

/** What is drawn of one message in a million. */
export const LEAST = 2;

/**
 * Thicknesses by share of the first stage, but none above zero is below `LEAST`. They add up as the
 * counts do: a stage is as thick as the next one and all that leaves between.
 */
export function thickness(stages: readonly Stage[], full: number): Thickness {
  const of = stages[0]?.count ?? 0;
  const thick = (count: number): number =>
    count <= 0 || of <= 0 ? 0 : Math.max(LEAST, (count / of) * full);
  const branches = stages.map(({ leaving }) => leaving.map(({ count }) => thick(count)));
  const result: number[] = [];
  let behind = thick(stages.at(-1)?.count ?? 0);
  for (let i = stages.length - 1; i >= 0; i -= 1) {
    behind += (branches[i] ?? []).reduce((all, t) => all + t, 0);
    result.unshift(behind);
  }
  return { stages: result, branches };
}
