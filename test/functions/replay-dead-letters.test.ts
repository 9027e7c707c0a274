/** Both kinds of dead letters: what is stored, counted and logged (functions/replay). */
import { expect, test } from "vitest";
import type { DeadLetter } from "../../core/ports.ts";
import type { Item, ShardId, Timestamp, TransactionId } from "../../core/types.ts";
import type { Commit } from "../../engine/installing/payload-writes.ts";
import { DeadLetters } from "../../functions/replay/dead-letters.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const names = { name: "rows", partitionKey: "pk" };
const keys: readonly Item[] = [{ pk: { S: "a" } }, { pk: { S: "b" } }];
const items = keys.map((key) => ({ ...key, n: { N: "1" } }));
const shard = "0" as ShardId;
const id = "07".repeat(16) as TransactionId;
const timestamp = 7 as Timestamp;
const commit: Commit = {
  payload: {
    tables: [{ ...names, history: false }],
    writes: keys.map((key, i) => ({ table: 0, key, item: items[i] })),
  },
  verdict: {
    kind: "committed",
    id,
    timestamp,
    writes: keys.map((key) => sampleHashes.item(names, key)),
    payload: { kind: "inline", bytes: new Uint8Array() },
  },
};

function scene() {
  const told = { letters: [] as DeadLetter[], counts: [] as unknown[], errors: [] as unknown[] };
  const ignore = (): void => undefined;
  const letters = new DeadLetters(
    {
      control: {
        saveDeadLetter: (letter) => {
          told.letters.push(letter);
          return Promise.resolve();
        },
      },
    },
    {
      log: {
        debug: ignore,
        info: ignore,
        warn: ignore,
        error: (...said) => told.errors.push(said),
      },
      metrics: {
        count: (...counted) => told.counts.push(counted),
        milliseconds: ignore,
        bytes: ignore,
      },
    },
    { shard, call: {} },
  );
  return { letters, told };
}

test("one of a write says which, and counts as one", async () => {
  const { letters, told } = scene();
  const reason = "the table is gone";
  await letters.ofWrite({ commit, index: 1 }, reason);
  expect(told).toEqual({
    letters: [{ shard, timestamp, id, table: "rows", key: keys[1], item: items[1], reason }],
    counts: [["DeadLetters", 1]],
    errors: [
      ["a committed write can never be installed", { transactionId: id, table: "rows", reason }],
    ],
  });
});

test("one of a commit names no item, and counts all its writes", async () => {
  const { letters, told } = scene();
  const reason = "it does not decode";
  await letters.ofCommit(commit.verdict, reason);
  expect(told).toEqual({
    letters: [{ shard, timestamp, id, table: "", key: {}, item: undefined, reason }],
    counts: [["DeadLetters", 2]],
    errors: [
      [
        "a commit's payload is gone or damaged; its writes may be missing from their tables",
        { transactionId: id, reason },
      ],
    ],
  });
});
