/** A transaction within a step that waits for what its own BASE transaction holds is told so. */
import { beforeEach, expect, test } from "vitest";
import { BaseOpenError, defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

test("its error names the step and the holder; of who waits elsewhere, the holder", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    const other = cloud.createClient("other");
    await openAccounts(client);
    const met: BaseOpenError[] = [];
    const touch = async (by: typeof client): Promise<void> => {
      const waiting = by.transact({ deadlineMs: 2_000 }, async (tx) => {
        tx.put(accounts, { id: "a", amount: 3 });
      });
      await waiting.catch((error: unknown) => {
        if (error instanceof BaseOpenError) met.push(error);
      });
    };
    const nested = defineBase("nested", async (base) => {
      await base.step("take", async (tx) => tx.put(accounts, { id: "a", amount: 1 }));
      await touch(client);
      await base.step("look", async () => {
        await touch(client);
        await touch(other);
        return null;
      });
    });
    const { accepted } = await client.base(nested, undefined, { id: "1" });
    await accepted.result({ deadlineMs: 60_000 });
    const [between, within, elsewhere] = met;
    expect(within?.message).toMatch(
      /BASE transaction nested\/1 is open.*Its step "look" is under way in this process: what/,
    );
    expect(within?.open).toMatchObject({ base: "nested/1", steps: 1, stepHere: "look" });
    for (const error of [between, elsewhere]) {
      expect(error?.open).toMatchObject({ base: "nested/1", stepHere: undefined });
      expect(error?.message).toMatch(/Try again later; `npx tidemark base`/);
    }
    expect(met).toHaveLength(3);
  });
});
