/** As helpers-wait-for-themselves, by four reads of four callers; no client is dead, all slow. */
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const ids = ["a", "b", "c", "d"];

test("four callers of one process, an item each", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(rows, { partitionKey: "id", history: true })],
  });
  await cloud.run(async () => {
    cloud.pauseReplay();
    for (const n of [1, 2]) {
      const writer = cloud.startProcess("writer", {
        onEvent: (event) => {
          if (event.kind === "certified") writer.freeze(120_000);
        },
      });
      writer.client
        .transact((tx) => {
          for (const id of ids) tx.put(rows, { id, n });
          return Promise.resolve();
        })
        .catch(() => undefined);
      await cloud.clock.sleep(2_000);
    }
    const reader = cloud.createClient("reader");
    const seen = await Promise.all(
      ids.map((id) =>
        reader
          .snapshot({ deadlineMs: 30_000 }, (s) => s.get(rows, id))
          .then((row) => row?.n)
          .catch((error: unknown) => String(error)),
      ),
    );
    expect(seen).toEqual([2, 2, 2, 2]);
  });
});
