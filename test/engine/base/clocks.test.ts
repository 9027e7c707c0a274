/** Processes whose clocks are wrong: they hold nothing up for longer than honest ones may. */
import { expect, test } from "vitest";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

const day = 24 * 3_600_000;

test("what one has begun that died with a clock a day ahead is taken over", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const two = defineBase("two", async (base, _: null) => {
    await base.step("take", async (tx) => tx.put(accounts, { id: "a", amount: 50 }));
    await cloud.clock.sleep(5_000);
    await base.step("give", async (tx) => tx.put(accounts, { id: "b", amount: 150 }));
    return "done";
  });
  await cloud.run(
    async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const process = cloud.startProcess("ahead", { clockOffsetMs: day });
      await process.client.base(two, null, { id: "1" });
      process.crash();
      const running = { takeOverMs: 5_000, pollMs: 1_000, until: "caught-up" } as const;
      await client.baseRunner({ handlers: [two], ...running });
      expect(await client.baseOf(two, "1").result()).toBe("done");
      expect(await client.openBases()).toEqual([]);
    },
    { limitMs: 120_000 },
  );
});
