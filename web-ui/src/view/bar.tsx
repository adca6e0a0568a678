// A message's legs as a bar. Everything is placed by SVG attributes: the page's
// Content-Security-Policy allows no style attributes.

import { durationText } from "../format";
import { legName } from "../legs";
import { place, type Scale, type Segment } from "../scale";

const percentOf = (share: number): string => `${(share * 100).toFixed(3)}%`;

/** The bar of one message, with a text for each leg. */
export function Bar({ segments, scale }: { segments: readonly Segment[]; scale: Scale }) {
  const zero = percentOf(place(scale, 0));
  return (
    <svg class="bar" width="100%" height="14" role="img" aria-label={spoken(segments)}>
      {/* Negative legs last: they lie over what they lead back across. */}
      {[...segments]
        .sort((a, b) => Number(a.ns < 0) - Number(b.ns < 0))
        .map((segment, i) => (
          <Leg key={`${segment.leg} ${i}`} segment={segment} scale={scale} />
        ))}
      {scale.from < 0 && <line class="take" x1={zero} x2={zero} y1="0" y2="14" />}
    </svg>
  );
}

function Leg({ segment, scale }: { segment: Segment; scale: Scale }) {
  const left = place(scale, Math.min(segment.from, segment.to));
  const right = place(scale, Math.max(segment.from, segment.to));
  const kind = segment.ns < 0 ? "negative" : `${segment.class} shade${segment.shade}`;
  return (
    <rect
      class={`leg ${kind}`}
      x={percentOf(left)}
      width={percentOf(right - left)}
      y="1"
      height="12"
      data-leg={segment.leg}
    >
      <title>{`${legName(segment.leg)}: ${durationText(segment.ns)} (${segment.class})`}</title>
    </rect>
  );
}

function spoken(segments: readonly Segment[]): string {
  if (segments.length === 0) return "no legs";
  return segments.map((s) => `${legName(s.leg)} ${durationText(s.ns)}`).join(", ");
}

/** The marks that all bars share. */
export function Axis({ scale }: { scale: Scale }) {
  const last = scale.marks.length - 1;
  return (
    <svg class="axis" width="100%" height="16" aria-hidden="true">
      {scale.marks.map((mark, i) => {
        const x = percentOf(place(scale, mark));
        const atStart = i === 0 && scale.from === 0;
        return (
          <g key={mark}>
            <line x1={x} x2={x} y1="12" y2="16" />
            <text x={x} y="10" text-anchor={atStart ? "start" : i === last ? "end" : "middle"}>
              {mark === 0 ? "0" : durationText(mark)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
