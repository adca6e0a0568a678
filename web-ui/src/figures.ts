// The figures of the collector, put together from the snapshots: each tells what has changed.

import type {
  Bin,
  BudgetReport,
  ClockReport,
  CourseView,
  EventView,
  LaneView,
  MeasuredRun,
  MessageView,
  Part,
  RobotView,
  RunState,
  Shadow,
  Snapshot,
  Verdict,
  Watch,
  Window,
} from "./generated/wire";

/** One lane's messages over time. */
export interface Course {
  readonly widthMs: number;
  /** By the number of the chunk. */
  readonly chunks: ReadonlyMap<number, readonly Bin[]>;
  /** All that lie in the watched window, in order. */
  readonly bins: readonly Bin[];
}

/** Everything that the collector has said. A part that didn't change is the same object. */
export interface Figures {
  readonly runId: string;
  readonly state: RunState;
  readonly elapsedMs: number;
  readonly clients: number;
  readonly watch: Watch;
  readonly lanes: readonly LaneView[];
  readonly courses: ReadonlyMap<string, Course>;
  readonly latest: readonly MessageView[];
  readonly slowest: readonly MessageView[];
  readonly robots: readonly RobotView[];
  readonly clocks: readonly ClockReport[];
  readonly verdict: Verdict | null;
  readonly budget: BudgetReport | null;
  readonly shadow: Shadow | null;
  readonly events: readonly EventView[];
  readonly measured: readonly MeasuredRun[];
}

type Parts = Omit<Figures, "runId" | "state" | "elapsedMs" | "clients" | "watch">;

const NONE: Parts = {
  lanes: [],
  courses: new Map(),
  latest: [],
  slowest: [],
  robots: [],
  clocks: [],
  verdict: null,
  budget: null,
  shadow: null,
  events: [],
  measured: [],
};

const WINDOW_MS: Readonly<Record<Window, number>> = {
  "10s": 10_000,
  "1min": 60_000,
  run: Number.POSITIVE_INFINITY,
};

/** How long a window is, in ms. */
export function windowMs(window: Window): number {
  return WINDOW_MS[window];
}

/** What is known after a snapshot. */
export function merge(before: Figures | null, snapshot: Snapshot): Figures {
  const { run_id: runId, state, elapsed_ms: elapsedMs, clients, watch } = snapshot;
  const start: Parts = snapshot.whole || before === null ? NONE : before;
  const parts = snapshot.parts.reduce(withPart, start);
  const oldest = elapsedMs - windowMs(watch.window);
  const courses = pruned(parts.courses, oldest);
  return { ...parts, courses, runId, state, elapsedMs, clients, watch: kept(before?.watch, watch) };
}

function withPart(before: Parts, part: Part): Parts {
  switch (part.kind) {
    case "lane":
      return { ...before, lanes: withLane(before.lanes, part.lane) };
    case "course":
      return { ...before, courses: withChunk(before.courses, part) };
    case "latest":
      return { ...before, latest: part.messages };
    case "slowest":
      return { ...before, slowest: part.messages };
    case "robots":
      return { ...before, robots: part.robots };
    case "clocks":
      return { ...before, clocks: part.clocks };
    case "verdict":
      return { ...before, verdict: part.verdict, budget: part.budget };
    case "shadow":
      return { ...before, shadow: part.shadow };
    case "events":
      return { ...before, events: part.events };
    case "measured":
      return { ...before, measured: part.runs };
  }
}

/** The same object where nothing changed, so that what shows it isn't drawn anew. */
function kept(before: Watch | undefined, now: Watch): Watch {
  return before?.window === now.window && before.robot === now.robot ? before : now;
}

function withLane(lanes: readonly LaneView[], lane: LaneView): readonly LaneView[] {
  const at = lanes.findIndex(({ name }) => name === lane.name);
  return at === -1 ? [...lanes, lane] : lanes.with(at, lane);
}

function withChunk(courses: Parts["courses"], part: CourseView): Parts["courses"] {
  const before = courses.get(part.lane);
  const chunks = new Map(before?.widthMs === part.width_ms ? before.chunks : []);
  chunks.set(part.chunk, part.bins);
  return new Map(courses).set(part.lane, { widthMs: part.width_ms, chunks, bins: inRow(chunks) });
}

function inRow(chunks: Course["chunks"]): readonly Bin[] {
  return [...chunks.entries()].sort(([a], [b]) => a - b).flatMap(([, bins]) => bins);
}

/** Without what has left the window; a course that loses nothing stays the same object. */
function pruned(courses: Parts["courses"], oldest: number): Parts["courses"] {
  let changed = false;
  const left = new Map<string, Course>();
  for (const [lane, course] of courses) {
    const inside = ({ at_ms }: Bin): boolean => at_ms + course.widthMs > oldest;
    if (course.bins.every(inside)) {
      left.set(lane, course);
      continue;
    }
    changed = true;
    const chunks = new Map(
      [...course.chunks]
        .map(([chunk, bins]) => [chunk, bins.filter(inside)] as const)
        .filter(([, bins]) => bins.length > 0),
    );
    left.set(lane, { ...course, chunks, bins: inRow(chunks) });
  }
  return changed ? left : courses;
}
