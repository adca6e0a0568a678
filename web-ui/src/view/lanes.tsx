// The lanes side by side, a row each: which are drawn, and which one is looked at closely.

import { Key } from "../chart/key";
import { count, durationText, interval, NOTHING, percent, shortInterval } from "../format";
import type { LaneView } from "../generated/wire";
import { delivery, losses, wilson } from "../judge";
import { chosenLane, draw, drawn, drawnLanes, figures, lane, lanes, tones } from "../store";
import { answerWords } from "../words/answers";
import { panelWords as words } from "../words/panels";
import { Compare } from "./compare";
import { explain, explainCell } from "./explain";
import { Panel } from "./panel";

/** With more lanes a row is one line, and its intervals are told on demand. */
const FEW = 4;

/** The panel. */
export function Lanes() {
  const all = lanes.value;
  return (
    <Panel
      id="lanes"
      title={words("lanes")}
      term="lane"
      aside={
        all.length > 1 && (
          <span class="few">
            <button
              type="button"
              data-testid="draw-all"
              onClick={() => {
                drawnLanes.value = new Set(all.map(({ name }) => name));
              }}
            >
              {words("all")}
            </button>
            <button
              type="button"
              data-testid="draw-none"
              onClick={() => {
                drawnLanes.value = new Set();
              }}
            >
              {words("none")}
            </button>
          </span>
        )
      }
    >
      {all.length === 0 ? (
        <p class="quiet empty" data-testid="no-lanes">
          {words(figures.value === null ? "no_figures" : "no_lanes")}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll grows" tabIndex={0} aria-label={words("lanes")}>
          <table
            class={all.length > FEW ? "lane-table close" : "lane-table"}
            data-testid="lane-table"
          >
            <thead>
              <tr class="of-what">
                <td />
                <th scope="colgroup" colSpan={2} {...explain("ledger")}>
                  {words("since_start")}
                </th>
                <th scope="colgroup" colSpan={3} {...explain("window")}>
                  {words("in_window")}
                </th>
              </tr>
              <tr>
                <th scope="col" {...explain("lane", words("lanes_says"))}>
                  {words("lane")}
                </th>
                <th scope="col" {...explain("delivered")}>
                  {words("delivered")}
                </th>
                <th scope="col" {...explain("lost")}>
                  {words("lost")}
                </th>
                <th scope="col" {...explain("p50")}>
                  P50
                </th>
                <th scope="col" {...explain("p99")}>
                  P99
                </th>
                <th scope="col" class="rate" {...explain("rate")}>
                  {words("rate")}
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map((one) => (
                <Row key={one.name} of={one} />
              ))}
            </tbody>
          </table>
          {all.length <= FEW && <Compare />}
        </section>
      )}
    </Panel>
  );
}

function Row({ of }: { of: LaneView }) {
  const isDrawn = drawn.value.some(({ name }) => name === of.name);
  const looked = lane.value?.name === of.name;
  const lost = losses(of.ledger).reduce((sum, [, n]) => sum + n, 0);
  const { unstable, reason } = of.stability;
  return (
    <tr
      data-testid="lane-row"
      data-lane={of.name}
      data-drawn={isDrawn}
      data-looked={looked}
      data-unstable={unstable}
    >
      <th scope="row">
        <div class="lane-cell">
          <input
            type="checkbox"
            checked={isDrawn}
            aria-label={`${words("drawn")}: ${of.name}`}
            onChange={(event) => draw(of.name, event.currentTarget.checked)}
          />
          <label>
            <input
              type="radio"
              name="lane"
              class="hidden"
              checked={looked}
              onChange={() => {
                chosenLane.value = of.name;
              }}
            />
            <span class="lane-key">
              <Key tone={tones.value.get(of.name) ?? 0} name={of.name} />
            </span>
          </label>
          <small class="quiet">
            <bdi data-explain="qos" data-more={of.qos}>
              {short(of.qos)}
            </bdi>{" "}
            <bdi>{of.transport}</bdi>
          </small>
        </div>
      </th>
      <Share of={of} />
      <td class={lost > 0 ? "figure bad" : "figure"} {...explainCell("lost")}>
        {count(lost)}
      </td>
      {unstable ? (
        <td class="unstable" colSpan={2} {...explainCell("unstable", reason)}>
          {answerWords("unstable")}
        </td>
      ) : (
        <>
          <Quantile of={of} name="p50" />
          <Quantile of={of} name="p99" />
        </>
      )}
      <td class="figure rate" {...explainCell("rate")}>
        {of.rates.delivered_per_s === null
          ? NOTHING
          : `${trimmed(of.rates.delivered_per_s)}\u00a0/s`}
      </td>
    </tr>
  );
}

function trimmed(rate: number): string {
  return rate >= 100 ? rate.toFixed(0) : rate.toFixed(1);
}

function short(qos: string): string {
  return qos.split(/\s+/).find((word) => word === "BEST_EFFORT" || word === "RELIABLE") ?? qos;
}

/** The delivered share with its interval. */
function Share({ of }: { of: LaneView }) {
  const { of: published, delivered, share } = delivery(of.ledger);
  const ci = wilson(Math.min(delivered, published), published);
  const within =
    ci === null
      ? NOTHING
      : ci
          .map((end) => percent(end, 2))
          .join(" … ")
          .replace("\u00a0%", "");
  return (
    <td
      class="figure"
      {...explainCell("delivered", `${count(delivered)} / ${count(published)}: ${within}`)}
    >
      {share === null ? NOTHING : percent(share, 2)}
      {ci !== null && <small class="ci">{within}</small>}
    </td>
  );
}

function Quantile({ of, name }: { of: LaneView; name: "p50" | "p99" }) {
  const total = of.classes["total"];
  const ns = total?.[`${name}_ns`] ?? null;
  const within =
    total === undefined || total.n === 0 ? null : interval(total[`${name}_ci_ns`], total.n);
  return (
    <td
      class="figure"
      {...explainCell(
        name,
        ns === null ? undefined : `${count(ns)} ns; 95 %: ${within ?? NOTHING}`,
      )}
      data-ns={ns ?? undefined}
    >
      {durationText(ns)}
      {total !== undefined && total.n > 0 && (
        <small class="ci">{shortInterval(total[`${name}_ci_ns`])}</small>
      )}
    </td>
  );
}
