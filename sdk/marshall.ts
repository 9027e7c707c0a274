/**
 * From JavaScript values to DynamoDB's, by the document client's rules: no AWS package is loaded
 * for it, and an error names the attribute. Two rules are stricter than the document client's,
 * since a silent loss inside a transaction is worse than an error: functions and symbols are
 * refused instead of dropped, and numbers are checked against DynamoDB's 38 digits.
 *
 * Bytes are copied: a write stays in the buffer until commit, and later changes by the caller must
 * not reach it.
 */
import { canonicalNumber } from "../core/decimal.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { isPlainObject } from "./check-options.ts";

export type MarshallOptions = {
  /** Drop `undefined` from maps, lists and sets; otherwise it is an error. Default true. */
  readonly removeUndefinedValues?: boolean;
  /**
   * Store empty strings, bytes and sets as null; otherwise an empty set is an error. Default false.
   */
  readonly convertEmptyValues?: boolean;
  /** Store class instances as maps of their own properties; otherwise an error. Default false. */
  readonly convertClassInstanceToMap?: boolean;
};

/** Asked first about every object and bigint; undefined leaves the value to the marshaller. */
export type SpecialValue = (value: object | bigint, path: string) => AttributeValue | undefined;

export type MarshallContext = MarshallOptions & { readonly special?: SpecialValue };

/**
 * @param path names the value in errors: "item", "key", "result".
 * @throws InvalidRequestError whose `field` is the path of the offending attribute.
 */
export function marshallItem(row: object, path: string, context: MarshallContext): Item {
  refusePromise(row, path);
  if (!isPlainObject(row) && !(row instanceof Map)) {
    if (context.convertClassInstanceToMap !== true || Array.isArray(row)) {
      throw new InvalidRequestError(path, `${path} must be a plain object, not ${kindOf(row)}`);
    }
  }
  return mapOf(row, { path, depth: 0, context });
}

/** As `marshallItem`, for one value of any kind. */
export function marshallValue(
  value: unknown,
  path: string,
  context: MarshallContext,
): AttributeValue {
  return marshall(value, { path, depth: 0, context });
}

type Place = { readonly path: string; readonly depth: number; readonly context: MarshallContext };

function marshall(value: unknown, place: Place): AttributeValue {
  switch (typeof value) {
    case "string":
      return value === "" && place.context.convertEmptyValues === true
        ? { NULL: true }
        : { S: value };
    case "number":
      return { N: numberText(value, place.path) };
    case "boolean":
      return { BOOL: value };
    case "bigint":
      return (
        place.context.special?.(value, place.path) ?? {
          N: canonicalNumber(value.toString(), place.path),
        }
      );
    case "object":
      return value === null ? { NULL: true } : marshallObject(value, place);
    case "undefined":
      throw new InvalidRequestError(place.path, `${place.path} is undefined`);
    case "function":
    case "symbol":
      throw new InvalidRequestError(place.path, `${place.path} is a ${typeof value}`);
  }
}

function marshallObject(value: object, place: Place): AttributeValue {
  const { path, depth, context } = place;
  // A cyclic structure ends here as well.
  if (depth >= limits.itemDepthMax) {
    const max = limits.itemDepthMax.toString();
    throw new InvalidRequestError(path, `${path} is nested deeper than ${max} levels`);
  }
  const special = context.special?.(value, path) ?? numberObject(value, path);
  if (special !== undefined) return special;
  if (Array.isArray(value)) return { L: listOf(value, place) };
  if (value instanceof Set) return setOf([...(value as Set<unknown>)], place);
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    const bytes = copyOf(value);
    return bytes.length === 0 && context.convertEmptyValues === true
      ? { NULL: true }
      : { B: bytes };
  }
  refusePromise(value, path);
  if (isPlainObject(value) || value instanceof Map || context.convertClassInstanceToMap === true) {
    return { M: mapOf(value, place) };
  }
  throw new InvalidRequestError(
    path,
    `${path} is ${kindOf(value)}, which DynamoDB has no type for; convert it first` +
      " (`marshall: { convertClassInstanceToMap: true }` stores its properties as a map)",
  );
}

