/** Reading the attributes of Tidemark's own items. They were written by another process, so they are checked. */
import { attribute } from "../core/attributes.ts";
import { CorruptDataError } from "../core/errors.ts";
import type { Item } from "../core/types.ts";

/** An item and what to call it in an error. */
export type Stored = { readonly what: string; readonly item: Item };

/** @throws CorruptDataError unless the attribute is a safe integer that is not negative. */
export function integerOf(stored: Stored, name: string): number {
  const value = attribute(stored.item, name);
  const number = value !== undefined && "N" in value ? Number(value.N) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < 0) throw corrupt(stored, name);
  return number;
}

/** @throws CorruptDataError unless the attribute is a text. */
export function textOf(stored: Stored, name: string): string {
  const value = attribute(stored.item, name);
  if (value === undefined || !("S" in value)) throw corrupt(stored, name);
  return value.S;
}

/** @throws CorruptDataError unless the attribute is binary. */
export function bytesOf(stored: Stored, name: string): Uint8Array {
  const value = attribute(stored.item, name);
  if (value === undefined || !("B" in value)) throw corrupt(stored, name);
  return value.B;
}

/** @throws CorruptDataError unless the attribute is a boolean. */
export function booleanOf(stored: Stored, name: string): boolean {
  const value = attribute(stored.item, name);
  if (value === undefined || !("BOOL" in value)) throw corrupt(stored, name);
  return value.BOOL;
}

/** @throws CorruptDataError unless the attribute is a map. */
export function mapOf(stored: Stored, name: string): Item {
  const value = attribute(stored.item, name);
  if (value === undefined || !("M" in value)) throw corrupt(stored, name);
  return value.M;
}

/** The members of a list, each of which must be a map. @throws CorruptDataError. */
export function mapsOf(stored: Stored, name: string): readonly Stored[] {
  const value = attribute(stored.item, name);
  if (value === undefined || !("L" in value)) throw corrupt(stored, name);
  return value.L.map((member) => {
    if (!("M" in member)) throw corrupt(stored, name);
    return { what: `${stored.what}, ${name}`, item: member.M };
  });
}

export function has(stored: Stored, name: string): boolean {
  return attribute(stored.item, name) !== undefined;
}

export function corrupt(stored: Stored, name: string): CorruptDataError {
  return new CorruptDataError(`${stored.what}: the attribute "${name}" is missing or invalid`);
}
