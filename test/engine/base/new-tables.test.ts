/** Tables that were registered since a process last looked: no step or request fails by it. */
import { expect, test } from "vitest";
import { createTables } from "../../../aws/create-tables.ts";
import { registerTables } from "../../../aws/register-tables.ts";
import { defineBase, defineTable } from "../../../sdk/index.ts";
import { registeredTable } from "../../../testing/deployment-options.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

const notes = defineTable<{ readonly text: string }, { readonly id: string }>("notes", {
  key: "id",
});
const notesTable = testTable("notes", { partitionKey: "id", history: true, base: true });

const noting = defineBase("noting", async (base, isFirst: boolean) => {
  const note = () => base.step("note", async (tx) => tx.put(notes, { id: base.id, text: "here" }));
  if (isFirst) await note();
  await base.step("put", async (tx) => tx.put(accounts, { id: "a", amount: 1 }));
  if (!isFirst) await note();
  return "noted";
});

async function register(cloud: TestCloud, isNew: boolean): Promise<void> {
  const operator = cloud.world.startProcess("second-operator", { exact: true });
  const aws = { handles: cloud.world.handles(operator, { calm: true }), clock: operator.clock };
  if (isNew) await createTables(aws, [notesTable]);
  const { deployment } = cloud.deployment.options;
  await registerTables({ ...aws, deployment }, [registeredTable(notesTable)]);
}

test.each([true, false])("a new one is known to a step (its first: %s)", async (isFirst) => {
  const cloud = await createTestCloud({ commit: "express", tables });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await register(cloud, true);
    const { accepted } = await client.base(noting, isFirst, { id: "1" });
    expect(await accepted.result({ deadlineMs: 5_000 })).toBe("noted");
  });
});

test("what is asked for of one that takes BASE transactions by now is not refused", async () => {
  const plain = testTable("notes", { partitionKey: "id", history: true });
  const cloud = await createTestCloud({ commit: "express", tables: [...tables, plain] });
  await cloud.run(async () => {
    const [client, runner] = [cloud.createClient("client"), cloud.createClient("runner")];
    await openAccounts(client);
    await runner.snapshot((s) => s.get(accounts, "a"));
    await register(cloud, false);
    const { requested } = await client.requestBase(noting, true, { id: "1" });
    const stop = new AbortController();
    const running = runner.baseRunner({ handlers: [noting], signal: stop.signal });
    await cloud.clock.sleep(10_000);
    expect(await requested.status()).toMatchObject({ phase: "requested", failures: 0 });
    expect(await requested.cancel()).toBe(true);
    stop.abort();
    await running;
  });
});
