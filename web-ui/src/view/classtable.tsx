// Each lane in full: its classes in figures, and beside them its ledger.

import { count, durationText, interval, NOTHING, percent } from "../format";
import type { LaneView, OverPublished, Summary } from "../generated/wire";
import { lanes } from "../store";
import { answerWords } from "../words/answers";
import { figureWords } from "../words/figures";
import { className } from "../words/names";
import { panelWords as words } from "../words/panels";
import { explain } from "./explain";
import { Figure } from "./figure";
import { LedgerPanel } from "./ledger";

const ROWS = ["ai", "transport", "overhead", "communication", "total"] as const;
const MOMENTS = ["n", "mean", "sd", "min"] as const;
const QUANTILES = ["p50", "p75", "p90", "p95", "p99"] as const;

/** All lanes. */
export function LaneTables() {
  return (
    <section class="lane-tables" aria-label={words("lanes")}>
      {lanes.value.map((lane) => (
        <Lane key={lane.name} lane={lane} />
      ))}
    </section>
  );
}

function Lane({ lane }: { lane: LaneView }) {
  const { unstable, utilisation, waiting_slope_us_per_s: slope } = lane.stability;
  return (
    <article class="panel lane" data-testid="lane" data-lane={lane.name} data-unstable={unstable}>
      <div class="lane-classes">
        <h3>
          <bdi>{lane.name}</bdi>{" "}
          <small>
            <bdi>{lane.qos}</bdi> {words("over")} <bdi>{lane.transport}</bdi>
            {utilisation !== null && (
              <span {...explain("utilisation")}>
                {" · "}
                {words("utilisation", { v: percent(utilisation) })}
              </span>
            )}
            {slope !== null && (
              <span {...explain("slope")}>
                {" · "}
                {words("waiting_slope", {
                  v: `${slope < 0 ? "" : "+"}${durationText(slope * 1000)}`,
                })}
              </span>
            )}
          </small>
        </h3>
        <ClassTable lane={lane} />
        <Delivery of={lane.over_published} />
        <p class="note">
          {words("pipeline_note")} {words("newest_note", { n: count(lane.newest) })}
        </p>
      </div>
      <LedgerPanel ledger={lane.ledger} />
    </article>
  );
}

/** What a user of the lane sees: lost messages count as ones that take forever. */
function Delivery({ of }: { of: OverPublished | null }) {
  if (of === null) return null;
  const { delivered_within: within, p99_ns, p99_within_ns } = of.published ?? of.pipeline;
  const share = (part: number) => percent(part, 1);
  const [lo, hi] = within.ratio_ci;
  const possibly = within.n_possibly > within.n ? ` … ${share(within.n_possibly / of.of)}` : "";
  const time = (ns: number | "lost" | null) =>
    ns === "lost" ? figureWords("lost") : durationText(ns);
  const [least = NOTHING, most] = (p99_within_ns ?? [p99_ns, p99_ns]).map(time);
  return (
    <p class="note" data-testid="delivered-within" data-ratio={within.ratio}>
      {words("within", {
        limit: durationText(of.limit_ns),
        of: words(of.published === null ? "the_take" : "publication"),
      })}{" "}
      <b>{share(within.ratio) + possibly}</b>{" "}
      {words("within_share", {
        lo: share(lo),
        hi: share(hi),
        p99: least === most ? least : `${least} … ${most}`,
      })}
    </p>
  );
}

function ClassTable({ lane }: { lane: LaneView }) {
  const { unstable, reason } = lane.stability;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={`${words("class")}: ${lane.name}`}>
      <table class="classes">
        <thead>
          <tr>
            <th scope="col" {...explain("class")}>
              {words("class")}
            </th>
            {[...MOMENTS, ...QUANTILES, "max" as const].map((name) => (
              <th scope="col" key={name} {...explain(name)}>
                {name.replace("p", "P")}
              </th>
            ))}
            <th scope="col" class="interval" {...explain("ci")}>
              {words("p99_interval")}
            </th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map((key, i) => (
            <tr key={key} class={key}>
              <th scope="row" {...explain(key)}>
                {className(key)}
              </th>
              <Moments of={lane.classes[key]} id={key} />
              {unstable
                ? i === 0 && <Unstable reason={reason} rows={ROWS.length} />
                : QUANTILES.map((name) => (
                    <Figure
                      key={name}
                      ns={lane.classes[key]?.[`${name}_ns`] ?? null}
                      id={`class-${key}-${name}`}
                      term={name}
                    />
                  ))}
              <Figure ns={lane.classes[key]?.max_ns ?? null} id={`class-${key}-max`} term="max" />
              <td class="interval" data-testid={`class-${key}-p99-interval`}>
                {unstable
                  ? NOTHING
                  : interval(
                      lane.classes[key]?.p99_ci_ns ?? [null, null],
                      lane.classes[key]?.n ?? 0,
                    )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Moments({ of, id }: { of: Summary | undefined; id: string }) {
  const n = of?.n ?? 0;
  return (
    <>
      <td class="figure" data-testid={`class-${id}-n`} data-count={n}>
        {count(n)}
      </td>
      <Figure ns={of?.mean_ns ?? null} id={`class-${id}-mean`} term="mean" />
      <Figure ns={of?.sd_ns ?? null} id={`class-${id}-sd`} term="sd" />
      <Figure ns={of?.min_ns ?? null} id={`class-${id}-min`} term="min" />
    </>
  );
}

/** Stands where the percentiles would: they would tell how long the run was and nothing else. */
function Unstable({ reason, rows }: { reason: string; rows: number }) {
  return (
    <td class="unstable" colSpan={QUANTILES.length} rowSpan={rows} data-testid="unstable">
      <strong>{answerWords("unstable")}</strong> <span lang="en">{reason}</span>
      <br />
      <span class="quiet">{words("unstable_says")}</span>
    </td>
  );
}
