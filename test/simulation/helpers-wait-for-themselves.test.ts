/**
 * docs/protocol.md §7: "What waits holds no place: [...] Else those who wait could hold them all."
 * A helper on a table with history holds a place of the process's helpers while it waits for the
 * earlier commit, whose finishing needs a place of the same ones.
 */
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const ids = ["a", "b", "c", "d", "e"];

/** Commits all rows, and dies before it has installed any. */
async function putAndDie(cloud: TestCloud, n: number): Promise<void> {
  const victim = cloud.startProcess("victim", {
    onEvent: (event) => {
      if (event.kind === "certified") victim.crash();
    },
  });
  victim.client
    .transact((tx) => {
      for (const id of ids) tx.put(rows, { id, n });
      return Promise.resolve();
    })
    .catch(() => undefined);
  await cloud.clock.sleep(5_000);
  expect(victim.state).toBe("dead");
}

test.each([false, true])("two commits of the dead, read together; history: %s", async (history) => {
  const cloud = await createTestCloud({
    tables: [testTable(rows, { partitionKey: "id", history })],
  });
  await cloud.run(async () => {
    cloud.pauseReplay();
    await putAndDie(cloud, 1);
    await putAndDie(cloud, 2);
    const reader = cloud.createClient("reader");
    const read = (deadlineMs: number) =>
      reader
        .snapshot({ deadlineMs }, (s) => s.batchGet(rows, ids))
        .then((all) => all.map((row) => row?.n))
        .catch((error: unknown) => String(error));
    const first = await read(30_000);
    // With replay back nothing is missing any more. Two others die; replay stands again.
    cloud.resumeReplay();
    await cloud.settled();
    await cloud.clock.sleep(60_000);
    const calm = await read(30_000);
    cloud.pauseReplay();
    await putAndDie(cloud, 3);
    // One commit alone to help with: nothing has to be waited for.
    const later = await read(30_000);
    expect({ first, calm, later }).toEqual({
      first: [2, 2, 2, 2, 2],
      calm: [2, 2, 2, 2, 2],
      later: [3, 3, 3, 3, 3],
    });
  });
});

test("and the process can still be closed, once replay is back", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(rows, { partitionKey: "id", history: true })],
  });
  await cloud.run(async () => {
    cloud.pauseReplay();
    await putAndDie(cloud, 1);
    await putAndDie(cloud, 2);
    const reader = cloud.createClient("reader");
    await reader
      .snapshot({ deadlineMs: 10_000 }, (s) => s.batchGet(rows, ids))
      .catch(() => undefined);
    await reader.transact({ ack: "certified" }, (tx) => {
      tx.put(rows, { id: "a", n: 3 });
      return Promise.resolve();
    });
    await cloud.clock.sleep(5_000);
    cloud.resumeReplay();
    await cloud.settled();
    const closed = await Promise.race([
      reader.close().then(() => "closed"),
      cloud.clock.sleep(3_600_000).then(() => "an hour later, still not closed"),
    ]);
    expect(closed).toBe("closed");
  });
});
