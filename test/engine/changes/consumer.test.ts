/** Consumers whose position the deployment keeps: crashes, takeovers, errors of handlers. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ChangedRows, Client, ConsumeOptions } from "../../../sdk/index.ts";
import { defineTable, feedHandler } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { ways } from "../sharded/bank.ts";

const orders = defineTable<{ readonly cents: number }, { readonly id: string }>("orders", {
  key: "id",
});
const sums = defineTable<{ readonly cents: number }, { readonly id: string }>("sums", {
  key: "id",
});
const tables = [
  testTable("orders", { partitionKey: "id" }),
  testTable("sums", { partitionKey: "id" }),
];
const wish = { name: "sums", first: "oldest", tables: [orders] } as const satisfies ConsumeOptions;

let cloud: TestCloud;

async function order(client: Client, n: number): Promise<void> {
  await client.transact((tx) => {
    tx.put(orders, { id: `order-${n}`, cents: n });
    return Promise.resolve();
  });
}

/** Adds each order up, once. */
function adding(client: Client, options: Partial<ConsumeOptions> = {}): Promise<void> {
  return client.consume({ ...wish, ...options }, async (change, feed) => {
    await feed.once(async (tx) => {
      const { cents } = (await tx.get(sums, "all")) ?? { cents: 0 };
      const more = change.of(orders).reduce((sum, { after }) => sum + (after?.cents ?? 0), 0);
      tx.put(sums, { id: "all", cents: cents + more });
    });
  });
}

const sumStored = (): number => cloud.rows(sums)[0]?.cents ?? 0;

