/**
 * Reads through the plugin, on a real protocol server: by both kinds of client and by paginators;
 * projections that do not tell a placeholder; indexes; what is left to be asked for again.
 */
import {
  BatchGetItemCommand,
  GetItemCommand,
  paginateQuery,
  paginateScan,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  GetCommand,
  paginateQuery as paginateDocuments,
  QueryCommand as QueryDocuments,
} from "@aws-sdk/lib-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startNativeWorld, type Attributes, type NativeWorld } from "../harness/native-world.ts";

let world: NativeWorld;
const inverted = {
  name: "inverted",
  partitionKey: { name: "sk", type: "S" },
  sortKey: { name: "pk", type: "S" },
} as const;
const byStatus = { name: "byStatus", partitionKey: { name: "status", type: "S" } } as const;

const bytes = { B: new Uint8Array(16).fill(5) };
const placeholder: Attributes = { _n: bytes, _f: bytes, _x: { BOOL: true } };
const partition = { pk: { S: "rows" } };
const row = (sk: string, rest: Attributes): Attributes => ({
  ...partition,
  sk: { S: sk },
  ...rest,
});
/** Below Tidemark's attributes, of which the first and the fourth are hidden. */
const rows: readonly Attributes[] = [
  row("0", placeholder),
  row("1", { a: { N: "1" }, status: { S: "new" }, _v: { N: "1700000000000000" } }),
  row("2", { a: { N: "2" }, status: { S: "new" }, _n: bytes }),
  row("3", placeholder),
  row("4", { ...placeholder, b: { M: { x: { L: [{ S: "y" }] } } } }),
  row("5", { a: { N: "5" }, status: { S: "old" } }),
];

beforeAll(async () => {
  world = await startNativeWorld([inverted, byStatus]);
  for (const each of rows) await world.store(each);
});
afterEach(() => world.proxy.reset());
afterAll(() => world.stop());

const keyed = {
  KeyConditionExpression: "pk = :p",
  ExpressionAttributeValues: { ":p": { S: "rows" } },
} as const;
const sortKeys = (items: readonly Attributes[] = []): string[] =>
  items.map(({ sk }) => sk?.S ?? "");

describe("a placeholder is absent", () => {
  test("for GetItem, also where little is projected", async () => {
    for (const ProjectionExpression of [undefined, "a", "pk", "b.x[0]"]) {
      for (const sk of ["0", "3"]) {
        const get = { TableName: world.table, Key: row(sk, {}), ProjectionExpression };
        expect((await world.native.send(new GetItemCommand(get))).Item).toBeUndefined();
        const Key = { pk: "rows", sk };
        const found = await world.document.send(new GetCommand({ ...get, Key }));
        expect(found.Item).toBeUndefined();
      }
    }
  });

  test("but not one of which an unaware UpdateItem has made an item", async () => {
    const Key = { pk: "rows", sk: "4" };
    const get = async (ProjectionExpression: string | undefined) => {
      const read = new GetCommand({ TableName: world.table, Key, ProjectionExpression });
      return (await world.document.send(read)).Item;
    };
    expect(await get(undefined)).toEqual({ ...Key, b: { x: ["y"] } });
    expect(world.proxy.seen("GetItem")).toBe(1);
    expect(await get("b.x[0]")).toEqual({ b: { x: ["y"] } });
    expect(world.proxy.seen("GetItem")).toBe(2);
    // Now what is projected does not tell.
    expect(await get("a, sk")).toEqual({ sk: "4" });
    expect(await get("a")).toEqual({});
    expect(world.proxy.seen("GetItem")).toBe(6);
  });

  test("for BatchGetItem of both clients", async () => {
    const Keys = rows.map(({ sk }) => row(sk?.S ?? "", {}));
    const RequestItems = { [world.table]: { Keys, ProjectionExpression: "sk" } };
    const { Responses } = await world.native.send(new BatchGetItemCommand({ RequestItems }));
    expect(sortKeys(Responses?.[world.table]).sort()).toEqual(["1", "2", "4", "5"]);
    const documents = await world.document.send(
      new BatchGetCommand({
        RequestItems: {
          [world.table]: { Keys: Keys.map(({ sk }) => ({ pk: "rows", sk: sk?.S })) },
        },
      }),
    );
    const found = documents.Responses?.[world.table] ?? [];
    expect(JSON.stringify(found)).not.toContain("_");
    expect(found.map((each) => each["sk"] as string).sort()).toEqual(["1", "2", "4", "5"]);
  });
});

