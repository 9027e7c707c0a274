/**
 * One record of the commit stream: docs/formats/commit-record.md. It carries the requests of one or
 * many transactions, each with its checks and its whole payload, or a reference to a spilled one.
 *
 * A record either scans in full or is refused as a whole, with a named fault: the oracle never
 * certifies what replay could not decode (I7).
 */
import { assert } from "../core/assert.ts";
import { FrameError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CommitRequest, KeyHash, PayloadSource, Timestamp } from "../core/types.ts";
import { ByteReader, malformed, oversized } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import {
  readTransactionId,
  transactionIdProofBytes,
  writeTransactionId,
} from "./transaction-id.ts";

/** That a commit is installed, by one who has its id's proof. */
export type InstalledReport = { readonly timestamp: Timestamp; readonly proof: Uint8Array };

/** "TM", then the version of the layout. */
export const commitRecordMagic = [0x54, 0x4d] as const;
export const commitRecordVersion = 1;

/** Bits of a record's flags. The others are of later versions, and refused. */
export const recordFlags = { installed: 1, known: 1 } as const;

/** Bits of a request's first byte. The others are of later versions, and refused. */
export const requestFlags = {
  abort: 1,
  snapshot: 2,
  inline: 4,
  spilled: 8,
  known: 15,
} as const;

/**
 * Magic, version, flags, key fingerprint and the largest count of requests; without the commits
 * that are said to be installed.
 */
export const recordHeaderBytesMax = 10;
/** Flags, id, checkedTo and a count of checks. */
const requestBytesMin = 1 + 16 + 7 + 1;

/** A request's bytes, as one of those that `encodeCommitRecord` takes. */
export function encodeCommitRequest(request: CommitRequest): Uint8Array {
  const { payload } = request;
  const inlineBytes = payload.kind === "inline" ? payload.bytes.length : 0;
  const writer = new ByteWriter(64 + 8 * request.checks.length + inlineBytes);
  assert(request.checks.length <= limits.transactionKeysMax, "commit request: too many checks");
  writer.u8(flagsOf(request));
  writeTransactionId(writer, request.id);
  writer.u56(request.checkedTo);
  writer.varint(request.checks.length);
  for (const check of request.checks) writer.bigUint64(check);
  if (payload.kind === "inline") {
    writer.bytes(payload.bytes);
  } else if (payload.kind === "spilled") {
    assert(isSpillConsistent(payload), "commit request: a spilled payload fits its chunks");
    writer.varint(payload.chunks);
    writer.varint(payload.byteLength);
    writer.bytes(payload.digest);
  }
  assert(
    writer.length <= limits.inlineRequestBytesMax,
    "commit request: one above inlineRequestBytesMax spills its payload",
  );
  return writer.toBytes();
}

/** Bytes that a request of this length adds to a record, its own length included. */
export function requestBytesInRecord(requestLength: number): number {
  return requestLength + (requestLength < 0x80 ? 1 : requestLength < 0x4000 ? 2 : 3);
}

/** Bytes at most that saying of so many commits that they are installed adds to a record. */
export function installedBytesMax(commits: number): number {
  return commits === 0 ? 0 : 2 + 7 + 8 * (commits - 1) + transactionIdProofBytes * commits;
}

/**
 * A record of the requests, in order. Together with `recordHeaderBytesMax` and `installedBytesMax`,
 * the sum of `requestBytesInRecord` must not exceed `limits.recordBytesMax`.
 * @param hashFingerprint of the hash secret that the requests' checks were made under.
 * @param installed commits, by rising timestamp: all their writes have reached their tables. At
 * most `limits.installedPerRecordMax`.
 */
export function encodeCommitRecord(
  hashFingerprint: number,
  encodedRequests: readonly Uint8Array[],
  installed: readonly InstalledReport[] = [],
): Uint8Array {
  const count = encodedRequests.length;
  const isCountable =
    count > 0 &&
    count <= limits.requestsPerRecordMax &&
    installed.length <= limits.installedPerRecordMax;
  assert(isCountable, "commit record: counts");
  let capacity = recordHeaderBytesMax + installedBytesMax(installed.length);
  for (const request of encodedRequests) capacity += requestBytesInRecord(request.length);
  assert(capacity <= limits.recordBytesMax, "commit record: larger than recordBytesMax");
  const writer = new ByteWriter(capacity + 8);
  for (const byte of commitRecordMagic) writer.u8(byte);
  writer.u8(commitRecordVersion);
  writer.u8(installed.length > 0 ? recordFlags.installed : 0);
  writer.u32(hashFingerprint);
  if (installed.length > 0) writeInstalled(writer, installed);
  writer.varint(count);
  for (const request of encodedRequests) writer.sizedBytes(request);
  return writer.toBytes();
}

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
  const { bytes, position } = reader;
  if (bytes[position] !== commitRecordMagic[0] || bytes[position + 1] !== commitRecordMagic[1]) {
    throw new FrameError("not-a-frame", "the bytes do not begin as a commit record does");
  }
  if (reader.remaining > limits.recordBytesMax) throw oversized("recordBytesMax");
  reader.advance(2);
  const version = reader.u8();
  if (version === 0) throw new FrameError("not-a-frame", "no commit record has version 0");
  if (version > commitRecordVersion) {
    throw new FrameError("future-version", `a commit record has version ${version}`);
  }
  const flags = reader.u8();
  if (flags > recordFlags.known) {
    throw new FrameError("future-version", "a commit record has flags of a later version");
  }
  const hashFingerprint = reader.u32();
  if ((flags & recordFlags.installed) !== 0) readInstalledCommits(reader, installed);
  const count = reader.varint();
  if (count === 0) throw malformed("a commit record has no requests");
  if (count > limits.requestsPerRecordMax) throw oversized("requestsPerRecordMax");
  if (count * (1 + requestBytesMin) > reader.remaining) {
    throw new FrameError("truncated", "a record ends before its requests do");
  }
  return { count, hashFingerprint };
}

