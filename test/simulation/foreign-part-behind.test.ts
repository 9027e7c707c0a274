/**
 * Somebody who may write to the commit stream learns the id of what is committed, and has a part of
 * his own prepared under it in another log. That part is his: what becomes of it says nothing of
 * the other logs, nor to who asks for the id.
 */
import { expect, test } from "vitest";
import type { Part, ShardNumber, Timestamp, TransactionId } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { transactionIdTimestamp } from "../../schemas/transaction-id.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });
const ids = Array.from({ length: 8 }, (_, n) => `row-${n.toString()}`);
/** That it names, the one in whose log it stands first. */
const places = [
  [[0, 1]],
  [[1, 2]],
  [
    [0, 1],
    [1, 2],
  ],
] as const;
const kinds = places.flatMap((shards) => [false, true].map((isVoted) => ({ shards, isVoted })));

const tables = [testTable("rows", { partitionKey: "id" })];

type Client = ReturnType<TestCloud["createClient"]>;
type TestProcess = ReturnType<TestCloud["startProcess"]>;
type Named = { readonly id: TransactionId; readonly shards: readonly [number, number] };

/** Has an empty part prepared in the first of its shards' logs. */
function sendPart(cloud: TestCloud, { id, shards }: Named, isVoted: boolean): void {
  const from: Timestamp = transactionIdTimestamp(id);
  const parts = shards.map((shard): Part => {
    return { shard: shard as ShardNumber, from, ...(isVoted ? { stamps: 0 } : {}) };
  });
  const nothing = { checks: [], payload: { kind: "none" } } as const;
  const request = encodeCommitRequest({
    ...{ kind: "prepare", id, parts, isolation: "serializable", ...nothing },
    // The log has come further since: who reads it knows how far.
    checkedTo: from,
  });
  const log = [...cloud.deployment.logs.values()][shards[0]];
  const Data = encodeCommitRecord(log?.fingerprint ?? 0, [request]);
  const StreamName = cloud.deployment.stream;
  cloud.world.kinesis.execute("PutRecord", { StreamName, PartitionKey: "x", Data });
  cloud.world.streamWritten();
}

async function put(client: Client, written: readonly string[]): Promise<TransactionId> {
  const { receipt } = await client.transact((tx) => {
    for (const id of written) tx.put(rows, { id, n: 1 });
    return Promise.resolve();
  });
  if (receipt.transactionId === undefined) throw new Error("what writes has an id");
  return receipt.transactionId;
}

test.each(kinds)("who asks for what one log has committed is told of it: $shards", async (kind) => {
  const cloud = await createTestCloud({ ...{ shards: 3, commit: "stream" }, tables });
  await cloud.run(async () => {
    const victim = cloud.createClient("victim");
    for (const row of ids) {
      const id = await put(victim, [row]);
      for (const shards of kind.shards) sendPart(cloud, { id, shards }, kind.isVoted);
      await cloud.clock.sleep(300);
      expect(await cloud.createClient("asking").outcome(id)).toBe("committed");
    }
  });
});

test.each(kinds)("no part of an acknowledged commit is aborted by it: $shards", async (kind) => {
  const cloud = await createTestCloud({ ...{ shards: 3, commit: "express" }, tables });
  await cloud.run(async () => {
    await put(cloud.createClient("before"), ids);
    for (const [n, row] of ids.slice(1).entries()) {
      // It dies once it knows of its commit, before it enters that anywhere.
      const victim: TestProcess = cloud.startProcess("victim", {
        onEvent: (event) => {
          if (event.kind === "certified") victim.crash();
          if (event.kind === "sent") sent = event.transactionId;
        },
      });
      let sent: TransactionId | undefined;
      const dead = new Promise<void>((resolve) => {
        victim.onCrash(resolve);
      });
      victim.client
        .transact((tx) => {
          for (const id of [ids[n] ?? "", row]) tx.put(rows, { id, n: 2 });
          return Promise.resolve();
        })
        .catch(() => undefined);
      await dead;
      if (sent === undefined) throw new Error("it was sent");
      for (const shards of kind.shards) sendPart(cloud, { id: sent, shards }, kind.isVoted);
      await cloud.clock.sleep(100);
      expect(await cloud.createClient("asking").outcome(sent)).toBe("committed");
    }
  });
  await cloud.settled();
  await cloud.advance(120_000);
  expect(cloud.rows(rows).filter(({ n }) => n !== 2)).toEqual([]);
});
