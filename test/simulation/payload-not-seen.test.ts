/**
 * A stream that shows nothing for minutes has lost nothing: what was committed meanwhile reaches
 * its table once the stream shows it again (I7, I9).
 */
import { expect, test } from "vitest";
import type { TransactionId } from "../../core/types.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const blindMs = 3 * 60_000;

test("a commit whose record stays unseen for minutes is installed, no dead letter", async () => {
  const cloud = await createTestCloud({
    tables: [testTable("items", { partitionKey: "id" })],
    faults: { "empty-page": 1 },
  });
  let id: TransactionId | undefined;
  const app = cloud.startProcess("app", {
    onEvent: (event) => {
      if (event.kind !== "sent") return;
      id = event.transactionId;
      // Once the record is stored, before anything is installed.
      void cloud.world.time.sleep(12).then(() => {
        app.crash();
      });
    },
  });
  const other = cloud.createClient("other");
  await cloud.run(async () => {
    // The schedule's sweep does the work: it has to read the payload from the stream.
    cloud.pauseReplay();
    void app.client.transact((tx) => {
      tx.put(items, { id: "a", n: 1 });
      return Promise.resolve();
    });
    await cloud.world.time.sleep(3_000);
    expect(id && (await other.outcome(id))).toBe("committed");
    await cloud.world.time.sleep(blindMs);
    cloud.calm();
    cloud.resumeReplay();
    await cloud.settled();
  });
  expect(cloud.rows(items)).toEqual([{ id: "a", n: 1 }]);
  expect(cloud.deployment.metrics.get("DeadLetters") ?? 0).toBe(0);
});
