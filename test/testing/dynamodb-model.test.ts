/**
 * What the model of DynamoDB offers beyond the API, and documented behaviour that no emulator
 * shows.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import { NotModelledError } from "../../testing/cloud/not-modelled.ts";

const table = "accounts";
let nowMs = 0;
let model: DynamoDbModel;

beforeEach(() => {
  nowMs = 1_767_225_600_000;
  model = new DynamoDbModel({ nowMs: () => nowMs });
  createTable(model);
});

function createTable(into: DynamoDbModel): void {
  into.execute("CreateTable", {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [
      { AttributeName: "p", KeyType: "HASH" },
      { AttributeName: "s", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "p", AttributeType: "S" },
      { AttributeName: "s", AttributeType: "N" },
      { AttributeName: "g", AttributeType: "S" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: "by-g",
        KeySchema: [{ AttributeName: "g", KeyType: "HASH" }],
        Projection: { ProjectionType: "ALL" },
      },
    ],
  });
}

const key = (p: string, s: number) => ({ p: { S: p }, s: { N: s.toString() } });

function put(p: string, s: number, rest: Record<string, { S: string } | { N: string }> = {}): void {
  model.execute("PutItem", { TableName: table, Item: { ...rest, ...key(p, s) } });
}

function nameOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error.name;
  }
  return "none";
}

const all = { TableName: table };
const partition = {
  TableName: table,
  KeyConditionExpression: "p = :p",
  ExpressionAttributeValues: { ":p": { S: "a" } },
};

describe("stale reads", () => {
  test("see what stood there so long ago, and consistent ones what stands there now", () => {
    put("a", 1, { v: { N: "1" } });
    nowMs += 1_000;
    put("a", 1, { v: { N: "2" } });
    const read = (staleMs: number, ConsistentRead: boolean) =>
      model.execute("GetItem", { TableName: table, Key: key("a", 1), ConsistentRead }, { staleMs })
        .Item?.["v"]?.N;
    expect(read(500, false)).toBe("1");
    expect(read(500, true)).toBe("2");
    nowMs += 1_000;
    expect(read(500, false)).toBe("2");
    expect(read(1_500, false)).toBe("1");
    expect(read(2_500, false)).toBeUndefined();
  });

  test("of a global index see moved and deleted entries where they stood", () => {
    put("a", 1, { g: { S: "old" } });
    nowMs += 1_000;
    put("a", 1, { g: { S: "new" } });
    model.execute("DeleteItem", { TableName: table, Key: key("a", 1) });
    const count = (g: string, staleMs: number) =>
      model.execute(
        "Query",
        {
          TableName: table,
          IndexName: "by-g",
          KeyConditionExpression: "g = :g",
          ExpressionAttributeValues: { ":g": { S: g } },
        },
        { staleMs },
      ).Count;
    expect([count("old", 500), count("new", 500)]).toEqual([1, 0]);
    expect([count("old", 0), count("new", 0)]).toEqual([0, 0]);
  });

  test("reach back no further than images are kept", () => {
    put("a", 1, { v: { N: "1" } });
    nowMs += 20_000;
    put("a", 1, { v: { N: "2" } });
    put("b", 1);
    const read = model.execute(
      "GetItem",
      { TableName: table, Key: key("a", 1) },
      { staleMs: 60_000 },
    );
    expect(read.Item?.["v"]?.N).toBe("1");
    nowMs += 20_000;
    put("b", 1);
    const later = model.execute(
      "GetItem",
      { TableName: table, Key: key("a", 1) },
      { staleMs: 60_000 },
    );
    expect(later.Item?.["v"]?.N).toBe("2");
  });
});

describe("a read in steps", () => {
  test("sees what is written behind its place, and not what is written before it", () => {
    put("a", 1);
    put("a", 3);
    const read = model.startRead("Query", partition);
    expect(read.step(1)).toBe(true);
    put("a", 0);
    put("a", 2);
    model.execute("DeleteItem", { TableName: table, Key: key("a", 3) });
    expect(read.result().Items?.map((item) => item["s"]?.N)).toEqual(["1", "2"]);
  });

  test("of a batch sees each key when it comes to it", () => {
    const Keys = [key("a", 1), key("a", 2)];
    const read = model.startRead("BatchGetItem", { RequestItems: { [table]: { Keys } } });
    read.step(1);
    put("a", 1);
    put("a", 2);
    expect(read.result().Responses?.[table]).toEqual([key("a", 2)]);
  });

  test("gives the same as one call when nobody writes, however it is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(9)), { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
        (rows, steps) => {
          for (const [p, s] of rows) put(p, s);
          const read = model.startRead("Scan", all);
          for (const step of steps) read.step(step);
          expect(read.result()).toEqual(model.execute("Scan", all));
        },
      ),
    );
  });
});

describe("a scan", () => {
  test("has an order that does not depend on the order of writing", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.integer()), {
          selector: ([p, s]) => `${p} ${s.toString()}`,
        }),
        (rows) => {
          const scans = [rows, rows.toReversed()].map((each) => {
            model = new DynamoDbModel({ nowMs: () => nowMs });
            createTable(model);
            for (const [p, s] of each) put(p, s);
            return model.execute("Scan", all).Items;
          });
          expect(scans[0]).toEqual(scans[1]);
        },
      ),
    );
  });

  test("meets every item exactly once over all segments and pages", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(500), { maxLength: 60 }),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 4 }),
        (numbers, TotalSegments, Limit) => {
          model = new DynamoDbModel({ nowMs: () => nowMs });
          createTable(model);
          for (const n of numbers) put(`p${(n % 50).toString()}`, n);
          const met: number[] = [];
          for (let Segment = 0; Segment < TotalSegments; Segment++) {
            let from = {};
            for (;;) {
              const page = model.execute("Scan", {
                ...all,
                Segment,
                TotalSegments,
                Limit,
                ...from,
              });
              met.push(...(page.Items ?? []).map((item) => Number(item["s"]?.N)));
              if (page.LastEvaluatedKey === undefined) break;
              from = { ExclusiveStartKey: page.LastEvaluatedKey };
            }
          }
          expect(met.sort((a, b) => a - b)).toEqual([...numbers].sort((a, b) => a - b));
        },
      ),
    );
  });

  test("ends a page behind the item that reaches one megabyte", () => {
    for (let s = 0; s < 6; s++) put("a", s, { data: { S: "x".repeat(300 * 1024) } });
    const page = model.execute("Query", { ...partition, ReturnConsumedCapacity: "TOTAL" });
    expect(page.Count).toBe(4);
    expect(page.LastEvaluatedKey).toEqual(key("a", 3));
    expect(page.ConsumedCapacity?.CapacityUnits).toBe(150.5);
  });
});

describe("a key condition", () => {
  const rows = [-1, 0, 1, 2, 2.5, 10];

  test.each([
    ["s = :v", [2]],
    ["s < :v", [-1, 0, 1]],
    ["s <= :v", [-1, 0, 1, 2]],
    ["s > :v", [2.5, 10]],
    ["s >= :v", [2, 2.5, 10]],
    [":v >= s", [-1, 0, 1, 2]],
    ["s BETWEEN :v AND :w", [2, 2.5]],
  ])("%s meets exactly its rows, forwards, backwards and page by page", (test, expected) => {
    for (const s of rows) put("a", s);
    put("b", 2);
    const values = { ":p": { S: "a" }, ":v": { N: "2" }, ":w": { N: "2.5" } };
    const { ":w": _w, ...withoutW } = values;
    const input = {
      TableName: table,
      KeyConditionExpression: `p = :p AND ${test}`,
      ExpressionAttributeValues: test.includes(":w") ? values : withoutW,
    };
    for (const ScanIndexForward of [true, false]) {
      for (const Limit of [1, 2, 100]) {
        const met: number[] = [];
        let from = {};
        for (;;) {
          const page = model.execute("Query", { ...input, ScanIndexForward, Limit, ...from });
          met.push(...(page.Items ?? []).map((item) => Number(item["s"]?.N)));
          if (page.LastEvaluatedKey === undefined) break;
          from = { ExclusiveStartKey: page.LastEvaluatedKey };
        }
        expect(met).toEqual(ScanIndexForward ? expected : expected.toReversed());
      }
    }
  });
});

describe("an update of a list", () => {
  const list = (numbers: readonly number[]) => ({ L: numbers.map((n) => ({ N: n.toString() })) });

  test.each([
    ["REMOVE l[0], l[1]", [3]],
    ["REMOVE l[9]", [1, 2, 3]],
    ["SET l[1] = :v", [1, 9, 3]],
    ["SET l[3] = :v", [1, 2, 3, 9]],
    ["SET l[7] = :v, l[5] = l[0]", [1, 2, 3, 1, 9]],
    ["SET l[1] = :v REMOVE l[0]", [9, 3]],
    ["SET l = list_append(l, l)", [1, 2, 3, 1, 2, 3]],
    ["ADD l[0] :v", [10, 2, 3]],
  ])("%s counts indexes as they were before", (UpdateExpression, expected) => {
    model.execute("PutItem", { TableName: table, Item: { ...key("a", 1), l: list([1, 2, 3]) } });
    const used = UpdateExpression.includes(":v");
    const { Attributes } = model.execute("UpdateItem", {
      TableName: table,
      Key: key("a", 1),
      UpdateExpression,
      ...(used ? { ExpressionAttributeValues: { ":v": { N: "9" } } } : {}),
      ReturnValues: "ALL_NEW",
    });
    expect(Attributes?.["l"]).toEqual(list(expected));
  });
});

describe("knobs and inspection", () => {
  test("a batch done in part hands back the rest, and does at least one", () => {
    const requests = [1, 2, 3, 4].map((s) => ({ PutRequest: { Item: key("a", s) } }));
    const input = { RequestItems: { [table]: requests } };
    const half = model.execute("BatchWriteItem", input, { batchPart: 0.5 });
    expect(half.UnprocessedItems?.[table]).toHaveLength(2);
    expect(model.rows(table)).toHaveLength(2);
    const none = model.execute("BatchWriteItem", input, { batchPart: 0 });
    expect(none.UnprocessedItems?.[table]).toHaveLength(3);
    const Keys = [1, 2, 3, 4].map((s) => key("a", s));
    const read = model.execute(
      "BatchGetItem",
      { RequestItems: { [table]: { Keys, ConsistentRead: true } } },
      { batchPart: 0.75 },
    );
    expect(read.UnprocessedKeys?.[table]).toMatchObject({ ConsistentRead: true });
    expect(read.UnprocessedKeys?.[table]?.Keys).toHaveLength(1);
  });

  test("expire deletes items whose time has passed, and only those, also from indexes", () => {
    const TimeToLiveSpecification = { AttributeName: "until", Enabled: true };
    model.execute("UpdateTimeToLive", { TableName: table, TimeToLiveSpecification });
    const seconds = Math.floor(nowMs / 1000);
    put("a", 1, { until: { N: seconds.toString() }, g: { S: "g" } });
    put("a", 2, { until: { N: (seconds + 1).toString() } });
    put("a", 3, { until: { S: seconds.toString() } });
    put("a", 4, { until: { N: "1" } });
    expect(model.expire((name) => name !== table)).toBe(0);
    expect(model.expire()).toBe(1);
    expect(model.rows(table).map(({ key: { s } }) => s)).toEqual([
      { N: "2" },
      { N: "3" },
      { N: "4" },
    ]);
    expect(model.execute("Scan", { TableName: table, IndexName: "by-g" }).Count).toBe(0);
  });

  test("listeners hear of every change with what stood there before and after", () => {
    const heard: unknown[] = [];
    model.onWrite(({ before, after, ...change }) => heard.push({ ...change, before, after }));
    put("a", 1);
    model.execute("UpdateItem", {
      TableName: table,
      Key: key("a", 1),
      UpdateExpression: "SET v = :v",
      ExpressionAttributeValues: { ":v": { N: "1.0" } },
    });
    model.execute("DeleteItem", { TableName: table, Key: key("a", 1) });
    model.execute("DeleteItem", { TableName: table, Key: key("a", 1) });
    const changed = { ...key("a", 1), v: { N: "1" } };
    const common = { table, key: key("a", 1), nowMs };
    expect(heard).toEqual([
      { ...common, before: undefined, after: key("a", 1) },
      { ...common, before: key("a", 1), after: changed },
      { ...common, before: changed, after: undefined },
    ]);
  });

  test("what is not modelled is no answer of the service", () => {
    const act = () => model.execute("Query", { ...all, KeyConditions: {} });
    expect(act).toThrow(NotModelledError);
    expect(() => model.execute("ExecuteStatement" as "GetItem", {} as never)).toThrow(
      NotModelledError,
    );
  });
});

describe("transactions", () => {
  const write = (token: string, v: string) =>
    model.execute("TransactWriteItems", {
      ClientRequestToken: token,
      TransactItems: [
        { Put: { TableName: table, Item: { ...key("a", 1), v: { S: v } } } },
        {
          Update: {
            TableName: table,
            Key: key("a", 2),
            UpdateExpression: "ADD n :one",
            ExpressionAttributeValues: { ":one": { N: "1" } },
          },
        },
      ],
    });
  const count = () =>
    model.execute("GetItem", { TableName: table, Key: key("a", 2) }).Item?.["n"]?.N;

  test("with one token count once within ten minutes, and are refused with other contents", () => {
    write("token", "x");
    write("token", "x");
    expect(count()).toBe("1");
    expect(nameOf(() => write("token", "y"))).toBe("IdempotentParameterMismatchException");
    nowMs += 10 * 60_000 + 1;
    write("token", "x");
    expect(count()).toBe("2");
  });

  test("that are cancelled change nothing and say why for each item", () => {
    put("a", 1);
    const act = () =>
      model.execute("TransactWriteItems", {
        TransactItems: [
          { Put: { TableName: table, Item: key("a", 9) } },
          {
            Put: {
              TableName: table,
              Item: key("a", 1),
              ConditionExpression: "attribute_not_exists(p)",
              ReturnValuesOnConditionCheckFailure: "ALL_OLD",
            },
          },
          { Update: { TableName: table, Key: key("a", 1.5), UpdateExpression: "SET v = nowhere" } },
        ],
      });
    try {
      act();
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      expect(error.name).toBe("TransactionCanceledException");
      expect(error.CancellationReasons).toMatchObject([
        { Code: "None" },
        { Code: "ConditionalCheckFailed", Item: key("a", 1) },
        { Code: "ValidationError" },
      ]);
    }
    expect(model.rows(table)).toHaveLength(1);
  });
});

describe("limits and precedence", () => {
  test("a request that is wrong in itself is refused before its table is looked for", () => {
    const wrong = { TableName: "nosuch", Key: { p: { N: "x" } } };
    expect(nameOf(() => model.execute("GetItem", wrong))).toBe("ValidationException");
    const right = { TableName: "nosuch", Key: { p: { N: "1" } } };
    expect(nameOf(() => model.execute("GetItem", right))).toBe("ResourceNotFoundException");
  });

  test.each([
    ["at", 0, "none"],
    ["one byte above", 1, "ValidationException"],
  ])("an item %s 400 KB", (_words, extra, expected) => {
    // Names of one character each, two digits of numbers at most: `p` 1+1, `s` 1+2, `d` 1.
    const data = "x".repeat(400 * 1024 - 6 + extra);
    expect(nameOf(() => put("a", 1, { d: { S: data } }))).toBe(expected);
  });

  test("values of the wrong shape are refused as the wire's deserializer does", () => {
    const act = () =>
      model.execute("PutItem", {
        TableName: table,
        Item: { ...key("a", 1), v: { N: 5 } as never },
      });
    expect(nameOf(act)).toBe("SerializationException");
  });

  test("attributes may have the names of what objects inherit", () => {
    const Item = JSON.parse(
      '{"p":{"S":"a"},"s":{"N":"1"},"__proto__":{"S":"x"},"constructor":{"S":"y"}}',
    ) as Record<string, { S: string }>;
    model.execute("PutItem", { TableName: table, Item });
    const found = model.execute("GetItem", { TableName: table, Key: key("a", 1) }).Item;
    expect(Object.keys(found ?? {}).sort()).toEqual(["__proto__", "constructor", "p", "s"]);
    const missing = model.execute("Query", {
      ...partition,
      FilterExpression: "attribute_exists(toString)",
    });
    expect(missing.Count).toBe(0);
  });
});
