// The page's languages. Each part of the page has its words in both, side by side, so that the
// compiler finds the one that is missing.

import { signal } from "@preact/signals";

/** The languages there are. */
export const LANGUAGES = { en: "English", ko: "한국어" } as const;
export type Language = keyof typeof LANGUAGES;

/** The one that is spoken. */
export const language = signal<Language>("en");

type Values = Readonly<Record<string, string | number>>;

/**
 * A catalogue: `words("lost", { n: 3 })` puts 3 where the text has `{n}`. Whoever calls it while
 * drawing is drawn anew when the language changes.
 */
export function catalogue<Key extends string>(
  en: Readonly<Record<Key, string>>,
  ko: Readonly<Record<Key, string>>,
): (key: Key, values?: Values) => string {
  const texts = { en, ko };
  return (key, values) => {
    const text = texts[language.value][key];
    if (values === undefined) return text;
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
}
