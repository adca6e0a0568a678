// BEST_EFFORT against RELIABLE: their intervals, and what they show.

import { toneClass } from "../chart/tones";
import { durationText, percent } from "../format";
import type { LaneView } from "../generated/wire";
import { type Apart, delivery, difference, pairOf, reliability, wilson } from "../judge";
import { lanes, tones } from "../store";
import { panelWords as words } from "../words/panels";
import { Coded } from "./coded";
import { explain } from "./explain";

type Shown = Apart | "unstable";

interface Range {
  readonly at: number;
  readonly ends: readonly [number | null, number | null];
}

/** The pair, where there is one. */
export function Compare() {
  const pair = pairOf(lanes.value);
  if (pair === null) return null;
  const [a, b] = pair;
  const seen = difference(a, b);
  const names = { a: reliability(a) ?? a.name, b: reliability(b) ?? b.name };
  return (
    <div class="compare" data-testid="compare">
      <h3 {...explain("ci")}>{words("against", names)}</h3>
      <Line name="P50" term="p50" pair={pair} of={quantile("p50")} shown={seen.p50} />
      <Line name="P99" term="p99" pair={pair} of={quantile("p99")} shown={seen.p99} />
      <Line
        name={words("delivered")}
        term="delivered"
        pair={pair}
        of={share}
        shown={seen.delivered}
        text={(part) => percent(part, 2)}
      />
      <p class="note">
        <Coded text={words("one_window")} />
      </p>
    </div>
  );
}

const quantile =
  (name: "p50" | "p99") =>
  (lane: LaneView): Range | null => {
    const total = lane.classes["total"];
    const at = total?.[`${name}_ns`] ?? null;
    if (total === undefined || at === null || lane.stability.unstable) return null;
    return { at, ends: total[`${name}_ci_ns`] };
  };

function share({ ledger }: LaneView): Range | null {
  const { of, delivered, share: at } = delivery(ledger);
  const ends = wilson(Math.min(delivered, of), of);
  return at === null || ends === null ? null : { at, ends };
}

interface LineProps {
  name: string;
  term: "p50" | "p99" | "delivered";
  pair: readonly [LaneView, LaneView];
  of: (lane: LaneView) => Range | null;
  shown: Shown;
  text?: (value: number) => string;
}

function Line({ name, term, pair, of, shown, text = durationText }: LineProps) {
  const ranges = pair.map(of);
  const lane = reliability(pair[0]) ?? pair[0].name;
  const said =
    shown === null
      ? words("unsaid")
      : shown === "unstable"
        ? words("unstable_pair")
        : shown === "overlap"
          ? words("overlap")
          : words(shown === "below" ? "lower" : "higher", { lane });
  const values = ranges.flatMap((range) =>
    range === null ? [] : [range.at, ...range.ends.filter((end) => end !== null)],
  );
  const [lo, hi] = [Math.min(...values), Math.max(...values)];
  const spoken = ranges.map((range) => (range === null ? "–" : text(range.at))).join(", ");
  return (
    <>
      <span {...explain(term, spoken)}>{name}</span>
      <svg width="100%" height="18" role="img" aria-label={`${name}: ${spoken}. ${said}`}>
        {ranges.map(
          (range, i) =>
            range !== null && (
              <Whisker
                key={i}
                range={range}
                y={i === 0 ? 5 : 13}
                tone={tones.value.get(pair[i]?.name ?? "") ?? 0}
                place={(value) => (hi > lo ? 2 + (96 * (value - lo)) / (hi - lo) : 50)}
              />
            ),
        )}
      </svg>
      <span data-testid={`compare-${term}`} data-shown={shown ?? "unsaid"}>
        {said}
      </span>
    </>
  );
}

/** An interval with its figure; an end that is missing is drawn open, up to the edge. */
function Whisker({
  range: { at, ends },
  y,
  tone,
  place,
}: {
  range: Range;
  y: number;
  tone: number;
  place: (value: number) => number;
}) {
  const from = ends[0] === null ? 0 : place(ends[0]);
  const to = ends[1] === null ? 100 : place(ends[1]);
  return (
    <g class={toneClass(tone)}>
      <line
        class="whisker"
        x1={`${from}%`}
        x2={`${to}%`}
        y1={y}
        y2={y}
        stroke-dasharray={ends.includes(null) ? "3 3" : undefined}
      />
      <circle class="point" cx={`${place(at)}%`} cy={y} r="3.5" />
    </g>
  );
}
