/**
 * Between the rich form of a verdict and columns: ids of 32 hexadecimal digits as four words,
 * 64-bit hashes as two.
 */
import { assert } from "./assert.ts";
import { keyHash } from "./key-hash.ts";
import {
  checkWords,
  idWords,
  sortKeyWords,
  writeWords,
  type RequestBatch,
} from "./request-batch.ts";
import * as limits from "./limits.ts";
import type { Decision, KeyHash, PreparedVerdict, TransactionId, WriteHashes } from "./types.ts";

const empty = new Uint8Array(0);
const digitsPerWord = 8;

/** One of the four big-endian words of an id. */
export function idWord(id: TransactionId, word: number): number {
  assert(id.length === idWords * digitsPerWord, "an id has 32 hexadecimal digits");
  const value = Number.parseInt(id.slice(word * digitsPerWord, (word + 1) * digitsPerWord), 16);
  assert(!Number.isNaN(value), "an id has 32 hexadecimal digits");
  return value;
}

export function highWord(hash: KeyHash): number {
  return Number(hash >> 32n);
}

export function lowWord(hash: KeyHash): number {
  return Number(hash & 0xffff_ffffn);
}

/** Appends a verdict of the log as the request that it answered: id, and of a commit the writes. */
export function appendDecision(batch: RequestBatch, verdict: Decision | PreparedVerdict): void {
  batch.begin({
    kind: 0,
    isolation: 0,
    payload: 0,
    id0: idWord(verdict.id, 0),
    id1: idWord(verdict.id, 1),
    id2: idWord(verdict.id, 2),
    id3: idWord(verdict.id, 3),
    checkedTo: 0,
    record: 0,
    indexInRecord: 0,
    source: empty,
  });
  if (verdict.kind === "committed") {
    for (const { table, partition, key } of verdict.writes) {
      batch.addWrite(
        highWord(table),
        lowWord(table),
        highWord(partition),
        lowWord(partition),
        highWord(key),
        lowWord(key),
        0,
        0,
      );
    }
  }
  batch.end();
}

/** The id of a request. */
export function idAt(batch: RequestBatch, request: number): TransactionId {
  let id = "";
  for (let word = 0; word < idWords; word++) {
    id += (batch.ids[request * idWords + word] ?? 0).toString(16).padStart(digitsPerWord, "0");
  }
  return id as TransactionId;
}

/** What a request has checked. */
export function checksAt(batch: RequestBatch, request: number): KeyHash[] {
  const checks: KeyHash[] = [];
  const end = (batch.checkStart[request + 1] ?? 0) * checkWords;
  for (let at = (batch.checkStart[request] ?? 0) * checkWords; at < end; at += checkWords) {
    checks.push(keyHash(batch.checks[at] ?? 0, batch.checks[at + 1] ?? 0));
  }
  return checks;
}

/**
 * What a request writes, as a block says it.
 * @param isCompact without sort keys.
 */
export function writesAt(batch: RequestBatch, request: number, isCompact: boolean): WriteHashes[] {
  const writes: WriteHashes[] = [];
  const end = batch.writeStart[request + 1] ?? 0;
  for (let write = batch.writeStart[request] ?? 0; write < end; write++) {
    const hashes = hashesAt(batch, write);
    const start = batch.sortKeys[write * sortKeyWords] ?? 0;
    const length = batch.sortKeys[write * sortKeyWords + 1] ?? 0;
    const isLeftOut =
      isCompact ||
      length === 0 ||
      length > limits.blockSortKeyBytesMax ||
      hashes.partition === hashes.key;
    // A copy: the request's bytes are not kept.
    const sortKey = isLeftOut
      ? undefined
      : new Uint8Array(batch.sources[request]?.subarray(start, start + length) ?? empty);
    writes.push({ ...hashes, sortKey });
  }
  return writes;
}

/** The hashes of a write, by its number in the batch. */
export function hashesAt(batch: RequestBatch, write: number): Omit<WriteHashes, "sortKey"> {
  const { writes } = batch;
  const at = write * writeWords;
  return {
    table: keyHash(writes[at] ?? 0, writes[at + 1] ?? 0),
    partition: keyHash(writes[at + 2] ?? 0, writes[at + 3] ?? 0),
    key: keyHash(writes[at + 4] ?? 0, writes[at + 5] ?? 0),
  };
}
