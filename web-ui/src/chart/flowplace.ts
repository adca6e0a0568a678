// Where a flow's stages and branches are: along the flow's way, and across it. A wide chart flows
// to the right and its branches down, a narrow one down and its branches to the right.

import type { Branch, Stage, Thickness } from "./flowlayout";

/** A branch in its place. */
export interface PlacedBranch {
  readonly branch: Branch;
  /** Along: where its stage is, and where it turns away. */
  readonly from: number;
  readonly exit: number;
  /** Across: where its part of the stage begins, how thick it is, where it ends. */
  readonly offset: number;
  readonly thick: number;
  readonly end: number;
}

/** A stage in its place. */
export interface PlacedStage {
  readonly stage: Stage;
  readonly at: number;
  readonly thick: number;
  /** What goes on to the next stage: how thick, and until where. */
  readonly on: number;
  readonly until: number;
  readonly branches: readonly PlacedBranch[];
}

/** Room around branches. */
export const TURN = 8;
const APART = 10;
const HEAD = 9;
/** Of a branch's two lines of text. */
export const LABEL = 30;

/** How far along from its stage each branch turns away. */
export function exits(branches: readonly number[]): number[] {
  let at = HEAD;
  return branches.map((thick) => {
    const exit = at;
    at += thick + APART;
    return exit;
  });
}

/**
 * The flow to the right: how wide each stage's stretch must be for its texts, and what is left goes
 * to all alike. `null`: there is no room.
 */
export function stretches(needs: readonly number[], width: number): number[] | null {
  const left = width - needs.reduce((all, need) => all + need, 0);
  if (left < 0) return null;
  return needs.map((need) => need + left / needs.length);
}

/** Puts everything into its place. The first branch turns away first and is outermost. */
export function place(
  stages: readonly Stage[],
  { stages: thicks, branches }: Thickness,
  at: readonly number[],
  exit: (stage: number, branch: number) => number,
  end: (stage: number, branch: number) => number,
): PlacedStage[] {
  return stages.map((stage, i) => {
    const own = branches[i] ?? [];
    const on = i + 1 < stages.length ? (thicks[i + 1] ?? 0) : 0;
    let offset = on + own.reduce((all, t) => all + t, 0);
    return {
      stage,
      at: at[i] ?? 0,
      thick: thicks[i] ?? 0,
      on,
      until: at[i + 1] ?? at[i] ?? 0,
      branches: stage.leaving.map((branch, b) => {
        const thick = own[b] ?? 0;
        offset -= thick;
        const from = at[i] ?? 0;
        return { branch, from, exit: from + exit(i, b), offset, thick, end: end(i, b) };
      }),
    };
  });
}

/** A branch's outline, with a head at its end; `flip` for a flow down. */
export function branchPath(p: PlacedBranch, flip: boolean): string {
  const at = (along: number, across: number): string =>
    (flip ? [across, along] : [along, across]).map((v) => v.toFixed(1)).join(" ");
  const { from, exit, offset, thick: t, end } = p;
  const [inner, outer] = [TURN, TURN + t];
  const sweep = flip ? [0, 1] : [1, 0];
  const neck = end - 6;
  const head = 3;
  return [
    `M${at(from, offset)}L${at(exit, offset)}`,
    `A${outer} ${outer} 0 0 ${sweep[0]} ${at(exit + outer, offset + outer)}`,
    `L${at(exit + outer, neck)}L${at(exit + outer + head, neck)}`,
    `L${at(exit + inner + t / 2, end)}L${at(exit + inner - head, neck)}L${at(exit + inner, neck)}`,
    `L${at(exit + inner, offset + t + inner)}`,
    `A${inner} ${inner} 0 0 ${sweep[1]} ${at(exit, offset + t)}`,
    `L${at(from, offset + t)}Z`,
  ].join("");
}
