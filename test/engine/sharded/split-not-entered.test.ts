/** A split whose operator dies behind the fork: what the stream carries before the map says so. */
import { expect, test } from "vitest";
import { splitShard } from "../../../aws/split-shard.ts";
import type { ShardNumber } from "../../../core/types.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, bankTables, ids, openAccounts } from "./bank.ts";

test("what is sent to the new log before the map has it is neither lost nor doubled", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables: bankTables, maySplit: true });
  const { deployment, world } = cloud;
  const amounts = await cloud.run(async () => {
    const client = cloud.createClient("writer", { chaining: false });
    await openAccounts(client);
    // Nobody enters the fork for its operator meanwhile.
    cloud.pauseReplay();
    const operator = world.startProcess("operator that dies", { exact: true });
    const ports = deployment.portsOf(operator, { calm: true });
    const carrier = {
      kinesis: world.handles(operator, { calm: true }).kinesis,
      stream: deployment.stream,
    };
    const enterFork = () => Promise.reject(new Error("dead"));
    const control = { ...ports.control, enterFork };
    const split = splitShard({ ...ports, control, carrier }, { shard: 0 as ShardNumber });
    await expect(split).rejects.toThrow("dead");
    const added = ids.map((id) =>
      client.transact({ attemptsMax: 50, deadlineMs: 60_000 }, async (tx) => {
        const row = await tx.get(accounts, id);
        tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
      }),
    );
    await cloud.clock.sleep(7_000);
    cloud.resumeReplay();
    await Promise.all(added);
    const rows = await client.snapshot((s) => s.batchGet(accounts, ids));
    return rows.map((row) => row?.amount);
  });
  expect(amounts).toEqual(ids.map(() => 11));
});
