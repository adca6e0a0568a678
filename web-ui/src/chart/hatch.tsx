// The hatching of what isn't known exactly: lines in the colour of the element that uses them.

/** A pattern; `fill="url(#id)"` uses it. */
export function Hatch({ id }: { id: string }) {
  return (
    <pattern
      id={id}
      width="5"
      height="5"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <rect class="hatch-ground" width="5" height="5" />
      <line class="hatch-line" x1="1" x2="1" y1="0" y2="5" />
    </pattern>
  );
}
