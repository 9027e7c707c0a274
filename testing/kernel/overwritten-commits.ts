/**
 * Two commits of one row, of a table that nobody else uses: one by a client that is never heard of
 * again, and one over it, by somebody who says next that it is installed. That is a true report,
 * with the proof of its own id, of a write that was never made. It must not cost the first commit
 * anything.
 */
import { systemDigest } from "../../aws/system-digest.ts";
import type { InstalledReport, Item, Timestamp, TransactionId } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import {
  makeTransactionId,
  transactionIdFor,
  transactionIdProofBytes,
  transactionIdRandomBytes,
} from "../../schemas/transaction-id.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { HostileAims } from "./table-lies.ts";

/** A deployment that has a table of this name leaves it to such commits. */
export const nobodysTable = "nobodys";
/** Marks the write that its own maker says is installed: it may be missing. */
const liarsAttribute = "liar";
/** Decisions on the records of one millisecond. */
const guessesPerArrival = 8;

export type OverwrittenCommit = {
  readonly data: Uint8Array;
  /** The record to send next, once the first one has arrived. */
  readonly report: (arrivalMs: number) => Uint8Array;
};

/** Whether the item is of a commit that was reported and never installed. */
export function isLiars(item: Item | undefined): boolean {
  return item !== undefined && liarsAttribute in item;
}

/** @param checkedTo one that the oracle still takes. */
export function overwrittenCommit(
  random: SeededRandom,
  {
    hashFingerprint,
    table,
    checkedTo,
  }: {
    readonly hashFingerprint: number;
    readonly table: HostileAims["tables"][number];
    readonly checkedTo: Timestamp;
  },
): OverwrittenCommit {
  const partitionKey = table.partitionKey.name;
  const row = { [partitionKey]: { S: random.integer(0, 2 ** 40).toString(36) } };
  const put = (id: TransactionId, more: Item): Uint8Array =>
    encodeCommitRequest({
      kind: "commit",
      id,
      isolation: "serializable",
      checkedTo,
      checks: [],
      payload: {
        kind: "inline",
        bytes: encodePayload({
          tables: [{ name: table.name, partitionKey, history: table.history }],
          writes: [{ table: 0, key: row, item: { ...row, ...more } }],
        }),
      },
    });
  const proof = random.bytes(transactionIdProofBytes);
  const data = encodeCommitRecord(hashFingerprint, [
    put(makeTransactionId(checkedTo, random.bytes(transactionIdRandomBytes)), {}),
    put(transactionIdFor(checkedTo, proof, systemDigest), { [liarsAttribute]: { BOOL: true } }),
  ]);
  const ask = encodeCommitRequest({
    kind: "abort",
    id: makeTransactionId(0 as Timestamp, random.bytes(transactionIdRandomBytes)),
    isolation: "serializable",
    checkedTo: 0 as Timestamp,
    checks: [],
    payload: { kind: "none" },
  });
  const report = (arrivalMs: number): Uint8Array => {
    const reports = Array.from({ length: guessesPerArrival }, (_, more): InstalledReport => ({
      timestamp: (arrivalMs * 1_000 + more) as Timestamp,
      proof,
    }));
    return encodeCommitRecord(hashFingerprint, [ask], reports);
  };
  return { data, report };
}