function refusePromise(value: object, path: string): void {
  if (!(value instanceof Promise)) return;
  throw new InvalidRequestError(path, `${path} is a Promise; is an \`await\` missing?`);
}

function mapOf(value: object, { path, depth, context }: Place): Item {
  const entries: Iterable<readonly [unknown, unknown]> =
    value instanceof Map ? value.entries() : Object.entries(value);
  const attributes: [string, AttributeValue][] = [];
  for (const [name, member] of entries) {
    if (typeof name !== "string") {
      throw new InvalidRequestError(path, `${path} has a map key that is not a string`);
    }
    if (member === undefined && context.removeUndefinedValues !== false) continue;
    attributes.push([
      name,
      marshall(member, { path: `${path}.${name}`, depth: depth + 1, context }),
    ]);
  }
  // Object.fromEntries makes an own property even of "__proto__".
  return Object.fromEntries(attributes);
}

function listOf(values: readonly unknown[], { path, depth, context }: Place): AttributeValue[] {
  const members: AttributeValue[] = [];
  for (const [index, member] of values.entries()) {
    if (member === undefined && context.removeUndefinedValues !== false) continue;
    const memberPath = `${path}[${index}]`;
    members.push(marshall(member, { path: memberPath, depth: depth + 1, context }));
  }
  return members;
}

function setOf(all: readonly unknown[], { path, context }: Place): AttributeValue {
  const values =
    context.removeUndefinedValues === false ? all : all.filter((value) => value !== undefined);
  if (values.length === 0) {
    if (context.convertEmptyValues === true) return { NULL: true };
    throw new InvalidRequestError(path, `${path} is an empty set, which DynamoDB cannot store`);
  }
  const strings: string[] = [];
  const numbers: string[] = [];
  const bytes: Uint8Array[] = [];
  for (const value of values) {
    // Members of a result's set may come out of `special` as a map; sets hold scalars only.
    const member = marshall(value, {
      path,
      depth: 0,
      context: { ...context, special: () => undefined },
    });
    if ("S" in member) strings.push(member.S);
    else if ("N" in member) numbers.push(member.N);
    else if ("B" in member) bytes.push(member.B);
  }
  if (strings.length === values.length) return { SS: strings };
  if (numbers.length === values.length) return { NS: numbers };
  if (bytes.length === values.length) return { BS: bytes };
  throw new InvalidRequestError(
    path,
    `${path} must be a set of strings only, of numbers only or of bytes only`,
  );
}

/** Objects that write themselves as a number, as the document client's `NumberValue` does. */
function numberObject(value: object, path: string): AttributeValue | undefined {
  if (!("toAttributeValue" in value) || typeof value.toAttributeValue !== "function")
    return undefined;
  const result: unknown = (value as { toAttributeValue(): unknown }).toAttributeValue();
  const text = (result as { readonly N?: unknown } | undefined)?.N;
  return typeof text === "string" ? { N: canonicalNumber(text, path) } : undefined;
}

function numberText(value: number, path: string): string {
  if (!Number.isFinite(value)) {
    throw new InvalidRequestError(path, `${path} is ${value}, which DynamoDB cannot store`);
  }
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new InvalidRequestError(
      path,
      `${path} is ${value}, a number too large to be exact; use a bigint`,
    );
  }
  return canonicalNumber(value.toString(), path);
}

function copyOf(value: ArrayBuffer | ArrayBufferView): Uint8Array {
  const view =
    value instanceof ArrayBuffer
      ? new Uint8Array(value)
      : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return new Uint8Array(view);
}

function kindOf(value: object): string {
  if (Array.isArray(value)) return "an array";
  const name: unknown = (value as { readonly constructor?: { readonly name?: unknown } })
    .constructor?.name;
  return typeof name === "string" && name !== ""
    ? `an instance of ${name}`
    : "an object of a class";
}