describe("pages", () => {
  test("of a query are counted without placeholders, in one call", async () => {
    const query = { TableName: world.table, ...keyed };
    const { Items, Count, ScannedCount } = await world.native.send(new QueryCommand(query));
    expect([sortKeys(Items), Count, ScannedCount]).toEqual([["1", "2", "4", "5"], 4, 4]);
    expect(JSON.stringify(Items)).not.toContain('"_');
    expect(world.proxy.seen("Query")).toBe(1);
  });

  test("that are only counted are read again whole where a mark stands", async () => {
    const count = { TableName: world.table, ...keyed, Select: "COUNT" } as const;
    const counted = await world.native.send(new QueryCommand(count));
    expect([counted.Items, counted.Count, counted.ScannedCount]).toEqual([undefined, 4, 4]);
    expect(world.proxy.seen("Query")).toBe(2);
    const documents = await world.document.send(
      new QueryDocuments({
        ...{ TableName: world.table, Select: "COUNT" },
        KeyConditionExpression: "pk = :p AND sk BETWEEN :a AND :b",
        ExpressionAttributeValues: { ":p": "rows", ":a": "1", ":b": "2" },
      }),
    );
    expect([documents.Items, documents.Count]).toEqual([undefined, 2]);
    expect(world.proxy.seen("Query")).toBe(3);
  });

  test("with a limit are full, by the paginators of both clients", async () => {
    // A paginator changes what it is given.
    const query = () => ({ TableName: world.table, ...keyed });
    const found: string[][] = [];
    for await (const { Items } of paginateQuery({ client: world.native, pageSize: 2 }, query())) {
      found.push(sortKeys(Items));
    }
    expect(found.filter((each) => each.length > 0)).toEqual([
      ["1", "2"],
      ["4", "5"],
    ]);
    const documents: string[][] = [];
    const asked = { ...query(), ExpressionAttributeValues: { ":p": "rows" } };
    const paged = paginateDocuments({ client: world.document, pageSize: 3 }, asked);
    for await (const { Items = [] } of paged) {
      documents.push(Items.map((each) => each["sk"] as string));
    }
    expect(documents.filter((each) => each.length > 0)).toEqual([["1", "2", "4"], ["5"]]);
    const scanned: string[] = [];
    const scan = { TableName: world.table };
    for await (const { Items } of paginateScan({ client: world.native, pageSize: 1 }, scan)) {
      scanned.push(...sortKeys(Items));
    }
    expect(scanned.sort()).toEqual(["1", "2", "4", "5"]);
  });

  test("from either end: the first item is the first that is there", async () => {
    const first = { TableName: world.table, ...keyed, Limit: 1 };
    const { Items, LastEvaluatedKey } = await world.native.send(new QueryCommand(first));
    expect([sortKeys(Items), LastEvaluatedKey]).toEqual([["1"], row("1", {})]);
    const last = await world.native.send(new QueryCommand({ ...first, ScanIndexForward: false }));
    expect(sortKeys(last.Items)).toEqual(["5"]);
  });
});

describe("an index", () => {
  test("by keys of the table may hold placeholders, which are hidden and not counted", async () => {
    const query = {
      ...{ TableName: world.table, IndexName: "inverted" },
      KeyConditionExpression: "sk = :s",
      ExpressionAttributeValues: { ":s": { S: "3" } },
    };
    const found = await world.native.send(new QueryCommand(query));
    expect([found.Items, found.Count]).toEqual([[], 0]);
    const counted = await world.native.send(new QueryCommand({ ...query, Select: "COUNT" }));
    expect(counted.Count).toBe(0);
  });

  test("by another attribute cannot: nothing is added to what is asked", async () => {
    const query = new QueryCommand({
      ...{ TableName: world.table, IndexName: "byStatus", Select: "COUNT" },
      KeyConditionExpression: "#s = :s",
      ExpressionAttributeNames: { "#s": "status" },
      ExpressionAttributeValues: { ":s": { S: "new" } },
    });
    expect((await world.native.send(query)).Count).toBe(2);
    expect(world.proxy.bodies("Query")).toMatchObject([{ Select: "COUNT" }]);
    expect(JSON.stringify(world.proxy.bodies("Query"))).not.toContain("tidemark");
  });

  test("without the mark is asked once for it", async () => {
    const refusal = {
      __type: "com.amazon.coral.validate#ValidationException",
      message: "Global secondary index inverted does not project [_x]",
    };
    const fresh = await startNativeWorld([inverted]);
    try {
      fresh.proxy.fail("Scan", { kind: "answer", status: 400, body: refusal });
      const scan = { TableName: fresh.table, IndexName: "inverted", Select: "COUNT" } as const;
      expect((await fresh.native.send(new ScanCommand(scan))).Count).toBe(0);
      expect(fresh.proxy.seen("Scan")).toBe(2);
      await fresh.native.send(new ScanCommand(scan));
      const asked = fresh.proxy
        .bodies("Scan")
        .map((body) => "ProjectionExpression" in (body as object));
      expect(asked).toEqual([true, false, false]);
    } finally {
      await fresh.stop();
    }
  });
});

test("keys that were not processed come back as they were asked for", async () => {
  const Keys = [row("1", {})];
  const own = { Keys, ProjectionExpression: "#a", ExpressionAttributeNames: { "#a": "a" } };
  world.proxy.fail("BatchGetItem", {
    kind: "rewrite",
    change: () => ({
      Responses: {},
      UnprocessedKeys: {
        [world.table]: (world.proxy.bodies("BatchGetItem")[0] as { RequestItems: object })
          .RequestItems[world.table as never],
      },
    }),
  });
  const { UnprocessedKeys } = await world.native.send(
    new BatchGetItemCommand({ RequestItems: { [world.table]: own } }),
  );
  expect(UnprocessedKeys).toEqual({ [world.table]: own });
});

test("tables that are not mixed pass untouched", async () => {
  const other = { ...row("1", { _v: { N: "5" }, _x: { BOOL: true } }) };
  const get = { TableName: world.otherTable, Key: row("1", {}), ProjectionExpression: "#v" };
  const names = { ExpressionAttributeNames: { "#v": "_v" } };
  await world.native.send(new PutItemCommand({ TableName: world.otherTable, Item: other }));
  expect(JSON.stringify(world.proxy.bodies("PutItem"))).not.toContain("_n");
  const { Item } = await world.native.send(new GetItemCommand({ ...get, ...names }));
  expect(Item).toEqual({ _v: { N: "5" } });
});
