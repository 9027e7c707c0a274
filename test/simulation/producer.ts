/** What somebody sends who may write to the commit stream, and to nothing else. */
import { randomBytes } from "node:crypto";
import { systemDigest } from "../../aws/system-digest.ts";
import type {
  InstalledReport,
  Item,
  Payload,
  PayloadTable,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { transactionIdFor, transactionIdProofBytes } from "../../schemas/transaction-id.ts";
import type { TestCloud } from "../../testing/index.ts";

export type SealedId = { readonly id: TransactionId; readonly proof: Uint8Array };

/** An id whose proof is known. */
export function sealedAt(newest: number): SealedId {
  const proof = new Uint8Array(randomBytes(transactionIdProofBytes));
  return { id: transactionIdFor(newest as Timestamp, proof, systemDigest), proof };
}

/** A write over whatever stands there. */
export function blindCommit(id: TransactionId, checkedTo: number, payload: Payload): Uint8Array {
  return encodeCommitRequest({
    kind: "commit",
    id,
    isolation: "serializable",
    checkedTo: checkedTo as Timestamp,
    checks: [],
    payload: { kind: "inline", bytes: encodePayload(payload) },
  });
}

/** A put of one item. */
export function putOf(table: PayloadTable, keyNames: readonly string[], item: Item): Payload {
  const key: Item = Object.fromEntries(
    Object.entries(item).filter(([name]) => keyNames.includes(name)),
  );
  return { tables: [table], writes: [{ table: 0, key, item }] };
}

/** Sends one record. Gives the millisecond of its arrival. */
export function produce(
  { world, deployment }: TestCloud,
  requests: readonly Uint8Array[],
  reports: readonly InstalledReport[] = [],
): number {
  const data = encodeCommitRecord(deployment.hashes.fingerprint, requests, reports);
  world.kinesis.execute("PutRecord", {
    StreamName: deployment.stream,
    PartitionKey: "x",
    Data: data,
  });
  world.streamWritten();
  return deployment.records().at(-1)?.arrivalMs ?? 0;
}
