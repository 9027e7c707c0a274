/**
 * LogBlock → bytes (docs/formats/log-block.md): a client's own block, whose verdicts are few. The
 * oracle encodes straight from its columns (log-block-draft.ts), to the same bytes.
 *
 * Invariants: I1 (a block knows its position), I2 (asserted before encoding).
 */
import { assert, assertNever, InvariantViolation } from "../core/assert.ts";
import { placeOf } from "../core/decision.ts";
import * as limits from "../core/limits.ts";
import type {
  CommittedVerdict,
  LogBlock,
  PayloadLocation,
  PreparedVerdict,
  Verdict,
  WriteHashes,
} from "../core/types.ts";
import { highWord, lowWord } from "../core/verdict-columns.ts";
import { ByteWriter } from "./byte-writer.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { isReached, TableRegister } from "./log-block-layout.ts";
import { StreamWriter, writeCounted, writeHeader, writeVote } from "./log-block-writing.ts";
import { writeParts } from "./parts.ts";
import { writeTransactionId } from "./transaction-id.ts";
import * as verdictTags from "./verdict-tags.ts";

/**
 * @param hashes under which those of the block were made.
 * @throws InvariantViolation for a block that breaks I1 or I2, or exceeds `limits.blockBytesMax`.
 */
export function encodeLogBlock(block: LogBlock, hashes: KeyHashes): Uint8Array {
  const writer = new ByteWriter(256 + 64 * block.verdicts.length);
  writeHeader(writer, {
    ...block,
    verdictCount: block.verdicts.length,
    hashFingerprint: hashes.fingerprint,
  });
  const stream = new StreamWriter(block.cursor);
  const tables = new TableRegister();
  let last = block.previousTimestamp;
  for (const verdict of block.verdicts) {
    writer.u8(tagOf(verdict, stream));
    writeTransactionId(writer, verdict.id);
    if (verdict.kind === "busy") writeTransactionId(writer, verdict.inTheWay);
    else if (verdict.kind !== "stale") {
      const place = placeOf(verdict);
      assert(place > last, "I2: timestamps rise within a block");
      writer.varint(place - last - 1);
      last = place;
    }
    if (verdict.kind === "committed" || verdict.kind === "prepared") {
      const liesElsewhere =
        verdict.payload.kind !== (block.maker === undefined ? "inline" : "stream");
      assert(liesElsewhere, "log block: an oracle's payloads lie in the stream, a client's do not");
      if (verdict.kind === "prepared") writePrepared(writer, verdict);
      else writeIfVote(writer, verdict, block.position);
      if (verdict.payload.kind !== "prepared") writeLocation(writer, stream, verdict.payload);
      writer.varint(verdict.writes.length);
      for (const write of verdict.writes) writeWrite({ writer, tables, hashes }, write);
    } else if (verdict.kind === "aborted" && verdict.reason.kind === "conflict") {
      const { check, conflictTimestamp } = verdict.reason;
      assert(conflictTimestamp < verdict.timestamp, "I4: a conflict lies before the decision");
      writer.varint(check);
      writer.varint(verdict.timestamp - conflictTimestamp - 1);
    }
    stream.advance();
  }
  assert(isReached(block, last), "I2: a block reaches as far as its decisions");
  assert(writer.length <= limits.blockBytesMax, "log block: exceeds blockBytesMax");
  return writer.toBytes();
}

function tagOf(verdict: Verdict, stream: StreamWriter): number {
  switch (verdict.kind) {
    case "committed":
      return verdict.placed === undefined
        ? locationTag(verdict.payload, stream)
        : countedTag(verdict);
    case "prepared":
      return preparedTag(verdict, stream);
    case "aborted":
      return verdict.reason.kind === "conflict"
        ? verdictTags.conflict
        : verdictTags.plainAborts[verdict.reason.kind];
    case "stale":
      return verdictTags.stale;
    case "busy":
      return verdictTags.busy;
    default:
      return assertNever(verdict);
  }
}

