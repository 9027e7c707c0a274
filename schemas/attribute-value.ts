/**
 * Attribute values as bytes: docs/formats/values.md. Canonical: one value has one encoding, whatever
 * the spelling of its numbers, the order of its sets or of its map's attributes. So encodings
 * can be compared and hashed in place of values, and a reader refuses what the writer would not write.
 *
 * This file writes and decodes; attribute-value-scan.ts walks encodings without decoding them.
 */
import { attribute, setAttribute } from "../core/attributes.ts";
import { canonicalNumber, safeInteger } from "../core/decimal.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { compareBytes, compareUtf8, utf8Length } from "../core/utf8.ts";
import { scanValue } from "./attribute-value-scan.ts";
import { ByteReader, malformed } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { shortLengthMax, tags } from "./value-tags.ts";

/**
 * @throws InvalidRequestError for what DynamoDB has no value for: no or several types, a number out of
 * range, an empty set, a duplicate in one, an unpaired surrogate, nesting beyond the limit.
 */
export function encodeValue(value: AttributeValue): Uint8Array {
  const writer = new ByteWriter(64);
  writeValue(writer, value);
  return writer.toBytes();
}

/** @throws FrameError unless the bytes are exactly one value. The result shares no memory with them. */
export function decodeValue(bytes: Uint8Array): AttributeValue {
  const reader = new ByteReader(bytes);
  const value = readValue(reader);
  reader.expectEnd();
  return value;
}

/** An item as the value that a map of its attributes would be. @throws as `encodeValue`. */
export function encodeItem(item: Item): Uint8Array {
  const writer = new ByteWriter(256);
  writeValue(writer, { M: item }, 0);
  return writer.toBytes();
}

/** @throws FrameError unless the bytes are exactly one map. */
export function decodeItem(bytes: Uint8Array): Item {
  const reader = new ByteReader(bytes);
  const value = readValue(reader, 0);
  reader.expectEnd();
  if (!("M" in value)) throw malformed("an item is not a map");
  return value.M;
}

/**
 * Appends a value.
 * @param level of nesting: 1 for an attribute of an item, 0 for the item itself as a map.
 * @throws as `encodeValue`.
 */
export function writeValue(writer: ByteWriter, value: AttributeValue, level = 1): void {
  if (level > limits.itemDepthMax) throw tooDeep();
  if ("S" in value) {
    writeText(writer, value.S);
  } else if ("N" in value) {
    writeNumber(writer, value.N);
  } else if ("BOOL" in value) {
    writer.u8(value.BOOL ? tags.true : tags.false);
  } else if ("M" in value) {
    writer.u8(tags.map);
    writeMapBody(writer, value.M, Object.keys(value.M), level + 1);
  } else if ("L" in value) {
    writer.u8(tags.list);
    writer.varint(value.L.length);
    for (const element of value.L) writeValue(writer, element, level + 1);
  } else if ("B" in value) {
    writer.u8(tags.binary);
    writer.sizedBytes(value.B);
  } else if ("SS" in value) {
    writeSet(writer, tags.textSet, value.SS, (member, text) => {
      member.utf8(text, utf8Length(text));
    });
  } else if ("NS" in value) {
    writeSet(writer, tags.numberSet, value.NS, writeNumber);
  } else if ("BS" in value) {
    writeSet(writer, tags.binarySet, value.BS, (member, bytes) => {
      member.bytes(bytes);
    });
  } else if ("NULL" in value) {
    writer.u8(tags.null);
  } else {
    throw new InvalidRequestError("value", "a value has no type; give it one of S, N, B, …");
  }
}

/**
 * Appends what a map holds: the count, then the named attributes in UTF-8 byte order of their names.
 * @param level of the attributes: 1 for those of an item.
 */
export function writeMapBody(
  writer: ByteWriter,
  map: Item,
  names: readonly string[],
  level: number,
): void {
  writer.varint(names.length);
  for (const name of [...names].sort(compareUtf8)) {
    const value = attribute(map, name);
    if (value === undefined) throw new InvalidRequestError(name, `attribute ${name} has no value`);
    writer.sizedUtf8(name);
    writeValue(writer, value, level);
  }
}

