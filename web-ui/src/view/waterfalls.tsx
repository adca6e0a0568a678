// The way of single messages: the newest, the slowest, and one that was picked.

import { computed, signal } from "@preact/signals";
import { fallScale } from "../chart/fall";
import { Waterfall } from "../chart/waterfall";
import { clip, durationText, outcome } from "../format";
import type { MessageView } from "../generated/wire";
import type { Scale } from "../scale";
import { client, figures, state, withAi } from "../store";
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
  return (
    <Panel
      id="newest"
      title={words(chosen === null ? "newest" : "picked")}
      term="waterfall"
      picture={left.value !== null}
      aside={
        <>
          {chosen !== null && (
            <button
              type="button"
              data-testid="unpick"
              onClick={() => {
                state.value = { ...state.value, picked: null };
              }}
            >
              {words("back")}
            </button>
          )}
          <label class="with-ai">
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
      {left.value !== null ? (
        <One message={left.value} id={chosen === null ? "newest" : "picked"} />
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
      {words("waiting_says")}
    </>
  );
}

/** The slowest message of the window. */
export function Slowest() {
  return (
    <Panel id="slowest" title={words("slowest")} term="waterfall" picture={slowest.value !== null}>
      {slowest.value === null ? (
        <p class="quiet empty">{words("no_message")}</p>
      ) : (
        <One message={slowest.value} id="slowest" />
      )}
    </Panel>
  );
}

const copied = signal<string | null>(null);

function One({ message, id }: { message: MessageView; id: string }) {
  const delivered = message.outcome === "delivered";
  return (
    <div class="one-message" data-testid={`message-${id}`} data-trace={message.trace_id}>
      <p class="facts">
        <bdi class="robot">{message.robot_id}</bdi> <b>#{message.sequence}</b>{" "}
        <bdi class="quiet">{message.lane}</bdi>{" "}
        <span class={delivered ? "fine" : "bad"} title={message.detail ?? undefined}>
          {delivered ? "✓" : "✗"} {outcome(message.outcome)}
        </span>{" "}
        <b data-ns={message.total_ns ?? undefined}>{durationText(message.total_ns)}</b>{" "}
        <button
          type="button"
          class="trace"
          aria-label={`${words("copy")} ${message.trace_id}`}
          data-testid={`copy-${id}`}
          {...explain("trace", message.trace_id)}
          onClick={async () => {
            await navigator.clipboard.writeText(message.trace_id);
            copied.value = message.trace_id;
          }}
        >
          {copied.value === message.trace_id
            ? `✓ ${words("copied")}`
            : `⧉ ${message.trace_id.slice(0, 4)}…${message.trace_id.slice(-6)}`}
        </button>
      </p>
      {message.detail !== null && <p class="detail">{clip(message.detail, 200)}</p>}
      <Waterfall
        message={message}
        withAi={withAi.value}
        scale={scale.value}
        client={client.value}
      />
    </div>
  );
}
