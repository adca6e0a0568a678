// Explains figures: whatever has `data-explain` says what it means when it is pointed at or has
// the keyboard's focus. One box for the whole page, placed by the style sheet: the page's
// Content-Security-Policy allows no style attributes.

import { useEffect, useRef, useState } from "preact/hooks";
import { isTerm, type Term, terms } from "../words/terms";

/** What an element needs to be explained, reachable by keyboard. */
export function explain(term: Term, more?: string) {
  return { "data-explain": term, "data-more": more, tabIndex: 0 };
}

/** The same for a figure inside a table: reached with the arrow keys from a heading. */
export function explainCell(term: Term, more?: string) {
  return { "data-explain": term, "data-more": more, tabIndex: -1 };
}

interface Said {
  readonly text: string;
  readonly more: string;
}

const OF = "[data-explain]";

/** The box, and what moves it. Stands once on the page. */
export function Explanations() {
  const box = useRef<HTMLDivElement | null>(null);
  const [said, setSaid] = useState<Said | null>(null);
  useEffect(() => {
    let current: HTMLElement | null = null;
    const show = (target: EventTarget | null): void => {
      const found = target instanceof Element ? target.closest<HTMLElement>(OF) : null;
      if (found === current) return;
      current?.classList.remove("explained");
      current?.removeAttribute("aria-describedby");
      current = found;
      const term = found?.dataset["explain"];
      if (found === null || !isTerm(term)) {
        setSaid(null);
        if (box.current?.matches(":popover-open")) box.current.hidePopover();
        return;
      }
      found.classList.add("explained");
      found.setAttribute("aria-describedby", "explanation");
      setSaid({ text: terms(term), more: found.dataset["more"] ?? "" });
      // Anew each time, so that it lies above what was opened meanwhile.
      if (box.current?.matches(":popover-open")) box.current.hidePopover();
      box.current?.showPopover();
    };
    const over = ({ target }: Event): void => {
      // What has the focus keeps its explanation while the pointer rests elsewhere.
      const focused = document.activeElement;
      const pointed = target instanceof Element && target.closest(OF) !== null;
      show(pointed ? target : focused?.matches(`${OF}:focus-visible`) ? focused : null);
    };
    const focus = ({ target }: Event): void => show(target);
    const blur = (): void => show(null);
    const key = (event: KeyboardEvent): void => {
      if (event.key === "Escape") show(null);
      else if (walk(event)) event.preventDefault();
    };
    document.addEventListener("pointerover", over);
    document.addEventListener("focusin", focus);
    document.addEventListener("focusout", blur);
    document.addEventListener("keydown", key);
    return () => {
      document.removeEventListener("pointerover", over);
      document.removeEventListener("focusin", focus);
      document.removeEventListener("focusout", blur);
      document.removeEventListener("keydown", key);
    };
  }, []);
  return (
    <div
      id="explanation"
      class="explanation"
      role="tooltip"
      popover="manual"
      ref={box}
      data-testid="explanation"
    >
      {said?.text}
      {said !== null && said.more !== "" && <small>{said.more}</small>}
    </div>
  );
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** Arrow keys go from figure to figure within a table; whether it went anywhere. */
function walk({ key, target }: KeyboardEvent): boolean {
  const step = STEPS[key];
  if (step === undefined || !(target instanceof HTMLTableCellElement)) return false;
  const rows = [...(target.closest("table")?.rows ?? [])];
  const line = target.closest("tr");
  if (line === null) return false;
  let [row, column] = [rows.indexOf(line), target.cellIndex];
  for (;;) {
    row += step[0];
    column += step[1];
    const cell = rows[row]?.cells[column];
    if (cell === undefined) return false;
    if (!cell.matches(OF)) continue;
    cell.focus();
    return true;
  }
}
