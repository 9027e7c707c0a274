/** An audit of shards that were split: both logs have what lies before the fork. */
import { expect, test } from "vitest";
import { audited } from "../../inspection/audit.ts";
import type { Deployment } from "../../inspection/deployment.ts";
import { Names } from "../../inspection/names.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { createTestCloud } from "../../testing/index.ts";
import { accounts, bankTables, ids, openAccounts } from "../engine/sharded/bank.ts";

test("what the new shard has deleted since is nothing that the old one lacks", async () => {
  const cloud = await createTestCloud({
    tables: bankTables.map((table) => ({ ...table, history: false })),
    commit: "express",
    maySplit: true,
  });
  const found = await cloud.run(async () => {
    const client = cloud.createClient();
    await openAccounts(client);
    await cloud.splitShard(0);
    for (const id of ids) {
      await client.transact((tx) => {
        tx.delete(accounts, id);
        return Promise.resolve();
      });
    }
    // Over several shards.
    await openAccounts(client);
    await client.transact((tx) => {
      for (const id of ids) tx.delete(accounts, id);
      return Promise.resolve();
    });
    // The reaper has taken the tombstones away.
    await cloud.clock.sleep(40 * 60_000);
    const ports = cloud.deployment.portsOf(cloud.world.startProcess("looking"), { calm: true });
    const map = await ports.control.shardMap();
    if (map === undefined) throw new Error("a deployment has shards");
    const logs = await Promise.all(
      map.entries.map(async ({ id: shard, number }) => {
        const hashes = new KeyHashes(await ports.control.keyHasher(shard));
        return { shard, number, range: map.rangeOf(number), startingHashKey: "0", hashes };
      }),
    );
    const registry = await ports.control.registry();
    const deployment = { ports, registry, map, logs } as unknown as Deployment;
    const request = { blocksMax: 100, itemsMax: 100, readsPayloads: true };
    return audited(deployment, new Names(deployment), request);
  });
  expect(found.faults).toEqual([]);
});
