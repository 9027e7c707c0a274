/** Requests, records and verdicts for tests of the oracle's service. */
import type { StreamRecord } from "../../core/ports.ts";
import type { CommitRequest, Payload, ShardId, Verdict } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { id, sequenceText, startTimestamp } from "../core/oracle-harness.ts";
import type { MemoryLog } from "./memory-log.ts";

export const shard = "shardId-000000000000" as ShardId;
export const arrivalMs = startTimestamp / 1000 + 1;

export function payloadOf(key: string): Payload {
  return {
    tables: [{ name: "accounts", partitionKey: "pk", history: false }],
    writes: [{ table: 0, key: { pk: { S: key } }, item: { pk: { S: key }, n: { N: "1" } } }],
  };
}

export function keyHashOf(key: string) {
  return sampleHashes.item({ name: "accounts", partitionKey: "pk" }, { pk: { S: key } }).key;
}

export function request(
  n: number,
  key: string,
  change: Partial<CommitRequest> = {},
): CommitRequest {
  return {
    kind: "commit",
    id: id(n),
    isolation: "serializable",
    checkedTo: startTimestamp,
    checks: [],
    payload: { kind: "inline", bytes: encodePayload(payloadOf(key)) },
    ...change,
  };
}

export function record(sequence: number, requests: readonly CommitRequest[]): StreamRecord {
  return {
    sequenceNumber: sequenceText(10n ** 20n + BigInt(sequence)),
    arrivalMs: arrivalMs + sequence,
    data: encodeCommitRecord(
      sampleHashes.fingerprint,
      requests.map((one) => encodeCommitRequest(one)),
    ),
  };
}

export function verdictsOf(log: MemoryLog): readonly Verdict[] {
  return log.decoded().flatMap(({ verdicts }) => verdicts);
}

export function kindsOf(log: MemoryLog): readonly string[] {
  return verdictsOf(log).map((verdict) =>
    verdict.kind === "aborted" ? verdict.reason.kind : verdict.kind,
  );
}
