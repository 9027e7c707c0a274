/**
 * What clients say they have installed, as records and blocks carry it: each commit with the proof
 * of its id (docs/formats/commit-record.md, docs/adr/0010).
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { InstalledReport, Timestamp } from "../core/types.ts";
import { malformed, oversized, type ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { transactionIdProofBytes } from "./transaction-id.ts";

/** Bytes at most that saying of so many commits that they are installed adds to a frame. */
export function installedBytesMax(commits: number): number {
  return commits === 0 ? 0 : 2 + 7 + 8 * (commits - 1) + transactionIdProofBytes * commits;
}

/** @param installed one at least, by rising timestamp. */
export function writeInstalled(writer: ByteWriter, installed: readonly InstalledReport[]): void {
  assert(installed.length <= limits.installedReportsMax, "installed reports: too many");
  writer.varint(installed.length);
  let before = 0;
  for (const { timestamp, proof } of installed) {
    const isInOrder = timestamp > before && proof.length === transactionIdProofBytes;
    assert(isInOrder, "installed reports: they rise, with proofs of nine bytes");
    if (before === 0) writer.u56(timestamp);
    else writer.varint(timestamp - before);
    writer.bytes(proof);
    before = timestamp;
  }
}

/**
 * Whether the proofs are right, the commits' ids tell.
 * @param installed takes them up.
 * @throws FrameError.
 */
export function readInstalled(reader: ByteReader, installed: InstalledReport[] | undefined): void {
  const count = reader.count(1 + transactionIdProofBytes);
  if (count > limits.installedReportsMax) throw oversized("installedReportsMax");
  let timestamp = 0;
  let rises = count > 0;
  for (let i = 0; rises && i < count; i++) {
    const before = timestamp;
    timestamp += i === 0 ? reader.u56() : reader.varint();
    rises = timestamp > before && Number.isSafeInteger(timestamp);
    const view = reader.view(transactionIdProofBytes);
    // A view would keep the whole frame alive.
    installed?.push({ timestamp: timestamp as Timestamp, proof: new Uint8Array(view) });
  }
  if (!rises) throw malformed("installed commits that do not rise");
}
