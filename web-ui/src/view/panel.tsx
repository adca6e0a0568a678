// What panels have in common.

import type { ComponentChildren } from "preact";
import type { Term } from "../words/terms";
import { explain } from "./explain";
import { Png } from "./exports";

interface PanelProps {
  id: string;
  title: string;
  term: Term;
  /** Told with the term. */
  more?: string | undefined;
  /** Beside the title. */
  aside?: ComponentChildren;
  /** Whether it has a chart that can be saved as a picture. */
  picture?: boolean;
  children: ComponentChildren;
}

/** One panel with its title. */
export function Panel({ id, title, term, more, aside, picture = false, children }: PanelProps) {
  return (
    <section
      class={`panel panel-${id}`}
      aria-labelledby={`title-${id}`}
      data-testid={`panel-${id}`}
    >
      <header class="panel-head">
        <h2 id={`title-${id}`} {...explain(term, more)}>
          {title}
        </h2>
        {aside}
        {picture && <Png id={id} />}
      </header>
      {children}
    </section>
  );
}

/** A choice of a few, side by side. */
export function Segments<T extends string>({
  name,
  label,
  of,
  chosen,
  choose,
}: {
  name: string;
  label: string;
  of: readonly (readonly [T, string])[];
  chosen: T;
  choose: (value: T) => void;
}) {
  return (
    <fieldset class="segments" data-testid={name}>
      <legend class="hidden">{label}</legend>
      {of.map(([value, text]) => (
        <label key={value}>
          <input
            type="radio"
            name={name}
            value={value}
            checked={chosen === value}
            onChange={() => choose(value)}
          />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
