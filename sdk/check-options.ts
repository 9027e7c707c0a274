/**
 * Checks of option objects, for callers without types and for values that types cannot bound. An
 * unknown option is refused: a misspelt one would otherwise silently mean its default.
 */
import { InvalidRequestError } from "../core/errors.ts";

/** Says what is wrong with a value, or undefined. Is not asked about undefined. */
export type Check = (value: unknown) => string | undefined;

/**
 * @param path what the options belong to ("" for the call itself), put before each field's name.
 * @throws InvalidRequestError naming the first field that fails.
 */
export function checkOptions(
  path: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidRequestError(path === "" ? "options" : path, "options must be an object");
  }
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    const field = path === "" ? name : `${path}.${name}`;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) {
      const known = Object.keys(checks).join(", ");
      throw new InvalidRequestError(field, `there is no option \`${field}\`; known are: ${known}`);
    }
    const complaint = value === undefined ? undefined : check(value);
    if (complaint !== undefined) throw new InvalidRequestError(field, `\`${field}\` ${complaint}`);
  }
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export const aText: Check = (value) => (isText(value) ? undefined : "must be a non-empty string");

export const aBoolean: Check = (value) =>
  typeof value === "boolean" ? undefined : "must be true or false";

export const aFunction: Check = (value) =>
  typeof value === "function" ? undefined : "must be a function";

export const anObject: Check = (value) =>
  typeof value === "object" && value !== null ? undefined : "must be an object";

export const aSignal: Check = (value) =>
  value instanceof AbortSignal ? undefined : "must be an AbortSignal";

export const anHttpUrl: Check = (value) =>
  isText(value) && URL.canParse(value) && /^https?:$/u.test(new URL(value).protocol)
    ? undefined
    : 'must be an http or https URL such as "http://127.0.0.1:4600"';

export function oneOf(...values: readonly string[]): Check {
  return (value) =>
    typeof value === "string" && values.includes(value)
      ? undefined
      : `must be one of ${values.map((text) => `"${text}"`).join(", ")}`;
}

/** Whole numbers in `[min, max]`. */
export function integerIn({ min, max }: { readonly min: number; readonly max: number }): Check {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : `must be a whole number from ${min} to ${max}`;
}

/** Made by a literal, `Object.create(null)` or another realm's literal. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
