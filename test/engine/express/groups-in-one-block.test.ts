/**
 * Groups of one process that have read from one another stand in one block, one after another
 * (docs/adr/0013-express-commit.md): counted in puts.
 */
import { describe, expect, test } from "vitest";
import { CommitUnknownError, StoreError } from "../../../core/errors.ts";
import type { BodyTransaction, ClientEngine, Receipt } from "../../../engine/types.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { keyOf, numberIn, startCounting } from "./counting-engine.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const items = Array.from({ length: 16 }, (_, i) => `item-${i.toString()}`);

async function seeded(): Promise<TestCloud> {
  const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
  cloud.seed(rows, [{ id: "other", n: 0 }, ...items.map((id) => ({ id, n: 0 }))]);
  return cloud;
}

function numberOf(cloud: TestCloud, id: string): number | undefined {
  return cloud.rows(rows).find((row) => row.id === id)?.n;
}

/** Adds one to each item. */
async function increment(engine: ClientEngine, ...ids: readonly string[]): Promise<Receipt> {
  const { receipt } = await engine.transact({}, (tx) => addOne(tx, ...ids));
  return receipt;
}

async function addOne(tx: BodyTransaction, ...ids: readonly string[]): Promise<void> {
  const found = await Promise.all(ids.map((id) => tx.get("rows", keyOf(id))));
  for (const [i, id] of ids.entries()) {
    tx.put("rows", { ...keyOf(id), n: { N: (numberIn(found[i]) + 1).toString() } });
  }
}

/** Each round begins behind the one before, all while a block of another item is on its way. */
async function behindABlock(
  cloud: TestCloud,
  engine: ClientEngine,
  rounds: readonly (readonly (readonly string[])[])[],
): Promise<Receipt[]> {
  return cloud.run(async () => {
    // So that nothing is read for the first time.
    await increment(engine, ...items);
    const other = increment(engine, "other");
    await cloud.clock.sleep(20);
    const all: Promise<Receipt>[] = [];
    for (const round of rounds) {
      all.push(...round.map((ids) => increment(engine, ...ids)));
      await cloud.clock.sleep(30);
    }
    await other;
    return Promise.all(all);
  });
}

function timestampsOf(receipts: readonly Receipt[]): ReadonlySet<number> {
  return new Set(receipts.map(({ commitTimestamp = 0 }) => commitTimestamp));
}

/** Each item by itself, then two beside each other, then four, and so on. */
const tree = [1, 2, 4, 8, 16].map((width) =>
  Array.from({ length: 16 / width }, (_, i) => items.slice(i * width, (i + 1) * width)),
);

/** Holds the second put up, that of another item. */
function hold(cloud: TestCloud, then?: (put: number) => Promise<void>) {
  return {
    beforePut: async (put: number): Promise<void> => {
      if (put === 2) await cloud.clock.sleep(200);
      await then?.(put);
    },
  };
}

/** A, B that have read from nobody, and C that has read from both. */
const twoAndOne = [[["item-0"], ["item-1"]], [["item-0", "item-1"]]] as const;

describe("groups that wait for one another", () => {
  test("stand in one block, in their order", async () => {
    const cloud = await seeded();
    const engine = startCounting(cloud, "app", hold(cloud));
    const receipts = await behindABlock(cloud, engine, tree);
    expect(engine.calls.puts).toBe(3);
    // They are no single transaction: each has its own timestamp.
    expect(timestampsOf(receipts).size).toBe(receipts.length);
    const rounds = tree.map((round) => timestampsOf(receipts.splice(0, round.length)));
    for (const [i, before] of rounds.slice(0, -1).entries()) {
      expect(Math.max(...before)).toBeLessThan(Math.min(...(rounds[i + 1] ?? [])));
    }
    for (const id of items) expect(numberOf(cloud, id)).toBe(1 + tree.length);
  });

  test("go down with those that they have read from, and the others stand", async () => {
    const cloud = await seeded();
    const winner = startCounting(cloud, "winner");
    const hooks = hold(cloud, async (put) => {
      if (put === 3) await increment(winner, "item-0");
    });
    const engine = startCounting(cloud, "app", hooks);
    const receipts = await behindABlock(cloud, engine, [
      items.slice(0, 4).map((id) => [id]),
      [
        ["item-0", "item-1"],
        ["item-2", "item-3"],
      ],
    ]);
    expect(receipts.map(({ attempts }) => attempts)).toEqual([2, 1, 1, 1, 2, 1]);
    expect(items.slice(0, 4).map((id) => numberOf(cloud, id))).toEqual([4, 3, 3, 3]);
  });

  test("commit once where the answer is lost", async () => {
    const cloud = await seeded();
    const engine = startCounting(cloud, "app", { ...hold(cloud), loses: [3] });
    const receipts = await behindABlock(cloud, engine, twoAndOne);
    expect(receipts.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    expect(numberOf(cloud, "item-1")).toBe(3);
  });

  test("go by the stream one behind the other where the log throttles", async () => {
    const cloud = await seeded();
    const hooks = hold(cloud, (put) => {
      if (put === 3) throw new StoreError("throttled", "too many requests");
      return Promise.resolve();
    });
    const engine = startCounting(cloud, "app", hooks);
    const receipts = await behindABlock(cloud, engine, twoAndOne);
    expect(engine.calls.puts).toBe(3);
    expect(receipts.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    expect(numberOf(cloud, "item-1")).toBe(3);
  });

  test("wait for what no block takes", async () => {
    const cloud = await seeded();
    const engine = startCounting(cloud, "app", hold(cloud));
    await cloud.run(async () => {
      await increment(engine, ...items);
      const other = increment(engine, "other");
      await cloud.clock.sleep(20);
      const large = engine.transact({}, async (tx) => {
        const n = numberIn(await tx.get("rows", keyOf("item-0")));
        const text = { S: "x".repeat(250_000) };
        tx.put("rows", { ...keyOf("item-0"), n: { N: (n + 1).toString() }, text });
        tx.put("rows", { ...keyOf("large"), text });
      });
      await cloud.clock.sleep(10);
      const behind = await increment(engine, "item-0");
      expect(behind.attempts).toBe(1);
      await Promise.all([other, large]);
    });
    expect(numberOf(cloud, "item-0")).toBe(3);
  });

  test("do not run again while their block may yet come, whatever became of a caller", async () => {
    const cloud = await seeded();
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const engine = startCounting(
      cloud,
      "app",
      hold(cloud, (put) => (put < 3 ? Promise.resolve() : held)),
    );
    let runs = 0;
    await cloud.run(async () => {
      await increment(engine, ...items);
      const other = increment(engine, "other");
      await cloud.clock.sleep(20);
      // Its caller gives up while nobody knows what becomes of it. Nobody joins it.
      const first = engine.transact({ deadlineMs: 1_000, isolation: "snapshot" }, (tx) =>
        addOne(tx, "item-0"),
      );
      const ended = first.catch((error: unknown) => error);
      await cloud.clock.sleep(10);
      const behind = engine.transact({ deadlineMs: 60_000 }, async (tx) => {
        runs += 1;
        if (runs > 1) {
          letGo();
          await cloud.clock.sleep(500);
        }
        await addOne(tx, "item-0");
      });
      expect(await ended).toBeInstanceOf(CommitUnknownError);
      await cloud.clock.sleep(20_000);
      letGo();
      await Promise.all([other, behind]);
    });
    expect(runs).toBe(1);
    expect(numberOf(cloud, "item-0")).toBe(3);
  });
});
