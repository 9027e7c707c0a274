/** What readers are shown beside an open BASE transaction while installs are late. */
import { beforeEach, describe, expect, test } from "vitest";
import { BaseOpenError, defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";
import { baseWays } from "./ways.ts";

let cloud: TestCloud;

describe.each(baseWays)("beside installs that are late, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables });
  });

  test("who reads sees the last commit before the step, which nobody has installed", async () => {
    const take = defineBase("take", async (base, _: null) => {
      const amount = await base.step("take", async (tx) => {
        const row = await tx.get(accounts, "a");
        tx.put(accounts, { id: "a", amount: (row?.amount ?? 0) - 1 });
        return row?.amount ?? 0;
      });
      await cloud.clock.sleep(20_000);
      return amount;
    });
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      await cloud.clock.sleep(5_000);
      const [client, reader] = [cloud.createClient("client"), cloud.createClient("reader")];
      await reader.snapshot((s) => s.get(accounts, "b"));
      await client.snapshot((s) => s.get(accounts, "b"));
      const writer = cloud.startProcess("writer");
      await writer.client.transact({ ack: "certified" }, (tx) => {
        tx.put(accounts, { id: "a", amount: 50 });
        return Promise.resolve();
      });
      writer.crash();
      await client.base(take, null, { id: "1" });
      for (let n = 0; n < 6; n += 1) {
        expect((await reader.snapshot((s) => s.get(accounts, "a")))?.amount).toBe(50);
        await cloud.clock.sleep(5);
      }
    });
  });
});

test("in a table's first moments who reads sees what stood before it has a history", async () => {
  cloud = await createTestCloud({ commit: "express", tables });
  const put = defineBase("put", async (base, _: null) => {
    await base.step("put", (tx) => {
      tx.put(accounts, { id: "a", amount: 1 });
      tx.put(accounts, { id: "new", amount: 1 });
      return Promise.resolve(null);
    });
    await cloud.clock.sleep(60_000);
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await client.base(put, null, { id: "1" });
    const beganMs = cloud.clock.monotonicMs();
    const rows = await client.snapshot((s) => s.batchGet(accounts, ["a", "new"]));
    expect(rows.map((row) => row?.amount)).toEqual([100, undefined]);
    expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(1_000);
  });
});

test.each([0, -12])("who reads waits where history has gone (by a clock off %s h)", async (off) => {
  // What is reaped was there before.
  cloud = await createTestCloud({ commit: "stream", tables, historyRetentionMs: 3_600_000 });
  const remove = defineBase("remove", async (base, _: null) => {
    await base.step("remove", (tx) => {
      tx.delete(accounts, "a");
      return Promise.resolve(null);
    });
    await cloud.clock.sleep(7 * 24 * 3_600_000);
  });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    const client = cloud.createClient("client");
    await client.base(remove, null, { id: "1" });
    const reader = cloud.createClient("reader", { clockOffsetMs: off * 3_600_000 });
    const read = (): Promise<unknown> =>
      reader.snapshot({ deadlineMs: 2_000 }, async (s) => (await s.get(accounts, "a"))?.amount);
    expect(await read()).toBe(100);
    await cloud.clock.sleep(12 * 3_600_000);
    await client.transact(async (tx) => tx.put(accounts, { id: "b", amount: 1 }));
    await expect(read()).rejects.toBeInstanceOf(BaseOpenError);
  });
});
