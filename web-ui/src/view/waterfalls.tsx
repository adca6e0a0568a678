// The way of single messages: the newest, the slowest, and one that was picked.

import { computed, signal } from "@preact/signals";
import { fallScale } from "../chart/fall";
import { Key } from "../chart/key";
import { Waterfall } from "../chart/waterfall";
import { clip, durationText, outcome } from "../format";
import type { MessageView } from "../generated/wire";
import type { Scale } from "../scale";
import { client, figures, lanes, state, tones, withAi } from "../store";
import { panelWords as words } from "../words/panels";
import { explain } from "./explain";
import { Panel } from "./panel";

const newest = computed(() => figures.value?.latest[0] ?? null);
const slowest = computed(() => figures.value?.slowest[0] ?? null);
const choice = computed(() => state.value.picked);
const left = computed(() => {
  const chosen = choice.value;
  if (chosen === null) return newest.value;
  return chosen.message === "asked" ? null : chosen.message;
});
/** Both are drawn on one scale: what looks longer took longer. */
const scale = computed((): Scale | null => {
  const both = [left.value, slowest.value].filter((one) => one !== null);
  return both.length === 0 ? null : fallScale(both, withAi.value, client.value);
});

/** The newest message, or the picked one. */
export function First() {
  const chosen = choice.value;
  const shown = left.value;
  return (
    <Panel
      id="newest"
      title={words(chosen === null ? "newest" : "picked")}
      term="waterfall"
      picture={shown !== null}
      aside={
        <>
          {chosen !== null && (
            <button
              type="button"
              data-testid="unpick"
              title={words("back")}
              aria-label={words("back")}
              onClick={() => {
                state.value = { ...state.value, picked: null };
              }}
            >
              ✕
            </button>
          )}
          <label class="with-ai" title={words("with_ai_says")}>
            <input
              type="checkbox"
              checked={withAi.value}
              data-testid="with-ai"
              onChange={(event) => {
                withAi.value = event.currentTarget.checked;
              }}
            />{" "}
            {words("with_ai")}
          </label>
        </>
      }
    >
      {shown !== null ? (
        <One message={shown} id={chosen === null ? "newest" : "picked"} />
      ) : (
        <p class="quiet empty" role="status" data-testid="no-newest">
          {chosen?.message === "asked" && words("asked")}
          {chosen !== null && chosen.message === null && words("not_kept")}
          {chosen === null && <Waiting />}
        </p>
      )}
    </Panel>
  );
}

function Waiting() {
  return (
    <>
      <b>{words(figures.value === null ? "waiting_collector" : "waiting")}</b>
      <br />
      {words(figures.value === null ? "waiting_figures" : "waiting_says")}
    </>
  );
}

/** The slowest message of the window. */
export function Slowest() {
  const shown = slowest.value;
  return (
    <Panel id="slowest" title={words("slowest")} term="waterfall" picture={shown !== null}>
      {shown === null ? (
        <p class="quiet empty">{words(figures.value === null ? "no_figures" : "no_message")}</p>
      ) : (
        <One message={shown} id="slowest" />
      )}
    </Panel>
  );
}

const copied = signal<string | null>(null);

/** Whose message it is, what became of it, and its id to take along. */
function Facts({ of, id }: { of: MessageView; id: string }) {
  const delivered = of.outcome === "delivered";
  return (
    <p class="facts">
      <span class="who">
        {lanes.value.length > 1 && (
          <span class="lane-key" title={of.lane}>
            <Key tone={tones.value.get(of.lane) ?? 0} name="" />
          </span>
        )}
        <bdi class="robot">{of.robot_id}</bdi> <b>#{of.sequence}</b>
      </span>{" "}
      <span class={delivered ? "fine" : "bad"} title={of.detail ?? undefined}>
        {delivered ? "✓" : `✗ ${outcome(of.outcome)}`}
      </span>{" "}
      <b data-ns={of.total_ns ?? undefined}>{durationText(of.total_ns)}</b>{" "}
      <button
        type="button"
        class="trace"
        aria-label={`${words("copy")} ${of.trace_id}`}
        data-testid={`copy-${id}`}
        {...explain("trace", of.trace_id)}
        onClick={async () => {
          await navigator.clipboard.writeText(of.trace_id);
          copied.value = of.trace_id;
        }}
      >
        {copied.value === of.trace_id ? (
          `✓ ${words("copied")}`
        ) : (
          <>
            <CopySign /> …{of.trace_id.slice(-4)}
          </>
        )}
      </button>
    </p>
  );
}

function CopySign() {
  return (
    <svg class="copy" width="11" height="11" viewBox="0 0 11 11" aria-hidden="true">
      <rect x="3.5" y="3.5" width="7" height="7" rx="1.5" />
      <path d="M7.5 1.5a1 1 0 0 0-1-1h-5a1 1 0 0 0-1 1v5a1 1 0 0 0 1 1" />
    </svg>
  );
}

function One({ message, id }: { message: MessageView; id: string }) {
  return (
    <div class="one-message" data-testid={`message-${id}`} data-trace={message.trace_id}>
      <Facts of={message} id={id} />
      {message.detail !== null && (
        <p class="detail" lang="en">
          {clip(message.detail, 200)}
        </p>
      )}
      <Waterfall
        message={message}
        withAi={withAi.value}
        scale={scale.value}
        client={client.value}
      />
    </div>
  );
}
