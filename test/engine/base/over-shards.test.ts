/** An open BASE transaction while the shards of what it holds are split and joined. */
import { describe, expect, test } from "vitest";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, ids, openAccounts, tables } from "./transfers.ts";

type Client = ReturnType<TestCloud["createClient"]>;

describe.each([
  ["blocks of its own", { commit: "express" }],
  ["the stream", { commit: "stream" }],
] as const)("one that is open while shards are split and joined, by %s", (_, way) => {
  test("is read around all along, also in the past, and then seen whole", async () => {
    const cloud = await createTestCloud({ ...way, tables, maySplit: true });
    const write = defineBase("write", async (base, _: null) => {
      await base.step("half", (tx) => {
        for (const id of ids.slice(0, 3)) tx.put(accounts, { id, amount: 1 });
        return Promise.resolve(null);
      });
      // Joining waits for what runs once a minute.
      await cloud.clock.sleep(10 * 60_000);
      await base.step("rest", async (tx) => {
        // Over what it holds already, and over the rest.
        for (const id of ids) await tx.update(accounts, id, () => ({ id, amount: 2 }));
        return null;
      });
    });
    const amounts = async (client: Client, asOf?: Date): Promise<readonly unknown[]> => {
      const options = asOf === undefined ? {} : { asOf };
      const rows = await client.snapshot(options, (s) => s.batchGet(accounts, ids));
      return rows.map((row) => row?.amount);
    };
    const [before, after] = [100, 2].map((amount) => ids.map(() => amount));
    await cloud.run(async () => {
      const old = cloud.createClient("old");
      await openAccounts(old);
      const { accepted } = await old.base(write, null, { id: "1" });
      const seen = async (): Promise<void> => {
        expect(await amounts(old)).toEqual(before);
        expect(await amounts(cloud.createClient())).toEqual(before);
      };
      await seen();
      await cloud.clock.sleep(1_000);
      const whole = new Date(cloud.clock.nowMs());
      await cloud.clock.sleep(1_000);
      await cloud.splitShard(0);
      await seen();
      await cloud.clock.sleep(1_000);
      const split = new Date(cloud.clock.nowMs());
      await cloud.clock.sleep(1_000);
      await cloud.joinShards(1);
      await seen();
      await accepted.result({ deadlineMs: 15 * 60_000 });
      for (const client of [old, cloud.createClient("late")]) {
        expect(await amounts(client)).toEqual(after);
        for (const moment of [whole, split]) expect(await amounts(client, moment)).toEqual(before);
      }
    });
  });
});
