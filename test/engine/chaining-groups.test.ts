/**
 * What a transaction that is still running has read from a group of its process, and what the
 * group, or its process, does then.
 */
import { beforeEach, expect, test } from "vitest";
import { type Client, defineTable } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud, testTable } from "../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});

let cloud: TestCloud;
let client: Client;
let sent: string[];
let aborted: number;

beforeEach(async () => {
  const tables = [testTable("counters", { partitionKey: "id" })];
  cloud = await createTestCloud({ tables, commit: "stream" });
  cloud.seed(counters, [
    { id: "a", n: 0 },
    { id: "b", n: 0 },
  ]);
  sent = [];
  aborted = 0;
  client = cloud.createClient("app", {
    onEvent: (event) => {
      if (event.kind === "sent") sent.push(event.transactionId);
      else if (event.kind === "attempt-aborted") aborted += 1;
    },
  });
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await cloud.world.time.sleep(0.1);
}

/** Reads one item and leaves both at `n`. Resolves when it is sealed. */
async function sealed(reads: string, n: number): Promise<{ readonly done: Promise<unknown> }> {
  let hasReturned = false;
  const done = client.transact(async (tx) => {
    await tx.get(counters, reads);
    for (const id of ["a", "b"]) tx.put(counters, { id, n });
    hasReturned = true;
  });
  await until(() => hasReturned);
  await cloud.world.time.sleep(0.1);
  return { done };
}

/** One commit is on its way, and a group behind it is still open, that leaves both at 2. */
async function openGroup(): Promise<readonly Promise<unknown>[]> {
  const first = await sealed("a", 1);
  await until(() => sent.length === 1);
  const group = await sealed("a", 2);
  expect(sent).toHaveLength(1);
  return [first.done, group.done];
}

const longMs = 2_000;

test("what a later member of the group replaces is not relied on after their commit", async () => {
  const reads: (number | undefined)[] = [];
  await cloud.run(async () => {
    const group = await openGroup();
    const slow = client.transact(async (tx) => {
      const a = await tx.get(counters, "a");
      reads.push(a?.n);
      if (reads.length === 1) await cloud.world.time.sleep(longMs);
      tx.put(counters, { id: "a", n: (a?.n ?? 0) + 1 });
    });
    await until(() => reads.length === 1);
    const member = await sealed("b", 9);
    await Promise.all([...group, member.done, slow]);
  });
  expect(reads).toEqual([2, 9]);
  expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 10 });
});

test.each([
  ["the group as a later member leaves it", { decidedFirst: false, readsAfterMs: longMs }],
  ["a later commit that is undecided", { decidedFirst: true, readsAfterMs: 0 }],
])("what was read from a group is not seen beside %s", async (_what, order) => {
  const pairs: (readonly [number | undefined, number | undefined])[] = [];
  await cloud.run(async () => {
    const group = await openGroup();
    let first: number | undefined;
    let isReplaced = false;
    const reader = client.transact(async (tx) => {
      const a = await tx.get(counters, "a");
      first ??= a?.n;
      await until(() => isReplaced);
      const b = await tx.get(counters, "b");
      pairs.push([a?.n, b?.n]);
    });
    await until(() => first !== undefined);
    expect(first).toBe(2);
    if (order.decidedFirst) await Promise.all(group);
    const later = await sealed("b", 9);
    await cloud.world.time.sleep(order.readsAfterMs);
    isReplaced = true;
    await Promise.all([...group, later.done, reader]);
  });
  expect(pairs).toEqual([[9, 9]]);
});

test("what was read from a group is not seen beside the tables once it has failed", async () => {
  const foreign = cloud.createClient("foreign", {
    onEvent: (event) => {
      if (event.kind === "sent") foreignSent = true;
    },
  });
  let foreignSent = false;
  const pairs: (readonly [number | undefined, number | undefined])[] = [];
  await cloud.run(async () => {
    cloud.pauseOracle();
    const overtaking = foreign.transact((tx) => {
      tx.put(counters, { id: "a", n: 7 });
      return Promise.resolve();
    });
    await until(() => foreignSent);
    const group = await openGroup();
    let hasRead = false;
    const reader = client.transact(async (tx) => {
      const a = await tx.get(counters, "a");
      hasRead = true;
      await until(() => aborted > 0);
      pairs.push([a?.n, (await tx.get(counters, "b"))?.n]);
    });
    await until(() => hasRead);
    cloud.resumeOracle();
    await Promise.all([...group, overtaking, reader]);
  });
  expect(pairs.filter(([a, b]) => a !== b && a !== 7)).toEqual([]);
});
