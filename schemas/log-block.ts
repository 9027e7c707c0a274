/**
 * A block of the log, bytes ↔ LogBlock: docs/formats/log-block.md. The oracle's hot path has an
 * encoder of its own (log-block-draft.ts); this one serves blocks made elsewhere, and tests.
 *
 * Invariants: I1 (a block knows its position), I2 (asserted before encoding, validated after
 * decoding), I3 (what is read here is what was decided).
 */
import { assert, assertNever } from "../core/assert.ts";
import { keyHash } from "../core/key-hash.ts";
import { limits } from "../core/limits.ts";
import type {
  AbortReason,
  LogBlock,
  LogPosition,
  PayloadLocation,
  Timestamp,
  Verdict,
  WriteHashes,
} from "../core/types.ts";
import { highWord, lowWord } from "../core/verdict-columns.ts";
import { ByteReader, malformed } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { hashSortKey } from "./key-hashes.ts";
import {
  readHeader,
  StreamRegister,
  TableRegister,
  verdictTags,
  writeHeader,
} from "./log-block-layout.ts";
import type { LogBlockHeader } from "./log-block-layout.ts";
import { readTransactionId, transactionIdBytes, writeTransactionId } from "./transaction-id.ts";

export type { LogBlockHeader } from "./log-block-layout.ts";

const staleBytesMin = 1 + transactionIdBytes;
/** Table index and key hash. */
const writeBytesMin = 9;

/** @throws InvariantViolation for a block that breaks I1 or I2, or exceeds `limits.blockBytesMax`. */
export function encodeLogBlock(block: LogBlock): Uint8Array {
  const writer = new ByteWriter(256 + 64 * block.verdicts.length);
  writeHeader(writer, { ...block, verdictCount: block.verdicts.length });
  const stream = new StreamRegister(block.cursor);
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
      writeLocation(writer, stream, verdict.payload);
      writer.varint(verdict.writes.length);
      for (const write of verdict.writes) writeWrite(writer, tables, write);
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

/**
 * @param position where the block was found.
 * @throws FrameError for anything but a block made for that position; `malformed` also where I2 does not hold.
 */
export function decodeLogBlock(bytes: Uint8Array, position: LogPosition): LogBlock {
  const reader = new ByteReader(bytes);
  const { verdictCount, ...header } = readHeader(reader, position);
  // Checked before anything is sized by it.
  if (verdictCount * staleBytesMin > reader.remaining) reader.advance(verdictCount * staleBytesMin);
  const context: DecodeContext = {
    reader,
    stream: new StreamRegister(header.cursor),
    tables: new TableRegister(),
    last: header.previousTimestamp,
  };
  const verdicts: Verdict[] = [];
  for (let i = 0; i < verdictCount; i++) {
    verdicts.push(readVerdict(context));
    context.stream.advance();
  }
  reader.expectEnd();
  if (!isReached(header, context.last)) {
    throw malformed("I2: a block does not reach as far as its decisions");
  }
  return { ...header, verdicts };
}

/**
 * Everything but the verdicts, without looking at them.
 * @throws FrameError.
 */
export function decodeLogBlockHeader(bytes: Uint8Array, position: LogPosition): LogBlockHeader {
  return readHeader(new ByteReader(bytes), position);
}

/** A block that decided nothing reaches exactly as far as the one before. */
function isReached(
  block: Pick<LogBlock, "previousTimestamp" | "throughTimestamp">,
  last: Timestamp,
): boolean {
  if (last === block.previousTimestamp) return block.throughTimestamp === last;
  return last <= block.throughTimestamp;
}

function tagOf(verdict: Verdict, stream: StreamRegister): number {
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
      switch (verdict.reason.kind) {
        case "conflict":
          return verdictTags.conflict;
        case "checked-ahead":
          return verdictTags.checkedAhead;
        case "payload-unreadable":
          return verdictTags.payloadUnreadable;
        case "too-large":
          return verdictTags.tooLarge;
        case "probed":
          return verdictTags.probed;
        default:
          return assertNever(verdict.reason);
      }
    case "stale":
      return verdictTags.stale;
    default:
      return assertNever(verdict);
  }
}

function writeLocation(
  writer: ByteWriter,
  stream: StreamRegister,
  location: PayloadLocation,
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
      writer.bigUint64(location.hash);
      return;
    case "inline":
      writer.sizedBytes(location.bytes);
      return;
    default:
      assertNever(location);
  }
}

