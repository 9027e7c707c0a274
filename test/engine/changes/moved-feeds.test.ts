/** An operator moves and removes feeds, while consumers are at them, wait for them, and sleep. */
import { beforeEach, describe, expect, test } from "vitest";
import { placeOf } from "../../../sdk/changes-options.ts";
import type { ChangeHandler, Client, ConsumeOptions } from "../../../sdk/index.ts";
import { ChangesExpiredError, defineTable } from "../../../sdk/index.ts";
import type { FeedMove, MovesFeeds } from "../../../engine/changes/types.ts";
import type { FeedStore } from "../../../core/feed-port.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { ways } from "../sharded/bank.ts";
import { operatorOf } from "./feed.ts";

const orders = defineTable<{ readonly n: number }, { readonly id: string }>("orders", {
  key: "id",
});
const sums = defineTable<{ readonly n: number }, { readonly id: string }>("sums", { key: "id" });
const tables = [
  testTable("orders", { partitionKey: "id" }),
  testTable("sums", { partitionKey: "id" }),
];
const wish = {
  name: "search",
  first: "oldest",
  tables: [orders],
} as const satisfies ConsumeOptions;

let cloud: TestCloud;

async function order(client: Client, n: number): Promise<void> {
  await client.transact((tx) => {
    tx.put(orders, { id: `order-${n}`, n });
    return Promise.resolve();
  });
}

function reset(feeds: MovesFeeds, to: string, again = false): Promise<FeedMove> {
  return feeds.move("search", { to: placeOf(to) ?? "now", again });
}

function store(): FeedStore {
  const looker = cloud.world.startProcess("looker", { exact: true });
  const { feeds } = cloud.deployment.clientPortsOf(looker, { calm: true });
  if (feeds === undefined) throw new Error("a client has a store of positions");
  return feeds;
}

/** Remembers the numbers of orders in the order in which they were handled. */
function noting(seen: number[], tookMs = 0): ChangeHandler {
  return async (change) => {
    if (tookMs > 0) await cloud.clock.sleep(tookMs);
    for (const { after } of change.of(orders)) seen.push(after?.n ?? 0);
  };
}

