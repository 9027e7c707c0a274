/**
 * Walks encoded attribute values without building them, so that a payload which nobody could
 * decode later is refused before it is certified, at the oracle's speed. Everything that
 * attribute-value.ts would not have written is malformed.
 */
import { isCanonicalLongNumber } from "../core/decimal.ts";
import * as limits from "../core/limits.ts";
import { isValidUtf8 } from "../core/utf8.ts";
import { ByteReader, malformed, oversized } from "./byte-reader.ts";
import * as tags from "./value-tags.ts";

/**
 * Steps over one value.
 * @param level 1 for an attribute of an item; each list or map adds one.
 * @throws FrameError unless it is well formed, canonical and nested within the limit.
 */
export function scanValue(reader: ByteReader, level = 1): void {
  if (level > limits.itemDepthMax) throw malformed("a value nests too deep");
  const tag = reader.u8();
  if (tag >= tags.shortInteger) return;
  if (tag >= tags.shortText) {
    scanUtf8(reader, tag - tags.shortText);
    return;
  }
  switch (tag) {
    case tags.none:
    case tags.no:
    case tags.yes:
      return;
    case tags.text: {
      const length = reader.varint();
      if (length <= tags.shortLengthMax) throw malformed("a short text has a long encoding");
      scanUtf8(reader, length);
      return;
    }
    case tags.integer: {
      const value = reader.zigzag();
      if (value >= 0 && value <= tags.shortLengthMax) {
        throw malformed("a small integer has a long encoding");
      }
      return;
    }
    case tags.decimal: {
      const length = reader.varint();
      const at = reader.advance(length);
      if (!isCanonicalLongNumber(reader.bytes, at, at + length)) {
        throw malformed("a number is not in its canonical form");
      }
      return;
    }
    case tags.binary:
      reader.advance(reader.varint());
      return;
    case tags.list: {
      const count = reader.count(1);
      for (let i = 0; i < count; i++) scanValue(reader, level + 1);
      return;
    }
    case tags.map:
      scanMapBody(reader, level + 1);
      return;
    default:
      scanSet(reader, tag);
  }
}

/** What an item's attributes are held against, judged by their bytes. */
export type AttributeRules = {
  /** Whether the item must not have an attribute of this name. */
  forbids(bytes: Uint8Array, start: number, end: number): boolean;
  /** Told of each attribute: the name is `[nameAt, nameEnd)`, the value `[nameEnd, end)`. */
  look(bytes: Uint8Array, nameAt: number, nameEnd: number, end: number): void;
};

/**
 * Steps over a map's count and attributes, whose names must rise strictly, and so be distinct. None
 * is empty: DynamoDB takes no such item.
 * @param level of the attributes: 1 for those of an item.
 */
export function scanMapBody(reader: ByteReader, level: number, rules?: AttributeRules): void {
  const count = reader.count(2);
  let previousAt = 0;
  let previousLength = -1;
  for (let i = 0; i < count; i++) {
    const length = skipSizedUtf8(reader);
    // mutant: takes-what-no-table-takes
    if (length === 0) throw malformed("an attribute has no name");
    if (length > limits.attributeNameBytesMax) throw oversized("attributeNameBytesMax");
    const at = reader.position - length;
    if (
      previousLength >= 0 &&
      !rises(reader.bytes, previousAt, previousAt + previousLength, at, at + length)
    ) {
      throw malformed("attribute names are not in order, or not distinct");
    }
    if (rules?.forbids(reader.bytes, at, at + length) === true) {
      throw malformed("an item repeats a key attribute, or has a reserved one");
    }
    previousAt = at;
    previousLength = length;
    scanValue(reader, level);
    rules?.look(reader.bytes, at, at + length, reader.position);
  }
}

/** @throws FrameError unless the bytes are exactly one value. Builds nothing. */
export function validateValue(bytes: Uint8Array): void {
  const reader = new ByteReader(bytes);
  scanValue(reader);
  reader.expectEnd();
}

function scanSet(reader: ByteReader, tag: number): void {
  if (tag !== tags.textSet && tag !== tags.numberSet && tag !== tags.binarySet) {
    throw malformed("a value has an unknown tag");
  }
  const count = reader.count(1);
  if (count === 0) throw malformed("a set is empty");
  let previousAt = 0;
  let previousEnd = -1;
  for (let i = 0; i < count; i++) {
    const at = scanMember(reader, tag);
    const end = reader.position;
    if (previousEnd >= 0 && !rises(reader.bytes, previousAt, previousEnd, at, end)) {
      throw malformed("members of a set are not in order, or not distinct");
    }
    previousAt = at;
    previousEnd = end;
  }
}

/** Steps over a member of a set; gives the position where the bytes that order it begin. */
function scanMember(reader: ByteReader, tag: number): number {
  if (tag === tags.numberSet) {
    const at = reader.position;
    const memberTag = reader.bytes[at] ?? 0;
    const isNumber =
      memberTag >= tags.shortInteger || memberTag === tags.integer || memberTag === tags.decimal;
    if (!isNumber && reader.remaining > 0) throw malformed("a number set holds something else");
    scanValue(reader);
    return at;
  }
  if (tag === tags.textSet) {
    const length = skipSizedUtf8(reader);
    return reader.position - length;
  }
  return reader.advance(reader.varint());
}

/**
 * Steps over a varint byte length and UTF-8; gives the byte length.
 * @throws FrameError unless it is
 * well formed.
 */
export function skipSizedUtf8(reader: ByteReader): number {
  const length = reader.varint();
  scanUtf8(reader, length);
  return length;
}

function scanUtf8(reader: ByteReader, length: number): void {
  const at = reader.advance(length);
  if (!isValidUtf8(reader.bytes, at, at + length)) throw malformed("a text is not UTF-8");
}

/** Whether `[aStart, aEnd)` comes strictly before `[bStart, bEnd)` by unsigned bytes. */
function rises(
  bytes: Uint8Array,
  aStart: number,
  aEnd: number,
  bStart: number,
  bEnd: number,
): boolean {
  const length = Math.min(aEnd - aStart, bEnd - bStart);
  for (let i = 0; i < length; i++) {
    const difference = (bytes[aStart + i] ?? 0) - (bytes[bStart + i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return aEnd - aStart < bEnd - bStart;
}
