/**
 * Attributes of Tidemark's own items. They were written by another process, so what is read is
 * checked.
 */
import { attribute } from "../core/attributes.ts";
import { CorruptDataError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";

/** An item and what to call it in an error. */
export type Stored = { readonly what: string; readonly item: Item };

/** @throws CorruptDataError unless the attribute is a safe integer that is not negative. */
export function integerOf(stored: Stored, name: string): number {
  const number = Number(contentOf(stored, name, "N"));
  if (!Number.isSafeInteger(number) || number < 0) throw corrupt(stored, name);
  return number;
}

/** Of a wall clock, in milliseconds. @throws CorruptDataError as `integerOf`. */
export function momentOf(stored: Stored, name: string): number {
  const momentMs = integerOf(stored, name);
  if (momentMs > limits.momentMsMax) throw corrupt(stored, name);
  return momentMs;
}

/** @throws CorruptDataError unless the attribute is a text. */
export function textOf(stored: Stored, name: string): string {
  return contentOf(stored, name, "S");
}

/** @throws CorruptDataError unless the attribute is binary. */
export function bytesOf(stored: Stored, name: string): Uint8Array {
  return contentOf(stored, name, "B");
}

/** @throws CorruptDataError unless the attribute is a boolean. */
export function booleanOf(stored: Stored, name: string): boolean {
  return contentOf(stored, name, "BOOL");
}

/** @throws CorruptDataError unless the attribute is a map. */
export function mapOf(stored: Stored, name: string): Item {
  return contentOf(stored, name, "M");
}

/** The members of a list, each of which must be a map. @throws CorruptDataError. */
export function mapsOf(stored: Stored, name: string): readonly Stored[] {
  return contentOf(stored, name, "L").map((member) => {
    if (!("M" in member)) throw corrupt(stored, name);
    return { what: `${stored.what}, ${name}`, item: member.M };
  });
}

type Content = {
  readonly S: string;
  readonly N: string;
  readonly B: Uint8Array;
  readonly BOOL: boolean;
  readonly M: Item;
  readonly L: readonly AttributeValue[];
};

function contentOf<Type extends keyof Content>(
  stored: Stored,
  name: string,
  type: Type,
): Content[Type] {
  const value = attribute(stored.item, name) as Partial<Content> | undefined;
  const content = value?.[type];
  if (content === undefined) throw corrupt(stored, name);
  return content;
}

export function has(stored: Stored, name: string): boolean {
  return attribute(stored.item, name) !== undefined;
}

export function corrupt(stored: Stored, name: string): CorruptDataError {
  return new CorruptDataError(`${stored.what}: the attribute "${name}" is missing or invalid`);
}

/** The time at which DynamoDB may drop what was made then, seconds since the epoch. */
export function expiresAtSeconds(madeMs: number): string {
  return (Math.ceil(madeMs / 1000) + limits.logRetentionSeconds).toString();
}
