// The newest messages: what became of each, and where its time went.

import { count, durationText, outcome, unresolved } from "../format";
import type { Class, GlassView, MessageView } from "../generated/wire";
import { CLASSES, info, legName } from "../legs";
import { drawn, negative, type Scale, type Segment, sharedScale } from "../scale";
import { client, resolutionNs, snapshot, withAi } from "../store";
import { Axis, Bar } from "./bar";
import { Swatch } from "./figure";

const SHOWN = 20;

/** The panel. */
export function Latest() {
  const figures = snapshot.value;
  const messages = figures?.latest.slice(0, SHOWN) ?? [];
  const bars = messages.map((message) => drawn(message, withAi.value));
  const scale = sharedScale(bars);
  const severalLanes = (figures?.lanes.length ?? 0) > 1;
  return (
    <section class="panel latest" aria-labelledby="latest-title">
      <div class="latest-head">
        <h2 id="latest-title">Latest messages</h2>
        <Legend />
        <label>
          <input
            type="checkbox"
            checked={withAi.value}
            data-testid="with-ai"
            onChange={(event) => {
              withAi.value = event.currentTarget.checked;
            }}
          />{" "}
          with the AI's own time
        </label>
      </div>
      {messages.length === 0 ? (
        <div class="empty" data-testid="no-messages">
          <p>{figures === null ? "Waiting for the collector" : "Waiting for the first message"}</p>
          <p class="quiet">
            Each message will stand here with its way as a bar, newest first. If robots publish and
            nothing comes, look at the events: a QoS that doesn't fit is told there.
          </p>
        </div>
      ) : (
        <div class={severalLanes ? "messages several" : "messages"}>
          <div class="message columns" aria-hidden="true">
            <span>robot</span>
            <span>outcome</span>
            <span class="total">pipeline</span>
            <Axis scale={scale} />
            <span class="glass">browser: push · paint</span>
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
    <ul class="legend" aria-label="Classes">
      {classes.map((name) => (
        <li key={name} title={CLASSES[name].says}>
          <Swatch of={name} shade={0} />
          <Swatch of={name} shade={1} /> {CLASSES[name].name}
        </li>
      ))}
      <li>
        <svg width="3" height="12" aria-hidden="true">
          <line class="take" x1="1.5" x2="1.5" y1="0" y2="12" />
        </svg>{" "}
        taken by the gateway
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
              {CLASSES[kind].name}
              {info(leg).says !== "" && `, ${info(leg).says}`}
            </small>
          </li>
        ))}
        {message.glass.map((view) => (
          <li key={view.client} data-testid="glass">
            <bdi>{view.client}</bdi>
            {view.client === client.value && " (this page)"}: fan-out{" "}
            <b>{durationText(view.fanout_ns)}</b>, push <b>{push(view)}</b>, paint{" "}
            <b>{view.paint_ns === null ? "not painted" : durationText(view.paint_ns)}</b>
            {view.client === client.value && (
              <small class="quiet"> (clock step {durationText(resolutionNs.value)})</small>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
