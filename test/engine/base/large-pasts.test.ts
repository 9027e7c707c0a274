/** What stood there before is nobody's write: no bound of a transaction's writes bounds it. */
import { expect, test } from "vitest";
import { defineBase, defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";

const rows = defineTable<{ readonly text: string }, { readonly id: string }>("rows", { key: "id" });
const tables = [testTable("rows", { partitionKey: "id", history: true, base: true })];

test("who only reads is shown more than one commit can write", async () => {
  const [count, size] = [48, 380_000];
  const cloud = await createTestCloud({ commit: "express", tables });
  const ids = Array.from({ length: count }, (_, n) => n.toString());
  const parts = [0, 1, 2].map((part) => ids.filter((_, n) => n % 3 === part));
  const rewrite = defineBase("rewrite", async (base) => {
    for (const part of parts) {
      await base.step("write", (tx) => {
        for (const id of part) tx.put(rows, { id, text: "n".repeat(size) });
        return Promise.resolve(null);
      });
    }
    await cloud.clock.sleep(600_000);
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    for (const part of parts) {
      await client.transact((tx) => {
        for (const id of part) tx.put(rows, { id, text: "o".repeat(size) });
        return Promise.resolve();
      });
    }
    const { accepted } = await client.base(rewrite, undefined, { id: "1" });
    while ((await accepted.status())?.steps !== parts.length) await cloud.clock.sleep(1_000);
    const reader = cloud.createClient("reader");
    const seen = await reader.snapshot({ deadlineMs: 60_000 }, async (s) => {
      const found = new Set<string | undefined>();
      for (let at = 0; at < count; at += 100) {
        const some = await s.batchGet(rows, ids.slice(at, at + 100));
        for (const row of some) found.add(row?.text[0]);
      }
      return [...found];
    });
    expect(seen).toEqual(["o"]);
  });
}, 60_000);
