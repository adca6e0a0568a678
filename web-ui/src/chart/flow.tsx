// What became of every published message: a flow from published to painted, which each loss leaves
// as a branch with its count.

import { count, failure } from "../format";
import type { GlassCounts, Ledger } from "../generated/wire";
import { isClose } from "../room";
import { explain } from "../view/explain";
import { shareText } from "./ecdf";
import {
  type Branch,
  glassStages,
  ledgerStages,
  lostOf,
  type Stage,
  type Thickness,
  thickness,
} from "./flowlayout";
import { branchPath, exits, LABEL, type PlacedStage, place, stretches, TURN } from "./flowplace";
import { useWidth } from "./measure";
import { shorten, textWidth } from "./text";
import { flowName, words } from "./words";

const FULL = 46;
/** Above a flow to the right: count and name of each stage. */
const HEAD = 38;
/** A third line there. */
const LINE = 13;
const SIDE = 4;

export interface FlowProps {
  readonly ledger: Ledger;
  readonly glass: GlassCounts;
}

interface Plan {
  readonly stages: readonly Stage[];
  readonly thick: Thickness;
  /** All that was published, and those that are looked at behind the pipeline. */
  readonly published: number;
  readonly looked: number;
}

/** The chart. */
export function Flow({ ledger, glass }: FlowProps) {
  const [box, width] = useWidth(720);
  const stages = ledgerStages(ledger);
  const published = stages[0]?.count ?? 0;
  if (published === 0 && ledger.published === 0) {
    return (
      <div class="chart flow" ref={box}>
        <p class="chart-empty">{words("no_flow")}</p>
      </div>
    );
  }
  const plan = planOf(stages, glass, published);
  const lost = lostOf(stages);
  const fine = ledger.reconciles && published === ledger.published;
  return (
    <div class="chart flow" ref={box} data-testid="flow" data-lost={lost} data-reconciles={fine}>
      <Picture plan={plan} width={width} />
      <p class="flow-verdict">
        {lost === 0 &&
          // Without the robots' own count there may be losses that nobody knows of.
          (ledger.published_source === "census" ? (
            <span class="fine">{words("none_lost")}</span>
          ) : (
            <span class="quiet">{words("none_known_lost")}</span>
          ))}
        <span class={fine ? "fine" : "warn"} {...explain("ledger", ledger.notes.join(" "))}>
          {fine
            ? words("reconciles")
            : published === ledger.published
              ? words("differs")
              : words("sum_differs", { sum: count(published) })}
        </span>
        <span class="quiet">{words("since_start")}</span>
      </p>
    </div>
  );
}

/** The ledger's stages and those at pages in one row; these are as thick as their part is large. */
function planOf(stages: readonly Stage[], glass: GlassCounts, published: number): Plan {
  const before = thickness(stages, FULL);
  const behind = glassStages(glass);
  const after = thickness(behind, before.stages.at(-1) ?? 0);
  const delivered = stages.at(-1);
  const last = stages.length - 1;
  return {
    stages: [
      ...stages.slice(0, last),
      ...(delivered ? [{ ...delivered, leaving: behind[0]?.leaving ?? [] }] : []),
      ...behind.slice(1),
    ],
    thick: {
      stages: [...before.stages, ...after.stages.slice(1)],
      branches: [...before.branches.slice(0, last), ...after.branches],
    },
    published,
    looked: glass.delivered,
  };
}

function Picture({ plan, width }: { plan: Plan; width: number }) {
  const { stages, thick } = plan;
  const needs = stages.map((stage, i) => need(stage, thick.branches[i] ?? [], plan, i));
  const wide = stretches(needs, width - 2 * SIDE);
  return wide === null ? <Down plan={plan} width={width} /> : <Right plan={plan} wide={wide} />;
}

function need(stage: Stage, branches: readonly number[], plan: Plan, i: number): number {
  const head = Math.max(
    textWidth(flowName(stage.id), 11),
    textWidth(count(stage.count), 15) * 1.05,
    textWidth(lookedAt(plan, i) ?? "", 11),
  );
  const out = exits(branches);
  const labels = stage.leaving.map((branch, b) => {
    const lines = branchLines(branch, plan, i).map((line) => textWidth(line, 11) * 1.03);
    return (out[b] ?? 0) + TURN + (branches[b] ?? 0) + 8 + Math.max(...lines);
  });
  return Math.max(head, ...labels) + 14;
}

/** What a branch is, in two lines. */
function branchLines(branch: Branch, plan: Plan, stage: number): [string, string] {
  const of = stage >= 4 ? plan.looked : plan.published;
  const share = of === 0 ? "" : shareText([branch.count / of, branch.count / of]);
  const reasons = Object.entries(branch.reasons)
    .filter(([, n]) => n > 0)
    .map(([why, n]) => reason(why, count(n)));
  return [`${count(branch.count)} ${flowName(branch.id)}`, [share, ...reasons].join(" · ")];
}

function reason(why: string, n: string): string {
  if (why === "dds_lost" || why === "overwritten") return words(why, { n });
  return `${failure(why)} ${n}`;
}

function spoken({ stages }: Plan): string {
  const parts = stages.flatMap(({ id, count: n, leaving }) => [
    `${flowName(id)} ${n}`,
    ...leaving.map((branch) => `${flowName(branch.id)} ${branch.count}`),
  ]);
  return `${words("flow")}: ${parts.join(", ")}`;
}

