// Small parts that several panels are made of.

import { duration, NOTHING } from "../format";
import type { Class } from "../generated/wire";
import type { Term } from "../words/terms";
import { explainCell } from "./explain";

/** A table cell with a duration. The whole figure is there for scripts and for pointing at. */
export function Figure({ ns, id, term }: { ns: number | null; id: string; term: Term }) {
  if (ns === null) {
    return (
      <td class="figure" data-testid={id} {...explainCell(term)}>
        {NOTHING}
      </td>
    );
  }
  const { value, unit } = duration(ns);
  return (
    <td class="figure" data-testid={id} data-ns={ns} {...explainCell(term, `${ns} ns`)}>
      {value}
      <span class="unit">{unit}</span>
    </td>
  );
}

/** The sign of a class: its colour in its shade. */
export function Swatch({ of, shade }: { of: Class; shade: 0 | 1 }) {
  return (
    <svg class="swatch" width="10" height="10" aria-hidden="true">
      <rect width="10" height="10" rx="2" class={`leg ${of} shade${shade}`} />
    </svg>
  );
}
