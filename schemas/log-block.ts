/**
 * Bytes → LogBlock (docs/formats/log-block.md). Written by log-block-draft.ts and
 * log-block-encoding.ts.
 *
 * Invariants: I1 (a block knows its position), I2 (validated after decoding), I3 (what is read here
 * is what was decided).
 */
import { hashBytes } from "../core/block-bytes.ts";
import { provisioningNumber } from "../core/block-order.ts";
import { FrameError } from "../core/errors.ts";
import { keyHash } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import type { PlainAbort } from "../core/verdict-kinds.ts";
import { isSequenceNumber } from "../core/sequence-number.ts";
import { decidingPart } from "../core/whole-outcome.ts";
import type {
  AbortReason,
  BlockMaker,
  Fork,
  Handover,
  InstalledReport,
  KeyHash,
  LogBlock,
  LogPosition,
  MakerNumber,
  PreparedVerdict,
  SequenceNumber,
  ShardNumber,
  StreamCursor,
  Timestamp,
  TransactionId,
  Verdict,
  WriteHashes,
} from "../core/types.ts";
import { ByteReader, malformed, otherHashSecret, oversized, readFrameHead } from "./byte-reader.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { readInstalled } from "./installed-reports.ts";
import { readParts } from "./parts.ts";
import { readStamps } from "./stamps.ts";
import {
  blockFlags,
  cursorTags,
  handoverTags,
  isReached,
  logBlockMagic,
  logBlockVersion,
  TableRegister,
  type LogBlockHeader,
} from "./log-block-layout.ts";
import { readTransactionId, transactionIdBytes } from "./transaction-id.ts";
import * as verdictTags from "./verdict-tags.ts";

const plainAborts: ReadonlyMap<number, PlainAbort> = new Map(
  Object.entries(verdictTags.plainAborts).map(([kind, tag]) => [tag, kind as PlainAbort]),
);
/** A number of 128 decimal digits has at most this many bytes. */
const sequenceBytesMax = 54;
const staleBytesMin = 1 + transactionIdBytes;
/** Table index and key hash. */
const writeBytesMin = 9;

/**
 * @param position where the block was found.
 * @throws FrameError for anything but a block made for that position, under the key of `hashes`;
 * `malformed` also where I2 does not hold.
 */
