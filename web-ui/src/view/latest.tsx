// The newest messages: what became of each, and where its time went.

import { count, durationText, outcome, unresolved } from "../format";
import type { Class, GlassView, MessageView } from "../generated/wire";
import { classOf, info, legName } from "../legs";
import { drawn, negative, type Scale, type Segment, sharedScale } from "../scale";
import { client, figures, lanes, resolutionNs, withAi } from "../store";
import { headWords } from "../words/head";
import { panelWords as words } from "../words/panels";
import { Axis, Bar } from "./bar";
import { explain } from "./explain";
import { Swatch } from "./figure";

const SHOWN = 20;

/** The panel. */
export function Latest() {
  const messages = figures.value?.latest.slice(0, SHOWN) ?? [];
  const bars = messages.map((message) => drawn(message, withAi.value));
  const scale = sharedScale(bars);
  const severalLanes = lanes.value.length > 1;
  return (
    <section class="panel latest" aria-labelledby="latest-title">
      <div class="latest-head">
        <h3 id="latest-title">{words("latest")}</h3>
        <Legend />
      </div>
      {messages.length === 0 ? (
        <p class="quiet empty" data-testid="no-messages">
          {words("no_message")}
        </p>
      ) : (
        <div class={severalLanes ? "messages several" : "messages"}>
          <div class="message columns" aria-hidden="true">
            <span>{words("robot")}</span>
            <span>{words("outcome")}</span>
            <span class="total">{words("pipeline")}</span>
            <Axis scale={scale} />
            <span class="glass">{words("glass")}</span>
          </div>
          <ol>
            {messages.map((message, i) => (
              <Message
                key={message.trace_id}
                message={message}
                segments={bars[i] ?? []}
                scale={scale}
                lane={severalLanes ? message.lane : null}
              />
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}

function Legend() {
  const classes: Class[] = ["ai", "transport", "overhead"];
  return (
    <ul class="legend" aria-label={words("class")}>
      {classes.map((name) => (
        <li key={name} {...explain(name)}>
          <Swatch of={name} shade={0} />
          <Swatch of={name} shade={1} /> {classOf(name)}
        </li>
      ))}
      <li>
        <svg width="3" height="12" aria-hidden="true">
          <line class="take" x1="1.5" x2="1.5" y1="0" y2="12" />
        </svg>{" "}
        {words("taken_mark")}
      </li>
    </ul>
  );
}

interface MessageProps {
  message: MessageView;
  segments: readonly Segment[];
  scale: Scale;
  lane: string | null;
}

function Message({ message, segments, scale, lane }: MessageProps) {
  const impossible = negative(message);
  const delivered = message.outcome === "delivered";
  return (
    <li data-testid="message" data-trace={message.trace_id} data-outcome={message.outcome}>
      <details>
        <summary class="message">
          <span class="who">
            <bdi class="robot">{message.robot_id}</bdi>
            <b>#{message.sequence}</b>
            {lane !== null && <small class="lane-mark">{lane}</small>}
          </span>
          <span class={delivered ? "outcome" : "outcome bad"} title={message.detail ?? undefined}>
            {delivered ? "✓ " : "✗ "}
            {outcome(message.outcome)}
            {impossible.map(({ leg, ns }) => (
              <span class="warn" key={leg} data-testid="negative-leg">
                {" "}
                ⚠ {legName(leg)} {durationText(ns)}
              </span>
            ))}
          </span>
          <span class="total" data-testid="message-total" data-ns={message.total_ns ?? undefined}>
            {durationText(message.total_ns)}
          </span>
          <Bar segments={segments} scale={scale} />
          <span class="glass">{glassLine(message.glass, client.value)}</span>
        </summary>
        <Way message={message} />
      </details>
    </li>
  );
}

/** The figures of this page, or else of the first one. */
function glassLine(glass: readonly GlassView[], own: string | null): string {
  const first = glass.find((view) => view.client === own) ?? glass[0];
  if (first === undefined) return "";
  const others = glass.length > 1 ? ` +${count(glass.length - 1)}` : "";
  return `${push(first)} · ${durationText(first.paint_ns)}${others}`;
}

function push({ push_ns: [lo, hi] }: GlassView): string {
  return lo === hi ? durationText(lo) : unresolved((lo + hi) / 2, (hi - lo) / 2);
}

/** A message's way in full: for a keyboard, a finger, and a reader without the colours. */
function Way({ message }: { message: MessageView }) {
  return (
    <div class="way">
      {message.detail !== null && <p>{message.detail}</p>}
      <ul>
        {message.legs.map(({ leg, class: kind, ns, half_ns }, i) => (
          <li key={`${leg} ${i}`}>
            <Swatch of={kind} shade={info(leg).shade} /> {legName(leg)}{" "}
            <b class={ns < 0 ? "warn" : ""}>{durationText(ns)}</b>{" "}
            {half_ns >= 1000 && (
              <span data-testid="leg-half-width" data-ns={half_ns}>
                ± {durationText(half_ns)}{" "}
              </span>
            )}
            <small class="quiet">
              {classOf(kind)}
              {info(leg).says !== "" && `, ${info(leg).says}`}
            </small>
          </li>
        ))}
        {message.glass.map((view) => (
          <li key={view.client} data-testid="glass">
            <bdi>{view.client}</bdi>
            {view.client === client.value && ` (${words("this_page")})`}: {words("fanout")}{" "}
            <b>{durationText(view.fanout_ns)}</b>,{" "}
            <span {...explain("pushed")}>{words("push")}</span> <b>{push(view)}</b>,{" "}
            <span {...explain("painted")}>{words("paint")}</span>{" "}
            <b>{view.paint_ns === null ? words("not_painted") : durationText(view.paint_ns)}</b>
            {view.client === client.value && (
              <small class="quiet">
                {" "}
                ({headWords("clock_step")} {durationText(resolutionNs.value)})
              </small>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
