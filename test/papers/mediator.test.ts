/**
 * Claims of Mediator (SYSTOR '14) that need no servers: what its status oracle knows after a crash.
 */
import { describe, expect, test } from "vitest";
import type { StreamRecord } from "../../core/ports.ts";
import type { ShardId, Verdict } from "../../core/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { id, sequenceText, startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog } from "../functions/memory-log.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;
const budget = { remainingMs: () => 60_000 };

/** `n` writes item "x"; the second and later ones have read it at the beginning of the log. */
function record(n: number): StreamRecord {
  const key = { pk: { S: "x" } };
  const table = { name: "accounts", partitionKey: "pk", history: false };
  const request = encodeCommitRequest({
    kind: "commit",
    id: id(n),
    isolation: "serializable",
    checkedTo: startTimestamp,
    checks: n === 1 ? [] : [sampleHashes.item({ name: "accounts", partitionKey: "pk" }, key).key],
    payload: {
      kind: "inline",
      bytes: encodePayload({ tables: [table], writes: [{ table: 0, key, item: key }] }),
    },
  });
  return {
    sequenceNumber: sequenceText(10n ** 20n + BigInt(n)),
    arrivalMs: startTimestamp / 1000 + n,
    data: encodeCommitRecord(sampleHashes.fingerprint, [request]),
  };
}

function verdictsIn(log: MemoryLog): readonly Verdict[] {
  return log.decoded().flatMap(({ verdicts }) => verdicts);
}

class Crash extends Error {}

/** The append is the call after the two of the rebuild: the log's end, and the watermark. */
const appendCall = 2;

describe("Mediator, recovery of the status oracle", () => {
  test.each([
    [
      "before its decision was logged has told nobody, and decides when the request comes again",
      "before",
      0,
    ],
    ["after its decision was logged finds it there, and decides nothing again", "after", 1],
  ] as const)("an oracle that crashes %s", async (_, kind, logged) => {
    const log = new MemoryLog(startTimestamp);
    log.faults.set(appendCall, { kind, error: new Crash() });
    const batch = { shard, records: [record(1)] };
    const crashed = createOracleService(log.ports()).handle(batch, budget);
    await expect(crashed).rejects.toBeInstanceOf(Crash);
    expect(verdictsIn(log)).toHaveLength(logged);

    await createOracleService(log.ports()).handle(batch, budget);
    expect(verdictsIn(log)).toMatchObject([{ kind: "committed", id: id(1) }]);
  });

  test("an oracle begun anew knows every commit that a request in flight may meet", async () => {
    const log = new MemoryLog(startTimestamp);
    await createOracleService(log.ports()).handle({ shard, records: [record(1)] }, budget);
    await createOracleService(log.ports()).handle({ shard, records: [record(2)] }, budget);
    expect(verdictsIn(log)).toMatchObject([
      { kind: "committed", id: id(1) },
      { kind: "aborted", id: id(2), reason: { kind: "conflict", check: 0 } },
    ]);
  });
});
