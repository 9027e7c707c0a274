/**
 * Checks of option objects, for callers without types and for values that types cannot bound. An
 * unknown option is refused: a misspelt one would otherwise silently mean its default.
 *
 * Each call has one table of checks, `satisfies Checks<…>` of its options' type: an option without
 * a check, a check without an option, and a check of other values than the type's do not compile.
 * What a check says that a value must be is the column "value" in docs/sdk.md as well
 * (scripts/option-tables.ts).
 */
import { InvalidRequestError } from "../core/errors.ts";

declare const accepted: unique symbol;

/**
 * Says what a value must be if it does not fit, otherwise undefined. Is not asked about undefined.
 */
export type Check<Value = never> = ((value: unknown) => string | undefined) & {
  /** Exists in types only: exactly the values of this type pass. */
  readonly [accepted]?: (value: Value) => Value;
};

/** A check that says nothing to the compiler of what it takes. */
export type LooseCheck = (value: unknown) => string | undefined;

type NameIn<Options> = Options extends unknown ? keyof Options : never;
type ValueIn<Options, Name> = Options extends unknown
  ? Name extends keyof Options
    ? Exclude<Options[Name], undefined>
    : never
  : never;

/** One check for each option, and for nothing else. Of a union: for the options of all members. */
export type Checks<Options> = {
  readonly [Name in NameIn<Options>]: Check<ValueIn<Options, Name>>;
};

/**
 * @param path what the options belong to ("" for the call itself), put before each field's name.
 * @throws InvalidRequestError naming the first field that fails.
 */
export function checkOptions(
  path: string,
  options: unknown,
  checks: Readonly<Record<string, LooseCheck>>,
): void {
  if (typeof options !== "object" || options === null) {
    const field = path === "" ? "options" : path;
    throw new InvalidRequestError(field, `${field} must be an object`);
  }
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    const field = path === "" ? name : `${path}.${name}`;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) {
      const known = Object.keys(checks).join(", ");
      throw new InvalidRequestError(field, `there is no option \`${field}\`; known are: ${known}`);
    }
    const wanted = value === undefined ? undefined : check(value);
    if (wanted !== undefined) {
      throw new InvalidRequestError(field, `\`${field}\` must be ${wanted}`);
    }
  }
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export const aText: Check<string> = (value) => (isText(value) ? undefined : "a non-empty string");

export const aBoolean: Check<boolean> = (value) =>
  typeof value === "boolean" ? undefined : "true or false";

export const aFunction: LooseCheck = (value) =>
  typeof value === "function" ? undefined : "a function";

export const anObject: LooseCheck = (value) =>
  typeof value === "object" && value !== null ? undefined : "an object";

export const aSignal: Check<AbortSignal> = (value) =>
  value instanceof AbortSignal ? undefined : "an AbortSignal";

export const anHttpUrl: Check<string> = (value) =>
  isText(value) && /^https?:/iu.test(value) && URL.canParse(value)
    ? undefined
    : 'an http or https URL as text, such as "http://127.0.0.1:4600"';

export function oneOf<Value extends string>(...values: readonly Value[]): Check<Value> {
  return (value) =>
    values.includes(value as Value)
      ? undefined
      : `one of ${values.map((text) => `"${text}"`).join(", ")}`;
}

/** Whole numbers in `[min, max]`. */
export function integerIn(range: { readonly min: number; readonly max: number }): Check<number> {
  const { min, max } = range;
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : `a whole number from ${min} to ${max}`;
}

/** Made by a literal, `Object.create(null)` or another realm's literal. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
