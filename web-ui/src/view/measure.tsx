// Measured runs, and marks: what the collector is told to write down.

import { computed, signal } from "@preact/signals";
import { checkedAs, Refusal } from "../check";
import { address, byBrowser, call, isLocked, saveFrom, token } from "../control/calls";
import { clip, count, elapsed } from "../format";
import { measured } from "../frames";
import type { MeasuredRun } from "../generated/wire";
import { withAnswer } from "../judge";
import { ask } from "../remote";
import { config, figures, state } from "../store";
import { controlWords as words } from "../words/controls";
import { decisionName, measuredName } from "../words/names";
import { explain } from "./explain";
import { Menu } from "./menu";

/** What the collector last said to one of the two. */
type Said = { kind: "none" } | { kind: "sending" } | { kind: "done" } | { kind: "no"; why: string };

const measureSaid = signal<Said>({ kind: "none" });
const markSaid = signal<Said>({ kind: "none" });

/** Posts to the collector; gives its answer, or `null` when it was refused. */
async function post(path: string, body: unknown, said: typeof markSaid): Promise<string | null> {
  const port = config.value?.collector_port;
  if (port === undefined) return null;
  said.value = { kind: "sending" };
  const answer = await ask(call("POST", port, path, body), byBrowser);
  if (answer instanceof Refusal) {
    said.value = { kind: "no", why: answer.reason };
    return null;
  }
  said.value = { kind: "done" };
  return answer;
}

/** The run that the last answer told of: the snapshot that has it may take a while. */
const answered = signal<MeasuredRun | null>(null);

async function measureNow(action: "start" | "stop"): Promise<void> {
  const answer = await post("/v1/measured", { action }, measureSaid);
  if (answer === null) return;
  try {
    const run = checkedAs(measured, JSON.parse(answer), "answer");
    answered.value = run instanceof Refusal ? null : run;
  } catch {
    // The snapshots will tell.
    answered.value = null;
  }
}

// What was begun goes on while the page stands still: these follow the newest figures.
const runs = computed(() => withAnswer(state.value.figures?.measured ?? [], answered.value));
const running = computed(() => runs.value.find((run) => run.state === "running") ?? null);
const elapsedMs = computed(() => state.value.figures?.elapsedMs ?? 0);

/** The menu of measured runs. */
export function Measure() {
  const now = running.value;
  const said = measureSaid.value;
  const label =
    now === null
      ? words("measure")
      : words("measuring", { t: elapsed(elapsedMs.value - now.from_ms) });
  return (
    <Menu id="measure" label={label} title={words("measure_title")} busy={now !== null}>
      <p class="quiet" {...explain("measured")}>
        {words("measure_says")}
      </p>
      <p>
        <button
          type="button"
          class="main"
          data-testid="measure"
          data-action={now === null ? "start" : "stop"}
          disabled={figures.value === null || isLocked.value || said.kind === "sending"}
          onClick={() => {
            void measureNow(now === null ? "start" : "stop");
          }}
        >
          {words(now === null ? "start" : "stop")}
        </button>{" "}
        <Reply said={said} id="measure" />
      </p>
      {runs.value.length === 0 ? (
        <p class="quiet">{words("no_runs")}</p>
      ) : (
        <ul class="runs">
          {runs.value.map((run) => (
            <Run key={run.name} run={run} />
          ))}
        </ul>
      )}
    </Menu>
  );
}

function Run({ run }: { run: MeasuredRun }) {
  const long = elapsed((run.to_ms ?? elapsedMs.value) - run.from_ms);
  return (
    <li data-testid="measured-run" data-state={run.state}>
      <b>
        <bdi>{clip(run.name, 60)}</bdi>
      </b>{" "}
      {measuredName(run.state)} · {long}
      {run.messages !== null && <> · {words("messages", { n: count(run.messages) })}</>}
      {run.decision !== null && <> · {decisionName(run.decision) ?? clip(run.decision, 40)}</>}
      {run.state === "done" && (
        <Files of={`/v1/measured/${encodeURIComponent(run.name)}/`} names={OF_RUN} />
      )}
      {run.trouble !== null && <p class="bad">{clip(run.trouble, 300)}</p>}
    </li>
  );
}

const OF_RUN = ["report.html", "report.json", "report.md", "traces.csv"];

/** Links to files of the collector. */
export function Files({ of, names }: { of: string; names: readonly string[] }) {
  const port = config.value?.collector_port;
  if (port === undefined) return null;
  const needed = config.value?.controls.token_needed ?? false;
  return (
    <span class="files">
      {names.map((name) =>
        needed ? (
          <button
            type="button"
            key={name}
            disabled={isLocked.value || token.value === null}
            onClick={async () => {
              const refused = await saveFrom(port, of + name);
              if (refused !== null) measureSaid.value = { kind: "no", why: refused.reason };
            }}
          >
            {name}
          </button>
        ) : (
          <a key={name} href={address(port, of + name)} target="_blank" rel="noopener">
            {name}
          </a>
        ),
      )}
    </span>
  );
}

function Reply({ said, id }: { said: Said; id: string }) {
  return (
    <span class="said" role="status" data-testid={`said-${id}`} data-kind={said.kind}>
      {isLocked.value && words("token_missing")}
      {said.kind === "sending" && words("sending")}
      {said.kind === "done" && <span class="fine">✓</span>}
      {said.kind === "no" && <span class="bad">{said.why}</span>}
    </span>
  );
}

const LONGEST_MARK = 200;
const markMistake = signal(false);

/** The menu that marks an event. */
export function MarkMenu() {
  return (
    <Menu id="mark" label={words("mark")} title={words("mark_title")}>
      <form
        class="setting"
        noValidate
        onSubmit={async (event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const field = form.elements.namedItem("mark");
          const text = field instanceof HTMLInputElement ? field.value.trim() : "";
          // Characters as the collector counts them, not UTF-16 units.
          markMistake.value = text === "" || [...text].length > LONGEST_MARK;
          if (markMistake.value) markSaid.value = { kind: "none" };
          else if ((await post("/v1/mark", { text }, markSaid)) !== null) form.reset();
        }}
      >
        <label for="field-mark">{words("mark_label")}</label>
        <span class="entry wide">
          <input
            id="field-mark"
            name="mark"
            type="text"
            autocomplete="off"
            placeholder={words("mark_hint")}
            data-testid="mark-text"
            disabled={isLocked.value}
          />
        </span>
        <button type="submit" data-testid="mark" disabled={isLocked.value}>
          {words("mark")}
        </button>
        <p class="said">
          {markMistake.value ? (
            <span class="bad">{words("no_text")}</span>
          ) : (
            <Reply said={markSaid.value} id="mark" />
          )}
        </p>
        <p class="said quiet">{words("mark_says")}</p>
      </form>
    </Menu>
  );
}
