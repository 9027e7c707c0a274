/**
 * A record that says of other clients' commits that they are installed. Anybody can guess when
 * they were decided: a decision's timestamp is its record's arrival, or little more. Nobody can
 * guess the proofs that their ids commit to.
 */
import * as limits from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import {
  makeTransactionId,
  transactionIdProofBytes,
  transactionIdRandomBytes,
} from "../../schemas/transaction-id.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** Decisions on the records of one millisecond. */
const guessesPerArrival = 4;

/** @param aims its arrivals are the milliseconds at which the stream's last records came. */
export function forgedReports(
  random: SeededRandom,
  aims: { readonly hashFingerprint: number; readonly arrivals: readonly number[] },
): Uint8Array {
  const guessed = new Set<number>();
  for (const arrivalMs of aims.arrivals) {
    for (let i = 0; i < guessesPerArrival; i += 1) guessed.add(arrivalMs * 1_000 + i);
  }
  const reports = Array.from(guessed)
    .sort((a, b) => a - b)
    .slice(-limits.installedReportsMax)
    .map((timestamp) => ({
      timestamp: timestamp as Timestamp,
      proof: random.bytes(transactionIdProofBytes),
    }));
  const request = encodeCommitRequest({
    kind: "abort",
    id: makeTransactionId(0 as Timestamp, random.bytes(transactionIdRandomBytes)),
    isolation: "serializable",
    checkedTo: 0 as Timestamp,
    checks: [],
    payload: { kind: "none" },
  });
  return encodeCommitRecord(aims.hashFingerprint, [request], reports);
}
