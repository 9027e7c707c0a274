/**
 * A block whose payloads replay cannot hold at once: they are installed one after the other, and
 * the watermark passes the block when all of them are.
 */
import { expect, test, vi } from "vitest";
import * as limits from "../../core/limits.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

type Row = { readonly id: string; readonly body: string };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const bodyBytes = 390_000;
const rowsEach = Math.ceil(limits.replayChunkBytes / bodyBytes);
const names = ["a", "b", "c"];

test("a block of three large transactions is installed in parts", async () => {
  const tables = [testTable(rows, { partitionKey: "id" })];
  const cloud = await createTestCloud({ tables, commit: "stream" });
  const body = "x".repeat(bodyBytes);
  const { world } = cloud;
  /** By transaction: how many rows stood when replay last asked for its payload. */
  const standing = new Map<string, number>();
  const real = world.dynamodb.execute.bind(world.dynamodb);
  const execute = vi.spyOn(world.dynamodb, "execute");
  await cloud.run(async () => {
    await cloud.createClient("first").transact((tx) => {
      tx.put(rows, { id: "first", body: "" });
      return Promise.resolve();
    });
    await cloud.settled();
    const dying = names.map((name) => {
      const victim = cloud.startProcess(name, {
        onEvent: (event) => {
          if (event.kind === "certified") victim.crash();
        },
      });
      victim.client
        .transact((tx) => {
          for (let i = 0; i < rowsEach; i += 1)
            tx.put(rows, { id: `${name}${i.toString()}`, body });
          return Promise.resolve();
        })
        .catch(() => undefined);
      return victim;
    });
    // The oracle has read them by then, and replay has not.
    await cloud.clock.sleep(50);
    while (!dying.every(({ state }) => state === "dead")) await cloud.clock.sleep(5);
    execute.mockImplementation((operation, input) => {
      const asked = /spill#([0-9a-f]+)/.exec(JSON.stringify(input))?.[1];
      if (asked !== undefined) standing.set(asked, cloud.rows(rows).length - 1);
      return real(operation, input);
    });
    await cloud.settled();
  });
  execute.mockRestore();
  expect(cloud.rows(rows)).toHaveLength(1 + names.length * rowsEach);
  expect([...standing.values()].sort((a, b) => a - b)).toEqual([0, rowsEach, 2 * rowsEach]);
});
