/** User tables: reads, pages, installs and tombstones on a real protocol server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { InstallRequest, ItemStore } from "../../core/ports.ts";
import type { Item, TableDescription, Version } from "../../core/types.ts";
import { toSdkItem } from "../../aws/attribute-values.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let items: ItemStore;
let simple: TableDescription;
let ranged: TableDescription;
let foreign: DynamoDBClient;
let lastKey = 0;

beforeAll(async () => {
  stores = await startLocalStores();
  ({ items } = stores.ports);
  simple = await stores.createTable("simple");
  ranged = await stores.createTable("ranged", {
    partitionKey: { name: "size", type: "S" },
    sortKey: { name: "order", type: "N" },
    indexes: [
      {
        name: "by-colour",
        partitionKey: { name: "colour", type: "S" },
        sortKey: { name: "order", type: "N" },
      },
    ],
  });
  foreign = new DynamoDBClient({
    ...stores.clientOptions,
    endpoint: stores.servers.endpoint.dynamodb,
  });
});
afterAll(async () => {
  foreign.destroy();
  await stores.stop();
});

function freshKey(): Item {
  lastKey += 1;
  return { pk: { S: `key-${lastKey.toString()}` } };
}

async function putForeign(table: TableDescription, item: Item): Promise<void> {
  await foreign.send(new PutItemCommand({ TableName: table.name, Item: toSdkItem(item) }));
}

function install(
  key: Item,
  version: number,
  more: Partial<InstallRequest> = {},
): Promise<"installed" | "superseded"> {
  return items.install({
    table: simple.name,
    key,
    item: { ...key, at: { N: version.toString() } },
    version: version as Version,
    expects: "below",
    signBeforeMs: Number.MAX_SAFE_INTEGER,
    ...more,
  });
}

describe("get", () => {
  test("answers version 0 and no tombstone where nothing stands", async () => {
    expect(await items.get(simple, freshKey())).toEqual({
      item: undefined,
      version: 0,
      tombstone: false,
    });
  });

  test("gives a foreign item version 0 and hides the reserved attributes", async () => {
    const key = freshKey();
    await putForeign(simple, { ...key, text: { S: "" }, _f: { N: "5" }, _b: { S: "b" } });
    expect(await items.get(simple, key)).toEqual({
      item: { ...key, text: { S: "" } },
      version: 0,
      tombstone: false,
    });
  });

  test.each([{ S: "7" }, { N: "1.5" }, { N: "-1" }, { N: "9007199254740993" }])(
    "refuses an item whose _v is no version, and names it: %j",
    async (_v) => {
      const key = freshKey();
      const item = { table: simple.name, key };
      const damaged = { code: "corrupt-data", item };
      await putForeign(simple, { ...key, text: { S: "beside" }, _v });
      await expect(items.get(simple, key)).rejects.toMatchObject(damaged);
      const asked = [
        { table: simple, key: freshKey() },
        { table: simple, key },
      ];
      await expect(items.batchGet(asked)).rejects.toMatchObject(damaged);
      const versions = items.versions([item], { consistency: "strong" });
      await expect(versions).rejects.toMatchObject(damaged);
    },
  );

  test("returns every type as it was put", async () => {
    const key = freshKey();
    const item: Item = {
      ...key,
      number: { N: "12345678901234567890123456789012345678" },
      bytes: { B: Uint8Array.of(0, 255, 7) },
      empty: { B: new Uint8Array(0) },
      nothing: { NULL: true },
      no: { BOOL: false },
      list: { L: [{ M: { deep: { SS: ["a", "b"] } } }, { NS: ["1", "2"] }] },
      binaries: { BS: [Uint8Array.of(1), Uint8Array.of(2)] },
    };
    await install(key, 5, { item });
    const stored = await items.get(simple, key);
    expect(stored.version).toBe(5);
    expect(normal(stored.item)).toEqual(normal(item));
  });
});

/** Bytes as arrays: a server's answer brings Buffers. */
function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, normal(v)]));
}

