/** Which log each record of a Kinesis shard is for, where shards are split off meanwhile. */
import { expect, test } from "vitest";
import { KeyHasher } from "../../core/key-hash.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { SequenceNumber, ShardId, ShardNumber, Timestamp } from "../../core/types.ts";
import { carriedBatches } from "../../functions/shared/carried-batches.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";

const ids = ["first", "second", "third"] as unknown as readonly ShardId[];

function hasherOf(shard: ShardId): KeyHasher {
  return new KeyHasher(sampleHashSecret, ids.indexOf(shard) as ShardNumber);
}

const control = { keyHasher: (shard: ShardId) => Promise.resolve(hasherOf(shard)) };

function recordFor(number: number, at: number): StreamRecord {
  const { fingerprint } = new KeyHasher(sampleHashSecret, number as ShardNumber);
  const id = makeTransactionId(1 as Timestamp, new Uint8Array(9));
  const request = encodeCommitRequest({
    ...{ kind: "abort", id, isolation: "serializable", checkedTo: 1 as Timestamp },
    ...{ checks: [], payload: { kind: "none" } },
  });
  const sequenceNumber = at.toString() as SequenceNumber;
  return { sequenceNumber, arrivalMs: 1, data: encodeCommitRecord(fingerprint, [request]) };
}

/** The positions of the records that each shard gets. */
async function carried(owners: readonly (readonly ShardId[])[], records: readonly StreamRecord[]) {
  const asked: boolean[] = [];
  const ownersOf = (again: boolean) => {
    asked.push(again);
    return Promise.resolve(owners[again ? 1 : 0] ?? owners[0] ?? []);
  };
  const batches = await carriedBatches(control, { ownersOf, records }, {});
  return {
    asked,
    batches: batches.map((batch): [string, string[]] => [
      batch.shard,
      batch.records.map(({ sequenceNumber }) => sequenceNumber),
    ]),
  };
}

test("each gets its own, in the stream's order", async () => {
  const records = [recordFor(1, 1), recordFor(0, 2), recordFor(1, 3)];
  const { batches, asked } = await carried([ids.slice(0, 2)], records);
  expect(batches).toEqual([
    ["first", ["2"]],
    ["second", ["1", "3"]],
  ]);
  expect(asked).toEqual([false]);
});

test("a record of a shard that was split off meanwhile has the list read again", async () => {
  const records = [recordFor(0, 1), recordFor(1, 2)];
  const { batches, asked } = await carried([ids.slice(0, 1), ids.slice(0, 2)], records);
  expect(batches).toEqual([
    ["first", ["1"]],
    ["second", ["2"]],
  ]);
  expect(asked).toEqual([false, true]);
});

test("what names nobody goes to the first, which counts it", async () => {
  const noise = { ...recordFor(0, 2), data: new Uint8Array([1, 2, 3]) };
  const records = [recordFor(0, 1), noise, recordFor(0, 3), recordFor(2, 4)];
  const { batches } = await carried([ids.slice(0, 2)], records);
  expect(batches).toEqual([["first", ["1", "2", "3", "4"]]]);
  const alone = await carried([ids.slice(0, 2)], [noise, recordFor(1, 5)]);
  expect(alone.batches).toEqual([
    ["first", ["2"]],
    ["second", ["5"]],
  ]);
});

test("a Kinesis shard that carries nobody's gives nothing", async () => {
  expect((await carried([[]], [recordFor(0, 1)])).batches).toEqual([]);
});