function writeInstalled(writer: ByteWriter, installed: readonly InstalledReport[]): void {
  writer.varint(installed.length);
  let before = 0;
  for (const { timestamp, proof } of installed) {
    assert(timestamp > before, "commit record: installed commits rise");
    assert(proof.length === transactionIdProofBytes, "commit record: a proof has nine bytes");
    if (before === 0) writer.u56(timestamp);
    else writer.varint(timestamp - before);
    writer.bytes(proof);
    before = timestamp;
  }
}

function readInstalledCommits(reader: ByteReader, installed: InstalledReport[] | undefined): void {
  const count = reader.count(1 + transactionIdProofBytes);
  if (count > limits.installedPerRecordMax) throw oversized("installedPerRecordMax");
  let timestamp = 0;
  let rises = count > 0;
  for (let i = 0; rises && i < count; i++) {
    const before = timestamp;
    timestamp += i === 0 ? reader.u56() : reader.varint();
    rises = timestamp > before && Number.isSafeInteger(timestamp);
    const proof = reader.view(transactionIdProofBytes);
    installed?.push({ timestamp: timestamp as Timestamp, proof });
  }
  if (!rises) throw malformed("installed commits that do not rise");
}

/** The flags of a request, known to agree with each other. @throws FrameError. */
export function readRequestFlags(reader: ByteReader): number {
  const flags = reader.u8();
  if (flags > requestFlags.known) {
    throw new FrameError("future-version", "a commit request has flags of a later version");
  }
  const both = requestFlags.inline | requestFlags.spilled;
  if ((flags & both) === both) throw malformed("a request's payload is both inline and spilled");
  if ((flags & requestFlags.abort) !== 0 && flags !== requestFlags.abort) {
    throw malformed("an abort request has a payload or an isolation");
  }
  // Certified, it would be a commit that nobody can install.
  if ((flags & (requestFlags.abort | both)) === 0) throw malformed("a commit has no payload");
  return flags;
}

/** The count of a request's checks, which follow. @throws FrameError. */
export function readCheckCount(reader: ByteReader, flags: number): number {
  const count = reader.count(8);
  if (count > limits.transactionKeysMax) throw oversized("transactionKeysMax");
  if (count > 0 && flags === requestFlags.abort) throw malformed("an abort request has checks");
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
  const payload = readPayloadSource(reader, flags);
  reader.expectEnd();
  return {
    kind: (flags & requestFlags.abort) === 0 ? "commit" : "abort",
    id,
    isolation: (flags & requestFlags.snapshot) === 0 ? "serializable" : "snapshot",
    checkedTo,
    checks,
    payload,
  };
}

function readPayloadSource(reader: ByteReader, flags: number): PayloadSource {
  if ((flags & requestFlags.inline) !== 0) {
    return { kind: "inline", bytes: reader.view(reader.remaining) };
  }
  return (flags & requestFlags.spilled) !== 0 ? readSpilled(reader) : { kind: "none" };
}

function flagsOf({ kind, isolation, checks, payload }: CommitRequest): number {
  if (kind === "abort") {
    assert(checks.length === 0, "commit request: an abort request has no checks");
    assert(payload.kind === "none", "commit request: an abort request has no payload");
    return requestFlags.abort;
  }
  assert(payload.kind !== "none", "commit request: a commit has a payload");
  return (isolation === "snapshot" ? requestFlags.snapshot : 0) | requestFlags[payload.kind];
}

function isSpillConsistent({ chunks, byteLength }: SpillSize): boolean {
  return (
    byteLength > 0 &&
    byteLength <= limits.payloadBytesMax &&
    chunks <= limits.spillChunksMax &&
    chunks === Math.ceil(byteLength / limits.spillChunkBytesMax)
  );
}

type SpillSize = { readonly chunks: number; readonly byteLength: number };