describe("install", () => {
  test.each([
    { stored: 9, installed: 10, outcome: "installed" },
    { stored: 10, installed: 10, outcome: "superseded" },
    { stored: 11, installed: 10, outcome: "superseded" },
  ])("at $installed over $stored is $outcome (I6)", async ({ stored, installed, outcome }) => {
    const key = freshKey();
    await install(key, stored);
    expect(await install(key, installed)).toBe(outcome);
    expect((await items.get(simple, key)).version).toBe(Math.max(stored, installed));
  });

  test("goes onto an absent item and onto one that Tidemark never wrote", async () => {
    const [absent, unversioned] = [freshKey(), freshKey()];
    await putForeign(simple, { ...unversioned, old: { BOOL: true } });
    expect(await install(absent, 1)).toBe("installed");
    expect(await install(unversioned, 1)).toBe("installed");
    expect((await items.get(simple, unversioned)).item).toEqual({ ...unversioned, at: { N: "1" } });
  });

  test.each([
    { expects: 8, outcome: "superseded" },
    { expects: 9, outcome: "installed" },
    { expects: 10, outcome: "superseded" },
    { expects: 0, outcome: "superseded" },
  ])("that expects $expects over version 9 is $outcome", async ({ expects, outcome }) => {
    const key = freshKey();
    await install(key, 9);
    expect(await install(key, 20, { expects: expects as Version })).toBe(outcome);
  });

  test("that expects 0 goes only where no version stands", async () => {
    const [absent, unversioned] = [freshKey(), freshKey()];
    await putForeign(simple, unversioned);
    expect(await install(absent, 3, { expects: 0 as Version })).toBe("installed");
    expect(await install(unversioned, 3, { expects: 0 as Version })).toBe("installed");
    expect(await install(absent, 4, { expects: 0 as Version })).toBe("superseded");
  });

  test("of a delete leaves a tombstone, which a late install cannot overwrite", async () => {
    const key = freshKey();
    await install(key, 5);
    expect(await install(key, 8, { item: undefined })).toBe("installed");
    expect(await items.get(simple, key)).toEqual({ item: undefined, version: 8, tombstone: true });
    expect(await install(key, 7)).toBe("superseded");
    expect((await items.get(simple, key)).tombstone).toBe(true);
    expect(await install(key, 9)).toBe("installed");
    expect(await items.get(simple, key)).toMatchObject({ version: 9, tombstone: false });
  });

  test("into a missing table is rejected for good", async () => {
    await expect(install(freshKey(), 1, { table: "no-such-table" })).rejects.toMatchObject({
      name: "StoreError",
      fault: "rejected",
    });
  });
});

describe("removeTombstone", () => {
  const remove = (key: Item, version: number): Promise<"removed" | "kept"> =>
    items.removeTombstone({ table: simple.name, key, version: version as Version });

  test("removes exactly that tombstone", async () => {
    const key = freshKey();
    await install(key, 8, { item: undefined });
    expect(await remove(key, 7)).toBe("kept");
    expect(await remove(key, 9)).toBe("kept");
    expect(await remove(key, 8)).toBe("removed");
    expect(await items.get(simple, key)).toMatchObject({ version: 0, tombstone: false });
    expect(await remove(key, 8)).toBe("kept");
  });

  test("keeps a live item, and a newer tombstone of the same key", async () => {
    const [live, deleted] = [freshKey(), freshKey()];
    await install(live, 8);
    await install(deleted, 8, { item: undefined });
    await install(deleted, 9, { item: undefined });
    expect(await remove(live, 8)).toBe("kept");
    expect(await remove(deleted, 8)).toBe("kept");
    expect((await items.get(simple, deleted)).tombstone).toBe(true);
  });

  test("has nothing to do in a table that is gone", async () => {
    const request = { table: "no-such-table", key: freshKey(), version: 1 as Version };
    expect(await items.removeTombstone(request)).toBe("kept");
  });
});

describe("batchGet and versions", () => {
  test("answer keys of several tables in input order, duplicates included", async () => {
    const keys = Array.from({ length: 130 }, freshKey);
    const present = keys.map((key, i) => ({ key, i })).filter(({ i }) => i % 3 !== 0);
    await Promise.all(present.map(({ key, i }) => install(key, i)));
    const there = { size: { S: "L" }, order: { N: "1.50" } };
    await putForeign(ranged, { ...there, _v: { N: "77" } });
    const asked = [
      ...keys.map((key) => ({ table: simple, key })),
      { table: ranged, key: { order: { N: "15e-1" }, size: { S: "L" } } },
      { table: simple, key: keys[1] ?? {} },
    ];
    const expected = [...keys.map((_, i) => (i % 3 === 0 ? 0 : i)), 77, 1];
    const consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
    const found = await items.batchGet(asked, { consumption });
    expect(found.map(({ version }) => version)).toEqual(expected);
    expect(found[1]?.item).toEqual({ ...keys[1], at: { N: "1" } });
    expect(found[0]).toEqual({ item: undefined, version: 0, tombstone: false });
    const named = asked.map(({ table, key }) => ({ table: table.name, key }));
    expect(await items.versions(named, { consistency: "strong" })).toEqual(expected);
    expect(consumption.calls).toBe(2);
    expect(consumption.readUnits).toBeGreaterThanOrEqual(86);
  });

  test("of no keys make no call", async () => {
    const consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
    expect(await items.batchGet([], { consumption })).toEqual([]);
    expect(consumption.calls).toBe(0);
  });
});