describe.each(ways)("a feed, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, shards: way.tablesOnly === true ? 1 : 2, tables });
  });

  test("moved back beside one who waits for changes, gives him all again, and soon", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      for (const n of [1, 2, 3]) await order(shop, n);
      const seen: number[] = [];
      const stop = new AbortController();
      const consumer = cloud.createClient("consumer");
      const consumed = consumer.consume({ ...wish, signal: stop.signal }, noting(seen));
      await cloud.clock.sleep(60_000);
      expect(seen).toEqual([1, 2, 3]);
      // Nothing is committed any more, so that he has no position to put.
      expect(await reset(operatorOf(cloud), "oldest")).toMatchObject({
        holder: expect.stringMatching(/^[0-9a-f]{24}$/) as string,
      });
      await cloud.clock.sleep(15_000);
      expect(seen).toEqual([1, 2, 3, 1, 2, 3]);
      await order(shop, 4);
      await cloud.clock.sleep(5_000);
      expect(seen).toEqual([1, 2, 3, 1, 2, 3, 4]);
      stop.abort(new Error("enough"));
      await consumed;
    });
  });

  test("moved beside one at work is moved: his next put does not go over it", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      const seen: number[] = [];
      const stop = new AbortController();
      const consumers = ["a", "b"].map((name) =>
        cloud.createClient(name).consume({ ...wish, signal: stop.signal }, noting(seen, 700)),
      );
      const ordering = (async () => {
        for (let n = 1; n <= 40; n += 1) {
          await order(shop, n);
          await cloud.clock.sleep(500);
        }
      })();
      await cloud.clock.sleep(14_000);
      const handled = seen.length;
      expect(handled).toBeGreaterThan(5);
      await reset(operatorOf(cloud), "oldest");
      await ordering;
      await cloud.clock.sleep(90_000);
      stop.abort(new Error("enough"));
      await Promise.all(consumers);
      // Some had been handled, and perhaps one more was; then all, in order, once.
      const again = seen.lastIndexOf(1);
      expect(again).toBeGreaterThanOrEqual(handled);
      expect(seen.slice(0, again)).toEqual(Array.from({ length: again }, (_unused, at) => at + 1));
      expect(seen.slice(again)).toEqual(Array.from({ length: 40 }, (_unused, at) => at + 1));
    });
  });

  test("moved on leaves out what lies between; moved to a position begins behind it", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      const consumer = cloud.createClient("consumer");
      const feeds = operatorOf(cloud);
      const positions: string[] = [];
      const seen: number[] = [];
      const catchUp = (): Promise<void> =>
        consumer.consume({ ...wish, until: "caught-up" }, async (change, feed) => {
          positions.push(change.position);
          await noting(seen)(change, feed);
        });
      for (const n of [1, 2, 3]) await order(shop, n);
      await catchUp();
      await order(shop, 4);
      const moved = await reset(feeds, "now");
      expect(moved.holder).toBeUndefined();
      await order(shop, 5);
      await catchUp();
      expect(seen).toEqual([1, 2, 3, 5]);
      await reset(feeds, positions[1] ?? "");
      await catchUp();
      expect(seen).toEqual([1, 2, 3, 5, 3, 4, 5]);
      const { timestamp } = (await reset(feeds, positions[0] ?? "")).to;
      await feeds.move("search", { to: placeOf(timestamp) ?? "now", again: false });
      await catchUp();
      // At a moment: what is committed at it comes first.
      expect(seen.slice(7)).toEqual([1, 2, 3, 4, 5]);
      expect(await store().read("search")).toMatchObject({ notes: { tables: ["orders"] } });
    });
  });

  test("does once what it does once, however it is moved, unless that is asked for", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      const consumer = cloud.createClient("consumer");
      const feeds = operatorOf(cloud);
      const add = async (): Promise<number | undefined> => {
        await consumer.consume({ ...wish, until: "caught-up" }, async (change, feed) => {
          await feed.once(async (tx) => {
            const { n } = (await tx.get(sums, "all")) ?? { n: 0 };
            const more = change.of(orders).reduce((sum, { after }) => sum + (after?.n ?? 0), 0);
            tx.put(sums, { id: "all", n: n + more });
          });
        });
        return (await consumer.snapshot((s) => s.get(sums, "all")))?.n;
      };
      for (const n of [1, 2, 3]) await order(shop, n);
      expect(await add()).toBe(6);
      await reset(feeds, "oldest");
      expect(await add()).toBe(6);
      await reset(feeds, "oldest", true);
      expect(await add()).toBe(12);
      await reset(feeds, "oldest");
      expect(await add()).toBe(12);
      expect(await feeds.remove("search")).toEqual({ kind: "removed" });
      expect(await add()).toBe(18);
    });
  });

  test("is not removed beside one who is at it; removed, it begins anew", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      const feeds = operatorOf(cloud);
      const seen: number[] = [];
      const stop = new AbortController();
      const consumer = cloud.createClient("consumer");
      const consumed = consumer.consume({ ...wish, signal: stop.signal }, noting(seen));
      for (const n of [1, 2]) await order(shop, n);
      await cloud.clock.sleep(5_000);
      const before = await store().read("search");
      expect(await feeds.remove("search")).toMatchObject({ kind: "held", holder: before?.holder });
      expect(await store().read("search")).toMatchObject({ position: before?.position });
      stop.abort(new Error("enough"));
      await consumed;
      const turns = (await store().read("search"))?.turn ?? 0;
      expect(turns).toBeGreaterThanOrEqual(4);
      expect(await feeds.remove("search")).toEqual({ kind: "removed" });
      for (const again of [() => feeds.remove("search"), () => reset(feeds, "now")]) {
        await expect(again()).rejects.toMatchObject({ code: "invalid-request", field: "name" });
      }
      await consumer.consume({ ...wish, first: "now", until: "caught-up" }, noting(seen));
      expect(seen).toEqual([1, 2]);
      // Whatever turn one had who slept since: his put is refused.
      for (let turn = 2; turn <= turns; turn += 1) {
        const stale = { position: "1", turn, holder: "asleep", heldUntilMs: 0 };
        expect(await store().put("search", stale)).toBe(false);
      }
      await order(shop, 3);
      await consumer.consume({ ...wish, until: "caught-up" }, noting(seen));
      expect(seen).toEqual([1, 2, 3]);
    });
  });

  test("removed under one who sleeps, is another one's when he wakes", async () => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      for (const n of [1, 2, 3]) await order(shop, n);
      const sleeper = cloud.startProcess("sleeper");
      const stop = new AbortController();
      const asleep = sleeper.client.consume({ ...wish, signal: stop.signal }, async () => {
        sleeper.freeze(300_000, "run");
        await sleeper.clock.sleep(1);
      });
      await cloud.clock.sleep(60_000);
      expect(await operatorOf(cloud).remove("search")).toEqual({ kind: "removed" });
      const seen: number[] = [];
      const awake = cloud
        .createClient("awake")
        .consume({ ...wish, first: "now", signal: stop.signal }, noting(seen));
      // As many turns as he has had, and more: one of them would be his.
      await cloud.clock.sleep(60_000);
      await order(shop, 4);
      await cloud.clock.sleep(400_000);
      const { position } = (await store().read("search")) ?? {};
      expect(seen).toEqual([4]);
      await order(shop, 5);
      await cloud.clock.sleep(60_000);
      expect(seen).toEqual([4, 5]);
      expect(position).toBeDefined();
      stop.abort(new Error("enough"));
      await Promise.all([asleep, awake]);
    });
  });

  test.each(["2100-01-01T00:00:00Z", "9000000000000000"])("%s is refused", async (text) => {
    await cloud.run(async () => {
      const shop = cloud.createClient("shop");
      await order(shop, 1);
      await shop.consume({ ...wish, until: "caught-up" }, noting([]));
      const feeds = operatorOf(cloud);
      const to = placeOf(/Z$/.test(text) ? new Date(text) : text) ?? "now";
      const moving = feeds.move("search", { to, again: false });
      await expect(moving).rejects.toMatchObject({ code: "invalid-request", field: "to" });
    });
  });
});

test("moved to where a stream lay that was taken away, it stays: that has expired", async () => {
  cloud = await createTestCloud({ tables });
  await cloud.run(async () => {
    const early = cloud.createClient("early", { commit: "stream" });
    const positions: string[] = [];
    const consume = (client: Client): Promise<void> =>
      client.consume({ ...wish, until: "caught-up" }, (change) => {
        positions.push(change.position);
        return Promise.resolve();
      });
    for (const n of [1, 2, 3]) await order(early, n);
    await consume(early);
    await early.close();
    await cloud.clock.sleep(60_000);
    await cloud.deployment.switchStream(false);
    const late = cloud.createClient("late");
    await order(late, 4);
    await consume(late);
    const feeds = operatorOf(cloud);
    const [first = "", , , last = ""] = positions;
    const before = await store().read("search");
    const error = await reset(feeds, first).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ChangesExpiredError);
    expect(await store().read("search")).toEqual(before);
    await feeds.move("search", {
      to: placeOf((error as ChangesExpiredError).oldest) ?? "now",
      again: false,
    });
    await consume(late);
    await reset(feeds, "oldest");
    await consume(late);
    expect(positions.slice(3)).toEqual([last, last, last]);
  });
});
