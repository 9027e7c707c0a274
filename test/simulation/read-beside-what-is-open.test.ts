/**
 * A transaction that writes a transactional table by what it has read of a mixed one leaves no
 * fence: the log alone says that it is about to write. Whoever reads there without a look at what
 * is open comes before it, though the native write that it has not seen is acknowledged by then:
 *
 *   T        reads y ─ prepared ─ y again, as read ──────────────────────── vote: z by the old y
 *   native                                          puts y, acknowledged
 *   U                                                         reads z: before T?
 *
 * T lies before the native write, and that one before U. So U must see what T writes.
 */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { mixedTable } from "../../simulation/mixed-tables.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const goods = defineTable<{ readonly n: number }, { readonly id: string }>("goods", { key: "id" });
const totals = defineTable<{ readonly n: number }, { readonly id: string }>("totals", {
  key: "id",
});

type By = "a native put" | "a local commit";
const writers: readonly By[] = ["a native put", "a local commit"];

/** `look` runs when T has compared what it has read, and a native write has come behind that. */
async function behindTheCheck<T>(
  by: By,
  look: (
    reader: ReturnType<Awaited<ReturnType<typeof createTestCloud>>["createClient"]>,
  ) => Promise<T>,
) {
  let isArmed = false;
  const compares: { begun?: () => void } = {};
  const compared = new Promise<void>((resolve) => {
    compares.begun = resolve;
  });
  const cloud = await createTestCloud({
    tables: [
      mixedTable(testTable("goods", { partitionKey: "id" })),
      testTable("totals", { partitionKey: "id" }),
    ],
    commit: "express",
    latency: ({ operation }) => {
      if (!isArmed || operation !== "BatchGetItem") return 4;
      isArmed = false;
      compares.begun?.();
      // There after 210 ms at the latest.
      return 300;
    },
  });
  return cloud.run(async () => {
    const client = cloud.createClient("client");
    const reader = cloud.createClient("reader");
    await client.transact((tx) => {
      tx.put(goods, { id: "y", n: 1 });
      tx.put(totals, { id: "z", n: 0 });
      return Promise.resolve();
    });
    await reader.transact((tx) => tx.get(totals, "z"));
    const writing = client.transact(async (tx) => {
      const read = await tx.get(goods, "y");
      tx.put(totals, { id: "z", n: read?.n ?? 0 });
      isArmed = true;
    });
    await compared;
    await cloud.clock.sleep(220);
    if (by === "a native put") {
      const put = { TableName: "goods", Item: { id: { S: "y" }, n: { N: "2" } } };
      await cloud.dynamodb.send(new PutItemCommand(put));
    } else {
      const { receipt } = await cloud.createClient("local").transact((tx) => {
        tx.put(goods, { id: "y", n: 2 });
        return Promise.resolve();
      });
      expect(receipt.local).toBe(true);
    }
    const seen = await look(reader);
    const { receipt } = await writing;
    expect(receipt.attempts).toBe(1);
    return seen;
  });
}

describe.each(writers)("behind %s", (by) => {
  test("I10: who reads both tables sees what is written by the older value", async () => {
    const seen = await behindTheCheck(by, async (reader) => {
      const { result } = await reader.transact(async (tx) => {
        const [y, z] = [await tx.get(goods, "y"), await tx.get(totals, "z")];
        return [y?.n, z?.n];
      });
      return result;
    });
    expect(seen).toEqual([2, 1]);
  });

  test("I10: who reads the other table only comes behind it", async () => {
    const seen = await behindTheCheck(by, async (reader) => {
      const { result } = await reader.transact(async (tx) => (await tx.get(totals, "z"))?.n);
      return result;
    });
    expect(seen).toBe(1);
  });

  test("I10: so does an error that says what it has read there", async () => {
    const seen = await behindTheCheck(by, async (reader) => {
      const failing = reader.transact(async (tx) => {
        throw new Error(`z is ${String((await tx.get(totals, "z"))?.n)}`);
      });
      return failing.catch((error: unknown) => (error as Error).message);
    });
    expect(seen).toBe("z is 1");
  });
});
