// The charts of the lanes: over time, distributed, and split.

import { computed, signal } from "@preact/signals";
import { CourseChart, type CourseLane } from "../chart/course";
import { DistributionChart } from "../chart/distribution";
import { Split } from "../chart/split";
import { type Figures, windowMs } from "../figures";
import { clip } from "../format";
import { aiIncludesTransport } from "../judge";
import { picked } from "../state";
import { drawn, figures, lane, state, tones } from "../store";
import { answerWords } from "../words/answers";
import { className } from "../words/names";
import { panelWords as words } from "../words/panels";
import { Panel, Segments } from "./panel";

type Quantity = "total" | "ai" | "transport" | "overhead";
const QUANTITIES: readonly Quantity[] = ["total", "ai", "transport", "overhead"];
const quantity = signal<Quantity>("total");

/** Where an AI service doesn't tell its own time, what counts as AI includes transport. */
const together = computed(() => drawn.value.some(aiIncludesTransport));

function nameOf(one: Quantity): string {
  if (one === "ai" && together.value) return answerWords("ai_includes");
  return className(one) ?? one;
}

const courses = computed(() => figures.value?.courses ?? null);
const courseLanes = computed((): CourseLane[] =>
  drawn.value.map(({ name, stability }) => ({
    name,
    tone: tones.value.get(name) ?? 0,
    unstable: stability.unstable,
    bins: courses.value?.get(name)?.bins ?? [],
  })),
);
const marks = computed(() =>
  (figures.value?.events ?? [])
    .filter(({ kind }) => kind === "mark")
    .map(({ at_ms, text }) => ({ atMs: at_ms, text: clip(text, 60) })),
);
/** The limit of the P99 total, of the lane that is looked at. */
const limit = computed(() => {
  const checks = (figures.value?.budget?.checks ?? []).filter(
    (check) => check.quantity === "p99_total",
  );
  const of = checks.find((check) => check.lane === lane.value?.name) ?? checks[0];
  return of?.limit_value ?? null;
});
const moment = signal<number | null>(null);

/** Looks at one message. */
export function pick(traceId: string): void {
  state.value = picked(state.value, traceId);
}

/** Why there is nothing to draw. */
function without(shown: Figures | null): "no_figures" | "waiting" | "too_few" {
  if (shown === null) return "no_figures";
  return shown.state === "waiting" ? "waiting" : "too_few";
}

/** Latency over time. */
export function Course() {
  const shown = figures.value;
  const lanes = courseLanes.value;
  const widths = lanes.map(({ name }) => courses.value?.get(name)?.widthMs ?? 0);
  const first = Math.min(...lanes.flatMap(({ bins }) => bins[0]?.at_ms ?? []));
  return (
    <Panel
      id="course"
      title={words("course")}
      term="course"
      picture={shown !== null && Number.isFinite(first)}
      aside={
        <Segments
          name="quantity"
          label={words("quantity")}
          of={QUANTITIES.map((name) => [name, nameOf(name)] as const)}
          chosen={quantity.value}
          choose={(value) => {
            quantity.value = value;
          }}
        />
      }
    >
      {shown === null || !Number.isFinite(first) ? (
        <p class="quiet empty" data-testid="no-course">
          {words(without(shown))}
        </p>
      ) : (
        <CourseChart
          lanes={lanes}
          widthMs={Math.max(1, ...widths)}
          fromMs={Math.max(first, shown.elapsedMs - windowMs(shown.watch.window))}
          toMs={shown.elapsedMs}
          quantity={quantity.value}
          quantityName={nameOf(quantity.value)}
          limitNs={quantity.value === "total" ? limit.value : null}
          marks={marks.value}
          cursor={moment}
          pick={pick}
        />
      )}
    </Panel>
  );
}

type Mode = "ecdf" | "histogram";
const mode = signal<Mode>("ecdf");
const length = signal<number | null>(null);
const distributions = computed(() =>
  drawn.value.map((one) => ({
    name: one.name,
    tone: tones.value.get(one.name) ?? 0,
    points: one.stability.unstable ? [] : (one.distribution[quantity.value] ?? []),
  })),
);

/** The distribution of the same quantity. */
export function Distribution() {
  const empty = distributions.value.every(({ points }) => points.length === 0);
  return (
    <Panel
      id="distribution"
      title={words("distribution")}
      term={mode.value}
      picture={!empty}
      aside={
        <Segments
          name="mode"
          label={words("distribution")}
          of={(["ecdf", "histogram"] as const).map((name) => [name, words(name)] as const)}
          chosen={mode.value}
          choose={(value) => {
            mode.value = value;
          }}
        />
      }
    >
      {empty ? (
        <p class="quiet empty" data-testid="no-distribution">
          {words(
            drawn.value.some(({ stability }) => stability.unstable)
              ? "unstable_says"
              : without(figures.value),
          )}
        </p>
      ) : (
        <DistributionChart
          lanes={distributions.value}
          mode={mode.value}
          limitNs={quantity.value === "total" ? limit.value : null}
          cursor={length}
        />
      )}
    </Panel>
  );
}

/** AI, transport and overhead of the lane that is looked at. */
export function Where() {
  const looked = lane.value;
  return (
    <Panel
      id="where"
      title={words("where")}
      term="class"
      picture={looked !== null && !looked.stability.unstable}
      aside={
        looked !== null && (
          <small class="quiet">
            <bdi>{looked.name}</bdi>
          </small>
        )
      }
    >
      {looked === null ? (
        <p class="quiet empty">{words("no_figures")}</p>
      ) : looked.stability.unstable ? (
        <div class="unstable" data-testid="where-unstable">
          <strong>{answerWords("unstable")}</strong>{" "}
          <span lang="en">{clip(looked.stability.reason, 300)}</span>
          <p class="quiet">{words("unstable_says")}</p>
        </div>
      ) : (
        <Split
          classes={looked.classes}
          limitNs={limit.value}
          aiIncludes={aiIncludesTransport(looked)}
        />
      )}
    </Panel>
  );
}
