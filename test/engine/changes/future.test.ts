/** Places in the future: a feed would wait there, and pass by all that is committed until then. */
import { describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { defineTable, type Client } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { take } from "./feed.ts";

const orders = defineTable<{ readonly n: number }, { readonly id: string }>("orders", {
  key: "id",
});
const tables = [orders];
const id = "0".repeat(32);

async function order(client: Client, n: number): Promise<number> {
  const { receipt } = await client.transact((tx) => {
    tx.put(orders, { id: n.toString(), n });
    return Promise.resolve();
  });
  return receipt.commitTimestamp ?? 0;
}

describe.each([1, 2])("of %i shards", (shards) => {
  test("one beyond what asOf allows is refused, as a moment and as a position", async () => {
    const cloud = await createTestCloud({ tables, shards });
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await order(client, 1);
      const nowMs = cloud.clock.nowMs();
      const tooLate = nowMs + limits.asOfAheadMsMax + 2_000;
      for (const place of [
        new Date(tooLate),
        tooLate * 1_000,
        (tooLate * 1_000).toString(),
        `${(tooLate * 1_000).toString()}.${id}`,
        `${Number.MAX_SAFE_INTEGER.toString()}.${id}`,
      ]) {
        const message = expect.stringContaining("lies in the future") as string;
        const refused = (field: string) => ({ name: "InvalidRequestError", field, message });
        await expect(take(client, 1, { from: place })).rejects.toMatchObject(refused("from"));
        const consuming = client.consume({ name: "late", first: place, until: "caught-up" }, () =>
          Promise.resolve(),
        );
        await expect(consuming).rejects.toMatchObject(refused("first"));
      }
      // Nothing of a refused beginning is kept.
      const given: unknown[] = [];
      await client.consume({ name: "late", first: "oldest", until: "caught-up" }, (change) => {
        given.push(...change.of(orders).map(({ key }) => key["id"]));
        return Promise.resolve();
      });
      expect(given).toEqual(["1"]);
    });
  });

  test("one within it is waited for", async () => {
    const cloud = await createTestCloud({ tables, shards });
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      const from = new Date(cloud.clock.nowMs() + limits.asOfAheadMsMax / 2);
      const taking = take(client, 1, { from, tables });
      await order(client, 1);
      await cloud.clock.sleep(limits.asOfAheadMsMax);
      await order(client, 2);
      expect((await taking)[0]?.of(orders)).toMatchObject([{ key: { id: "2" } }]);
    });
  });

  test("who has a slow clock goes by what the logs show", async () => {
    const cloud = await createTestCloud({ tables, shards });
    await cloud.run(async () => {
      const from = await order(cloud.createClient("shop"), 1);
      const behind = 2 * limits.asOfAheadMsMax;
      const slow = cloud.createClient("slow", { clockOffsetMs: -behind });
      expect(await take(slow, 1, { from, tables })).toHaveLength(1);
      const tooLate = from + (limits.asOfAheadMsMax + 2_000) * 1_000;
      const taking = take(slow, 1, { from: tooLate, tables });
      await expect(taking).rejects.toMatchObject({ field: "from" });
    });
  });
});