/** Of the commit of a part. */
export function countedTag({ stamps }: CommittedVerdict): number {
  return stamps === undefined ? verdictTags.counted : verdictTags.countedVote;
}

function preparedTag({ parts, payload }: PreparedVerdict, stream: StreamWriter): number {
  assert(parts !== undefined || payload.kind !== "none", "log block: a commit has a payload");
  if (payload.kind === "none") return verdictTags.partNone;
  const first = parts === undefined ? verdictTags.preparedNext : verdictTags.partNext;
  return first + locationTag(payload, stream);
}

function locationTag(payload: PayloadLocation, stream: StreamWriter): number {
  switch (payload.kind) {
    case "stream":
      return stream.tagFor(payload.sequenceNumber, payload.requestIndex);
    case "spilled":
      return verdictTags.committedSpilled;
    case "inline":
      return verdictTags.committedInline;
    case "prepared":
      return verdictTags.voted;
    case "none":
      throw new InvariantViolation("log block: a commit has a payload");
    default:
      return assertNever(payload);
  }
}

function writePrepared(writer: ByteWriter, { checks, writes, parts }: PreparedVerdict): void {
  assert(writes.length <= limits.preparedWritesMax, "log block: too many writes are prepared");
  assert(checks.length <= limits.transactionKeysMax, "log block: too many checks");
  writer.varint(checks.length);
  for (const check of checks) writer.bigUint64(check);
  if (parts !== undefined) writeParts(writer, parts);
}

function writeIfVote(
  writer: ByteWriter,
  verdict: CommittedVerdict,
  position: LogBlock["position"],
): void {
  const isVote = verdict.payload.kind === "prepared";
  if (verdict.placed !== undefined) {
    writeCounted(writer, verdict, position);
    return;
  }
  assert(isVote === (verdict.stamps !== undefined), "log block: commits by vote have stamps");
  if (isVote) writeVote(writer, verdict, position);
}

function writeLocation(
  writer: ByteWriter,
  stream: StreamWriter,
  location: PreparedVerdict["payload"],
): void {
  switch (location.kind) {
    case "stream": {
      const { sequenceNumber, requestIndex } = location;
      const tag = stream.tagFor(sequenceNumber, requestIndex);
      stream.write(writer, tag, sequenceNumber, requestIndex);
      return;
    }
    case "spilled":
      writer.varint(location.chunks);
      writer.varint(location.byteLength);
      writer.bytes(location.digest);
      return;
    case "inline":
      writer.sizedBytes(location.bytes);
      return;
    case "none":
      return;
    default:
      assertNever(location);
  }
}

/** How a block is written. */
export type WriteContext = {
  readonly writer: ByteWriter;
  readonly tables: TableRegister;
  /** Without them a key's hash is not checked against its sort key. */
  readonly hashes: KeyHashes | undefined;
};

export function writeWrite({ writer, tables, hashes }: WriteContext, write: WriteHashes): void {
  const sorted = write.partition !== write.key;
  const high = highWord(write.table);
  const low = lowWord(write.table);
  const index = tables.find(high, low, sorted);
  writer.varint(index);
  if (index === tables.high.length) {
    writer.u64(high, low);
    writer.u8(sorted ? 1 : 0);
    tables.add(high, low, sorted);
  }
  writer.bigUint64(write.partition);
  if (!sorted) {
    assert(write.sortKey === undefined, "log block: a sort key tells its key from its partition");
    return;
  }
  const { sortKey } = write;
  if (sortKey === undefined) {
    writer.u8(0);
    writer.bigUint64(write.key);
    return;
  }
  assert(
    sortKey.length > 0 && sortKey.length <= limits.blockSortKeyBytesMax,
    "log block: a longer sort key is left out",
  );
  const isTrue = hashes === undefined || hashes.sortKey(write.partition, sortKey) === write.key;
  assert(isTrue, "log block: a key's hash lies");
  writer.u8(sortKey.length);
  writer.bytes(sortKey);
}
