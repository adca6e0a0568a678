// Checks of what came over a socket, one a type: nothing is believed before it was checked.

declare const checked: unique symbol;

/**
 * Says what is wrong with `value`, or `null`: " is no number", with the way to it in front, as
 * ".lanes[0].name is no string". The way is put together only when something is wrong: a snapshot
 * has tens of thousands of values.
 */
export interface Check<T> {
  (value: unknown): string | null;
  /**
   * Only for the compiler: the type that the check stands for, neither a wider nor a narrower one.
   * A check of numbers would otherwise pass for one of numbers and `null`, and refuse every `null`.
   */
  readonly [checked]?: (value: T) => T;
}

/** A finite number. */
export const number: Check<number> = (value) =>
  typeof value === "number" && Number.isFinite(value) ? null : " is no number";

/** A count: a whole number from 0. */
export const natural: Check<number> = (value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? null : " is no count";

/** A string. */
export const string: Check<string> = (value) =>
  typeof value === "string" ? null : " is no string";

/** A boolean. */
export const boolean: Check<boolean> = (value) =>
  typeof value === "boolean" ? null : " is no boolean";

/** One of these strings. */
export function oneOf<T extends string>(...names: readonly T[]): Check<T> {
  return (value) =>
    names.some((name) => name === value) ? null : ` is none of ${names.join(", ")}`;
}

/** That, or null. */
export function nullable<T>(inner: Check<T>): Check<T | null> {
  return (value) => (value === null ? null : inner(value));
}

/** Any number of that. */
export function list<T>(inner: Check<T>): Check<T[]> {
  return (value) => {
    if (!Array.isArray(value)) return " is no list";
    for (let i = 0; i < value.length; i += 1) {
      const wrong = inner(value[i]);
      if (wrong !== null) return `[${i}]${wrong}`;
    }
    return null;
  };
}

/** Exactly two. */
export function pair<T>(inner: Check<T>): Check<[T, T]> {
  const both = list(inner);
  return (value) =>
    Array.isArray(value) && value.length !== 2 ? " is no pair" : pairless(both(value));
}

function pairless(wrong: string | null): string | null {
  return wrong === " is no list" ? " is no pair" : wrong;
}

/** Any names with that. */
export function map<T>(inner: Check<T>): Check<{ [key: string]: T }> {
  return (value) => {
    if (!isRecord(value)) return " is no object";
    for (const key of Object.keys(value)) {
      const wrong = inner(value[key]);
      if (wrong !== null) return `.${key}${wrong}`;
    }
    return null;
  };
}

/** An object with a `kind` that says which of these it is. */
export function tagged<T extends { readonly kind: string }>(
  kinds: {
    readonly [Kind in T["kind"]]: Check<Extract<T, { kind: Kind }>>;
  },
): Check<T> {
  const checks = new Map<unknown, (value: unknown) => string | null>(
    Object.entries<(value: unknown) => string | null>(kinds),
  );
  return (value) => {
    if (!isRecord(value)) return " is no object";
    const check = checks.get(value["kind"]);
    return check === undefined ? ".kind is unknown" : check(value);
  };
}

/** An object that has at least these fields; the compiler sees to it that none is left out. */
export function object<T extends object>(fields: { [K in keyof T]-?: Check<T[K]> }): Check<T> {
  const checks = Object.entries<(value: unknown) => string | null>(fields);
  return (value) => {
    if (!isRecord(value)) return " is no object";
    for (const [key, check] of checks) {
      const wrong = check(value[key]);
      if (wrong !== null) return `.${key}${wrong}`;
    }
    return null;
  };
}

/** Whether it is an object with names (no list, not null). */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `value`, called `name`, as what `check` stands for, or the reason why it isn't. */
export function checkedAs<T>(check: Check<T>, value: unknown, name: string): T | Refusal {
  const wrong = check(value);
  return wrong === null ? (value as T) : new Refusal(name + wrong);
}

/** Why a frame was not understood. */
export class Refusal {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}
