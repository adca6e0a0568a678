// Checks of what came over a socket, one a type: nothing is believed before it was checked.

declare const checked: unique symbol;

/** Says what is wrong with `value` (which stands at `path`), or `null`. */
export interface Check<T> {
  (value: unknown, path: string): string | null;
  /** Only for the compiler: the type that the check stands for. */
  readonly [checked]?: T;
}

/** A finite number. */
export const number: Check<number> = (value, path) =>
  typeof value === "number" && Number.isFinite(value) ? null : `${path} is no number`;

/** A count: a whole number from 0. */
export const natural: Check<number> = (value, path) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? null : `${path} is no count`;

/** A string. */
export const string: Check<string> = (value, path) =>
  typeof value === "string" ? null : `${path} is no string`;

/** A boolean. */
export const boolean: Check<boolean> = (value, path) =>
  typeof value === "boolean" ? null : `${path} is no boolean`;

/** One of these strings. */
export function oneOf<T extends string>(...names: readonly T[]): Check<T> {
  return (value, path) =>
    names.some((name) => name === value) ? null : `${path} is none of ${names.join(", ")}`;
}

/** That, or null. */
export function nullable<T>(inner: Check<T>): Check<T | null> {
  return (value, path) => (value === null ? null : inner(value, path));
}

/** Any number of that. */
export function list<T>(inner: Check<T>): Check<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return `${path} is no list`;
    return first(value.entries(), ([i, item]) => inner(item, `${path}[${i}]`));
  };
}

/** Exactly two. */
export function pair<T>(inner: Check<T>): Check<[T, T]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length !== 2) return `${path} is no pair`;
    return inner(value[0], `${path}[0]`) ?? inner(value[1], `${path}[1]`);
  };
}

/** Any names with that. */
export function map<T>(inner: Check<T>): Check<{ [key: string]: T }> {
  return (value, path) => {
    if (!isRecord(value)) return `${path} is no object`;
    return first(Object.entries(value), ([key, item]) => inner(item, `${path}.${key}`));
  };
}

/** An object with a `key` that says which of these it is. */
export function tagged<T extends object>(
  key: keyof T & string,
  kinds: Readonly<Record<string, Check<never> | Check<T>>>,
): Check<T> {
  return (value, path) => {
    if (!isRecord(value)) return `${path} is no object`;
    const kind = value[key];
    const check = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    return check?.(value, path) ?? (check === undefined ? `${path}.${key} is unknown` : null);
  };
}

/** An object that has at least these fields; the compiler sees to it that none is left out. */
export function object<T extends object>(fields: { [K in keyof T]-?: Check<T[K]> }): Check<T> {
  const checks = Object.entries<Check<unknown>>(fields);
  return (value, path) => {
    if (!isRecord(value)) return `${path} is no object`;
    return first(checks, ([key, check]) => check(value[key], `${path}.${key}`));
  };
}

/** Whether it is an object with names (no list, not null). */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `value` as what `check` stands for, or the reason why it isn't. */
export function checkedAs<T>(check: Check<T>, value: unknown, path: string): T | Refusal {
  const wrong = check(value, path);
  return wrong === null ? (value as T) : new Refusal(wrong);
}

/** Why a frame was not understood. */
export class Refusal {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

function first<T>(items: Iterable<T>, check: (item: T) => string | null): string | null {
  for (const item of items) {
    const wrong = check(item);
    if (wrong !== null) return wrong;
  }
  return null;
}
