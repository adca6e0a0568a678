// The legs of one lane in figures.

import { count, durationText, unresolved } from "../format";
import type { LaneView, Leg, LegFigures } from "../generated/wire";
import { classOf, info, inOrder, legName } from "../legs";
import { lane } from "../store";
import { figureWords } from "../words/figures";
import { panelWords as words } from "../words/panels";
import { explain } from "./explain";
import { Figure, Swatch } from "./figure";

/** Those of the lane that is looked at. */
export function Legs() {
  const looked = lane.value;
  return (
    <section class="panel legs" aria-labelledby="legs-title">
      <h3 id="legs-title">
        {words("legs")} <small>{looked !== null && <bdi>{looked.name}</bdi>}</small>
      </h3>
      {looked === null || Object.keys(looked.legs).length === 0 ? (
        <p class="quiet">{words("no_legs")}</p>
      ) : (
        <LegTable lane={looked} />
      )}
    </section>
  );
}

const UNSTABLE = ["mean", "min", "max"] as const;
const STABLE = ["p50", "p95", "p99"] as const;

function LegTable({ lane: of }: { lane: LaneView }) {
  const { unstable } = of.stability;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={`${words("legs")}: ${of.name}`}>
      <table data-testid="legs" data-lane={of.name}>
        <thead>
          <tr>
            <th scope="col" {...explain("leg")}>
              {words("leg")}
            </th>
            <th scope="col" {...explain("class")}>
              {words("class")}
            </th>
            <th scope="col" {...explain("n")}>
              n
            </th>
            {(unstable ? UNSTABLE : STABLE).map((name) => (
              <th scope="col" key={name} {...explain(name)}>
                {name.replace("p", "P")}
              </th>
            ))}
            <th scope="col" {...explain("half_width")}>
              ±
            </th>
          </tr>
        </thead>
        <tbody>
          {inOrder(of.legs).map(([name, figures]) => (
            <LegRow key={name} name={name} figures={figures} unstable={unstable} />
          ))}
        </tbody>
      </table>
      {unstable && <p class="note">UNSTABLE: {words("unstable_says")}</p>}
    </section>
  );
}

interface LegRowProps {
  name: string;
  figures: LegFigures;
  unstable: boolean;
}

function LegRow({ name, figures, unstable }: LegRowProps) {
  const { says, shade } = info(name as Leg);
  const columns = unstable ? UNSTABLE : STABLE;
  return (
    <tr data-testid="leg" data-leg={name} data-resolved={figures.resolved}>
      <th scope="row" title={says}>
        <Swatch of={figures.class} shade={shade} /> {legName(name)}
        {figures.negative > 0 && (
          <small
            class="warn"
            title={words("negative_says")}
            data-testid={`leg-${name}-negative`}
            data-count={figures.negative}
          >
            {" "}
            {words("negative", { n: count(figures.negative) })}
          </small>
        )}
      </th>
      <td>{classOf(figures.class)}</td>
      <td class="figure" data-testid={`leg-${name}-n`} data-count={figures.n}>
        {count(figures.n)}
      </td>
      {figures.resolved ? (
        columns.map((column) => (
          <Figure
            key={column}
            ns={figures[`${column}_ns`]}
            id={`leg-${name}-${column}`}
            term={column}
          />
        ))
      ) : (
        <td class="unresolved" colSpan={3} data-testid={`leg-${name}-unresolved`}>
          {figureWords("unresolved")}
          {figures.p50_ns !== null &&
            !unstable &&
            `: P50 ${unresolved(figures.p50_ns, figures.half_width_ns)}`}
        </td>
      )}
      <td class="figure" data-testid={`leg-${name}-half-width`} data-ns={figures.half_width_ns}>
        {figures.half_width_ns === 0 ? figureWords("exact") : durationText(figures.half_width_ns)}
      </td>
    </tr>
  );
}
