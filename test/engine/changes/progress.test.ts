/** What a consumer has passed, and where it began, is kept whatever becomes of it. */
import { beforeEach, describe, expect, test } from "vitest";
import type { FeedState } from "../../../core/feed-port.ts";
import type { ChangedRows, Client, ConsumeOptions } from "../../../sdk/index.ts";
import { defineTable, feedHandler } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { ways } from "../sharded/bank.ts";

const orders = defineTable<{ readonly cents: number }, { readonly id: string }>("orders", {
  key: "id",
});
const noise = defineTable<{ readonly n: number; readonly text: string }, { readonly id: string }>(
  "noise",
  { key: "id" },
);
const tables = [
  testTable("orders", { partitionKey: "id" }),
  testTable("noise", { partitionKey: "id" }),
];
const wish = { name: "orders", first: "now", tables: [orders] } as const satisfies ConsumeOptions;

let cloud: TestCloud;

/** Beside the margin that the handler keeps for itself. */
const invocationMs = 120;

async function order(client: Client, id: string): Promise<void> {
  await client.transact((tx) => {
    tx.put(orders, { id, cents: 1 });
    return Promise.resolve();
  });
}

/** Commits of no interest, so large that a look at the log shows a few of them. */
async function makeNoise(client: Client, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await client.transact((tx) => {
      tx.put(noise, { id: "noise", n, text: "x".repeat(300_000) });
      return Promise.resolve();
    });
  }
}

describe.each(ways)("a consumer, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables });
  });

  test("comes back to the very first change, where its handler has failed", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      await order(shop, "before");
      // Changes come while it begins, so that its first look finds some.
      const acknowledged: string[] = [];
      const over = new AbortController();
      const ordering = (async () => {
        for (let n = 0; !over.signal.aborted; n += 1) {
          await order(shop, `order-${n}`);
          acknowledged.push(`order-${n}`);
        }
      })();
      const client = cloud.createClient("consumer");
      const failed: string[] = [];
      const failing = client.consume(wish, (change) => {
        failed.push(change.of(orders)[0]?.key.id ?? "");
        return Promise.reject(new Error("not today"));
      });
      await expect(failing).rejects.toThrow("not today");
      await cloud.clock.sleep(2_000);
      over.abort();
      await ordering;
      const seen: string[] = [];
      await client.consume({ ...wish, until: "caught-up" }, (change) => {
        seen.push(change.of(orders)[0]?.key.id ?? "");
        return Promise.resolve();
      });
      expect(failed).toHaveLength(1);
      expect(seen[0]).toBe(failed[0]);
      expect(seen.at(-1)).toBe(acknowledged.at(-1));
    });
  });

  test("comes on, invocation by invocation, through what it was not asked for", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      await order(shop, "first");
      const seen: string[] = [];
      const handler = feedHandler(
        cloud.createClient("consumer"),
        { ...wish, first: "oldest" },
        (change) => {
          seen.push(change.of(orders)[0]?.key.id ?? "");
          return Promise.resolve();
        },
        cloud.clock,
      );
      const invoke = (ms: number): Promise<void> =>
        handler({}, { getRemainingTimeInMillis: () => 5_000 + ms });
      await invoke(10_000);
      await makeNoise(shop, 100);
      await order(shop, "last");
      // Where payloads lie in the log none has the time to come through all that lies between.
      let invocations = 0;
      for (; invocations < 60 && !seen.includes("last"); invocations += 1) {
        await invoke(invocationMs);
      }
      if (way.commit !== "stream") expect(invocations).toBeGreaterThan(1);
      expect(seen).toEqual(["first", "last"]);
    });
  });

  test("takes over from one that has died with a clock a year ahead", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      for (const id of ["a", "b"]) await order(shop, id);
      const seen: string[] = [];
      const options = { ...wish, first: "oldest", until: "caught-up" } as const;
      const note = (change: ChangedRows): Promise<void> => {
        seen.push(change.of(orders)[0]?.key.id ?? "");
        return Promise.resolve();
      };
      await cloud.createClient("consumer").consume(options, note);
      const looker = cloud.world.startProcess("looker", { exact: true });
      const { feeds } = cloud.deployment.clientPortsOf(looker, { calm: true });
      const state = await feeds?.read(wish.name);
      const turn = (state?.turn ?? 0) + 1;
      const held = (aheadMs: number): FeedState => {
        const heldUntilMs = cloud.clock.nowMs() + 30_000 + aheadMs;
        return { position: state?.position, turn, holder: "dead", heldUntilMs };
      };
      expect(await feeds?.put(wish.name, held(365 * 86_400_000))).toBe(true);
      await order(shop, "c");
      await cloud.clock.sleep(40_000);
      await cloud.createClient("next").consume(options, note);
      expect(seen).toEqual(["a", "b", "c"]);
    });
  });

  test("does one transaction of `once` for a change, and refuses another", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      await shop.transact((tx) => {
        for (const id of ["a", "b"]) tx.put(orders, { id, cents: 1 });
        return Promise.resolve();
      });
      const refused: unknown[] = [];
      const options = { ...wish, first: "oldest", until: "caught-up" } as const;
      await cloud.createClient("consumer").consume(options, async (change, feed) => {
        for (const { key } of change.of(orders)) {
          try {
            await feed.once((tx) => {
              tx.put(noise, { id: key.id, n: 1, text: "" });
              return Promise.resolve();
            });
          } catch (error) {
            refused.push(error);
          }
        }
      });
      expect(refused).toMatchObject([{ code: "invalid-request", field: "once" }]);
    });
    await cloud.settled();
    expect(cloud.rows(noise)).toHaveLength(1);
  });
});
