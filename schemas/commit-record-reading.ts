/**
 * Reads what commit-record.ts writes. A file of its own: the SDK sends records, and reads one only
 * to finish what another client has left undone.
 */
import { FrameError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type {
  CommitRequest,
  InstalledReport,
  KeyHash,
  PayloadSource,
  RequestKind,
  Timestamp,
  Vote,
} from "../core/types.ts";
import { ByteReader, malformed, oversized, readFrameHead } from "./byte-reader.ts";
import {
  commitRecordMagic,
  commitRecordVersion,
  isSpillConsistent,
  recordFlags,
  requestFlags,
} from "./commit-record.ts";
import { readInstalled as readReports } from "./installed-reports.ts";
import { readParts, readWhole } from "./parts.ts";
import { readStamps } from "./stamps.ts";
import { readTransactionId, transactionIdProofBytes } from "./transaction-id.ts";

const frameHead = {
  what: "commit record",
  magic: commitRecordMagic,
  version: commitRecordVersion,
  flags: recordFlags.known,
  bytesMax: limits.recordBytesMax,
  limit: "recordBytesMax",
} as const;

/** Flags, id, checkedTo and a count of checks. */
const requestBytesMin = 1 + 16 + 7 + 1;

/**
 * All requests of a record. Inline payloads are views of `bytes`, not decoded and not checked.
 * @throws FrameError.
 */
export function decodeCommitRecord(bytes: Uint8Array): CommitRequest[] {
  const reader = new ByteReader(bytes);
  const { count } = readRecordHeader(reader);
  const requests: CommitRequest[] = [];
  for (let i = 0; i < count; i++) requests.push(readRequest(nextRequest(reader)));
  reader.expectEnd();
  return requests;
}

/**
 * One request of a record, by its index (PayloadLocation). An inline payload is a view of `bytes`.
 * @throws FrameError, also when the record has fewer requests.
 */
export function readRequestAt(bytes: Uint8Array, index: number): CommitRequest {
  const reader = new ByteReader(bytes);
  const { count } = readRecordHeader(reader);
  if (index >= count) throw malformed("a record has fewer requests than its reader expects");
  for (let i = 0; i < index; i++) reader.advance(reader.varint());
  return readRequest(nextRequest(reader));
}

/**
 * Which commits a record says are installed, by rising timestamp; none if it says nothing. Its
 * requests are not looked at. Whether the proofs are right, the commits' ids tell.
 * @throws FrameError.
 */
export function readInstalled(bytes: Uint8Array): readonly InstalledReport[] {
  const installed: InstalledReport[] = [];
  readRecordHeader(new ByteReader(bytes), installed);
  return installed;
}

/** Which log a record is for, by its key's fingerprint; undefined for what is none of ours. */
export function fingerprintOfRecord(bytes: Uint8Array): number | undefined {
  try {
    const reader = new ByteReader(bytes);
    readFrameHead(reader, frameHead);
    return reader.u32();
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}

type RecordHeader = {
  /** Number of the requests that follow. */
  readonly count: number;
  readonly hashFingerprint: number;
};

/**
 * Reads up to the first request.
 * @param installed takes up what the record says is installed.
 * @throws FrameError.
 */
export function readRecordHeader(reader: ByteReader, installed?: InstalledReport[]): RecordHeader {
  const flags = readFrameHead(reader, frameHead);
  const hashFingerprint = reader.u32();
  if ((flags & recordFlags.installed) !== 0) readReports(reader, installed);
  const count = reader.varint();
  if (count === 0) throw malformed("a commit record has no requests");
  if (count > limits.requestsPerRecordMax) throw oversized("requestsPerRecordMax");
  if (count * (1 + requestBytesMin) > reader.remaining) {
    throw new FrameError("truncated", "a record ends before its requests do");
  }
  return { count, hashFingerprint };
}

/** The flags of a request, known to agree with each other. @throws FrameError. */
export function readRequestFlags(reader: ByteReader): number {
  const flags = reader.u8();
  const both = requestFlags.inline | requestFlags.spilled;
  if ((flags & both) === both) throw malformed("a request's payload is both inline and spilled");
  if (isBare(flags) && !bareFlags.has(flags)) {
    throw malformed("what decides an id has a payload, an isolation, or another kind");
  }
  const isPart = (flags & requestFlags.part) !== 0;
  if (isPart && (flags & (requestFlags.prepare | requestFlags.vote)) === 0) {
    throw malformed("a part is prepared, and voted on");
  }
  // Certified, it would be a commit that nobody can install.
  if (!isBare(flags) && !isPart && (flags & both) === 0) throw malformed("a commit has no payload");
  return flags;
}

const bareFlags: ReadonlySet<number> = new Set([
  requestFlags.abort,
  requestFlags.vote,
  requestFlags.vote | requestFlags.part,
  requestFlags.settle,
]);

/** Whether it has neither checks nor payload. */
function isBare(flags: number): boolean {
  return (flags & (requestFlags.abort | requestFlags.vote | requestFlags.settle)) !== 0;
}

/** Whether the parts of what is to be prepared follow its checks. */
export function hasParts(flags: number): boolean {
  return (flags & requestFlags.part) !== 0 && !isBare(flags);
}

/** What kind of request the flags are of. */
export function requestKindOf(flags: number): RequestKind {
  if ((flags & requestFlags.abort) !== 0) return "abort";
  if ((flags & requestFlags.vote) !== 0) return "vote";
  if ((flags & requestFlags.settle) !== 0) return "settle";
  return (flags & requestFlags.prepare) === 0 ? "commit" : "prepare";
}

/** Reads what a vote says. @throws FrameError. */
export function readVote(reader: ByteReader, flags: number): Vote {
  // A copy: a view would keep the whole record alive.
  const proof = new Uint8Array(reader.view(transactionIdProofBytes));
  if ((flags & requestFlags.part) !== 0) return { proof, stamps: [], whole: readWhole(reader) };
  return { proof, stamps: readStamps(reader) };
}

/** The count of a request's checks, which follow. @throws FrameError. */
export function readCheckCount(reader: ByteReader, flags: number): number {
  const count = reader.count(8);
  if (count > limits.transactionKeysMax) throw oversized("transactionKeysMax");
  if (count > 0 && isBare(flags)) throw malformed("what decides an id has checks");
  return count;
}

/** Reads where a spilled payload lies. @throws FrameError. */
export function readSpilled(reader: ByteReader): Extract<PayloadSource, { kind: "spilled" }> {
  const spilled = {
    kind: "spilled",
    chunks: reader.varint(),
    byteLength: reader.varint(),
    digest: reader.view(limits.digestBytes).slice(),
  } as const;
  if (spilled.chunks > limits.spillChunksMax) throw oversized("spillChunksMax");
  if (spilled.byteLength > limits.payloadBytesMax) throw oversized("payloadBytesMax");
  if (!isSpillConsistent(spilled)) throw malformed("a spilled payload does not fit its chunks");
  return spilled;
}

/** A reader of the next request alone. @throws FrameError. */
function nextRequest(reader: ByteReader): ByteReader {
  const length = reader.varint();
  const start = reader.advance(length);
  if (length > limits.inlineRequestBytesMax) throw oversized("inlineRequestBytesMax");
  return new ByteReader(reader.bytes, start, start + length);
}

function readRequest(reader: ByteReader): CommitRequest {
  const flags = readRequestFlags(reader);
  const id = readTransactionId(reader);
  const checkedTo = reader.u56() as Timestamp;
  const checks: KeyHash[] = [];
  const count = readCheckCount(reader, flags);
  for (let i = 0; i < count; i++) checks.push(reader.bigUint64() as KeyHash);
  const parts = hasParts(flags) ? readParts(reader) : undefined;
  const payload = readPayloadSource(reader, flags);
  const kind = requestKindOf(flags);
  const vote = kind === "vote" ? readVote(reader, flags) : undefined;
  reader.expectEnd();
  return {
    kind,
    id,
    isolation: (flags & requestFlags.snapshot) === 0 ? "serializable" : "snapshot",
    checkedTo,
    checks,
    payload,
    ...(vote === undefined ? {} : { vote }),
    ...(parts === undefined ? {} : { parts }),
  };
}

function readPayloadSource(reader: ByteReader, flags: number): PayloadSource {
  if ((flags & requestFlags.inline) !== 0) {
    return { kind: "inline", bytes: reader.view(reader.remaining) };
  }
  return (flags & requestFlags.spilled) !== 0 ? readSpilled(reader) : { kind: "none" };
}
