/**
 * Attribute values as bytes: docs/formats/values.md. Canonical: one value has one encoding,
 * whatever the spelling of its numbers, the order of its sets or of its map's attributes. So
 * encodings can be compared and hashed in place of values.
 *
 * This file writes, attribute-value-reading.ts reads. What comes from a client, the oracle walks
 * with attribute-value-scan.ts first, which refuses what this file would not write.
 */
import { attribute } from "../core/attributes.ts";
import { canonicalNumber, safeInteger } from "../core/decimal.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { compareBytes, compareUtf8, utf8Length } from "../core/utf8.ts";
import { ByteWriter } from "./byte-writer.ts";
import * as tags from "./value-tags.ts";

/**
 * @throws InvalidRequestError for what DynamoDB has no value for: no or several types, a number out
 * of range, an empty set, a duplicate in one, an unpaired surrogate, nesting beyond the limit.
 */
export function encodeValue(value: AttributeValue): Uint8Array {
  const writer = new ByteWriter(64);
  writeValue(writer, value);
  return writer.toBytes();
}

/** An item as the value that a map of its attributes would be. @throws as `encodeValue`. */
export function encodeItem(item: Item): Uint8Array {
  const writer = new ByteWriter(256);
  writeValue(writer, { M: item }, 0);
  return writer.toBytes();
}

/**
 * Appends a value.
 * @param level of nesting: 1 for an attribute of an item, 0 for the item itself as a map.
 * @throws as `encodeValue`.
 */
export function writeValue(writer: ByteWriter, value: AttributeValue, level = 1): void {
  if (level > limits.itemDepthMax)
    throw unfit(`nests deeper than ${limits.itemDepthMax} levels; flatten it`);
  if ("S" in value) {
    writeText(writer, value.S);
  } else if ("N" in value) {
    writeNumber(writer, value.N);
  } else if ("BOOL" in value) {
    writer.u8(value.BOOL ? tags.yes : tags.no);
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
    writer.u8(tags.none);
  } else {
    throw unfit("a value has no type; give it one of S, N, B, …");
  }
}

/**
 * Appends what a map holds: the count, then the named attributes in UTF-8 byte order of their
 * names.
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

function writeText(writer: ByteWriter, text: string): void {
  const length = utf8Length(text);
  if (length <= tags.shortLengthMax) {
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
  } else if (integer >= 0 && integer <= tags.shortLengthMax) {
    writer.u8(tags.shortInteger | integer);
  } else {
    writer.u8(tags.integer);
    writer.zigzag(integer);
  }
}

/**
 * Members in byte order of their encodings, each preceded by its length unless it delimits itself.
 */
function writeSet<Member>(
  writer: ByteWriter,
  tag: number,
  members: readonly Member[],
  writeMember: (writer: ByteWriter, member: Member) => void,
): void {
  if (members.length === 0) {
    throw unfit("a set is empty; leave it out");
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
      throw unfit("a set holds a member twice; give each once");
    }
    if (tag === tags.numberSet) writer.bytes(member);
    else writer.sizedBytes(member);
    previous = member;
  }
}

function unfit(why: string): InvalidRequestError {
  return new InvalidRequestError("value", why);
}
