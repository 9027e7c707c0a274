/** Transactions over several shards that meet: one of two goes on, and the other comes again. */
import { expect, test } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, bankTables, ids, openAccounts, storedTotal, wholeAmount } from "./bank.ts";

const clients = 10;
const timesEach = 4;

/** With two that end each other where they meet it takes 17 and 5 s. */
test.each([
  ["stream", 10_000],
  ["express", 4_000],
] as const)("forty over twelve accounts get through soon, by %s", async (commit, withinMs) => {
  const cloud = await createTestCloud({ tables: bankTables, shards: 3, commit });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    const beganMs = cloud.clock.nowMs();
    const working = Array.from({ length: clients }, async (_, n) => {
      const client = cloud.createClient(`client ${n.toString()}`);
      for (let i = 0; i < timesEach; i += 1) {
        const touched = [0, 1, 2].map((m) => ids[(n + 5 * i + 4 * m) % ids.length] ?? "");
        await client.transact({ attemptsMax: 500, deadlineMs: 60_000 }, async (tx) => {
          const rows = await tx.batchGet(accounts, touched);
          for (const row of rows) if (row !== undefined) tx.put(accounts, row);
        });
      }
    });
    await Promise.all(working);
    expect(cloud.clock.nowMs() - beganMs).toBeLessThan(withinMs);
  });
  expect(await cloud.settled()).toBe(true);
  expect(storedTotal(cloud)).toBe(wholeAmount);
});
