// The robots of the window, and the clocks that stamps were taken with.

import { Key } from "../chart/key";
import { clip, count, durationText, elapsed, FEWEST_FOR_P99, NOTHING } from "../format";
import type { ClockReport, RobotView } from "../generated/wire";
import { figures, lanes, tones } from "../store";
import { figureWords } from "../words/figures";
import { panelWords as words } from "../words/panels";
import { explain, explainCell } from "./explain";
import { Panel } from "./panel";

const SHOWN = 100;

/** Who publishes. */
export function Robots() {
  const shown = figures.value;
  const robots = shown?.robots ?? [];
  const several = new Set(robots.map(({ lane }) => lane)).size > 1;
  return (
    <Panel
      id="robots"
      title={words("robots")}
      term="robot"
      aside={robots.length > 0 && <small class="quiet">{count(robots.length)}</small>}
    >
      {shown === null || robots.length === 0 ? (
        <p class="quiet empty" data-testid="no-robots">
          {words(shown === null ? "no_figures" : "no_robots")}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll" tabIndex={0} aria-label={words("robots")}>
          <table>
            <thead>
              <tr>
                <th scope="col" {...explain("robot")}>
                  {words("robot")}
                </th>
                <th scope="col" {...explain("rate")}>
                  {words("rate")}
                </th>
                <th scope="col" {...explain("p50")}>
                  P50
                </th>
                <th scope="col" {...explain("p99")}>
                  P99
                </th>
                <th scope="col" {...explain("delivered")}>
                  {words("delivered")}
                </th>
                <th scope="col">{words("last")}</th>
              </tr>
            </thead>
            <tbody>
              {robots.slice(0, SHOWN).map((robot) => (
                <Row
                  key={`${robot.lane} ${robot.robot_id}`}
                  of={robot}
                  lane={several}
                  now={shown.elapsedMs}
                />
              ))}
            </tbody>
          </table>
          {robots.length > SHOWN && (
            <p class="note">{words("more", { n: count(robots.length - SHOWN) })}</p>
          )}
        </section>
      )}
    </Panel>
  );
}

function Row({ of, lane, now }: { of: RobotView; lane: boolean; now: number }) {
  const unstable = lanes.value.find(({ name }) => name === of.lane)?.stability.unstable === true;
  const few = of.delivered < FEWEST_FOR_P99;
  return (
    <tr data-testid="robot-row" data-robot={of.robot_id} data-lane={of.lane}>
      <th scope="row">
        {lane && (
          <span class="lane-key" title={of.lane}>
            <Key tone={tones.value.get(of.lane) ?? 0} name="" />
          </span>
        )}
        <bdi>{clip(of.robot_id, 40)}</bdi>
      </th>
      <td class="figure" {...explainCell("rate")}>
        {of.rate_hz === null ? NOTHING : `${of.rate_hz.toFixed(1)}\u00a0Hz`}
      </td>
      <td class="figure" {...explainCell(unstable ? "unstable" : "p50")}>
        {unstable ? NOTHING : durationText(of.p50_ns)}
      </td>
      <td
        class="figure"
        data-testid="robot-p99"
        {...(unstable
          ? explainCell("unstable")
          : explainCell(
              "p99",
              few && of.p99_ns !== null
                ? words("few_for_p99", { n: count(of.delivered), least: FEWEST_FOR_P99 })
                : undefined,
            ))}
      >
        {unstable || few ? NOTHING : durationText(of.p99_ns)}
      </td>
      <td class={of.delivered < of.taken ? "figure bad" : "figure"} {...explainCell("taken")}>
        {count(of.delivered)}/{count(of.taken)}
      </td>
      <td class="figure">{of.last_ms === null ? NOTHING : elapsed(now - of.last_ms)}</td>
    </tr>
  );
}

/** How clocks relate to the gateway's. */
export function Clocks() {
  const clocks = figures.value?.clocks ?? [];
  return (
    <Panel id="clocks" title={words("clocks")} term="offset">
      {clocks.length === 0 ? (
        <p class="quiet empty" data-testid="no-clocks">
          {words(figures.value === null ? "no_figures" : "no_clocks")}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll" tabIndex={0} aria-label={words("clocks")}>
          <table>
            <thead>
              <tr>
                <th scope="col">{words("clock")}</th>
                <th scope="col" {...explain("offset")}>
                  {words("offset")}
                </th>
                <th scope="col" {...explain("drift")}>
                  ppm
                </th>
              </tr>
            </thead>
            <tbody>
              {clocks.slice(0, SHOWN).map((clock) => (
                <Clock key={`${clock.id} ${clock.used_for}`} of={clock} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Panel>
  );
}

function Clock({ of }: { of: ClockReport }) {
  return (
    <tr data-testid="clock-row" data-clock={of.id} data-exact={of.exact}>
      <th scope="row">
        <span class="used-for" data-explain="offset" data-more={`${of.id}: ${of.relation}`}>
          {usedFor(of)}
        </span>
      </th>
      <td
        class="figure"
        {...explainCell(
          "offset",
          of.drift_ppm === null ? of.relation : `${of.relation}; ${middle(of.drift_ppm)} ppm`,
        )}
      >
        {offset(of)}
        {of.epochs > 1 && (
          <small class="ci warn">{words("epochs", { n: count(of.epochs - 1) })}</small>
        )}
      </td>
      <td class="figure" {...explainCell("drift")}>
        {of.drift_ppm === null ? NOTHING : middle(of.drift_ppm)}
      </td>
    </tr>
  );
}

/** What a clock stamps; of pages' clocks, which all stamp the same, whose it is. */
function usedFor({ id, used_for }: ClockReport): string {
  const [kind, name] = id.split(":");
  return kind === "browser" && name !== undefined
    ? clip(`${kind} ${name}`, 16)
    : clip(used_for, 60);
}

/** Offset ± bound. Offsets of years (a wall clock's) say nothing but their bound. */
function offset({ exact, offset_ns }: ClockReport): string {
  if (exact) return figureWords("exact");
  if (offset_ns === null) return words("unrelated");
  const [lo, hi] = offset_ns;
  const at = (lo + hi) / 2;
  const half = durationText((hi - lo) / 2);
  return Math.abs(at) > 1e12 ? `±\u00a0${half}` : `${durationText(at)} ±\u00a0${half}`;
}

function middle([lo, hi]: readonly [number, number]): string {
  const at = (lo + hi) / 2;
  return `${at < 0 ? "−" : ""}${Math.abs(at).toFixed(1)} ±\u00a0${((hi - lo) / 2).toFixed(1)}`;
}
