/** What the store drops by itself is not remembered for longer than the store has it. */
import { expect, test, vi } from "vitest";
import * as limits from "../../../core/limits.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

/** A week of virtual time takes long. */
vi.mock("../../../core/limits.ts", async (original) => ({
  ...(await original<typeof limits>()),
  ...{ baseRetentionSeconds: 3_600 },
}));

test("an id that has expired is free to whoever remembers what it was", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const hold = defineBase("hold", async (base, id: string) => {
    await base.step("hold", async (tx) => tx.put(accounts, { id, amount: 1 }));
    return id;
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(hold, "a", { id: "1" });
    await accepted.result();
    await cloud.clock.sleep(10_000);
    expect(await accepted.status()).toMatchObject({ isReleased: true });
    await cloud.clock.sleep((limits.baseRetentionSeconds + 3_600) * 1_000);
    expect(await accepted.status()).toBeUndefined();
    const again = await client.base(hold, "b", { id: "1" });
    expect(again.isNew).toBe(true);
    expect(await again.accepted.result()).toBe("b");
  });
});
