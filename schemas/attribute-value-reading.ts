/**
 * Reads what attribute-value.ts writes. A file of its own: a transaction that neither queries nor
 * finishes other clients' commits does without it.
 */
import { setAttribute } from "../core/attributes.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { ByteReader, malformed } from "./byte-reader.ts";
import * as tags from "./value-tags.ts";

/**
 * By tag. Each is one object, wherever it stands: an item may hold 200,000 of them in as many
 * bytes, and would take forty times that in memory.
 */
const oneByteValues: readonly (AttributeValue | undefined)[] = Array.from(
  { length: 256 },
  (_, tag): AttributeValue | undefined => {
    if (tag >= tags.shortInteger) return Object.freeze({ N: (tag - tags.shortInteger).toString() });
    if (tag === tags.shortText) return Object.freeze({ S: "" });
    if (tag === tags.none) return Object.freeze({ NULL: true } as const);
    if (tag === tags.no || tag === tags.yes) return Object.freeze({ BOOL: tag === tags.yes });
    return undefined;
  },
);

/**
 * Whether the encoding is the canonical one is not looked at: what the oracle certified and what
 * this module wrote is.
 * @throws FrameError unless the bytes have the layout of one value. The result shares no memory
 * with them.
 */
export function decodeValue(bytes: Uint8Array): AttributeValue {
  const reader = new ByteReader(bytes);
  const value = readValue(reader);
  reader.expectEnd();
  return value;
}

/** @throws FrameError unless the bytes have the layout of one map. */
export function decodeItem(bytes: Uint8Array): Item {
  const reader = new ByteReader(bytes);
  const value = readValue(reader, 0);
  reader.expectEnd();
  if (!("M" in value)) throw malformed("an item is not a map");
  return value.M;
}

/** Reads one value. @param level as for `writeValue`. @throws FrameError as `decodeValue`. */
export function readValue(reader: ByteReader, level = 1): AttributeValue {
  if (level > limits.itemDepthMax) throw malformed("a value nests too deep");
  const tag = reader.u8();
  const known = oneByteValues[tag];
  if (known !== undefined) return known;
  if (tag >= tags.shortText) return { S: reader.utf8(tag - tags.shortText) };
  switch (tag) {
    case tags.text:
      return { S: reader.sizedUtf8() };
    case tags.integer:
      return { N: reader.zigzag().toString() };
    case tags.decimal:
      return { N: reader.sizedUtf8() };
    case tags.binary:
      return { B: reader.sizedBytes().slice() };
    case tags.list:
      return { L: readEach(reader, () => readValue(reader, level + 1)) };
    case tags.map:
      return { M: readMapBody(reader, {}, level + 1) };
    case tags.textSet:
      return { SS: readEach(reader, () => reader.sizedUtf8()) };
    case tags.numberSet:
      return { NS: readEach(reader, () => readNumber(reader)) };
    case tags.binarySet:
      return { BS: readEach(reader, () => reader.sizedBytes().slice()) };
    default:
      throw malformed("a value has an unknown tag");
  }
}

function readNumber(reader: ByteReader): string {
  const value = readValue(reader, limits.itemDepthMax);
  if (!("N" in value)) throw malformed("a number set holds something else");
  return value.N;
}

/**
 * Adds to `into` the attributes of a map's body, and returns it.
 * @throws FrameError as
 * `decodeValue`.
 */
export function readMapBody(
  reader: ByteReader,
  into: Record<string, AttributeValue>,
  level = 1,
): Record<string, AttributeValue> {
  const count = reader.count(2);
  for (let i = 0; i < count; i++) setAttribute(into, reader.sizedUtf8(), readValue(reader, level));
  return into;
}

function readEach<Element>(reader: ByteReader, read: () => Element): Element[] {
  const elements: Element[] = [];
  const count = reader.count(1);
  for (let i = 0; i < count; i++) elements.push(read());
  return elements;
}
