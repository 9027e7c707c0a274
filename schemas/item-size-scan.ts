/**
 * The sizes of core/item-size.ts, of encoded values and without building them, so that an item that
 * no table takes is refused before it is certified. Only of bytes that a scan has found to be well
 * formed.
 */
import { documentBytes, entryBytes, numberSizeBytes } from "../core/item-size.ts";
import type { ByteReader } from "./byte-reader.ts";
import * as tags from "./value-tags.ts";

/**
 * No encoding of so many bytes has a larger size. The worst is a list of small integers: each takes
 * one byte here, and there one as an entry and two as a number.
 */
export const sizePerEncodedByte = 3;

const shortIntegerSizes = Uint8Array.from({ length: tags.shortLengthMax + 1 }, (_, value) =>
  numberSizeBytes(value.toString()),
);

/** Steps over a map's count and attributes. */
export function mapBodySizeBytes(reader: ByteReader): number {
  let size = 0;
  for (let left = reader.count(2); left > 0; left--) size += attributeSizeBytes(reader);
  return size;
}

/** Steps over one value; gives its size without a name. */
export function encodedValueSizeBytes(reader: ByteReader): number {
  const tag = reader.u8();
  if (tag >= tags.shortInteger) return shortIntegerSizes[tag - tags.shortInteger] ?? 0;
  if (tag >= tags.shortText) return skip(reader, tag - tags.shortText);
  switch (tag) {
    case tags.none:
    case tags.no:
    case tags.yes:
      return 1;
    case tags.integer:
      return numberSizeBytes(reader.zigzag().toString());
    case tags.decimal:
      return numberSizeBytes(reader.sizedUtf8());
    case tags.list: {
      let size = documentBytes;
      for (let left = reader.count(1); left > 0; left--) {
        size += entryBytes + encodedValueSizeBytes(reader);
      }
      return size;
    }
    case tags.map: {
      let size = documentBytes;
      for (let left = reader.count(2); left > 0; left--) {
        size += entryBytes + attributeSizeBytes(reader);
      }
      return size;
    }
    case tags.numberSet:
      return members(reader, encodedValueSizeBytes);
    case tags.textSet:
    case tags.binarySet:
      return members(reader, skipSized);
    default:
      return skipSized(reader);
  }
}

function attributeSizeBytes(reader: ByteReader): number {
  return skipSized(reader) + encodedValueSizeBytes(reader);
}

function members(reader: ByteReader, sizeOf: (reader: ByteReader) => number): number {
  let size = 0;
  for (let left = reader.count(1); left > 0; left--) size += sizeOf(reader);
  return size;
}

function skipSized(reader: ByteReader): number {
  return skip(reader, reader.varint());
}

function skip(reader: ByteReader, length: number): number {
  reader.advance(length);
  return length;
}