describe("query", () => {
  const partitionKey = { S: "query" };
  const orders = (page: { readonly rows: readonly { readonly key: Item }[] }): unknown[] =>
    page.rows.map(({ key }) => key["order"]);
  const query = (more: object): ReturnType<ItemStore["query"]> =>
    items.query({ table: ranged, partitionKey, descending: false, ...more });

  beforeAll(async () => {
    for (const order of [1, 2, 3, 4, 5]) {
      const key = { size: partitionKey, order: { N: order.toString() } };
      await items.install({
        table: ranged.name,
        key,
        item: order === 3 ? undefined : { ...key, colour: { S: "red" } },
        version: (order * 10) as Version,
        expects: "below",
        signBeforeMs: Number.MAX_SAFE_INTEGER,
      });
    }
  });

  test("returns rows in key order, tombstones with their keys among them", async () => {
    const page = await query({});
    expect(page.lastKey).toBeUndefined();
    expect(page.rows.map((row) => [row.key["order"], row.version, row.tombstone])).toEqual([
      [{ N: "1" }, 10, false],
      [{ N: "2" }, 20, false],
      [{ N: "3" }, 30, true],
      [{ N: "4" }, 40, false],
      [{ N: "5" }, 50, false],
    ]);
    expect(page.rows[0]?.item).toEqual({
      size: partitionKey,
      order: { N: "1" },
      colour: { S: "red" },
    });
  });

  test.each([
    [{ operator: "=", value: { N: "2" } }, ["2"]],
    [{ operator: "<", value: { N: "2" } }, ["1"]],
    [{ operator: "<=", value: { N: "2" } }, ["1", "2"]],
    [{ operator: ">", value: { N: "4" } }, ["5"]],
    [{ operator: ">=", value: { N: "4" } }, ["4", "5"]],
    [{ operator: "between", low: { N: "2" }, high: { N: "4" } }, ["2", "3", "4"]],
  ])("keeps to the sort key condition %j", async (sortKey, expected) => {
    expect(orders(await query({ sortKey }))).toEqual(expected.map((N) => ({ N })));
  });

  test("keeps to begins_with on a text sort key", async () => {
    const table = await stores.createTable("texts", { sortKey: { name: "name", type: "S" } });
    for (const name of ["ab", "abc", "b"]) {
      await putForeign(table, { pk: { S: "p" }, name: { S: name } });
    }
    const page = await items.query({
      table,
      partitionKey: { S: "p" },
      descending: false,
      sortKey: { operator: "begins_with", value: { S: "ab" } },
    });
    expect(page.rows.map(({ key }) => key["name"])).toEqual([{ S: "ab" }, { S: "abc" }]);
  });

  test("pages by limit and goes on from the last key, descending too", async () => {
    const first = await query({ limit: 2, descending: true });
    expect(orders(first)).toEqual([{ N: "5" }, { N: "4" }]);
    const second = await query({ limit: 9, descending: true, startKey: first.lastKey });
    expect(orders(second)).toEqual([{ N: "3" }, { N: "2" }, { N: "1" }]);
  });

  test("of an index yields candidates with their table keys, without tombstones", async () => {
    const page = await query({
      index: { name: "by-colour", partitionKey: "colour", sortKey: "order" },
      partitionKey: { S: "red" },
      sortKey: { operator: ">", value: { N: "1" } },
    });
    expect(page.rows.map(({ key }) => key)).toEqual(
      ["2", "4", "5"].map((N) => ({ size: partitionKey, order: { N } })),
    );
  });

  test("refuses a sort key condition where there is no sort key", async () => {
    const request = items.query({
      table: simple,
      partitionKey: { S: "p" },
      descending: false,
      sortKey: { operator: "=", value: { S: "x" } },
    });
    await expect(request).rejects.toMatchObject({ field: "sortKey" });
  });

  test("names a table whose registered key is not its key", async () => {
    const table = { ...ranged, sortKey: { name: "rank", type: "N" } } as const;
    const request = items.query({ table, partitionKey, descending: false });
    await expect(request).rejects.toMatchObject({ code: "corrupt-data" });
  });
});

describe("scan", () => {
  test("reaches every row once, by pages and by segments", async () => {
    const table = await stores.createTable("scanned");
    const names = Array.from({ length: 25 }, (_, i) => `row-${i.toString()}`);
    for (const name of names) await putForeign(table, { pk: { S: name } });
    const seen: unknown[] = [];
    let startKey: Item | undefined;
    do {
      const page = await items.scan({ table, limit: 7, ...(startKey && { startKey }) });
      expect(page.rows.length).toBeLessThanOrEqual(7);
      seen.push(...page.rows.map(({ key }) => key["pk"]));
      startKey = page.lastKey;
    } while (startKey !== undefined);
    const inSegments = await Promise.all(
      [0, 1, 2].map((index) => items.scan({ table, segment: { index, total: 3 } })),
    );
    const expected = names.map((S) => ({ S }));
    expect(seen).toHaveLength(25);
    expect(seen).toEqual(expect.arrayContaining(expected));
    const segmented = inSegments.flatMap(({ rows }) => rows.map(({ key }) => key["pk"]));
    expect(segmented).toHaveLength(25);
    expect(segmented).toEqual(expect.arrayContaining(expected));
  });
});

test("capacity is added up as the store reports it", async () => {
  const key = freshKey();
  const consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  const request = {
    table: simple.name,
    key,
    item: { ...key, pad: { S: "x".repeat(1500) } },
    version: 4 as Version,
    expects: "below",
    signBeforeMs: Number.MAX_SAFE_INTEGER,
  } as const;
  await items.install(request, { consumption });
  expect(consumption).toEqual({ readUnits: 0, writeUnits: 2, calls: 1 });
  await items.get(simple, key, { consumption });
  expect(consumption).toEqual({ readUnits: 1, writeUnits: 2, calls: 2 });
});
