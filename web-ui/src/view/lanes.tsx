// Each lane: its classes in figures, and beside them its ledger.

import { count, durationText, interval, NOTHING, percent } from "../format";
import type { LaneView, OverPublished, Summary } from "../generated/wire";
import { snapshot } from "../store";
import { Figure } from "./figure";
import { LedgerPanel } from "./ledger";

const ROWS = [
  { key: "ai", name: "AI", title: "the AI service's own time" },
  { key: "transport", name: "transport", title: "on a wire, between processes" },
  { key: "overhead", name: "overhead", title: "inside our processes" },
  { key: "communication", name: "communication", title: "transport + overhead" },
  { key: "total", name: "total", title: "pipeline: taken → web_acked, one clock" },
] as const;

/** All lanes. */
export function Lanes() {
  const figures = snapshot.value;
  if (figures === null || figures.lanes.length === 0) {
    return (
      <section class="panel lanes" aria-label="Lanes">
        <h2>Lanes</h2>
        <p class="quiet" data-testid="no-lanes">
          {figures === null
            ? "No figures yet: they come from the collector as soon as it answers."
            : "No lane yet: a lane appears with the gateway's first word."}
        </p>
      </section>
    );
  }
  return (
    <section class="lanes" aria-label="Lanes">
      {figures.lanes.map((lane) => (
        <Lane key={lane.name} lane={lane} window={figures.window} />
      ))}
    </section>
  );
}

function Lane({ lane, window }: { lane: LaneView; window: number }) {
  const { unstable, utilisation, waiting_slope_us_per_s: slope } = lane.stability;
  return (
    <article class="panel lane" data-testid="lane" data-lane={lane.name} data-unstable={unstable}>
      <div class="lane-classes">
        <h2>
          <bdi>{lane.name}</bdi>{" "}
          <small>
            <bdi>{lane.qos}</bdi> over <bdi>{lane.transport}</bdi>
            {utilisation !== null && <> · utilisation {percent(utilisation)}</>}
            {slope !== null && (
              <span title="How fast waiting grew, for each second of the run">
                {" "}
                · waiting {slope < 0 ? "" : "+"}
                {durationText(slope * 1000)}/s
              </span>
            )}
          </small>
        </h2>
        <ClassTable lane={lane} />
        <Delivery of={lane.over_published} />
        <p class="note">
          Pipeline: taken by the gateway → the web service's answer. Over the newest n messages, at
          most {count(window)}; the ledger counts since the start.
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
  const share = (of: number) => `${(100 * of).toFixed(1)} %`;
  const [lo, hi] = within.ratio_ci;
  const possibly = within.n_possibly > within.n ? ` to ${share(within.n_possibly / of.of)}` : "";
  const time = (ns: number | "lost" | null) => (ns === "lost" ? "lost" : durationText(ns));
  const [least, most] = (p99_within_ns ?? [p99_ns, p99_ns]).map(time);
  return (
    <p class="note" data-testid="delivered-within" data-ratio={within.ratio}>
      Within {durationText(of.limit_ns)} of {of.published === null ? "the take" : "publication"}:{" "}
      <b>{share(within.ratio) + possibly}</b> of what was published ({share(lo)} to {share(hi)});
      P99 over published: {least === most ? least : `${least} to ${most}`}.
    </p>
  );
}

function ClassTable({ lane }: { lane: LaneView }) {
  const { unstable, reason } = lane.stability;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={`Classes of lane ${lane.name}`}>
      <table class="classes">
        <thead>
          <tr>
            <th scope="col">class</th>
            {["n", "mean", "sd", "min", "P50", "P75", "P90", "P95", "P99"].map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            <th scope="col">max</th>
            <th scope="col" class="interval">
              P99's 95 % interval
            </th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map(({ key, name, title }, i) => (
            <tr key={key} class={key}>
              <th scope="row" title={title}>
                {name}
              </th>
              <Moments of={lane.classes[key]} id={key} />
              {unstable
                ? i === 0 && <Unstable reason={reason} rows={ROWS.length} />
                : quantiles(lane.classes[key], key)}
              <Figure ns={lane.classes[key]?.max_ns ?? null} id={`class-${key}-max`} />
              <P99Interval of={lane.classes[key]} id={key} unstable={unstable} />
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
      <Figure ns={of?.mean_ns ?? null} id={`class-${id}-mean`} />
      <Figure ns={of?.sd_ns ?? null} id={`class-${id}-sd`} />
      <Figure ns={of?.min_ns ?? null} id={`class-${id}-min`} />
    </>
  );
}

function quantiles(of: Summary | undefined, id: string) {
  return (
    <>
      <Figure ns={of?.p50_ns ?? null} id={`class-${id}-p50`} />
      <Figure ns={of?.p75_ns ?? null} id={`class-${id}-p75`} />
      <Figure ns={of?.p90_ns ?? null} id={`class-${id}-p90`} />
      <Figure ns={of?.p95_ns ?? null} id={`class-${id}-p95`} />
      <Figure ns={of?.p99_ns ?? null} id={`class-${id}-p99`} />
    </>
  );
}

function P99Interval({
  of,
  id,
  unstable,
}: {
  of: Summary | undefined;
  id: string;
  unstable: boolean;
}) {
  return (
    <td class="interval" data-testid={`class-${id}-p99-interval`}>
      {unstable ? NOTHING : interval(of?.p99_ci_ns ?? [null, null], of?.n ?? 0)}
    </td>
  );
}

/** Stands where the percentiles would: they would tell how long the run was and nothing else. */
function Unstable({ reason, rows }: { reason: string; rows: number }) {
  return (
    <td class="unstable" colSpan={5} rowSpan={rows} data-testid="unstable">
      <strong>UNSTABLE</strong> {reason}
      <br />
      <span class="quiet">No percentiles: they would tell how long the run was, nothing else.</span>
    </td>
  );
}
