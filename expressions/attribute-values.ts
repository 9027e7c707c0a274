/**
 * Attribute values as they come in: checked as DynamoDB checks them and brought to one spelling, so
 * that the store holds canonical numbers and ordered sets, and two equal values look alike. Also:
 * what equality and order mean.
 */
import { attribute, setAttribute, valueTypeOf, type ValueType } from "../core/attributes.ts";
import { canonicalNumber, compareNumbers, parseDecimal } from "../core/decimal.ts";
import { assertNever } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { compareBytes, compareUtf8 } from "../core/utf8.ts";
import { invalid, invalidParameter, malformed } from "./refusals.ts";
import { isSent, sentMembers } from "./sent-members.ts";
import { plainSearchMax } from "./limits.ts";

/**
 * A copy with the same meaning.
 * @throws ServiceError for what is no item.
 */
export function readItem(input: unknown): Item {
  return readMap(input, 1);
}

/** @throws ServiceError for what is no attribute value. */
export function readValue(input: unknown, level = 1): AttributeValue {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw malformed("Unexpected value type in payload");
  }
  const type = valueTypeOf(input) ?? valueTypeOf(sentMembers(input));
  if (type === undefined) {
    const several = Object.keys(sentMembers(input)).length > 1;
    throw invalid(
      several
        ? "Supplied AttributeValue has more than one datatypes set, must contain exactly one of " +
            "the supported datatypes"
        : "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
    );
  }
  if (level > limits.itemDepthMax) throw invalid("Nesting Levels have exceeded supported limits");
  return readContent(type, (input as Record<ValueType, unknown>)[type], level);
}

function readMap(input: unknown, level: number): Item {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw malformed("Start of structure or map not found where expected");
  }
  const map: Record<string, AttributeValue> = {};
  for (const name of Object.keys(input)) {
    const member = (input as Record<string, unknown>)[name];
    if (!isSent(member)) continue;
    if (name === "") throw invalidParameter("Empty attribute name");
    setAttribute(map, name, readValue(member, level));
  }
  return map;
}

function readContent(type: ValueType, content: unknown, level: number): AttributeValue {
  switch (type) {
    case "S":
      return { S: readText(content) };
    case "N":
      return { N: readNumber(content) };
    case "B":
      return { B: readBinary(content) };
    case "BOOL":
      if (typeof content !== "boolean") throw malformed("Unexpected token received from parser");
      return { BOOL: content };
    case "NULL":
      if (typeof content !== "boolean") throw malformed("Unexpected token received from parser");
      if (!content) {
        throw invalidParameter("Null attribute value types must have the value of true");
      }
      return { NULL: true };
    case "L":
      return { L: readList(content).map((element) => readValue(element, level + 1)) };
    case "M":
      return { M: readMap(content, level + 1) };
    case "SS":
      return { SS: readSet(content, { kind: "string", read: readText, compare: compareUtf8 }) };
    case "NS":
      return {
        NS: readSet(content, { kind: "number", read: readNumber, compare: compareNumbers }),
      };
    case "BS":
      return { BS: readSet(content, { kind: "binary", read: readBinary, compare: compareBytes }) };
    default:
      return assertNever(type);
  }
}

function readText(content: unknown): string {
  if (typeof content !== "string") throw malformed("Unexpected value type, expected a string");
  return content;
}

function readBinary(content: unknown): Uint8Array {
  // Whoever gave it may change it while it is kept.
  if (content instanceof Uint8Array) return new Uint8Array(content);
  // The AWS SDK takes any view of bytes.
  if (!ArrayBuffer.isView(content)) {
    throw malformed("only base-64-encoded strings are convertible to bytes");
  }
  return new Uint8Array(content.buffer, content.byteOffset, content.byteLength).slice();
}

function readList(content: unknown): readonly unknown[] {
  if (!Array.isArray(content)) throw malformed("Unexpected field type");
  return content as readonly unknown[];
}

/** The canonical text. */
function readNumber(content: unknown): string {
  const text = readText(content);
  const decimal = parseDecimal(text);
  if (typeof decimal !== "string") return canonicalNumber(text);
  switch (decimal) {
    case "not-a-number":
      throw invalid(
        text === ""
          ? "The parameter cannot be converted to a numeric value"
          : `The parameter cannot be converted to a numeric value: ${text}`,
      );
    case "too-many-digits":
      throw invalid("Attempting to store more than 38 significant digits in a Number");
    case "overflow":
      throw numberOverflow();
    case "underflow":
      throw invalid(
        "Number underflow. " +
          "Attempting to store a number with magnitude smaller than supported range",
      );
    default:
      return assertNever(decimal);
  }
}

