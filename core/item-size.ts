/**
 * Sizes as DynamoDB counts them against its 400 KB: bytes of attribute names and values, three for
 * a list or map plus one per entry, a number by pairs of significant digits. Where DynamoDB's
 * documentation says "approximately", this counts the larger figure: an item that is let through
 * here must not be refused when a committed transaction installs it.
 */
import { requireDecimal } from "./decimal.ts";
import type { AttributeValue, Item } from "./types.ts";
import { utf8Length } from "./utf8.ts";

/** Of a list or map, and of each of its entries. */
export const documentBytes = 3;
export const entryBytes = 1;

/** @throws InvalidRequestError for a number that is none. */
export function itemSizeBytes(item: Item): number {
  let size = 0;
  for (const [name, value] of Object.entries(item)) {
    size += utf8Length(name) + valueSizeBytes(value);
  }
  return size;
}

/** Without the attribute's name. @throws InvalidRequestError for a number that is none. */
export function valueSizeBytes(value: AttributeValue): number {
  if ("S" in value) return utf8Length(value.S);
  if ("N" in value) return numberSizeBytes(value.N);
  if ("B" in value) return value.B.length;
  if ("BOOL" in value || "NULL" in value) return 1;
  if ("SS" in value) return sum(value.SS, utf8Length);
  if ("NS" in value) return sum(value.NS, numberSizeBytes);
  if ("BS" in value) return sum(value.BS, (member) => member.length);
  if ("L" in value)
    return documentBytes + sum(value.L, (each) => entryBytes + valueSizeBytes(each));
  return documentBytes + Object.keys(value.M).length * entryBytes + itemSizeBytes(value.M);
}

/**
 * One byte, one per two significant digits (pairs start at even powers of ten, so an odd position
 * of the first digit takes half a pair more), one for a sign.
 */
export function numberSizeBytes(text: string): number {
  const { digits, exponent, negative } = requireDecimal(text);
  if (digits === "") return 1;
  const unpaired = exponent % 2 === 0 ? 1 : 0;
  return 1 + Math.ceil((digits.length + unpaired) / 2) + (negative ? 1 : 0);
}

/** Of an object beside what it holds; generous. */
const objectBytes = 64;

/**
 * About what an item takes in memory: a list of nulls takes thirty times what DynamoDB counts.
 * @throws InvalidRequestError for a number that is none.
 */
export function itemWeightBytes(item: Item): number {
  return itemSizeBytes(item) + objectBytes * sum(Object.values(item), valuesIn);
}

/** It and all that it holds. */
function valuesIn(value: AttributeValue): number {
  if ("L" in value) return 1 + sum(value.L, valuesIn);
  if ("M" in value) return 1 + sum(Object.values(value.M), valuesIn);
  if ("SS" in value) return 1 + value.SS.length;
  if ("NS" in value) return 1 + value.NS.length;
  return "BS" in value ? 1 + value.BS.length : 1;
}

function sum<Element>(elements: readonly Element[], size: (element: Element) => number): number {
  let total = 0;
  for (const element of elements) total += size(element);
  return total;
}
