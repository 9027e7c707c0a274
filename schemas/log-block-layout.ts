/**
 * The layout of log blocks (docs/formats/log-block.md) as both encoders and the decoder share it:
 * tags, the header, and the two registers that keep a block short, one of tables, one of the
 * place in the stream.
 *
 * Every content has exactly one encoding, so the encoder that works on an oracle's columns and the
 * one that takes a LogBlock agree byte for byte.
 */
import { assert } from "../core/assert.ts";
import { FrameError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { isSequenceNumber, leadingZeros, sequenceDigitsMax } from "../core/sequence-number.ts";
import type { LogBlock, SequenceNumber, StreamCursor, Timestamp } from "../core/types.ts";
import type { ByteReader } from "./byte-reader.ts";
import { malformed } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";

/** "TB", then the version of the layout. */
export const logBlockMagic = [0x54, 0x42] as const;
export const logBlockVersion = 1;

/** First byte of a verdict. */
export const verdictTags = {
  /** Payload in the stream: in the request after the verdict before; elsewhere in that record; in another. */
  committedNext: 0,
  committedSameRecord: 1,
  committedNewRecord: 2,
  committedSpilled: 3,
  committedInline: 4,
  conflict: 5,
  checkedAhead: 6,
  payloadUnreadable: 7,
  tooLarge: 8,
  probed: 9,
  stale: 10,
} as const;

const cursorTags = { none: 0, recordDone: 1, withinRecord: 2 } as const;

/** A number of 128 decimal digits has at most this many bytes. */
const sequenceBytesMax = 54;

export type LogBlockHeader = Omit<LogBlock, "verdicts"> & { readonly verdictCount: number };

export function writeHeader(writer: ByteWriter, header: LogBlockHeader): void {
  const { previousTimestamp, throughTimestamp } = header;
  assert(header.position > 0, "I1: the first block has position 1");
  assert(throughTimestamp >= previousTimestamp, "I2: a block never reaches back");
  assert(header.verdictCount <= limits.blockVerdictsMax, "log block: too many verdicts");
  for (const byte of logBlockMagic) writer.u8(byte);
  writer.u8(logBlockVersion);
  writer.u8(0);
  writer.varint(header.position);
  writer.u56(previousTimestamp);
  writer.varint(throughTimestamp - previousTimestamp);
  writeCursor(writer, header.cursor);
  writer.varint(header.arrivalMs);
  writer.varint(header.rejectedRecords);
  writer.varint(header.verdictCount);
}

/**
 * @param position where the block was found: it must be the one that it was made for (I1).
 * @throws FrameError.
 */
export function readHeader(reader: ByteReader, position: LogBlock["position"]): LogBlockHeader {
  readFrame(reader);
  if (reader.varint() !== position) throw malformed("I1: a block stands at another position");
  const previousTimestamp = reader.u56() as Timestamp;
  const throughTimestamp = (previousTimestamp + reader.varint()) as Timestamp;
  if (!Number.isSafeInteger(throughTimestamp)) throw malformed("a timestamp is not safe");
  const cursor = readCursor(reader);
  const arrivalMs = reader.varint();
  const rejectedRecords = reader.varint();
  const verdictCount = reader.varint();
  if (verdictCount > limits.blockVerdictsMax) {
    throw new FrameError("oversized", "a block has more verdicts than blockVerdictsMax");
  }
  return {
    position,
    previousTimestamp,
    throughTimestamp,
    cursor,
    arrivalMs,
    rejectedRecords,
    verdictCount,
  };
}

function readFrame(reader: ByteReader): void {
  const { bytes, position } = reader;
  if (bytes[position] !== logBlockMagic[0] || bytes[position + 1] !== logBlockMagic[1]) {
    throw new FrameError("not-a-frame", "the bytes do not begin as a log block does");
  }
  if (reader.remaining > limits.blockBytesMax) {
    throw new FrameError("oversized", "a log block exceeds blockBytesMax");
  }
  reader.advance(2);
  const version = reader.u8();
  if (version === 0) throw new FrameError("not-a-frame", "no log block has version 0");
  if (version > logBlockVersion) {
    throw new FrameError("future-version", `a log block has version ${version.toString()}`);
  }
  if (reader.u8() !== 0) {
    throw new FrameError("future-version", "a log block has flags of a later version");
  }
}

function writeCursor(writer: ByteWriter, cursor: StreamCursor | undefined): void {
  if (cursor === undefined) {
    writer.u8(cursorTags.none);
    return;
  }
  const { sequenceNumber, requestsDone } = cursor;
  writer.u8(requestsDone === "all" ? cursorTags.recordDone : cursorTags.withinRecord);
  writeSequenceNumber(writer, sequenceNumber, 0n);
  if (requestsDone === "all") return;
  assert(requestsDone > 0, "I9: a cursor within a record has covered some of it");
  writer.varint(requestsDone);
}

function readCursor(reader: ByteReader): StreamCursor | undefined {
  const tag = reader.u8();
  if (tag === cursorTags.none) return undefined;
  if (tag > cursorTags.withinRecord) throw malformed("a cursor has an unknown tag");
  const sequenceNumber = readSequenceNumber(reader, 0n);
  if (tag === cursorTags.recordDone) return { sequenceNumber, requestsDone: "all" };
  const requestsDone = reader.varint();
  if (requestsDone === 0) throw malformed("a cursor within a record has covered none of it");
  return { sequenceNumber, requestsDone };
}

/** Count of leading zeros, then the signed distance from `base`: length · 2 + sign, and big-endian bytes. */
function writeSequenceNumber(
  writer: ByteWriter,
  sequenceNumber: SequenceNumber,
  base: bigint,
): void {
  assert(isSequenceNumber(sequenceNumber), "a sequence number is a decimal integer");
  const distance = BigInt(sequenceNumber) - base;
  const magnitude = distance < 0n ? -distance : distance;
  const hex = magnitude === 0n ? "" : magnitude.toString(16);
  const padded = hex.length % 2 === 0 ? hex : `0${hex}`;
  writer.u8(leadingZeros(sequenceNumber));
  writer.u8(padded.length + (distance < 0n ? 1 : 0));
  for (let at = 0; at < padded.length; at += 2) {
    writer.u8(Number.parseInt(padded.slice(at, at + 2), 16));
  }
}

function readSequenceNumber(reader: ByteReader, base: bigint): SequenceNumber {
  const zeros = reader.u8();
  const size = reader.u8();
  const length = size >>> 1;
  if (length > sequenceBytesMax) throw malformed("a sequence number is too long");
  const bytes = reader.view(length);
  if (length > 0 && bytes[0] === 0) throw malformed("a sequence number is padded");
  if (length === 0 && size !== 0) throw malformed("a sequence number has a negative zero");
  let magnitude = 0n;
  for (const byte of bytes) magnitude = magnitude * 256n + BigInt(byte);
  const value = size % 2 === 1 ? base - magnitude : base + magnitude;
  if (value < 0n) throw malformed("a sequence number is negative");
  const text = "0".repeat(zeros) + (value === 0n ? "" : value.toString());
  if (text.length > sequenceDigitsMax) throw malformed("a sequence number is too long");
  if (!isSequenceNumber(text)) throw malformed("a sequence number is empty");
  return text;
}

/**
 * Where the payload of the next commit would lie if nothing were said: in the request after the
 * one before, of the same record. Every verdict moves it on by one request.
 */
export class StreamRegister {
  #sequenceNumber: SequenceNumber | undefined;
  #value: bigint;
  #next = 0;

  /** @param cursor the block's own: the records of a block lie close to it. */
  constructor(cursor: StreamCursor | undefined) {
    this.#value = cursor === undefined ? 0n : BigInt(cursor.sequenceNumber);
  }

  tagFor(sequenceNumber: SequenceNumber, requestIndex: number): number {
    if (sequenceNumber !== this.#sequenceNumber) return verdictTags.committedNewRecord;
    if (requestIndex !== this.#next) return verdictTags.committedSameRecord;
    return verdictTags.committedNext;
  }

  write(
    writer: ByteWriter,
    tag: number,
    sequenceNumber: SequenceNumber,
    requestIndex: number,
  ): void {
    if (tag === verdictTags.committedNext) return;
    if (tag === verdictTags.committedNewRecord) {
      writeSequenceNumber(writer, sequenceNumber, this.#value);
      this.#value = BigInt(sequenceNumber);
      this.#sequenceNumber = sequenceNumber;
    }
    writer.varint(requestIndex);
    this.#next = requestIndex;
  }

  read(reader: ByteReader, tag: number): { sequenceNumber: SequenceNumber; requestIndex: number } {
    if (tag === verdictTags.committedNewRecord) {
      const sequenceNumber = readSequenceNumber(reader, this.#value);
      if (sequenceNumber === this.#sequenceNumber) throw malformed("a record is named twice");
      this.#sequenceNumber = sequenceNumber;
      this.#value = BigInt(sequenceNumber);
      this.#next = reader.varint();
    } else if (tag === verdictTags.committedSameRecord) {
      const requestIndex = reader.varint();
      if (requestIndex === this.#next) throw malformed("a request index is redundant");
      this.#next = requestIndex;
    }
    const sequenceNumber = this.#sequenceNumber;
    if (sequenceNumber === undefined) throw malformed("a commit names no record");
    return { sequenceNumber, requestIndex: this.#next };
  }

  /** After each verdict of whatever kind. */
  advance(): void {
    this.#next += 1;
  }
}

/**
 * The tables of a block in order of first use, each with or without a sort key. A write names its
 * table by index; the index one above the last introduces a new one on the spot.
 */
export class TableRegister {
  readonly high: number[] = [];
  readonly low: number[] = [];
  readonly sorted: boolean[] = [];
  /** Candidates by low word, once a look through all would take long. */
  readonly #byLow = new Map<number, number[]>();
  #latest = 0;

  /** Index of the table, or the number of tables when it is new. */
  find(high: number, low: number, sorted: boolean): number {
    const latest = this.#latest;
    if (this.low[latest] === low && this.high[latest] === high && this.sorted[latest] === sorted) {
      return latest;
    }
    for (const index of this.#byLow.get(low) ?? []) {
      if (this.high[index] !== high || this.sorted[index] !== sorted) continue;
      this.#latest = index;
      return index;
    }
    return this.high.length;
  }

  add(high: number, low: number, sorted: boolean): void {
    const index = this.high.length;
    this.high.push(high);
    this.low.push(low);
    this.sorted.push(sorted);
    const candidates = this.#byLow.get(low);
    if (candidates === undefined) this.#byLow.set(low, [index]);
    else candidates.push(index);
    this.#latest = index;
  }
}