export function numberOverflow(): Error {
  return invalid(
    "Number overflow. Attempting to store a number with magnitude larger than supported range",
  );
}

/** Members in ascending order. */
function readSet<Member>(
  content: unknown,
  member: {
    readonly kind: "string" | "number" | "binary";
    readonly read: (content: unknown) => Member;
    readonly compare: (a: Member, b: Member) => number;
  },
): Member[] {
  const members = readList(content).map(member.read);
  if (members.length === 0) {
    throw invalidParameter(
      member.kind === "binary"
        ? "Binary sets should not be empty"
        : `An ${member.kind} set  may not be empty`,
    );
  }
  members.sort(member.compare);
  for (let i = 1; i < members.length; i++) {
    const [previous, current] = [members[i - 1], members[i]];
    if (previous === undefined || current === undefined) continue;
    if (member.compare(previous, current) !== 0) continue;
    throw invalidParameter(
      member.kind === "number"
        ? "Input collection contains duplicates"
        : `Input collection [${members.map(String).join(", ")}] contains duplicates.`,
    );
  }
  return members;
}

/** The one type of a value that was read. */
export function typeOf(value: AttributeValue): ValueType {
  const type = valueTypeOf(value);
  if (type === undefined) throw new TypeError("an attribute value without a type");
  return type;
}

/** Whether two values that were read are the same; types apart are never equal. */
export function valuesEqual(a: AttributeValue, b: AttributeValue): boolean {
  if (a === b) return true;
  if ("S" in a) return "S" in b && a.S === b.S;
  if ("N" in a) return "N" in b && a.N === b.N;
  if ("B" in a) return "B" in b && compareBytes(a.B, b.B) === 0;
  if ("BOOL" in a) return "BOOL" in b && a.BOOL === b.BOOL;
  if ("NULL" in a) return "NULL" in b;
  if ("SS" in a) return "SS" in b && sameElements(a.SS, b.SS, (x, y) => x === y);
  if ("NS" in a) return "NS" in b && sameElements(a.NS, b.NS, (x, y) => x === y);
  if ("BS" in a) return "BS" in b && sameElements(a.BS, b.BS, (x, y) => compareBytes(x, y) === 0);
  if ("L" in a) return "L" in b && sameElements(a.L, b.L, valuesEqual);
  return "M" in b && itemsEqual(a.M, b.M);
}

export function itemsEqual(a: Item, b: Item): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [left, right] = [attribute(a, name), attribute(b, name)];
    return left !== undefined && right !== undefined && valuesEqual(left, right);
  });
}

function sameElements<Element>(
  a: readonly Element[],
  b: readonly Element[],
  same: (x: Element, y: Element) => boolean,
): boolean {
  if (a.length !== b.length) return false;
  return a.every((element, index) => {
    const other = b[index];
    return other !== undefined && same(element, other);
  });
}

/**
 * Negative, zero or positive; undefined where DynamoDB knows no order: types apart, or without one.
 */
export function compareValues(a: AttributeValue, b: AttributeValue): number | undefined {
  if ("S" in a && "S" in b) return compareUtf8(a.S, b.S);
  if ("N" in a && "N" in b) return compareNumbers(a.N, b.N);
  if ("B" in a && "B" in b) return compareBytes(a.B, b.B);
  return undefined;
}

/** Whether a text stands in another. */
export function includesText(whole: string, part: string): boolean {
  // The language's own search is the faster one, but takes as long as both lengths multiplied.
  if (whole.length * part.length <= plainSearchMax) return whole.includes(part);
  return indexOfBytes(unitsOf(whole), unitsOf(part)) >= 0;
}

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at);
  return units;
}

/** Where `part` begins in `whole`, or -1. */
export function indexOfBytes<Units extends Uint8Array | Uint16Array>(
  whole: Units,
  part: Units,
): number {
  if (part.length === 0) return 0;
  // Knuth, Morris and Pratt: whoever chooses both would make a plain search take a minute.
  const borders = new Uint32Array(part.length);
  for (let at = 1, length = 0; at < part.length; at++) {
    while (length > 0 && part[at] !== part[length]) length = borders[length - 1] ?? 0;
    if (part[at] === part[length]) length += 1;
    borders[at] = length;
  }
  for (let at = 0, length = 0; at < whole.length; at++) {
    while (length > 0 && whole[at] !== part[length]) length = borders[length - 1] ?? 0;
    if (whole[at] === part[length]) length += 1;
    if (length === part.length) return at + 1 - length;
  }
  return -1;
}
