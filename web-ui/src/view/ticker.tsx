// The live line: the newest messages as they come from the broadcaster. This is what "painted"
// in the figures means.

import type { Said } from "../said";
import { line } from "../store";
import { headWords as words } from "../words/head";

/** The newest message in words, and the ones before it by name. */
export function Ticker() {
  const [newest, ...older] = line.value.tail;
  return (
    <section class="ticker" aria-label={words("last_message")} data-testid="ticker">
      {newest === undefined ? (
        <p class="newest quiet">{words("no_message")}</p>
      ) : (
        <Newest message={newest} />
      )}
      <ol class="older">
        {older.map((message, i) => (
          <li key={i} data-trace={message.traceId}>
            <bdi class="robot">{message.robot}</bdi> #{message.sequence}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Newest({ message }: { message: Said }) {
  return (
    <p class="newest" data-testid="last-message" data-trace={message.traceId}>
      <b>
        <bdi class="robot">{message.robot || words("unknown_robot")}</bdi> #
        {message.sequence || "?"}
      </b>{" "}
      <bdi class="kind">{message.kind}</bdi> <bdi>{message.status}</bdi>{" "}
      {message.answer !== "" && (
        <span class="answer">
          <span class="label">AI</span> <bdi>{message.answer}</bdi>
        </span>
      )}
    </p>
  );
}
