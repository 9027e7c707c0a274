/**
 * Transactions of one process that read what the others are about to write stand in one block,
 * however many there are (docs/protocol.md §9): counted in puts.
 */
import { expect, test } from "vitest";
import type { ClientEngine, Receipt } from "../../../engine/types.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { keyOf, numberIn, startCounting } from "./counting-engine.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const clients = 16;

async function seeded(): Promise<TestCloud> {
  const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
  cloud.seed(rows, [
    { id: "hot", n: 0 },
    { id: "other", n: 0 },
  ]);
  return cloud;
}

async function increment(engine: ClientEngine, id: string): Promise<Receipt> {
  const { receipt } = await engine.transact({}, async (tx) => {
    const n = numberIn(await tx.get("rows", keyOf(id)));
    tx.put("rows", { ...keyOf(id), n: { N: (n + 1).toString() } });
  });
  return receipt;
}

/** Increments the hot row in each client at once, while a block of another row is on its way. */
async function incrementBehind(
  cloud: TestCloud,
  engine: ClientEngine,
): Promise<readonly Receipt[]> {
  const [, ...receipts] = await cloud.run(async () => {
    // So that nothing is read for the first time.
    await increment(engine, "hot");
    const other = increment(engine, "other");
    return Promise.all([other, ...Array.from({ length: clients }, () => increment(engine, "hot"))]);
  });
  return receipts;
}

/** How many of them each block has committed. */
function perBlock(receipts: readonly Receipt[]): readonly number[] {
  const counts = new Map<number, number>();
  for (const { commitTimestamp = 0 } of receipts) {
    counts.set(commitTimestamp, (counts.get(commitTimestamp) ?? 0) + 1);
  }
  return [...counts.values()];
}

test("those who come while a block is on its way stand in the next one, all of them", async () => {
  const cloud = await seeded();
  const engine = startCounting(cloud, "app", {
    beforePut: async (put) => {
      if (put === 2) await cloud.clock.sleep(100);
    },
  });
  const receipts = await incrementBehind(cloud, engine);
  expect(perBlock(receipts)).toEqual([clients]);
  expect(engine.calls.puts).toBe(3);
  expect(cloud.rows(rows)).toContainEqual({ id: "hot", n: clients + 1 });
});

test("those who are beaten together run again together, and stand in one block", async () => {
  const cloud = await seeded();
  const winner = startCounting(cloud, "winner");
  const engine = startCounting(cloud, "app", {
    beforePut: async (put) => {
      if (put === 2) await cloud.clock.sleep(100);
      if (put === 3) await increment(winner, "hot");
    },
  });
  const receipts = await incrementBehind(cloud, engine);
  expect(perBlock(receipts)).toEqual([clients]);
  expect(engine.calls.puts).toBe(4);
  expect(cloud.rows(rows)).toContainEqual({ id: "hot", n: clients + 2 });
});

test("what is spilled first holds no block up", async () => {
  const cloud = await seeded();
  const engine = startCounting(cloud, "app", { neverSpills: true });
  await cloud.run(async () => {
    const caller = new AbortController();
    const large = engine.transact({ signal: caller.signal }, (tx) => {
      for (let i = 0; i < 4; i += 1) {
        tx.put("rows", { ...keyOf(`large-${i.toString()}`), text: { S: "x".repeat(300_000) } });
      }
      return Promise.resolve();
    });
    const ended = large.catch((error: unknown) => error);
    const receipt = await increment(engine, "other");
    expect(receipt.attempts).toBe(1);
    caller.abort(new Error("enough"));
    await ended;
  });
});
