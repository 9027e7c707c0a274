/** Feeds with `before` whose place lies beyond what history keeps: never a wrong image. */
import { expect, test } from "vitest";
import { registerTables } from "../../../aws/register-tables.ts";
import { defineTable, SnapshotTooOldError } from "../../../sdk/index.ts";
import { registeredTable } from "../../../testing/deployment-options.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { take } from "./feed.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });
const minuteMs = 60_000;

async function cloudWith(history: boolean): Promise<TestCloud> {
  return createTestCloud({
    ...{ tables: [testTable("rows", { partitionKey: "id", history })], tablesOnly: true },
    historyRetentionMs: 15 * minuteMs,
  });
}

function put(cloud: TestCloud, n: number): Promise<unknown> {
  return cloud.createClient("writer").transact((tx) => {
    tx.put(rows, { id: "a", n });
    return Promise.resolve();
  });
}

/** What is given of `before`, until there is no more or an error. */
async function imagesOf(cloud: TestCloud): Promise<readonly unknown[]> {
  const given: unknown[] = [];
  const options = { first: "oldest", tables: [rows], before: true, until: "caught-up" } as const;
  const reader = cloud.createClient("reader");
  try {
    await reader.consume({ name: "all", ...options }, (change) => {
      for (const { before, after } of change.of(rows)) given.push([before?.n, after?.n]);
      return Promise.resolve();
    });
  } catch (error) {
    given.push(error);
  }
  return given;
}

test("a change whose past has left the history is an error that no retry mends", async () => {
  const cloud = await cloudWith(true);
  await cloud.run(async () => {
    await put(cloud, 1);
    await put(cloud, 2);
  });
  await cloud.advance(30 * minuteMs);
  await cloud.run(async () => {
    await put(cloud, 3);
    const [error, ...rest] = await imagesOf(cloud);
    expect(error).toBeInstanceOf(SnapshotTooOldError);
    expect(error).toMatchObject({ retryable: false });
    expect((error as Error).message).toContain("`before`");
    expect(rest).toEqual([]);
  });
});

test("a change from before the table had a history is one, too, and no insert", async () => {
  const cloud = await cloudWith(false);
  await cloud.run(async () => {
    await put(cloud, 1);
    await put(cloud, 2);
    const { world, deployment } = cloud;
    const operator = world.startProcess("registrar", { exact: true });
    const aws = { handles: world.handles(operator, { calm: true }), clock: operator.clock };
    const kept = testTable("rows", { partitionKey: "id", history: true });
    await registerTables({ ...aws, deployment: deployment.options.deployment }, [
      registeredTable(kept),
    ]);
  });
  await cloud.advance(20 * minuteMs);
  await cloud.run(async () => {
    await put(cloud, 3);
    const [error] = await imagesOf(cloud);
    expect(error).toBeInstanceOf(SnapshotTooOldError);
  });
});

test("a position is not passed by a change that was not given", async () => {
  const cloud = await cloudWith(true);
  await cloud.run(() => put(cloud, 1));
  await cloud.advance(30 * minuteMs);
  await cloud.run(async () => {
    const feed = cloud.createClient("reader").changes({ from: "oldest", before: true });
    await expect(feed[Symbol.asyncIterator]().next()).rejects.toThrow(SnapshotTooOldError);
    const [change] = await take(cloud.createClient(), 1, { from: feed.position ?? "now" });
    expect(change?.of(rows)).toHaveLength(1);
  });
});
