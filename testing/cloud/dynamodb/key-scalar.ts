/** One attribute of a key, prepared once: its identity as text, and what it sorts by. */
import { compareDecimals, requireDecimal, type Decimal } from "../../../core/decimal.ts";
import type { AttributeValue } from "../../../core/types.ts";
import { compareBytes, compareUtf8 } from "../../../core/utf8.ts";

/** The rounded number decides nearly always: rounding never turns an order around. */
type SortableNumber = { readonly rounded: number; readonly exact: Decimal };

export type KeyScalar = {
  readonly value: AttributeValue;
  /** Two values of one key attribute are the same if and only if these are. */
  readonly id: string;
  readonly sort: string | Uint8Array | SortableNumber;
};

/** @param value of type S, N or B, and canonical. */
export function keyScalar(value: AttributeValue): KeyScalar {
  if ("S" in value) return { value, id: value.S, sort: value.S };
  if ("N" in value) {
    const sort = { rounded: Number(value.N), exact: requireDecimal(value.N) };
    return { value, id: value.N, sort };
  }
  if ("B" in value) return { value, id: binaryText(value.B), sort: value.B };
  throw new TypeError("a key attribute that is neither text, number nor binary");
}

/** Both of one key attribute. */
export function compareKeyScalars(a: KeyScalar, b: KeyScalar): number {
  const [left, right] = [a.sort, b.sort];
  if (typeof left === "string" && typeof right === "string") return compareUtf8(left, right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  if (isNumber(left) && isNumber(right)) {
    return left.rounded === right.rounded
      ? compareDecimals(left.exact, right.exact)
      : left.rounded - right.rounded;
  }
  throw new TypeError("key values of two types");
}

function isNumber(sort: KeyScalar["sort"]): sort is SortableNumber {
  return typeof sort === "object" && !(sort instanceof Uint8Array);
}

/** One character for each byte. */
function binaryText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** 32 bits, the same in every run: stands in for the service's own hash of partition keys. */
export function partitionHash(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
