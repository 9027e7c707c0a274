/** Locks that nothing of Tidemark has written: no reader is shown what is open by one. */
import { PutItemCommand, ScanCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { CorruptDataError, defineBase } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

type Stored = Record<string, AttributeValue>;

const TableName = "tidemark-test-base";
const holdFrom = (before: AttributeValue): Stored => ({
  holds: { L: [{ M: { base: { S: "two/1" }, before } }] },
});

test.each<[string, Stored]>([
  ["of another item", { key: { M: { id: { S: "z" } } } }],
  ["of another table", { table: { S: "entries" } }],
  ["of no item", { key: { M: {} } }],
  ["of an item without a type", { key: { M: { id: { NULL: true } } } }],
  ["held since half a microsecond", holdFrom({ N: "1.5" })],
  ["held since a moment that nobody lives to see", holdFrom({ N: "1E+100" })],
  ["held since before all", holdFrom({ N: "-5" })],
  ["held by a text", { holds: { L: [{ S: "two/1" }] } }],
])("a lock %s is told of, and shows nothing", async (_, change) => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const two = defineBase("two", async (base, _input: null) => {
    await base.step("take", async (tx) => tx.put(accounts, { id: "a", amount: 50 }));
    await cloud.clock.sleep(150_000);
    await base.step("give", async (tx) => tx.put(accounts, { id: "b", amount: 150 }));
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(two, null, { id: "1" });
    // Until then its value is known from the log.
    await cloud.clock.sleep(100_000);
    const { Items = [] } = await cloud.dynamodb.send(new ScanCommand({ TableName }));
    const lock = Items.find(({ pk }) => pk?.S?.startsWith("written#"));
    await cloud.dynamodb.send(new PutItemCommand({ TableName, Item: { ...lock, ...change } }));
    const reader = cloud.createClient("reader");
    const read = reader.snapshot({ deadlineMs: 2_000 }, (s) => s.get(accounts, "a"));
    await expect(read).rejects.toThrow(CorruptDataError);
    await expect(read).rejects.toThrow(`(${lock?.["pk"]?.S ?? ""}, ${lock?.["sk"]?.S ?? ""})`);
    await accepted.result({ deadlineMs: 100_000 });
  });
});
