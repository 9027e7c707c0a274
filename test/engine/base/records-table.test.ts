/** What is recorded of BASE transactions is nobody's row. */
import { expect, test } from "vitest";
import { registerTables } from "../../../aws/register-tables.ts";
import { isBaseRecordsTable, isOwnTable } from "../../../core/own-tables.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { openAccounts, tables } from "./transfers.ts";

const name = "tidemark-test-base";
const records = defineTable<{ readonly phase?: string }, { pk: string; sk: string }, "pk">(name, {
  key: ["pk", "sk"],
});
const refused = { code: "invalid-request", field: "table" };

test("no transaction reads or writes it: a row there says that one is released", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const forged = { pk: "state#order/1", sk: "-", phase: "released" };
    const put = client.transact((tx) => {
      tx.put(records, forged);
      return Promise.resolve();
    });
    await expect(put).rejects.toMatchObject(refused);
    const remove = client.transact((tx) => {
      tx.delete(records, { pk: forged.pk, sk: forged.sk });
      return Promise.resolve();
    });
    await expect(remove).rejects.toMatchObject(refused);
    const key = { pk: forged.pk, sk: forged.sk };
    await expect(client.snapshot((s) => s.get(records, key))).rejects.toMatchObject(refused);
    const both = client.snapshot((s) => s.batchGet(records, [key, key]));
    await expect(both).rejects.toMatchObject(refused);
    const query = client.snapshot((s) => s.query(records, { where: { pk: key.pk } }).all());
    await expect(query).rejects.toMatchObject(refused);
    const scan = client.transact((tx) => tx.scan(records).all());
    await expect(scan).rejects.toMatchObject(refused);
  });
});

test("nobody registers it, of whichever deployment", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const { world, deployment } = cloud;
  const operator = world.startProcess("operator", { exact: true });
  const aws = { handles: world.handles(operator, { calm: true }), clock: operator.clock };
  const keys = {
    partitionKey: { name: "pk", type: "S" },
    sortKey: { name: "sk", type: "S" },
  } as const;
  await cloud.run(async () => {
    for (const each of [name, "tidemark-other-base"]) {
      const wanted = { name: each, ...keys, history: true, access: "mixed" } as const;
      const options = { ...aws, deployment: deployment.options.deployment };
      const registered = registerTables(options, [wanted]);
      await expect(registered).rejects.toMatchObject(refused);
    }
  });
});

test("is told from those that are no tables of users at all", () => {
  expect([name, "tidemark-base", "base", "tidemark-dev-orders"].map(isBaseRecordsTable)).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(isOwnTable(name)).toBe(false);
});
