/**
 * A request of a hundred bytes may refer to 16 MiB. So no payload is read for a request that is
 * refused without it, and none twice for one transaction; and no verdict is another one for that.
 */
import fc from "fast-check";
import { systemDigest } from "../../aws/system-digest.ts";
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { CommitRequest, ShardId, Timestamp } from "../../core/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { spillPayload } from "../../schemas/spill.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { hash, id, sequenceText, startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog } from "./memory-log.ts";

const shard = "shardId-000000000000" as ShardId;
const ample = { remainingMs: () => 60_000 };
const ahead = Number.MAX_SAFE_INTEGER as Timestamp;

type Given = {
  readonly n: number;
  readonly checkedTo?: Timestamp;
  /** Whose payload it refers to. */
  readonly payloadOf?: number;
  /** One that is registered, if it is not said. */
  readonly table?: string;
  readonly checks?: number;
};

function payloadBytes(n: number, table = "accounts"): Uint8Array {
  const key = { pk: { S: `k${n.toString()}` } };
  const tables = [{ name: table, partitionKey: "pk", history: false }];
  return encodePayload({ tables, writes: [{ table: 0, key, item: key }] });
}

function requestOf(given: Given, log: MemoryLog | undefined): CommitRequest {
  const bytes = payloadBytes(given.payloadOf ?? given.n, given.table);
  const { source } = spillPayload(bytes, systemDigest);
  const own = payloadBytes(given.n, given.table);
  log?.spilled.set(id(given.n), spillPayload(own, systemDigest).chunks);
  return {
    kind: "commit",
    id: id(given.n),
    isolation: "serializable",
    checkedTo: given.checkedTo ?? startTimestamp,
    checks: Array.from({ length: given.checks ?? 0 }, (_, n) => hash(n)),
    payload: log === undefined ? { kind: "inline", bytes } : source,
  };
}

function record(sequence: number, each: readonly Given[], log: MemoryLog | undefined) {
  const requests = each.map((given) => encodeCommitRequest(requestOf(given, log)));
  return {
    sequenceNumber: sequenceText(10n ** 20n + BigInt(sequence)),
    arrivalMs: startTimestamp / 1000 + sequence,
    data: encodeCommitRecord(sampleHashes.fingerprint, requests),
  } satisfies StreamRecord;
}

/** What became of each batch of records. */
async function decide(batches: readonly (readonly Given[])[], isSpilled: boolean) {
  const log = new MemoryLog(startTimestamp);
  const service = createOracleService(log.ports());
  let duplicates = 0;
  for (const [sequence, each] of batches.entries()) {
    const records = [record(sequence + 1, each, isSpilled ? log : undefined)];
    duplicates += (await service.handle({ shard, records }, ample)).duplicates;
  }
  const kinds = log
    .decoded()
    .flatMap(({ verdicts }) => verdicts)
    .map((verdict) => (verdict.kind === "aborted" ? verdict.reason.kind : verdict.kind));
  return { kinds, duplicates, reads: log.spillReads, blocks: log.blocks.length };
}

const stale = (startTimestamp - 1) as Timestamp;

test("one payload, mentioned by all requests that a record holds, is read once", async () => {
  const copies = Array.from({ length: limits.requestsPerRecordMax }, () => ({ n: 1 }));
  const seen = await decide([copies], true);
  expect(seen).toEqual({
    kinds: ["committed"],
    duplicates: copies.length - 1,
    reads: [id(1)],
    blocks: 1,
  });
});

test.each([
  ["checked ahead", { n: 1, checkedTo: ahead }, "checked-ahead"],
  ["stale", { n: 1, checkedTo: stale }, "stale"],
])("nothing is read for a request that is %s", async (_, given, kind) => {
  const seen = await decide([[given, given]], true);
  expect(seen.reads).toEqual([]);
  expect(seen.kinds[0]).toBe(kind);
});

test("nor for one whose transaction is decided", async () => {
  const seen = await decide([[{ n: 1 }], [{ n: 1 }, { n: 1, checkedTo: startTimestamp }]], true);
  expect(seen).toMatchObject({ kinds: ["committed"], duplicates: 2, reads: [id(1)] });
});

test("copies that refer to other payloads have none read, and commit none", async () => {
  const forged = Array.from({ length: 100 }, (_, index) => ({ n: 1, payloadOf: index + 2 }));
  const seen = await decide([[{ n: 1 }, ...forged]], true);
  expect(seen).toMatchObject({ kinds: ["committed"], duplicates: 100, reads: [id(1)] });
});

test("a copy that is checked to more is certified where the first one is stale", async () => {
  const seen = await decide([[{ n: 1, checkedTo: stale }, { n: 1 }]], true);
  expect(seen).toMatchObject({ kinds: ["stale", "committed"], duplicates: 0, reads: [id(1)] });
});

test.each([
  ["too many keys are told before it", limits.transactionKeysMax, "too-large"],
  ["it is told before conflicts", limits.transactionKeysMax - 1, "table-unknown"],
])("a table that is not known, in the record or spilled: %s", async (_, checks, kind) => {
  const given = { n: 1, table: "nowhere", checks };
  expect((await decide([[given]], false)).kinds).toEqual([kind]);
  expect((await decide([[given]], true)).kinds).toEqual([kind]);
});

test("I3: verdicts are those of the same requests with their payloads in the record", async () => {
  const given = fc.record({
    n: fc.integer({ min: 1, max: 4 }),
    checkedTo: fc.constantFrom(stale, startTimestamp, (startTimestamp + 500) as Timestamp, ahead),
  });
  const batches = fc.array(fc.array(given, { minLength: 1, maxLength: 8 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(batches, async (each) => {
      const { reads, ...spilled } = await decide(each, true);
      const { reads: _, ...inline } = await decide(each, false);
      expect({ ...spilled, blocks: 0 }).toEqual({ ...inline, blocks: 0 });
      // A transaction's copies are read anew in a later batch only while it is not decided.
      expect(reads.length).toBeLessThanOrEqual(spilled.kinds.length + each.length);
    }),
  );
});
