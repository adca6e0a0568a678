// The user's language and theme, kept by the browser from one visit to the next.

import { effect, signal } from "@preact/signals";
import { LANGUAGES, type Language, language } from "./words/language";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** The one that was chosen. */
export const theme = signal<Theme>("system");

const LANGUAGE_KEY = "hopwatch.language";
const THEME_KEY = "hopwatch.theme";

function isLanguage(name: string | null | undefined): name is Language {
  return name != null && Object.hasOwn(LANGUAGES, name);
}

/** Takes up what was chosen before, or what the browser prefers, and puts it on the page. */
export function takeUp(): void {
  const before = read(LANGUAGE_KEY);
  const preferred = navigator.languages.map((name) => name.split("-")[0]).find(isLanguage);
  language.value = isLanguage(before) ? before : (preferred ?? "en");
  theme.value = THEMES.find((name) => name === read(THEME_KEY)) ?? "system";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const system = signal(dark.matches);
  dark.addEventListener("change", () => {
    system.value = dark.matches;
  });
  const root = document.documentElement;
  effect(() => {
    root.lang = language.value;
  });
  effect(() => {
    const isDark = theme.value === "system" ? system.value : theme.value === "dark";
    root.dataset["theme"] = isDark ? "dark" : "light";
  });
}

/** Chooses a language. */
export function speak(name: Language): void {
  language.value = name;
  keep(LANGUAGE_KEY, name);
}

/** Chooses a theme. */
export function dress(name: Theme): void {
  theme.value = name;
  keep(THEME_KEY, name);
}

// A browser may forbid storage: then the choice lasts as long as the page.
function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // As above.
  }
}