describe.each(ways)("a consumer, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, shards: 2, tables });
  });

  test("goes on where one that crashed has stopped, and does nothing twice", async () => {
    let crashes = 0;
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      const ordering = (async () => {
        for (let n = 1; n <= 20; n += 1) {
          await order(client, n);
          await cloud.clock.sleep(2_000);
        }
      })();
      for (; crashes < 3; crashes += 1) {
        const consumer = cloud.startProcess(`consumer ${crashes}`);
        adding(consumer.client).catch(() => undefined);
        await cloud.clock.sleep(7_000 + crashes * 531);
        consumer.crash();
      }
      await ordering;
      // Whoever crashed holds it for a while yet.
      const last = cloud.createClient("last");
      while ((await last.snapshot((s) => s.get(sums, "all")))?.cents !== 210) {
        await adding(last, { until: "caught-up" });
        await cloud.clock.sleep(1_000);
      }
    });
    await cloud.settled();
    expect(sumStored()).toBe(210);
  });

  test("is alone at it, also while a change takes its handler long", async () => {
    const handledBy: string[] = [];
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await order(client, 1);
      const stop = new AbortController();
      let busy = 0;
      const consumers = ["a", "b"].map((name) =>
        cloud.createClient(name).consume({ ...wish, signal: stop.signal }, async (change) => {
          busy += 1;
          expect(busy).toBe(1);
          // Longer than anything is held without a word.
          await cloud.clock.sleep(100_000);
          busy -= 1;
          handledBy.push(`${name} ${change.of(orders)[0]?.key.id ?? ""}`);
        }),
      );
      await order(client, 2);
      await cloud.clock.sleep(250_000);
      stop.abort(new Error("enough"));
      await Promise.all(consumers);
    });
    expect(handledBy.map((each) => each.slice(2))).toEqual(["order-1", "order-2"]);
    expect(new Set(handledBy.map((each) => each[0])).size).toBe(1);
  });

  test("ends in order where its handler gives up by the consumer's own signal", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await order(client, 1);
      const stop = new AbortController();
      const consumed = client.consume({ ...wish, signal: stop.signal }, async () => {
        stop.abort(new Error("no more"));
        await cloud.clock.sleep(1_000, stop.signal);
      });
      await expect(consumed).resolves.toBeUndefined();
      // It was not handled, and comes again.
      await adding(client, { until: "caught-up" });
    });
    await cloud.settled();
    expect(sumStored()).toBe(1);
  });

  test("ends with its handler's error, and gives the change again", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await order(client, 1);
      await order(client, 2);
      const seen: string[] = [];
      const failure = new Error("no index today");
      const until = "caught-up";
      const note = (change: ChangedRows): void => {
        seen.push(change.of(orders)[0]?.key.id ?? "");
      };
      const failing = client.consume({ ...wish, until }, (change) => {
        note(change);
        return seen.length === 2 ? Promise.reject(failure) : Promise.resolve();
      });
      await expect(failing).rejects.toBe(failure);
      await client.consume({ ...wish, until }, (change) => {
        note(change);
        return Promise.resolve();
      });
      expect(seen).toEqual(["order-1", "order-2", "order-2"]);
      await client.consume({ ...wish, until }, () => Promise.reject(new Error("nothing is new")));
    });
  });

  test("ends where its handler has left `once` under way, and gives the change again", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await order(client, 1);
      await order(client, 2);
      const until = "caught-up";
      const failure = new Error("no sums today");
      for (const body of [() => Promise.resolve(), () => Promise.reject(failure)]) {
        const hasty = client.consume({ ...wish, until }, (_, feed) => {
          void feed.once(body);
          return Promise.resolve();
        });
        await expect(hasty).rejects.toThrow(/ended before its `once` had: `await` it/);
      }
      const seen: string[] = [];
      await client.consume({ ...wish, until }, (change) => {
        seen.push(...change.of(orders).map(({ key }) => key.id));
        return Promise.resolve();
      });
      expect(seen).toEqual(["order-1", "order-2"]);
    });
  });

  test("refuses as a function what is wrong when it is made, and what it would override", () => {
    const client = cloud.createClient("shop");
    const { name } = wish;
    for (const [field, options] of [
      ["until", { name, until: "stopped" }],
      ["signal", { name, signal: new AbortController().signal }],
      ["name", {}],
      ["name", { name: "a b" }],
      ["tables", { name, tables: [] }],
      ["poll", { name, poll: 1 }],
    ] as const) {
      const make = () => feedHandler(client, options as never, () => Promise.resolve());
      expect(make).toThrow(expect.objectContaining({ code: "invalid-request", field }));
    }
    const make = () => feedHandler(client, wish, undefined as never);
    expect(make).toThrow(expect.objectContaining({ field: "handle" }));
    const overridden = () =>
      feedHandler(client, { name, until: "stopped" } as never, make as never);
    expect(overridden).toThrow("`until` must be left out: each invocation handles what there is");
  });

  test("ends in a function before its time is up; the next invocation goes on", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      for (let n = 1; n <= 4; n += 1) await order(client, n);
      const seen: string[] = [];
      const handler = feedHandler(
        client,
        wish,
        async (change) => {
          await cloud.clock.sleep(4_000);
          seen.push(change.of(orders)[0]?.key.id ?? "");
        },
        cloud.clock,
      );
      await expect(handler({}, undefined as never)).rejects.toMatchObject({
        ...{ name: "InvalidRequestError", field: "context" },
      });
      const context = { getRemainingTimeInMillis: () => 12_000 };
      await handler({}, context);
      expect(seen).toEqual(["order-1", "order-2"]);
      await handler({}, context);
      await handler({}, context);
      expect(seen).toEqual(["order-1", "order-2", "order-3", "order-4"]);
    });
  });
});

test("consumers that are stopped while they wait to try again end without an error", async () => {
  cloud = await createTestCloud({ tables });
  await cloud.run(async () => {
    const client = cloud.createClient("shop");
    await order(client, 1);
    const stop = new AbortController();
    // Some are waiting at any moment.
    const names = Array.from({ length: 20 }, (_unused, n) => `sums-${n}`);
    const consuming = names.map((name) => adding(client, { name, signal: stop.signal }));
    await cloud.clock.sleep(5_000);
    cloud.refuseCalls("dynamodb", 600_000);
    await cloud.clock.sleep(120_000);
    stop.abort(new Error("a new version is there"));
    await Promise.all(consuming);
  });
});

test.each([
  [{}, "name"],
  [{ name: "a/b" }, "name"],
  [{ name: "x".repeat(65) }, "name"],
  [{ name: "x", until: "done" }, "until"],
  [{ name: "x", from: "now" }, "from"],
])("%j is refused at once", async (options, field) => {
  cloud = await createTestCloud({ tables });
  const consumed = cloud.createClient().consume(options as never, () => Promise.resolve());
  await expect(consumed).rejects.toMatchObject({ code: "invalid-request", field });
});
