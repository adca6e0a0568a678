// The legs of one lane in figures.

import { count, durationText, unresolved } from "../format";
import type { LaneView, Leg, LegFigures } from "../generated/wire";
import { CLASSES, info, inOrder, legName } from "../legs";
import { chosenLane, snapshot } from "../store";
import { Figure, Swatch } from "./figure";

/** The panel, with a choice of the lane where there are several. */
export function Legs() {
  const lanes = snapshot.value?.lanes ?? [];
  const lane = lanes.find(({ name }) => name === chosenLane.value) ?? lanes[0];
  return (
    <section class="panel legs" aria-labelledby="legs-title">
      <div class="legs-head">
        <h2 id="legs-title">Legs</h2>
        {lanes.length > 1 && (
          <fieldset>
            <legend class="hidden">Lane</legend>
            {lanes.map(({ name }) => (
              <label key={name}>
                <input
                  type="radio"
                  name="lane"
                  checked={name === lane?.name}
                  onChange={() => {
                    chosenLane.value = name;
                  }}
                />{" "}
                <bdi>{name}</bdi>
              </label>
            ))}
          </fieldset>
        )}
      </div>
      {lane === undefined || Object.keys(lane.legs).length === 0 ? (
        <p class="quiet">No legs yet.</p>
      ) : (
        <LegTable lane={lane} />
      )}
    </section>
  );
}

function LegTable({ lane }: { lane: LaneView }) {
  const { unstable } = lane.stability;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={`Legs of lane ${lane.name}`}>
      <table data-testid="legs" data-lane={lane.name}>
        <thead>
          <tr>
            <th scope="col">leg</th>
            <th scope="col">class</th>
            <th scope="col">n</th>
            {(unstable ? ["mean", "min", "max"] : ["P50", "P95", "P99"]).map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            <th scope="col" title="what the relation of the two clocks leaves open">
              ±
            </th>
          </tr>
        </thead>
        <tbody>
          {inOrder(lane.legs).map(([name, figures]) => (
            <LegRow key={name} name={name} figures={figures} unstable={unstable} />
          ))}
        </tbody>
      </table>
      {unstable && <p class="note">UNSTABLE: no percentiles.</p>}
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
  const columns = unstable ? (["mean", "min", "max"] as const) : (["p50", "p95", "p99"] as const);
  return (
    <tr data-testid="leg" data-leg={name} data-resolved={figures.resolved}>
      <th scope="row" title={says}>
        <Swatch of={figures.class} shade={shade} /> {legName(name)}
        {figures.negative > 0 && (
          <small
            class="warn"
            title="Kept in the figures: a leg can't be negative, so one of its clocks lies."
            data-testid={`leg-${name}-negative`}
            data-count={figures.negative}
          >
            {" "}
            ⚠ {count(figures.negative)} negative
          </small>
        )}
      </th>
      <td>{CLASSES[figures.class].name}</td>
      <td class="figure" data-testid={`leg-${name}-n`} data-count={figures.n}>
        {count(figures.n)}
      </td>
      {figures.resolved ? (
        columns.map((column) => (
          <Figure key={column} ns={figures[`${column}_ns`]} id={`leg-${name}-${column}`} />
        ))
      ) : (
        <td class="unresolved" colSpan={3} data-testid={`leg-${name}-unresolved`}>
          not resolved
          {figures.p50_ns !== null &&
            !unstable &&
            `: P50 ${unresolved(figures.p50_ns, figures.half_width_ns)}`}
        </td>
      )}
      <td class="figure" data-testid={`leg-${name}-half-width`} data-ns={figures.half_width_ns}>
        {figures.half_width_ns === 0 ? "exact" : durationText(figures.half_width_ns)}
      </td>
    </tr>
  );
}
