/** What the feed gives of mixed tables, and what it does not; who names one has to know. */
import { beforeEach, describe, expect, test } from "vitest";
import type { AccessState } from "../../../core/table-access.ts";
import { defineTable, feedHandler, type Client } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { take } from "./feed.ts";

const carts = defineTable<{ readonly count: number }, { readonly id: string }>("carts", {
  key: "id",
});
const orders = defineTable<{ readonly count: number }, { readonly id: string }>("orders", {
  key: "id",
});
const mixed = "only-logged";
const nothing = (): Promise<void> => Promise.resolve();
const refusal = {
  ...{ name: "InvalidRequestError", field: "tables" },
  message: expect.stringMatching(
    /"carts" is mixed: .* are in no log.* move carts .*only-logged/u,
  ) as string,
} as const;

let cloud: TestCloud;

async function put(client: Client, ...rows: readonly string[]): Promise<boolean | undefined> {
  const { receipt } = await client.transact((tx) => {
    for (const id of rows) tx.put(carts, { id, count: 1 });
    return Promise.resolve();
  });
  return receipt.local;
}

describe("a table that is mixed", () => {
  beforeEach(async () => {
    cloud = await createTestCloud({
      tables: [testTable("carts", { partitionKey: "id", access: "mixed" }), orders],
    });
  });

  test("is refused by name where a feed asks for it, and what to do is said", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      for (const tables of [[carts], [orders, carts]]) {
        const wish = { name: "carts", tables, until: "caught-up" } as const;
        await expect(take(client, 1, { tables })).rejects.toMatchObject(refusal);
        await expect(client.consume(wish, nothing)).rejects.toMatchObject(refusal);
        const handler = feedHandler(client, { name: "carts", tables }, nothing, cloud.clock);
        const context = { getRemainingTimeInMillis: () => 60_000 };
        await expect(handler({}, context)).rejects.toMatchObject(refusal);
      }
      await expect(take(client, 1, { tables: [carts], mixed: "all" as never })).rejects.toThrow(
        /`mixed` must be one of "refuse", "only-logged"/,
      );
    });
  });

  test("is given as far as it is in the log to who says so: not what was one write", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      expect(await put(client, "alone")).toBe(true);
      expect(await put(client, "one", "two")).toBeUndefined();
      const idsOf = (given: Awaited<ReturnType<typeof take>>): readonly unknown[] =>
        given.flatMap((change) => change.of(carts).map(({ key }) => key["id"])).sort();
      const asked = await take(client, 1, { from: "oldest", tables: [carts], mixed });
      expect(idsOf(asked)).toEqual(["one", "two"]);
      // Who names no table is given the log.
      expect(idsOf(await take(client, 1, { from: "oldest" }))).toEqual(["one", "two"]);
      const consumed: unknown[] = [];
      const wish = { name: "carts", first: "oldest", tables: [carts], mixed } as const;
      await client.consume({ ...wish, until: "caught-up" }, (change) => {
        consumed.push(...idsOf([change]));
        return Promise.resolve();
      });
      expect(consumed).toEqual(["one", "two"]);
    });
  });

  test("hinders no feed of other tables", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await client.transact((tx) => {
        tx.put(orders, { id: "a", count: 1 });
        return Promise.resolve();
      });
      const [first] = await take(client, 1, { from: "oldest", tables: [orders] });
      expect(first?.of(orders)).toHaveLength(1);
    });
  });
});

describe("a table that becomes mixed", () => {
  beforeEach(async () => {
    cloud = await createTestCloud({ tables: [carts, orders] });
  });

  /** What the registry says of carts from now on. */
  async function enter(state: AccessState): Promise<void> {
    const operator = cloud.world.startProcess("operator", { exact: true });
    const { control } = cloud.deployment.portsOf(operator, { calm: true });
    await control.changeAccess(carts.name, () => ({ ...state, mover: undefined }));
  }
  const toMixed = { access: "transactional", move: { to: "mixed", stage: "closed" } } as const;
  const back = {
    access: "transactional",
    move: { to: "transactional", stage: "tidying" },
  } as const;

  test.each([
    ["mixed", { access: "mixed" }, /"carts" is mixed: /],
    ["on its way there", toMixed, /"carts" is on its way to mixed: /],
    ["on its way back", back, /"carts" is on its way from mixed to transactional: /],
  ] as const)("%s, ends what goes on from a position before", async (_, state, message) => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await put(client, "a");
      await put(client, "b");
      const wish = { name: "carts", first: "oldest", tables: [carts] } as const;
      const [first] = await take(client, 1, { from: "oldest", tables: [carts] });
      const from = first?.position ?? "";
      await client.consume({ ...wish, until: "caught-up" }, nothing);
      await cloud.clock.sleep(2_000);
      await enter(state);
      // This client's own copy of the registry is young, and says that all is well.
      const refused = { field: "tables", message: expect.stringMatching(message) as string };
      await expect(take(client, 1, { from, tables: [carts] })).rejects.toMatchObject(refused);
      const consuming = client.consume({ ...wish, until: "caught-up" }, nothing);
      await expect(consuming).rejects.toMatchObject(refused);
      const given = await take(client, 1, { from, tables: [carts], mixed });
      expect(given[0]?.of(carts)).toMatchObject([{ key: { id: "b" } }]);
    });
  });

  test("ends a feed that runs, which stands before what it may lack", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("shop");
      await put(client, "a");
      const feed = client.changes({ from: "oldest", tables: [carts] });
      const given: unknown[] = [];
      const reading = (async () => {
        for await (const change of feed) given.push(change.of(carts)[0]?.key["id"]);
      })();
      const ended = expect(reading).rejects.toMatchObject(refusal);
      await cloud.clock.sleep(5_000);
      await enter({ access: "mixed" });
      // As long as a copy of the registry is believed.
      await cloud.clock.sleep(61_000);
      await ended;
      expect(given).toEqual(["a"]);
      await put(client, "b", "c");
      const wish = { from: feed.position ?? "", tables: [carts], mixed } as const;
      expect((await take(client, 1, wish))[0]?.of(carts)).toHaveLength(2);
    });
  });
});
