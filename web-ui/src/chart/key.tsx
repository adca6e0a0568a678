// A lane's sign: its line in its tone, and its name.

import { dash, toneClass } from "./tones";

/** The sign and the name. */
export function Key({ tone, name }: { tone: number; name: string }) {
  return (
    <>
      <svg class="key" width="22" height="10" aria-hidden="true" data-tone={tone}>
        <line
          class={`line ${toneClass(tone)}`}
          x1="1"
          x2="21"
          y1="5"
          y2="5"
          stroke-dasharray={dash(tone).join(" ")}
        />
      </svg>{" "}
      <bdi class="lane-name">{name}</bdi>{" "}
    </>
  );
}
