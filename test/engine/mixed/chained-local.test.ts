/**
 * A body may read what another transaction of its process is about to commit. If it then writes one
 * item of a mixed table and nothing else, that write is no local commit: it rests on the other one,
 * which may fail.
 */
import { expect, test } from "vitest";
import { mixedTable } from "../../../simulation/mixed-tables.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/test-cloud.ts";
import { testTable } from "../../../testing/test-tables.ts";

type Row = { readonly n: number };
const counters = defineTable<Row, { readonly id: string }>("counters", { key: "id" });
const copies = defineTable<Row, { readonly id: string }>("copies", { key: "id" });

test("I4: what rests on an undecided commit is not committed before it", async () => {
  const cloud = await createTestCloud({
    tables: [
      testTable("counters", { partitionKey: "id" }),
      mixedTable(testTable("copies", { partitionKey: "id" })),
    ],
    commit: "stream",
  });
  cloud.seed(counters, [{ id: "a", n: 0 }]);
  let sent = 0;
  const app = cloud.createClient("app", {
    onEvent: ({ kind }) => {
      if (kind === "sent") sent += 1;
    },
  });
  const before = await cloud.run(async () => {
    await app.transact((tx) => tx.get(counters, "a"));
    const writing = app.transact((tx) => {
      tx.put(counters, { id: "a", n: 1 });
      return Promise.resolve();
    });
    while (sent === 0) await cloud.clock.sleep(0.5);
    const { receipt } = await app.transact(async (tx) => {
      const counter = await tx.get(counters, "a");
      tx.put(copies, { id: "a", n: counter?.n ?? -1 });
    });
    const { receipt: written } = await writing;
    return { copied: receipt, written };
  });
  const { copied, written } = before;
  expect(copied.local).toBe(undefined);
  expect(copied.commitTimestamp).toBeGreaterThan(written.commitTimestamp ?? Infinity);
});
