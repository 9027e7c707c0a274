/**
 * A plain write just after a commit: nobody who installs for another takes it for an install that
 * is missing (docs/protocol.md §7, Plain writes). And what such a guess must never cost.
 */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import {
  createTestCloud,
  testTable,
  type TestCloud,
  type TestCloudOptions,
} from "../../testing/index.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });

/** `x` has been put by a commit, and replay, which has seen that, stands still from here on. */
async function cloudWithRow(options: TestCloudOptions = {}): Promise<TestCloud> {
  const tables = [testTable(rows, { partitionKey: "id" })];
  const cloud = await createTestCloud({ ...options, tables });
  const db = cloud.createClient("first");
  await cloud.run(async () => {
    await db.transact((tx) => {
      tx.put(rows, { id: "x", n: 1 });
      return Promise.resolve();
    });
    await cloud.settled();
  });
  cloud.pauseReplay();
  return cloud;
}

/** Reads `x`, and writes what it has read plus one. */
async function raise(cloud: TestCloud, name: string): Promise<void> {
  await cloud.createClient(name).transact(async (tx) => {
    const row = await tx.get(rows, { id: "x" });
    tx.put(rows, { id: "x", n: (row?.n ?? 0) + 1 });
  });
}

/** Reads `x`, commits, and dies before it can install anything. */
async function raiseAndDie(cloud: TestCloud, meanwhile: () => Promise<void>): Promise<void> {
  const victim = cloud.startProcess("victim", {
    onEvent: (event) => {
      if (event.kind === "certified") victim.crash();
    },
  });
  victim.beforeNextCommit(meanwhile);
  const { client } = victim;
  client
    .transact(async (tx) => {
      const row = await tx.get(rows, { id: "x" });
      tx.put(rows, { id: "x", n: (row?.n ?? 0) + 1 });
      tx.put(rows, { id: "y", n: 7 });
    })
    .catch(() => undefined);
  await cloud.clock.sleep(5_000);
  expect(victim.state).toBe("dead");
}

async function plainPut(cloud: TestCloud, n: number): Promise<void> {
  const Item = { id: { S: "x" }, n: { N: String(n) } };
  await cloud.dynamodb.send(new PutItemCommand({ TableName: "rows", Item }));
}

async function plainDelete(cloud: TestCloud): Promise<void> {
  await cloud.dynamodb.send(new DeleteItemCommand({ TableName: "rows", Key: { id: { S: "x" } } }));
}

async function replayed(cloud: TestCloud): Promise<readonly Row[]> {
  cloud.resumeReplay();
  await cloud.settled();
  await cloud.clock.sleep(60_000);
  return cloud.rows(rows);
}

test("replay leaves a plain write that came after the install", async () => {
  const cloud = await cloudWithRow();
  await cloud.run(async () => {
    await raise(cloud, "app");
    await plainPut(cloud, 100);
    expect(await replayed(cloud)).toEqual([{ id: "x", n: 100 }]);
  });
});

test("a reader elsewhere leaves it, sees it, and builds on it", async () => {
  // Of a block that a client has made it would read the value there, for a while.
  const cloud = await cloudWithRow({ commit: "stream" });
  await cloud.run(async () => {
    await raise(cloud, "app");
    await plainPut(cloud, 100);
    const other = cloud.createClient("other");
    const seen = await other.snapshot((s) => s.query(rows, { where: { id: "x" } }).all());
    expect(seen).toEqual([{ id: "x", n: 100 }]);
    await raise(cloud, "third");
    expect(await replayed(cloud)).toEqual([{ id: "x", n: 101 }]);
  });
});

test("a plain write that the client had read before its commit is overtaken, as ever", async () => {
  const cloud = await cloudWithRow();
  await cloud.run(async () => {
    await plainPut(cloud, 100);
    await raiseAndDie(cloud, () => Promise.resolve());
    const all = await replayed(cloud);
    expect(all).toEqual([
      { id: "x", n: 101 },
      { id: "y", n: 7 },
    ]);
  });
});

test("I9: a row that something else deletes comes back with a commit never installed", async () => {
  const cloud = await cloudWithRow();
  await cloud.run(async () => {
    await raiseAndDie(cloud, () => plainDelete(cloud));
    expect(await replayed(cloud)).toEqual([
      { id: "x", n: 2 },
      { id: "y", n: 7 },
    ]);
  });
});

test("between a dead client's read and its install: the plain write counts as later", async () => {
  const cloud = await cloudWithRow();
  await cloud.run(async () => {
    await raiseAndDie(cloud, () => plainPut(cloud, 100));
    expect(await replayed(cloud)).toEqual([
      { id: "x", n: 100 },
      { id: "y", n: 7 },
    ]);
  });
});

test("I9: a commit that read nothing is installed over whatever stands there", async () => {
  const cloud = await cloudWithRow();
  await cloud.run(async () => {
    const victim = cloud.startProcess("blind", {
      onEvent: (event) => {
        if (event.kind === "certified") victim.crash();
      },
    });
    victim.beforeNextCommit(() => plainPut(cloud, 100));
    victim.client
      .transact((tx) => {
        tx.put(rows, { id: "x", n: 3 });
        return Promise.resolve();
      })
      .catch(() => undefined);
    await cloud.clock.sleep(5_000);
    expect(await replayed(cloud)).toEqual([{ id: "x", n: 3 }]);
  });
});
