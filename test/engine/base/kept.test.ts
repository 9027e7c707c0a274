/** What is kept of a BASE transaction: values that the store has, and nothing for ever. */
import {
  DeleteItemCommand,
  PutItemCommand,
  ScanCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { beforeEach, expect, test } from "vitest";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, ids, openAccounts, tables, transferOf, whole } from "./transfers.ts";

const recordsTable = "tidemark-test-base";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

const hold = (pauseMs: number) =>
  defineBase("hold", async (base, id: string) => {
    await base.step("hold", async (tx) => tx.put(accounts, { id, amount: 1 }));
    await cloud.clock.sleep(pauseMs);
    return id;
  });

/** Keys of the records table's items that stand for ever. */
async function keptForEver(): Promise<readonly string[]> {
  const kept: string[] = [];
  for (let ExclusiveStartKey: Record<string, AttributeValue> | undefined; ;) {
    const scan = new ScanCommand({ TableName: recordsTable, ExclusiveStartKey });
    const { Items = [], LastEvaluatedKey } = await cloud.dynamodb.send(scan);
    const found = Items.filter(({ expiresAt, _x }) => expiresAt === undefined && _x === undefined);
    kept.push(...found.map(({ pk, sk }) => `${pk?.S ?? ""} ${sk?.S ?? ""}`));
    ExclusiveStartKey = LastEvaluatedKey;
    if (ExclusiveStartKey === undefined) return kept;
  }
}

test("a step whose value the store does not have has failed, and its handler goes on", async () => {
  const names = ["half a pair", "too deep"];
  const odd = (name: string): unknown => {
    let value: unknown = "leaf";
    for (let depth = 0; depth < 30; depth += 1) value = [value];
    return name === "too deep" ? value : "ab\ud83d";
  };
  const handler = defineBase("odd", async (base) => {
    await base.step("first", async (tx) => tx.put(accounts, { id: "a", amount: 1 }));
    const caught: string[] = [];
    for (const name of names) {
      await base
        .step(name, (tx) => {
          tx.put(accounts, { id: "b", amount: 1 });
          return Promise.resolve(odd(name));
        })
        .catch((error: unknown) => caught.push((error as Error).name));
    }
    await base.step("last", async (tx) => tx.put(accounts, { id: "c", amount: 1 }));
    return caught;
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(handler, undefined, { id: "1" });
    expect(await accepted.result()).toEqual(["InvalidRequestError", "InvalidRequestError"]);
    expect(await accepted.status()).toMatchObject({ steps: 4, failures: 0 });
  });
  await cloud.settled();
  const amounts = cloud.rows(accounts).map(({ id, amount }) => [id, amount]);
  expect(Object.fromEntries(amounts)).toMatchObject({ a: 1, b: 100, c: 1 });
});

test("however large a record is, it expires, and runners go on", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(hold(10_000), "a", { id: "1" });
    // As its own steps might have: more than one commit can hold.
    const value: AttributeValue = { M: { value: { S: "x".repeat(60_000) } } };
    const step = (n: number): Record<string, AttributeValue> => ({
      ...{ pk: { S: "base#hold/1" }, sk: { S: `step#${n.toString().padStart(6, "0")}` } },
      ...{ name: { S: "large" }, atMs: { N: "1" }, locks: { L: [] }, value },
    });
    for (let n = 2; n < 302; n += 1) {
      await cloud.dynamodb.send(new PutItemCommand({ TableName: recordsTable, Item: step(n) }));
    }
    await accepted.result();
    await client.requestBase(hold(0), "b", { id: "2" });
    await cloud.clock.sleep(10_000);
    await client.baseRunner({ handlers: [hold(0)], takeOverMs: 100, until: "caught-up" });
    expect(await client.baseOf(hold(0), "2").result()).toBe("b");
    await cloud.settled();
    expect(await keptForEver()).toEqual([]);
  });
}, 60_000);

test("what was kept free for one that waited expires, whatever became of him", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(hold(2_000), "a", { id: "1" });
    const dies = cloud.startProcess("dies");
    void dies.client.transact({ deadlineMs: 20_000 }, async (tx) => {
      await tx.batchGet(accounts, ["a", "b", "c"]);
      tx.put(accounts, { id: "d", amount: 1 });
    });
    await cloud.clock.sleep(1_000);
    dies.crash();
    await accepted.result();
    await cloud.settled();
    expect(await keptForEver()).toEqual([]);
    const again = await client.base(hold(2_000), "b", { id: "2" });
    await cloud.clock.sleep(1_000);
    expect(await keptForEver()).toContainEqual(expect.stringMatching(/^written#/));
    await again.accepted.result();
    await cloud.settled();
    expect(await keptForEver()).toEqual([]);
  });
});

/** The store drops what has expired by so much later; nobody's log says so. */
async function expire(afterMs: number): Promise<void> {
  const untilMs = cloud.clock.nowMs() + afterMs;
  for (let ExclusiveStartKey: Record<string, AttributeValue> | undefined; ;) {
    const scan = new ScanCommand({ TableName: recordsTable, ExclusiveStartKey });
    const { Items = [], LastEvaluatedKey } = await cloud.dynamodb.send(scan);
    for (const { pk, sk, expiresAt } of Items) {
      if (pk === undefined || sk === undefined || expiresAt?.N === undefined) continue;
      if (Number(expiresAt.N) * 1_000 > untilMs) continue;
      const Key = { pk, sk };
      await cloud.dynamodb.send(new DeleteItemCommand({ TableName: recordsTable, Key }));
    }
    ExclusiveStartKey = LastEvaluatedKey;
    if (ExclusiveStartKey === undefined) return;
  }
}

const dayMs = 24 * 3_600_000;

test.each([false, true])(
  "who reads the past sees none half done, when its records have expired (reserved: %s)",
  async (isReserved) => {
    cloud = await createTestCloud({ commit: "express", tables, historyRetentionMs: 35 * dayMs });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const move = { from: "a", to: "b" };
      const { accepted } = await client.base(
        transferOf(cloud, () => 2_000),
        move,
        { id: "1" },
      );
      await cloud.clock.sleep(1_000);
      const moment = new Date(cloud.clock.nowMs());
      const dies = cloud.startProcess("dies");
      if (isReserved) {
        void dies.client.transact({ deadlineMs: 20_000 }, async (tx) => {
          const row = await tx.get(accounts, "a");
          tx.put(accounts, { id: "c", amount: row?.amount ?? 0 });
        });
      }
      await cloud.clock.sleep(900);
      dies.crash();
      await accepted.result();
      await cloud.clock.sleep(600_000);
      const sum = async (): Promise<number> => {
        const reader = cloud.createClient("reader");
        const rows = await reader.snapshot({ asOf: moment }, (s) => s.batchGet(accounts, ids));
        return rows.reduce((all, row) => all + (row?.amount ?? 0), 0);
      };
      expect(await sum()).toBe(whole);
      await expire(8 * dayMs);
      expect(await sum()).toBe(whole);
    });
  },
);
