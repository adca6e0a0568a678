// The lanes' tones: a colour and a dash each. Neighbours differ in both, so that no eye needs the
// colours, and no two of fifteen are alike. The colours are in style/chart.css.

/** How many tones there are. */
export const TONES = 15;
/** How many colours. */
export const COLOURS = 5;

const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 2.5]];

/** The dash of a tone in px, empty for a solid line. */
export function dash(tone: number): readonly number[] {
  return DASHES[tone % DASHES.length] ?? [];
}

/** The number of its colour. */
export function colour(tone: number): number {
  return tone % COLOURS;
}

/** The class that gives an element its colour. */
export function toneClass(tone: number): string {
  return `tone${colour(tone)}`;
}

/** The colours that canvases need: they don't know the page's custom properties. */
export interface Paint {
  readonly tones: readonly string[];
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly panel: string;
  readonly bad: string;
  readonly warn: string;
  readonly font: string;
}

/** Reads them where they are now, light or dark. */
export function paintOf(element: Element): Paint {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    tones: Array.from({ length: COLOURS }, (_, i) => of(`--tone-${i}`)),
    text: of("--text"),
    quiet: of("--quiet"),
    line: of("--line"),
    panel: of("--panel"),
    bad: of("--bad"),
    warn: of("--warn"),
    font: style.fontFamily || "system-ui, sans-serif",
  };
}

/** Calls back when the page turns light or dark, by the system or by a button of the page. */
export function onTheme(changed: () => void): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", changed);
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true });
  return () => {
    dark.removeEventListener("change", changed);
    observer.disconnect();
  };
}