/** Reads one value. @throws FrameError. */
export function readValue(reader: ByteReader, level = 1): AttributeValue {
  const start = reader.position;
  scanValue(reader, level);
  reader.position = start;
  return buildValue(reader);
}

// --- Writing -----------------------------------------------------------------------------------

function writeText(writer: ByteWriter, text: string): void {
  const length = utf8Length(text);
  if (length <= shortLengthMax) {
    writer.u8(tags.shortText | length);
  } else {
    writer.u8(tags.text);
    writer.varint(length);
  }
  writer.utf8(text, length);
}

function writeNumber(writer: ByteWriter, text: string): void {
  const canonical = canonicalNumber(text);
  const integer = safeInteger(canonical);
  if (integer === undefined) {
    writer.u8(tags.decimal);
    writer.sizedUtf8(canonical);
  } else if (integer >= 0 && integer <= shortLengthMax) {
    writer.u8(tags.shortInteger | integer);
  } else {
    writer.u8(tags.integer);
    writer.zigzag(integer);
  }
}

/** Members in byte order of their encodings, each preceded by its length unless it delimits itself. */
function writeSet<Member>(
  writer: ByteWriter,
  tag: number,
  members: readonly Member[],
  writeMember: (writer: ByteWriter, member: Member) => void,
): void {
  if (members.length === 0) {
    throw new InvalidRequestError(
      "value",
      "a set is empty; DynamoDB has no empty sets: leave it out",
    );
  }
  const encoded = members.map((member) => {
    const own = new ByteWriter(32);
    writeMember(own, member);
    return own.toBytes();
  });
  encoded.sort(compareBytes);
  writer.u8(tag);
  writer.varint(encoded.length);
  let previous: Uint8Array | undefined;
  for (const member of encoded) {
    if (previous !== undefined && compareBytes(previous, member) === 0) {
      throw new InvalidRequestError("value", "a set holds a member twice; give each once");
    }
    if (tag === tags.numberSet) writer.bytes(member);
    else writer.sizedBytes(member);
    previous = member;
  }
}

function tooDeep(): InvalidRequestError {
  const max = limits.itemDepthMax.toString();
  return new InvalidRequestError("value", `lists and maps nest deeper than ${max} levels; flatten`);
}

// --- Building from checked bytes ---------------------------------------------------------------

/** Builds the value at the reader, which `scanValue` has accepted. */
export function buildValue(reader: ByteReader): AttributeValue {
  const tag = reader.u8();
  if (tag >= tags.shortInteger) return { N: (tag - tags.shortInteger).toString() };
  if (tag >= tags.shortText) return { S: reader.utf8(tag - tags.shortText) };
  switch (tag) {
    case tags.null:
      return { NULL: true };
    case tags.false:
      return { BOOL: false };
    case tags.true:
      return { BOOL: true };
    case tags.text:
      return { S: reader.sizedUtf8() };
    case tags.integer:
      return { N: reader.zigzag().toString() };
    case tags.decimal:
      return { N: reader.sizedUtf8() };
    case tags.binary:
      return { B: reader.sizedBytes().slice() };
    case tags.list:
      return { L: buildEach(reader, () => buildValue(reader)) };
    case tags.map: {
      const map: Record<string, AttributeValue> = {};
      buildMap(reader, map);
      return { M: map };
    }
    case tags.textSet:
      return { SS: buildEach(reader, () => reader.sizedUtf8()) };
    case tags.numberSet:
      return { NS: buildEach(reader, () => buildNumber(reader)) };
    case tags.binarySet:
      return { BS: buildEach(reader, () => reader.sizedBytes().slice()) };
    default:
      throw malformed("a value has an unknown tag");
  }
}

function buildNumber(reader: ByteReader): string {
  const value = buildValue(reader);
  if (!("N" in value)) throw malformed("a number set holds something else");
  return value.N;
}

/** Adds to `into` the attributes of a map's body, which `scanMapBody` has accepted. */
export function buildMap(reader: ByteReader, into: Record<string, AttributeValue>): void {
  const count = reader.varint();
  for (let i = 0; i < count; i++) setAttribute(into, reader.sizedUtf8(), buildValue(reader));
}

function buildEach<Element>(reader: ByteReader, build: () => Element): Element[] {
  const elements: Element[] = [];
  const count = reader.varint();
  for (let i = 0; i < count; i++) elements.push(build());
  return elements;
}