function writeWrite(writer: ByteWriter, tables: TableRegister, write: WriteHashes): void {
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
  assert(hashSortKey(write.partition, sortKey) === write.key, "log block: a key's hash lies");
  writer.u8(sortKey.length);
  writer.bytes(sortKey);
}

type DecodeContext = {
  readonly reader: ByteReader;
  readonly stream: StreamRegister;
  readonly tables: TableRegister;
  /** Timestamp of the last decision. */
  last: Timestamp;
};

function readVerdict(context: DecodeContext): Verdict {
  const { reader } = context;
  const tag = reader.u8();
  if (tag > verdictTags.stale) throw malformed("a verdict has an unknown tag");
  const id = readTransactionId(reader);
  if (tag === verdictTags.stale) return { kind: "stale", id };
  const timestamp = (context.last + 1 + reader.varint()) as Timestamp;
  if (!Number.isSafeInteger(timestamp)) throw malformed("a timestamp is not safe");
  context.last = timestamp;
  if (tag > verdictTags.committedInline) {
    return { kind: "aborted", id, timestamp, reason: readReason(reader, tag, timestamp) };
  }
  const payload = readLocation(context, tag);
  const count = reader.count(writeBytesMin);
  const writes: WriteHashes[] = [];
  for (let i = 0; i < count; i++) writes.push(readWrite(reader, context.tables));
  return { kind: "committed", id, timestamp, writes, payload };
}

function readReason(reader: ByteReader, tag: number, timestamp: Timestamp): AbortReason {
  switch (tag) {
    case verdictTags.conflict: {
      const check = reader.varint();
      const conflictTimestamp = (timestamp - 1 - reader.varint()) as Timestamp;
      if (conflictTimestamp < 0) throw malformed("a conflict lies before all time");
      return { kind: "conflict", check, conflictTimestamp };
    }
    case verdictTags.checkedAhead:
      return { kind: "checked-ahead" };
    case verdictTags.payloadUnreadable:
      return { kind: "payload-unreadable" };
    case verdictTags.tooLarge:
      return { kind: "too-large" };
    case verdictTags.probed:
      return { kind: "probed" };
    default:
      throw malformed("a verdict has an unknown tag");
  }
}

function readLocation(context: DecodeContext, tag: number): PayloadLocation {
  const { reader, stream } = context;
  if (tag === verdictTags.committedSpilled) {
    const chunks = reader.varint();
    const byteLength = reader.varint();
    return { kind: "spilled", chunks, byteLength, hash: reader.bigUint64() };
  }
  if (tag === verdictTags.committedInline) {
    return { kind: "inline", bytes: copied(reader.sizedBytes()) };
  }
  return { kind: "stream", ...stream.read(reader, tag) };
}

function readWrite(reader: ByteReader, tables: TableRegister): WriteHashes {
  const index = reader.varint();
  if (index > tables.high.length) throw malformed("a write names no table of its block");
  if (index === tables.high.length) readTable(reader, tables);
  const table = keyHash(tables.high[index] ?? 0, tables.low[index] ?? 0);
  const partition = keyHash(reader.u32(), reader.u32());
  if (tables.sorted[index] !== true) {
    return { table, partition, key: partition, sortKey: undefined };
  }
  const length = reader.u8();
  if (length > limits.blockSortKeyBytesMax) throw malformed("a sort key is too long for a block");
  const sortKey = length === 0 ? undefined : copied(reader.view(length));
  const key =
    sortKey === undefined ? keyHash(reader.u32(), reader.u32()) : hashSortKey(partition, sortKey);
  if (key === partition) throw malformed("a key with a sort key hashes as its partition");
  return { table, partition, key, sortKey };
}

/** A Buffer's own `slice` would share its memory, and keep the whole block alive. */
function copied(view: Uint8Array): Uint8Array {
  return new Uint8Array(view);
}

function readTable(reader: ByteReader, tables: TableRegister): void {
  const high = reader.u32();
  const low = reader.u32();
  const kind = reader.u8();
  if (kind > 1) throw malformed("a table is of an unknown kind");
  if (tables.find(high, low, kind === 1) !== tables.high.length) {
    throw malformed("a table is introduced twice");
  }
  tables.add(high, low, kind === 1);
}
