/**
 * The header of log blocks and the places of payloads in the stream, as an encoder writes them
 * (docs/formats/log-block.md). Every content has exactly one encoding.
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import { isSequenceNumber, leadingZeros } from "../core/sequence-number.ts";
import type {
  BlockMaker,
  CommittedVerdict,
  Fork,
  Handover,
  LogPosition,
  SequenceNumber,
  StreamCursor,
} from "../core/types.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { writeInstalled } from "./installed-reports.ts";
import { writeStamps } from "./stamps.ts";
import {
  blockFlags,
  cursorTags,
  handoverTags,
  logBlockMagic,
  logBlockVersion,
  type LogBlockHeader,
} from "./log-block-layout.ts";
import * as verdictTags from "./verdict-tags.ts";

export function writeHeader(writer: ByteWriter, header: LogBlockHeader): void {
  const { previousTimestamp, throughTimestamp } = header;
  assert(header.position > 0, "I1: the first block has position 1");
  assert(throughTimestamp >= previousTimestamp, "I2: a block never reaches back");
  assert(header.verdictCount <= limits.blockVerdictsMax, "log block: too many verdicts");
  for (const byte of logBlockMagic) writer.u8(byte);
  writer.u8(logBlockVersion);
  writer.u8(flagsOf(header));
  writer.u32(header.hashFingerprint);
  writer.varint(header.position);
  writer.u56(previousTimestamp);
  writer.varint(throughTimestamp - previousTimestamp);
  writeCursor(writer, header.cursor);
  writer.varint(header.arrivalMs);
  writer.varint(header.rejectedRecords);
  if (header.maker !== undefined) writeMaker(writer, header.maker);
  if (header.oldestOpen !== undefined) {
    assert(header.oldestOpen < header.position, "I4: what is open lies before the block");
    writer.varint(header.position - header.oldestOpen);
  }
  if (header.fork !== undefined) writeFork(writer, header.fork);
  if (header.handover !== undefined) writeHandover(writer, header.handover);
  writer.varint(header.verdictCount);
}

function writeFork(writer: ByteWriter, { shard, from }: Fork): void {
  assert(shard > 0 && shard < limits.shardNumbersMax, "log block: a fork names another shard");
  writer.u8(shard);
  writer.u32(from);
}

function writeHandover(writer: ByteWriter, handover: Handover): void {
  writer.u8(handoverTags[handover.kind]);
  if (handover.kind !== "takes") return;
  const { shard, endedAt, endedThrough, from, to } = handover;
  assert(shard < limits.shardNumbersMax && endedAt > 0, "log block: a takeover names an end");
  writer.u8(shard);
  writer.varint(endedAt);
  writer.u56(endedThrough);
  writer.u32(from);
  // The last hash of the range.
  writer.u32(to - 1);
}

/**
 * Where the payload of the next commit would lie if nothing were said: in the request after the
 * one before, of the same record. Every verdict moves it on by one request.
 */
export class StreamWriter {
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

  /** After each verdict of whatever kind. */
  advance(): void {
    this.#next += 1;
  }
}

function flagsOf({ maker, oldestOpen, fork, handover }: LogBlockHeader): number {
  const forked = fork === undefined ? 0 : blockFlags.fork;
  const handed = forked | (handover === undefined ? 0 : blockFlags.handover);
  const open = handed | (oldestOpen === undefined ? 0 : blockFlags.open);
  if (maker === undefined) return open;
  return open | blockFlags.maker | (maker.installed.length > 0 ? blockFlags.installed : 0);
}

/** What a commit by vote says before its writes. */
export function writeVote(
  writer: ByteWriter,
  { payload, stamps = [] }: CommittedVerdict,
  position: LogPosition,
): void {
  assert(payload.kind === "prepared", "log block: a vote names what is prepared");
  assert(payload.position <= position, "I4: what is voted on lies before");
  writer.varint(position - payload.position);
  writeStamps(writer, stamps);
}

/** What the commit of a part says before its writes. */
export function writeCounted(
  writer: ByteWriter,
  { payload, timestamp, placed = timestamp, stamps }: CommittedVerdict,
  position: LogPosition,
): void {
  assert(payload.kind === "prepared", "log block: a part's commit names what is prepared");
  assert(payload.position <= position && timestamp <= placed, "I4: what is prepared lies before");
  writer.varint(position - payload.position);
  writer.varint(placed - timestamp);
  if (stamps !== undefined) writeStamps(writer, stamps);
}

function writeMaker(writer: ByteWriter, { number, installed }: BlockMaker): void {
  assert(number >>> 0 === number, "log block: a maker's number has 32 bits");
  writer.u32(number);
  if (installed.length > 0) writeInstalled(writer, installed);
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

/**
 * Count of leading zeros, then the signed distance from `base`: length · 2 + sign, and big-endian
 * bytes.
 */
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
