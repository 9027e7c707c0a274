/**
 * What others' blocks bring along is read from them (docs/protocol.md §5): a transaction that lost
 * its position runs again without asking anybody.
 */
import { expect, test } from "vitest";
import type { ClientEngine } from "../../../engine/types.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { type Calls, keyOf, numberIn, startCounting as start } from "./counting-engine.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const plain = testTable("rows", { partitionKey: "id" });

/** Adds to each row, read one by one or together. */
async function add(
  engine: ClientEngine,
  ids: readonly string[],
  { by = 1, how = "get" }: { readonly by?: number; readonly how?: "get" | "batch-get" } = {},
): Promise<void> {
  await engine.transact({ ack: "certified" }, async (tx) => {
    const keys = ids.map((id) => ({ table: "rows", key: keyOf(id) }));
    const found =
      how === "get"
        ? await Promise.all(keys.map(({ key }) => tx.get("rows", key)))
        : await tx.batchGet(keys);
    for (const [i, id] of ids.entries()) {
      tx.put("rows", { ...keyOf(id), n: { N: (numberIn(found[i]) + by).toString() } });
    }
  });
}

/** What a process finds that reads tables alone. */
async function stored(cloud: TestCloud, ids: readonly string[]): Promise<readonly number[]> {
  const reader = cloud.createClient("stored");
  const found = await cloud.run(() => reader.snapshot((tx) => tx.batchGet(rows, [...ids])));
  return found.map((row) => row?.n ?? 0);
}

async function seeded(options: { history?: boolean; hashBits?: number } = {}): Promise<TestCloud> {
  const { history = false, hashBits } = options;
  const cloud = await createTestCloud({
    tables: [{ ...plain, history }],
    ...(hashBits === undefined ? {} : { hashBits }),
  });
  cloud.seed(rows, [
    { id: "a", n: 0 },
    { id: "b", n: 0 },
  ]);
  return cloud;
}

test.each([
  ["get", false],
  ["get", true],
  ["batch-get", false],
] as const)(
  "a transaction that lost its position asks nobody when it runs again: %s, history %s",
  async (how, history) => {
    const cloud = await seeded({ history });
    cloud.pauseReplay();
    const winner = start(cloud, "winner", { neverInstalls: true });
    const before: Calls[] = [];
    const loser = start(cloud, "loser", {
      beforePut: async (put) => {
        if (put === 1) await add(winner, ["a", "b"], { by: 10 });
        before.push({ ...loser.calls });
      },
    });
    await cloud.run(() => add(loser, ["a", "b"], { how }));
    const [first, second] = before;
    expect(second).toEqual({ ...first, puts: 2 });
    expect(await stored(cloud, ["a", "b"])).toEqual([11, 11]);
  },
);

test("a row that the winner has deleted is absent", async () => {
  const cloud = await seeded();
  const winner = start(cloud, "winner", { neverInstalls: true });
  const loser = start(cloud, "loser", {
    beforePut: async (put) => {
      if (put > 1) return;
      await winner.transact({ ack: "certified" }, (tx) => {
        tx.delete("rows", keyOf("a"));
        return Promise.resolve();
      });
    },
  });
  await cloud.run(async () => {
    await add(loser, ["a"]);
    await add(loser, ["a"]);
  });
  expect(await stored(cloud, ["a"])).toEqual([2]);
  expect(loser.calls.reads).toBeLessThanOrEqual(2);
});

test("a value that others have overwritten since is not shown", async () => {
  const cloud = await seeded();
  cloud.pauseReplay();
  const [one, other] = ["one", "other"].map((name) => start(cloud, name, { neverInstalls: true }));
  if (one === undefined || other === undefined) throw new Error("two are started");
  await cloud.run(async () => {
    for (let i = 0; i < 5; i += 1) {
      await add(one, ["a"]);
      await add(other, ["a"]);
    }
  });
  expect(await stored(cloud, ["a"])).toEqual([10]);
});

test("a snapshot that has begun before the block reads what was there", async () => {
  const cloud = await seeded();
  cloud.pauseReplay();
  const winner = start(cloud, "winner", { neverInstalls: true });
  const reader = start(cloud, "reader");
  const seen = await cloud.run(() =>
    reader.snapshot({}, async (snapshot) => {
      const a = numberIn(await snapshot.get("rows", keyOf("a")));
      await add(winner, ["a", "b"]);
      // The tail learns of the block.
      await add(reader, ["c"]);
      return [a, numberIn(await snapshot.get("rows", keyOf("b")))];
    }),
  );
  expect(seen.result).toEqual([0, 0]);
});

test("rows whose hashes are equal are not taken for each other", async () => {
  const cloud = await seeded({ hashBits: 1 });
  const ids = ["a", "b", "c", "d", "e"];
  const engines = ["one", "other", "third"].map((name) => start(cloud, name));
  await cloud.run(async () => {
    for (let i = 0; i < 4; i += 1) {
      await Promise.all(engines.map((engine) => add(engine, [ids[i] ?? "a", "e"])));
    }
  });
  expect(await stored(cloud, ids)).toEqual([3, 3, 3, 3, 12]);
});

test("a run that ends without a commit sees what was acknowledged before it began", async () => {
  const cloud = await seeded();
  const winner = start(cloud, "winner", { neverInstalls: true });
  const reader = start(cloud, "reader", {
    // The refusal brings the first of them along.
    beforePut: async () => {
      await add(winner, ["a"]);
      await add(winner, ["b"]);
    },
  });
  let runs = 0;
  const { result } = await cloud.run(() =>
    reader.transact({}, async (tx) => {
      runs += 1;
      const n = numberIn(await tx.get("rows", keyOf("a")));
      if (runs === 1) tx.put("rows", { ...keyOf("a"), n: { N: "100" } });
      return [n, numberIn(await tx.get("rows", keyOf("b")))];
    }),
  );
  expect(result).toEqual([1, 1]);
});
