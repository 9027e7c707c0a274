/**
 * A shard is split between the places of a transaction over mixed tables and its vote, and its
 * client dies with the vote. What each log's replay installs lies in its own range, and replaces
 * what the vote has for that very item.
 */
import { expect, test } from "vitest";
import { createTestCloud, testTable } from "../../../testing/index.ts";
import { accounts, ids, ways } from "./bank.ts";

test.each(ways)("what was voted at a fork is installed in both ranges, by %s", async (_, way) => {
  const cloud = await createTestCloud({
    ...way,
    tables: [testTable("accounts", { partitionKey: "id", access: "mixed" })],
    maySplit: true,
  });
  await cloud.run(async () => {
    const first = cloud.createClient("first");
    // One by one: each has an identity of its own.
    for (const id of ids) {
      await first.transact((tx) => {
        tx.put(accounts, { id, amount: 1 });
        return Promise.resolve();
      });
    }
    const dying = cloud.startProcess("dying");
    let isThawed = false;
    const fenced = new Promise<void>((resolve) => {
      let fences = 0;
      cloud.world.dynamodb.onWrite(({ table, after }) => {
        // Its vote.
        if (table.includes("log") && isThawed && dying.state === "running") dying.crash();
        if (table !== "accounts" || after === undefined || !("_f" in after)) return;
        fences += 1;
        if (fences !== ids.length) return;
        fences += 1;
        dying.freeze();
        resolve();
      });
    });
    dying.client
      .transact((tx) => {
        for (const id of ids) tx.put(accounts, { id, amount: 2 });
        return Promise.resolve();
      })
      .catch(() => undefined);
    const dead = new Promise<void>((resolve) => {
      dying.onCrash(resolve);
    });
    await fenced;
    await cloud.splitShard(0);
    isThawed = true;
    dying.thaw();
    await dead;
  });
  await cloud.settled();
  await cloud.advance(120_000);
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(accounts).filter(({ amount }) => amount !== 2)).toEqual([]);
});
