/**
 * Found by the simulator (native-rows, seed 42): an operator closes the stream, or opens it, while
 * a transaction is prepared. The operator's block has to say so: it named none, and every reader of
 * the log, clients and functions, stopped there for good.
 */
import { expect, test } from "vitest";
import { mixedTable } from "../../simulation/mixed-tables.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import type { TestProcess } from "../../testing/test-process.ts";
import { testTable } from "../../testing/test-tables.ts";

const rows = defineTable<{ readonly value: number }, { readonly id: string }>("rows", {
  key: "id",
});

test.each([
  ["closed", false],
  ["opened", true],
])("a stream is %s while a transaction is prepared, and all goes on", async (_what, isOn) => {
  const cloud = await createTestCloud({
    tables: [mixedTable(testTable("rows", { partitionKey: "id" }))],
    tablesOnly: isOn,
  });
  const { deployment, world } = cloud;
  const dying: { process?: TestProcess } = {};
  world.dynamodb.onWrite(({ after }) => {
    if (after !== undefined && "_f" in after) dying.process?.crash();
  });
  const puts = async (client: TestProcess["client"], value: number): Promise<void> => {
    await client.transact((tx) => {
      for (const id of ["a", "b"]) tx.put(rows, { id, value });
      return Promise.resolve();
    });
  };
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await puts(client, 0);
    const died = new Promise<void>((ended) => {
      dying.process = cloud.startProcess("dies");
      dying.process.onCrash(ended);
    });
    if (dying.process !== undefined) void puts(dying.process.client, 1);
    await died;
    await deployment.switchStream(isOn);
    await puts(client, 2);
    await puts(cloud.createClient("another"), 3);
  });
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(rows).map(({ value }) => value)).toEqual([3, 3]);
  expect(deployment.programErrors).toEqual([]);
});
