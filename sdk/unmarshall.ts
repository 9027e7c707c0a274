/**
 * From DynamoDB's values to JavaScript's, and how numbers are read. An integer beyond 2^53 is never
 * rounded: it becomes a bigint, the caller's own number type, or an error. Fractions with more than
 * 17 digits are read as the nearest double, as the document client does; who needs every digit
 * reads numbers by a function.
 */
import { assertNever } from "../core/assert.ts";
import { canonicalNumber } from "../core/decimal.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import type { SpecialValue } from "./marshall.ts";
import { numberPrototype, type Numbers } from "./numbers.ts";

export type NumberReader = (text: string) => unknown;

export function numberReader(numbers: Numbers): NumberReader {
  if (typeof numbers === "function") return numbers;
  return (text) => {
    const value = Number(text);
    if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
    const integer = integerOf(text);
    if (numbers === "bigint-when-unsafe" && integer !== undefined) return integer;
    throw new InvalidRequestError(
      "numbers",
      `the stored number ${text.slice(0, 60)} cannot be read exactly; read numbers as ` +
        (integer === undefined
          ? "a type of yours: `numbers: (text) => …`"
          : '"bigint-when-unsafe"'),
    );
  };
}

/**
 * Recognizes, on the way in, the objects that a number function makes on the way out.
 * @throws InvalidRequestError as `numberPrototype`.
 */
export function numberWriter(numbers: Numbers): SpecialValue | undefined {
  const prototype = numberPrototype(numbers);
  if (prototype === undefined) return undefined;
  return (value, path) =>
    typeof value === "object" && Object.getPrototypeOf(value) === prototype
      ? { N: canonicalNumber((value as NumberLike).toString(), path) }
      : undefined;
}

/** An object that says its number as text. */
type NumberLike = { toString(): string };

export function unmarshallItem(item: Item, readNumber: NumberReader): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, unmarshallValue(value, readNumber)]),
  );
}

/** Bytes are copied: the engine may hold the same ones as a buffered write. */
export function unmarshallValue(value: AttributeValue, readNumber: NumberReader): unknown {
  if ("S" in value) return value.S;
  if ("N" in value) return readNumber(value.N);
  if ("BOOL" in value) return value.BOOL;
  if ("NULL" in value) return null;
  if ("M" in value) return unmarshallItem(value.M, readNumber);
  if ("L" in value) return value.L.map((member) => unmarshallValue(member, readNumber));
  if ("B" in value) return new Uint8Array(value.B);
  if ("SS" in value) return new Set(value.SS);
  if ("NS" in value) return new Set(value.NS.map(readNumber));
  if ("BS" in value) return new Set(value.BS.map((bytes) => new Uint8Array(bytes)));
  return assertNever(value);
}

/** The integer that a decimal text denotes in any spelling; undefined when it has a fraction. */
function integerOf(text: string): bigint | undefined {
  const canonical = canonicalNumber(text);
  return canonical.includes(".") ? undefined : BigInt(canonical);
}
