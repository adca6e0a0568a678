// A button that opens a box above the page. The browser does the rest: it closes by Escape and by
// a click elsewhere, and gives the focus back.

import type { ComponentChildren } from "preact";

interface MenuProps {
  id: string;
  label: string;
  title: string;
  /** Told when it opens. */
  opened?: () => void;
  /** Something that is going on. */
  busy?: boolean;
  children: ComponentChildren;
}

/** The button and the box. */
export function Menu({ id, label, title, opened, busy = false, children }: MenuProps) {
  return (
    <>
      <button
        type="button"
        popovertarget={`menu-${id}`}
        data-testid={`open-${id}`}
        class={busy ? "busy" : ""}
      >
        {label}
      </button>
      <div
        id={`menu-${id}`}
        class="menu"
        popover="auto"
        role="dialog"
        aria-label={title}
        data-testid={`menu-${id}`}
        onToggle={(event) => {
          if (event.newState === "open") opened?.();
        }}
      >
        <h2>{title}</h2>
        {children}
      </div>
    </>
  );
}
