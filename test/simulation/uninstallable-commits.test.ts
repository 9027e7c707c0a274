/**
 * Commits that no table takes, from somebody who may write to the stream and to nothing else. None
 * is certified, so there is no dead letter to look at, and others read on.
 */
import { expect, test } from "vitest";
import type { Item } from "../../core/types.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { blindCommit, produce, putOf, sealedAt } from "./producer.ts";

const people = defineTable<{ readonly n: number }, { readonly id: string }>("people", {
  key: "id",
});
const table = { name: "people", partitionKey: "id", history: false };
const mail = { name: "mail", type: "S" } as const;

async function peopleCloud(): Promise<TestCloud> {
  const described = testTable("people", { partitionKey: "id" });
  return createTestCloud({
    tables: [{ ...described, indexes: [{ name: "by-mail", partitionKey: mail }] }],
  });
}

/** Gives the timestamp, up to which anybody may say that he has checked. */
async function putAnn(cloud: TestCloud): Promise<number> {
  const { receipt } = await cloud.createClient("app").transact((tx) => {
    tx.put(people, { id: "ann", n: 1 });
    return Promise.resolve();
  });
  return receipt.commitTimestamp ?? 0;
}

async function countPeople(cloud: TestCloud, name: string): Promise<number> {
  const { result } = await cloud.createClient(name).transact({ deadlineMs: 5_000 }, async (tx) => {
    let count = 0;
    for await (const row of tx.scan(people)) count += row.n;
    return count;
  });
  return result;
}

const items: readonly (readonly [string, Item, string])[] = [
  ["an attribute without a name", { "": { BOOL: true } }, "RejectedRecords"],
  ["more than 400 KB", { v: { S: "x".repeat(450_000) } }, "RejectedRecords"],
  ["an index key of another type", { mail: { N: "1" } }, "AbortedTableDiffers"],
  ["an empty index key", { mail: { S: "" } }, "AbortedTableDiffers"],
];

test.each(items)("an item with %s: others scan on, once a second", async (_, more, metric) => {
  const cloud = await peopleCloud();
  await cloud.run(async () => {
    const checkedTo = await putAnn(cloud);
    await cloud.settled();
    for (let second = 0; second < 5; second += 1) {
      const put = putOf(table, ["id"], { id: { S: `x${second.toString()}` }, ...more });
      produce(cloud, [blindCommit(sealedAt(0).id, checkedTo, put)]);
      await cloud.clock.sleep(600);
      expect(await countPeople(cloud, `reader-${second.toString()}`)).toBe(1);
    }
    await cloud.settled();
  });
  expect(cloud.deployment.metrics.get(metric)).toBe(5);
  expect(cloud.deployment.metrics.get("DeadLetters")).toBeUndefined();
  expect(cloud.rows(people)).toEqual([{ id: "ann", n: 1 }]);
});
