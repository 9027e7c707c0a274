/**
 * LogBlock → bytes (docs/formats/log-block.md): a client's own block, whose verdicts are few. The
 * oracle encodes straight from its columns (log-block-draft.ts), to the same bytes.
 *
 * Invariants: I1 (a block knows its position), I2 (asserted before encoding).
 */
import { assert, assertNever } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { LogBlock, PayloadLocation, Verdict, WriteHashes } from "../core/types.ts";
import { highWord, lowWord } from "../core/verdict-columns.ts";
import { ByteWriter } from "./byte-writer.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { isReached, TableRegister } from "./log-block-layout.ts";
import { StreamWriter, writeHeader } from "./log-block-writing.ts";
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
    if (verdict.kind !== "stale") {
      assert(verdict.timestamp > last, "I2: timestamps rise within a block");
      writer.varint(verdict.timestamp - last - 1);
      last = verdict.timestamp;
    }
    if (verdict.kind === "committed") {
      const liesElsewhere =
        verdict.payload.kind !== (block.maker === undefined ? "inline" : "stream");
      assert(liesElsewhere, "log block: an oracle's payloads lie in the stream, a client's do not");
      writeLocation(writer, stream, verdict.payload);
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
      switch (verdict.payload.kind) {
        case "stream":
          return stream.tagFor(verdict.payload.sequenceNumber, verdict.payload.requestIndex);
        case "spilled":
          return verdictTags.committedSpilled;
        case "inline":
          return verdictTags.committedInline;
        default:
          return assertNever(verdict.payload);
      }
    case "aborted":
      return verdict.reason.kind === "conflict"
        ? verdictTags.conflict
        : verdictTags.plainAborts[verdict.reason.kind];
    case "stale":
      return verdictTags.stale;
    default:
      return assertNever(verdict);
  }
}

function writeLocation(writer: ByteWriter, stream: StreamWriter, location: PayloadLocation): void {
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
    default:
      assertNever(location);
  }
}

type WriteContext = {
  readonly writer: ByteWriter;
  readonly tables: TableRegister;
  readonly hashes: KeyHashes;
};

function writeWrite({ writer, tables, hashes }: WriteContext, write: WriteHashes): void {
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
  assert(hashes.sortKey(write.partition, sortKey) === write.key, "log block: a key's hash lies");
  writer.u8(sortKey.length);
  writer.bytes(sortKey);
}
