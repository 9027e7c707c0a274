/**
 * One record of the commit stream: docs/formats/commit-record.md. It carries the requests of one or
 * many transactions, each with its checks and its whole payload, or a reference to a spilled one.
 *
 * A record either scans in full or is refused as a whole, with a named fault: the oracle never
 * certifies what replay could not decode (I7).
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { CommitRequest, InstalledReport } from "../core/types.ts";
import { ByteWriter } from "./byte-writer.ts";
import { installedBytesMax, writeInstalled } from "./installed-reports.ts";
import { writeParts, writeWhole } from "./parts.ts";
import { writeStamps } from "./stamps.ts";
import { transactionIdProofBytes, writeTransactionId } from "./transaction-id.ts";

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
  prepare: 16,
  vote: 32,
  settle: 64,
  part: 128,
  known: 255,
} as const;

/**
 * Magic, version, flags, key fingerprint and the largest count of requests; without the commits
 * that are said to be installed.
 */
export const recordHeaderBytesMax = 10;

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
  if (request.parts !== undefined) writeParts(writer, request.parts);
  if (payload.kind === "inline") {
    writer.bytes(payload.bytes);
  } else if (payload.kind === "spilled") {
    assert(isSpillConsistent(payload), "commit request: a spilled payload fits its chunks");
    writer.varint(payload.chunks);
    writer.varint(payload.byteLength);
    writer.bytes(payload.digest);
  }
  if (request.vote !== undefined) {
    const { proof } = request.vote;
    assert(proof.length === transactionIdProofBytes, "commit request: a proof has nine bytes");
    writer.bytes(proof);
    const { whole, stamps } = request.vote;
    assert(
      whole === undefined || stamps.length === 0,
      "commit request: of a part the whole says its stamps",
    );
    if (whole === undefined) writeStamps(writer, stamps);
    else writeWhole(writer, whole);
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

/**
 * A record of the requests, in order. Together with `recordHeaderBytesMax` and `installedBytesMax`,
 * the sum of `requestBytesInRecord` must not exceed `limits.recordBytesMax`.
 * @param hashFingerprint of the hash secret that the requests' checks were made under.
 * @param installed commits, by rising timestamp: all their writes have reached their tables. At
 * most `limits.installedReportsMax`.
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
    installed.length <= limits.installedReportsMax;
  let capacity = recordHeaderBytesMax + installedBytesMax(installed.length);
  for (const request of encodedRequests) capacity += requestBytesInRecord(request.length);
  assert(isCountable && capacity <= limits.recordBytesMax, "commit record: limits");
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

function flagsOf({ kind, isolation, checks, payload, vote, parts }: CommitRequest): number {
  assert((kind === "vote") === (vote !== undefined), "commit request: a vote says what it is");
  assert(parts === undefined || kind === "prepare", "commit request: parts are prepared");
  const part = parts !== undefined || vote?.whole !== undefined ? requestFlags.part : 0;
  if (kind === "abort" || kind === "vote" || kind === "settle") {
    const isBare = checks.length === 0 && payload.kind === "none";
    assert(isBare, "commit request: what decides has neither checks nor payload");
    return requestFlags[kind] | part;
  }
  assert(payload.kind !== "none" || part !== 0, "commit request: a commit has a payload");
  const prepare = kind === "prepare" ? requestFlags.prepare : 0;
  const snapshot = isolation === "snapshot" ? requestFlags.snapshot : 0;
  const source = payload.kind === "none" ? 0 : requestFlags[payload.kind];
  return part | prepare | snapshot | source;
}

/** Whether so many bytes take so many chunks. */
export function isSpillConsistent({ chunks, byteLength }: SpillSize): boolean {
  return (
    byteLength > 0 &&
    byteLength <= limits.payloadBytesMax &&
    chunks <= limits.spillChunksMax &&
    chunks === Math.ceil(byteLength / limits.spillChunkBytesMax)
  );
}

type SpillSize = { readonly chunks: number; readonly byteLength: number };