function Right({ plan, wide }: { plan: Plan; wide: readonly number[] }) {
  const { stages, thick } = plan;
  const at: number[] = [];
  let along = SIDE;
  for (const stretch of wide) {
    at.push(along);
    along += stretch;
  }
  const head = lookedAt(plan, 5) === null ? HEAD : HEAD + LINE;
  const base = Math.max(...thick.stages) + TURN + 20;
  const most = Math.max(...stages.map(({ leaving }) => leaving.length));
  const out = stages.map((_, i) => exits(thick.branches[i] ?? []));
  const placed = place(
    stages,
    thick,
    at,
    (i, b) => out[i]?.[b] ?? 0,
    (i, b) => base + ((stages[i]?.leaving.length ?? 0) - 1 - b) * LABEL,
  );
  const bottom = most === 0 ? Math.max(...thick.stages) + 6 : base + (most - 1) * LABEL + 20;
  return (
    <svg width="100%" height={head + bottom} role="img" aria-label={spoken(plan)}>
      <g transform={`translate(0 ${head})`}>
        <Bands placed={placed} flip={false} />
      </g>
      {placed.map(({ stage, at: x }, i) => (
        <g key={stage.id} class="stage" data-stage={stage.id} data-count={stage.count}>
          <text class="count" x={x} y="14">
            {count(stage.count)}
          </text>
          <text class="quiet" x={x} y="29">
            {flowName(stage.id)}
          </text>
          {lookedAt(plan, i) !== null && (
            <text class="quiet" x={x} y="42">
              {lookedAt(plan, i)}
            </text>
          )}
        </g>
      ))}
      {placed.map(({ branches }, i) =>
        branches.map(({ branch, exit, thick: t, end }) => (
          <Label
            key={branch.id}
            branch={branch}
            lines={branchLines(branch, plan, i)}
            x={exit + TURN + t + 8}
            y={head + end - 4}
          />
        )),
      )}
    </svg>
  );
}

/** Behind the pipeline only the newest ones are looked at. */
function lookedAt(plan: Plan, i: number): string | null {
  const delivered = plan.stages[4]?.count ?? 0;
  if (i !== 5 || plan.looked >= delivered) return null;
  return words("of_newest", { n: count(plan.looked) });
}

function Down({ plan, width }: { plan: Plan; width: number }) {
  const { stages, thick } = plan;
  const rows = stages.map((_, i) =>
    (thick.branches[i] ?? []).map((t) => Math.max(LABEL + 2, t + TURN + 6)),
  );
  const at: number[] = [];
  let along = 8;
  for (const own of rows) {
    at.push(along);
    along += (isClose.value ? 26 : 30) + own.reduce((all, row) => all + row, 0);
  }
  const edge = SIDE + Math.max(...thick.stages);
  const placed = place(
    stages,
    thick,
    at,
    (i, b) => 22 + (rows[i] ?? []).slice(0, b).reduce((all, row) => all + row, 0),
    () => edge + 26 - SIDE,
  );
  const text = edge + 32;
  return (
    <svg width="100%" height={along - 4} role="img" aria-label={spoken(plan)}>
      <g transform={`translate(${SIDE} 0)`}>
        <Bands placed={placed} flip={true} />
      </g>
      {placed.map(({ stage, at: y, thick: t }, i) => (
        <g key={stage.id} class="stage" data-stage={stage.id} data-count={stage.count}>
          <text x={SIDE + t + 8} y={y + 6}>
            <tspan class="count">{count(stage.count)}</tspan>
            <tspan class="quiet" dx="6">
              {[flowName(stage.id), lookedAt(plan, i)].filter(Boolean).join(" · ")}
            </tspan>
          </text>
        </g>
      ))}
      {placed.map(({ branches }, i) =>
        branches.map(({ branch, exit, thick: t }) => (
          <Label
            key={branch.id}
            branch={branch}
            lines={branchLines(branch, plan, i).map((line) => shorten(line, 11, width - text))}
            x={text}
            y={exit + TURN + t / 2 + 2}
          />
        )),
      )}
    </svg>
  );
}

function Bands({ placed, flip }: { placed: readonly PlacedStage[]; flip: boolean }) {
  const rect = (along: number, across: number, long: number, thick: number) =>
    flip
      ? { x: across, y: along, width: thick, height: long }
      : { x: along, y: across, width: long, height: thick };
  return (
    <>
      {placed.map(({ stage, at, thick, on, until, branches }) => (
        <g key={stage.id}>
          {on > 0 && <rect class="band" {...rect(at, 0, Math.max(0, until - at), on)} />}
          {branches.map((branch) => (
            <path
              key={branch.branch.id}
              class={`branch ${branch.branch.kind}`}
              d={branchPath(branch, flip)}
            />
          ))}
          <rect class="node" {...rect(at - 1.5, 0, 3, Math.max(thick, 2))} />
        </g>
      ))}
    </>
  );
}

interface LabelProps {
  readonly branch: Branch;
  readonly lines: readonly string[];
  readonly x: number;
  readonly y: number;
}

function Label({ branch, lines, x, y }: LabelProps) {
  return (
    <g class={`loss ${branch.kind}`} data-fate={branch.id} data-count={branch.count}>
      <text class="name" x={x} y={y}>
        {lines[0]}
      </text>
      <text class="quiet" x={x} y={y + 13}>
        {lines[1]}
      </text>
    </g>
  );
}