export function decodeLogBlock(
  bytes: Uint8Array,
  position: LogPosition,
  hashes: KeyHashes,
): LogBlock {
  const reader = new ByteReader(bytes);
  const { verdictCount, hashFingerprint, ...header } = readHeader(reader, position);
  if (hashFingerprint !== hashes.fingerprintAt(position)) throw otherHashSecret("a log block");
  // Checked before anything is sized by it.
  if (verdictCount * staleBytesMin > reader.remaining) reader.advance(verdictCount * staleBytesMin);
  const context: DecodeContext = {
    reader,
    hashes,
    stream: new StreamReader(header.cursor),
    tables: new TableRegister(),
    isClients: header.maker !== undefined,
    position,
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

const frameHead = {
  what: "log block",
  magic: logBlockMagic,
  version: logBlockVersion,
  flags: blockFlags.known,
  bytesMax: limits.blockBytesMax,
  limit: "blockBytesMax",
} as const;

// --- Header ------------------------------------------------------------------------------------

/**
 * @param position where the block was found: it must be the one that it was made for (I1).
 * @throws FrameError.
 */
function readHeader(reader: ByteReader, position: LogBlock["position"]): LogBlockHeader {
  const flags = readFrameHead(reader, frameHead);
  const hashFingerprint = reader.u32();
  const isThere = reader.varint() === position && position > 0;
  if (!isThere) throw malformed("I1: a block stands at another position");
  const previousTimestamp = reader.u56() as Timestamp;
  const throughTimestamp = (previousTimestamp + reader.varint()) as Timestamp;
  if (!Number.isSafeInteger(throughTimestamp)) throw malformed("a timestamp is not safe");
  const cursor = readCursor(reader);
  const arrivalMs = reader.varint();
  const rejectedRecords = reader.varint();
  const isMade = (flags & (blockFlags.maker | blockFlags.installed)) !== 0;
  const maker = isMade ? readMaker(reader, flags) : undefined;
  const oldestOpen = (flags & blockFlags.open) === 0 ? undefined : readOldestOpen(reader, position);
  const fork = (flags & blockFlags.fork) === 0 ? undefined : readFork(reader, maker);
  const isHandedOver = (flags & blockFlags.handover) !== 0;
  const handover = isHandedOver ? readHandover(reader, maker) : undefined;
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
    ...(maker === undefined ? {} : { maker }),
    ...(oldestOpen === undefined ? {} : { oldestOpen }),
    ...(fork === undefined ? {} : { fork }),
    ...(handover === undefined ? {} : { handover }),
    verdictCount,
    hashFingerprint,
  };
}

/** Provisioning alone splits a shard, and the first one is nobody's part. */
function readFork(reader: ByteReader, maker: BlockMaker | undefined): Fork {
  if (maker?.number !== provisioningNumber) throw malformed("a fork, and not by provisioning");
  const shard = reader.u8();
  if (shard === 0) throw malformed("a fork names no shard");
  return { shard: shard as ShardNumber, from: reader.u32() };
}

/** Provisioning alone joins shards, and the first one is never given up. */
function readHandover(reader: ByteReader, maker: BlockMaker | undefined): Handover {
  if (maker?.number !== provisioningNumber) throw malformed("a handover, and not by provisioning");
  const tag = reader.u8();
  if (tag === handoverTags.closing) return { kind: "closing" };
  if (tag === handoverTags.ended) return { kind: "ended" };
  if (tag !== handoverTags.takes) throw malformed("a handover has an unknown tag");
  const shard = reader.u8() as ShardNumber;
  const endedAt = reader.varint() as LogPosition;
  const endedThrough = reader.u56() as Timestamp;
  if (endedAt === 0) throw malformed("a takeover names no end");
  const from = reader.u32();
  const to = reader.u32() + 1;
  if (from === 0 || from >= to) throw malformed("a takeover is of no range");
  return { kind: "takes", shard, endedAt, endedThrough, from, to };
}

/** The oldest block with what is open where this one begins. */
function readOldestOpen(reader: ByteReader, position: LogPosition): LogPosition {
  const oldest = readBack(reader, position);
  if (oldest === position) throw malformed("I4: what is open lies in an earlier block");
  return oldest;
}

/** A position by how far it lies behind that of the block. */
function readBack(reader: ByteReader, position: LogPosition): LogPosition {
  const back = reader.varint();
  if (back >= position) throw malformed("a block names one before the log's first");
  return (position - back) as LogPosition;
}

function readMaker(reader: ByteReader, flags: number): BlockMaker {
  if ((flags & blockFlags.maker) === 0) throw malformed("installed commits, and no maker");
  const number = reader.u32() as MakerNumber;
  const installed: InstalledReport[] = [];
  if ((flags & blockFlags.installed) !== 0) readInstalled(reader, installed);
  return { number, installed };
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
  if (text.length > limits.sequenceDigitsMax) throw malformed("a sequence number is too long");
  if (!isSequenceNumber(text)) throw malformed("a sequence number is empty");
  return text;
}

/**
 * Where the payload of the next commit would lie if nothing were said: in the request after the
 * one before, of the same record. Every verdict moves it on by one request.
 */
class StreamReader {
  #sequenceNumber: SequenceNumber | undefined;
  #value: bigint;
  #next = 0;

  /** @param cursor the block's own: the records of a block lie close to it. */
  constructor(cursor: StreamCursor | undefined) {
    this.#value = cursor === undefined ? 0n : BigInt(cursor.sequenceNumber);
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

// --- Verdicts ----------------------------------------------------------------------------------

type DecodeContext = {
  readonly reader: ByteReader;
  readonly hashes: KeyHashes;
  readonly stream: StreamReader;
  readonly tables: TableRegister;
  readonly isClients: boolean;
  readonly position: LogPosition;
  /** Timestamp of the last decision. */
  last: Timestamp;
};

function readVerdict(context: DecodeContext): Verdict {
  const { reader } = context;
  const tag = reader.u8();
  const id = readTransactionId(reader);
  if (tag === verdictTags.stale) return { kind: "stale", id };
  if (tag === verdictTags.busy) {
    return { kind: "busy", id, inTheWay: readTransactionId(reader) };
  }
  const timestamp = (context.last + 1 + reader.varint()) as Timestamp;
  if (!Number.isSafeInteger(timestamp)) throw malformed("a timestamp is not safe");
  context.last = timestamp;
  if (tag === verdictTags.voted) return readVoted(context, id, timestamp);
  if (tag === verdictTags.counted || tag === verdictTags.countedVote) {
    return readCounted(context, tag, { id, placed: timestamp });
  }
  if (tag >= verdictTags.preparedNext && tag <= verdictTags.preparedInline) {
    const checks = readChecks(reader);
    const payload = readLocation(context, tag - verdictTags.preparedNext);
    const prepared = { kind: "prepared", id, timestamp, checks, payload } as const;
    return ofItsLog(context, { ...prepared, writes: readPrepared(context) });
  }
  if (tag >= verdictTags.partNext && tag <= verdictTags.partNone) {
    const checks = readChecks(reader);
    const parts = readParts(reader);
    const payload: PreparedVerdict["payload"] =
      tag === verdictTags.partNone
        ? { kind: "none" }
        : readLocation(context, tag - verdictTags.partNext);
    const writes = readPrepared(context);
    if (payload.kind === "none" && writes.length > 0) throw malformed("writes have no payload");
    const prepared = { kind: "prepared", id, timestamp, checks, payload } as const;
    return ofItsLog(context, { ...prepared, writes, parts });
  }
  if (tag > verdictTags.committedInline) {
    return { kind: "aborted", id, timestamp, reason: readReason(reader, tag, timestamp) };
  }
  const payload = readLocation(context, tag);
  return { kind: "committed", id, timestamp, writes: readWrites(context), payload };
}

/**
 * What a vote decides is decided in the log that has prepared it: in one that was split off since
 * it is a part, which is told.
 */
function ofItsLog({ hashes, position }: DecodeContext, prepared: PreparedVerdict): PreparedVerdict {
  const of = hashes.shardAt(position);
  if (of === hashes.shard) return prepared;
  const { parts, timestamp: from, writes } = prepared;
  // mutant: fork-forgets-who-decides
  if (parts === undefined)
    return { ...prepared, of, parts: [{ shard: of, from, stamps: writes.length }] };
  return decidingPart(parts) === undefined ? prepared : { ...prepared, of };
}

function readVoted(context: DecodeContext, id: TransactionId, timestamp: Timestamp): Verdict {
  const { reader } = context;
  const position = readBack(reader, context.position);
  const stamps = readStamps(reader);
  const writes = readWrites(context);
  const payload = { kind: "prepared", position } as const;
  return { kind: "committed", id, timestamp, writes, payload, stamps };
}

function readCounted(
  context: DecodeContext,
  tag: number,
  { id, placed }: { readonly id: TransactionId; readonly placed: Timestamp },
): Verdict {
  const { reader } = context;
  const position = readBack(reader, context.position);
  const timestamp = (placed - reader.varint()) as Timestamp;
  if (timestamp <= 0) throw malformed("a part counts before all time");
  const voted = tag === verdictTags.countedVote ? { stamps: readStamps(reader) } : {};
  const writes = readWrites(context);
  const payload = { kind: "prepared", position } as const;
  return { kind: "committed", id, timestamp, placed, writes, payload, ...voted };
}

function readChecks(reader: ByteReader): KeyHash[] {
  const count = reader.count(hashBytes);
  if (count > limits.transactionKeysMax) throw oversized("transactionKeysMax");
  const checks: KeyHash[] = [];
  for (let i = 0; i < count; i++) checks.push(reader.bigUint64() as KeyHash);
  return checks;
}

/** No more than a commit by vote has room for. */
function readPrepared(context: DecodeContext): WriteHashes[] {
  const writes = readWrites(context);
  if (writes.length > limits.preparedWritesMax) throw oversized("preparedWritesMax");
  return writes;
}

function readWrites(context: DecodeContext): WriteHashes[] {
  const count = context.reader.count(writeBytesMin);
  const writes: WriteHashes[] = [];
  for (let i = 0; i < count; i++) writes.push(readWrite(context));
  return writes;
}

function readReason(reader: ByteReader, tag: number, timestamp: Timestamp): AbortReason {
  if (tag === verdictTags.conflict) {
    const check = reader.varint();
    const conflictTimestamp = (timestamp - 1 - reader.varint()) as Timestamp;
    if (conflictTimestamp < 0) throw malformed("a conflict lies before all time");
    return { kind: "conflict", check, conflictTimestamp };
  }
  const kind = plainAborts.get(tag);
  if (kind === undefined) throw malformed("a verdict has an unknown tag");
  return { kind };
}

function readLocation(context: DecodeContext, tag: number): PreparedVerdict["payload"] {
  const { reader, stream, isClients } = context;
  if (tag === verdictTags.committedSpilled) {
    const chunks = reader.varint();
    const byteLength = reader.varint();
    return { kind: "spilled", chunks, byteLength, digest: reader.view(limits.digestBytes).slice() };
  }
  if (isClients !== (tag === verdictTags.committedInline)) {
    throw malformed("a payload lies where its block's maker puts none");
  }
  if (isClients) {
    return { kind: "inline", bytes: copied(reader.sizedBytes()) };
  }
  return { kind: "stream", ...stream.read(reader, tag) };
}

function readWrite({ reader, tables, hashes }: DecodeContext): WriteHashes {
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
    sortKey === undefined
      ? keyHash(reader.u32(), reader.u32())
      : hashes.sortKey(partition, sortKey);
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
