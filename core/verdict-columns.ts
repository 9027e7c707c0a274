/**
 * Between the rich form of a verdict and columns: ids of 32 hexadecimal digits as four words,
 * 64-bit hashes as two.
 */
import { assert } from "./assert.ts";
import { idWords, type RequestBatch } from "./request-batch.ts";
import type { KeyHash, TransactionId, Verdict } from "./types.ts";

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

/** Appends a decision of the log as the request that it answered: id and written hashes. */
export function appendDecision(
  batch: RequestBatch,
  verdict: Exclude<Verdict, { kind: "stale" }>,
): void {
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
