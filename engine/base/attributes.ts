/** Keys and attributes of the records table's items, which only Tidemark writes. */
import { attribute } from "../../core/attributes.ts";
import { baseExpiryAttribute } from "../../core/base-tables.ts";
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item } from "../../core/types.ts";

export function itemKey(partition: string, sort: string): Item {
  return { pk: { S: partition }, sk: { S: sort } };
}

/** @throws CorruptDataError where it is missing, or of another type. */
export function textOf(item: Item, name: string): string {
  const value = attribute(item, name);
  if (value !== undefined && "S" in value) return value.S;
  throw corrupt(item, name);
}

/**
 * A count, or a timestamp.
 * @throws CorruptDataError where it is no whole number from 0 on, or missing and there is no
 * default.
 */
export function numberOf(item: Item, name: string, missing?: number): number {
  const value = attribute(item, name);
  if (value === undefined && missing !== undefined) return missing;
  const number = value !== undefined && "N" in value ? Number(value.N) : NaN;
  if (!Number.isSafeInteger(number) || number < 0) throw corrupt(item, name);
  return number;
}

/** Of a wall clock, in milliseconds. @throws CorruptDataError as `numberOf`. */
export function momentOf(item: Item, name: string, missing?: number): number {
  const momentMs = numberOf(item, name, missing);
  if (momentMs > limits.momentMsMax) throw corrupt(item, name);
  return momentMs;
}

export function optionalTextOf(item: Item, name: string): string | undefined {
  return attribute(item, name) === undefined ? undefined : textOf(item, name);
}

export function mapOf(item: Item, name: string): Item {
  const value = attribute(item, name);
  if (value !== undefined && "M" in value) return value.M;
  throw corrupt(item, name);
}

export function listOf(item: Item, name: string): readonly AttributeValue[] {
  const value = attribute(item, name);
  if (value === undefined) return [];
  if ("L" in value) return value.L;
  throw corrupt(item, name);
}

export function textsOf(item: Item, name: string): readonly string[] {
  return listOf(item, name).map((each) => {
    if ("S" in each) return each.S;
    throw corrupt(item, name);
  });
}

export function texts(values: Iterable<string>): AttributeValue {
  return { L: Array.from(values, (value) => ({ S: value })) };
}

export function count(value: number): AttributeValue {
  return { N: value.toString() };
}

/** Of what nobody needs from that moment on: it can be looked up for a while, and is dropped. */
export function expiringAfter(nowMs: number, keptSeconds: number): Item {
  return { [baseExpiryAttribute]: count(Math.floor(nowMs / 1000) + keptSeconds) };
}

/** Of an item whose keys are missing it is a part, such as a refusal. */
export function corrupt(item: Item, name: string): CorruptDataError {
  const keys = [attribute(item, "pk"), attribute(item, "sk")].flatMap((value) =>
    value !== undefined && "S" in value ? [value.S] : [],
  );
  const which = keys.length === 0 ? "" : ` (${keys.join(", ")})`;
  return new CorruptDataError(
    `an item of the table of BASE transactions${which} has no proper attribute "${name}": ` +
      "no release of Tidemark up to this one has written it; find out who has, and restore it",
  );
}
