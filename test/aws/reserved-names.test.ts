/** Tables whose items have Tidemark's own attribute names, on real protocol servers. */
import {
  BatchWriteItemCommand,
  PutItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createTables } from "../../aws/create-tables.ts";
import { adoptTables, lookThroughTables, type RegistryOptions } from "../../aws/register-tables.ts";
import * as limits from "../../core/limits.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let clients: AwsClients;
let options: RegistryOptions;

beforeAll(async () => {
  stores = await startLocalStores();
  clients = createAwsClients(stores.clientOptions);
  options = { ...stores.clientOptions, deployment: stores.deployment };
});
afterAll(async () => {
  await clients.close();
  await stores.stop();
});

type Attributes = Readonly<Record<string, AttributeValue>>;

/** A table that nobody has registered, with the rows given. */
async function tableOf(rows: readonly Attributes[], sortKey = "night"): Promise<string> {
  const name = `bookings-${Math.random().toString(36).slice(2)}`;
  const key = { partitionKey: { name: "room", type: "S" }, sortKey: { name: sortKey, type: "S" } };
  await createTables(stores.clientOptions, [{ name, ...key } as never]);
  const { client } = await clients.dynamodb();
  for (const [i, row] of rows.entries()) {
    const Item = { room: { S: "101" }, [sortKey]: { S: `n${i}` }, ...row };
    await client.send(new PutItemCommand({ TableName: name, Item }));
  }
  return name;
}

const isRegistered = async (name: string) =>
  (await stores.ports.control.tables()).some((each) => each.name === name);

const version = { N: `${Date.now() * 1_000}` };

test.each<[string, Attributes, string, string]>([
  ["a version that is a text", { _v: { S: "mine" } }, "_v", "S"],
  ["a program's own counter", { _v: { N: "7" } }, "_v", "N"],
  ["a version with a fraction", { _v: { N: `${version.N}.5` } }, "_v", "N"],
  ["a mark that is no tombstone's", { _x: { S: "x" } }, "_x", "S"],
  ["a tombstone without a version", { _x: { BOOL: true } }, "_x", "BOOL"],
  ["a fence", { _v: version, _f: { N: "1" } }, "_f", "N"],
  ["a nonce of another length", { _n: { B: new Uint8Array(15) } }, "_n", "B"],
  ["a reserved name that is not in use yet", { _b: { NULL: true } }, "_b", "NULL"],
])("%s keeps a table out, with the item's key", async (_what, row, attribute, type) => {
  const name = await tableOf([{}, row, {}]);
  const refusal = {
    code: "invalid-request",
    field: "table",
    message:
      `table "${name}" has an item with the attribute "${attribute}" (of type ${type}), a name ` +
      'that Tidemark keeps for itself: {"room":{"S":"101"},"night":{"S":"n1"}}; 1 such among the ' +
      "3 items, which are all. Give the attribute another name, in the items and in what writes " +
      "them, and register the table then",
  };
  await expect(adoptTables(options, [{ name }])).rejects.toMatchObject(refusal);
  await expect(lookThroughTables(options, [{ name }])).rejects.toMatchObject(refusal);
  expect(await isRegistered(name)).toBe(false);
  expect(await adoptTables(options, [{ name, look: "none" }])).not.toHaveProperty("0.looked");
  expect(await isRegistered(name)).toBe(true);
});

test("what transactions have left there before is no obstacle", async () => {
  const name = await tableOf([
    { _v: version },
    { _v: version, _x: { BOOL: true } },
    { _n: { B: new Uint8Array(16) }, _f: { B: new Uint8Array(16) }, _x: { BOOL: true } },
    { a: version },
  ]);
  const looked = { items: 4, isAll: true };
  expect(await lookThroughTables(options, [{ name }])).toMatchObject([{ name, looked }]);
  expect(await isRegistered(name)).toBe(false);
  expect(await adoptTables(options, [{ name }])).toMatchObject([{ name, looked }]);
});

test("a table that is registered is looked at again only where that is asked for", async () => {
  const name = await tableOf([{}]);
  await adoptTables(options, [{ name }]);
  const { client } = await clients.dynamodb();
  const Item = { room: { S: "101" }, night: { S: "later" }, _b: { S: "mine" } };
  await client.send(new PutItemCommand({ TableName: name, Item }));
  expect((await adoptTables(options, [{ name }]))[0]?.looked).toBeUndefined();
  const again = adoptTables(options, [{ name, look: "first" }]);
  await expect(again).rejects.toThrow(/"_b" \(of type S\)/);
});

test("the first look ends after some pages and says so; a full one goes on", async () => {
  const name = await tableOf([]);
  const { client } = await clients.dynamodb();
  const blob = { S: "x".repeat(350_000) };
  // Three items fill a page of 1 MB.
  const count = 3 * (limits.adoptionLookPagesMax + 2);
  const row = (i: number, more: Attributes = {}) => ({
    PutRequest: { Item: { room: { S: "7" }, night: { S: `n${i + 100}` }, blob, ...more } },
  });
  for (let i = 0; i < count; i += 1) {
    const more: Attributes = i === count - 1 ? { _v: { N: "1" } } : {};
    await client.send(new BatchWriteItemCommand({ RequestItems: { [name]: [row(i, more)] } }));
  }
  const [adopted] = await adoptTables(options, [{ name }]);
  expect(adopted?.looked).toMatchObject({ isAll: false });
  expect(adopted?.looked?.items).toBeLessThan(count);
  const all = adoptTables(options, [{ name, look: "all" }]);
  await expect(all).rejects.toThrow(`1 such among the ${count} items, which are all`);
});

test("one table with such an item keeps all of the call out", async () => {
  const [clean, other] = [await tableOf([{}]), await tableOf([{ _v: { S: "mine" } }])];
  const adopted = adoptTables(options, [{ name: clean }, { name: other }]);
  await expect(adopted).rejects.toMatchObject({ field: "table" });
  expect(await isRegistered(clean)).toBe(false);
});

test("a key attribute with such a name can never work", async () => {
  const name = await tableOf([], "_v");
  await expect(adoptTables(options, [{ name }])).rejects.toMatchObject({
    field: "table",
    message: expect.stringMatching(/has the key attribute "_v".*cannot be registered/) as string,
  });
});
