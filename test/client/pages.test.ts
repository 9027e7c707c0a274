/**
 * Pages inside of a transaction, some of whose rows are its own: every row once, in pages of the
 * size that was asked for.
 */
import {
  DeleteCommand,
  paginateQuery,
  paginateScan,
  PutCommand,
  QueryCommand,
  ScanCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { Transaction } from "../../sdk/index.ts";
import { startApplication, type Application } from "./application.ts";

let app: Application;
beforeEach(async () => {
  app = await startApplication();
});

const TableName = "rows";
const put = (sk: string, more: object = {}) =>
  app.document.send(new PutCommand({ TableName, Item: { pk: "p", sk, ...more } }));
const add = (id: string) =>
  app.document.send(
    new UpdateCommand({
      ...{ TableName: "counters", Key: { id }, UpdateExpression: "ADD n :one" },
      ExpressionAttributeValues: { ":one": 1 },
    }),
  );
const transact = <Result>(body: (tx: Transaction) => Promise<Result>) =>
  app.cloud.run(() => app.db.transact(body));

describe("pages", () => {
  const key = { KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "p" } };

  test("of paginators end where DynamoDB's end", async () => {
    await transact(async () => {
      for (const sk of ["1", "3", "5"]) await put(sk);
    });
    const { result } = await transact(async () => {
      for (const sk of ["2", "4", "6"]) await put(sk);
      const pages: unknown[] = [];
      const config = { client: app.document, pageSize: 2 };
      for await (const { Items, Count } of paginateQuery(config, { TableName, ...key })) {
        pages.push([Count, Items?.map(({ sk }) => sk as string)]);
      }
      const scanned: unknown[] = [];
      for await (const { Items = [] } of paginateScan(config, { TableName })) {
        scanned.push(...Items.map(({ sk }) => sk as string));
      }
      return { pages, scanned: scanned.sort() };
    });
    expect(result.pages).toEqual([
      [2, ["1", "2"]],
      [2, ["3", "4"]],
      [2, ["5", "6"]],
      [0, []],
    ]);
    expect(result.scanned).toEqual(["1", "2", "3", "4", "5", "6"]);
  });

  test("of an index show the transaction's own rows, cut to size", async () => {
    await transact(async () => {
      for (const sk of ["1", "3"]) await put(sk, { kind: "k", n: Number(sk) });
    });
    const { result } = await transact(async () => {
      for (const sk of ["2", "4"]) await put(sk, { kind: "k", n: Number(sk) });
      await put("5", { kind: "other", n: 0 });
      const found: unknown[] = [];
      const query = {
        ...{ TableName, IndexName: "by-kind", KeyConditionExpression: "kind = :k" },
        ExpressionAttributeValues: { ":k": "k" },
      };
      const config = { client: app.document, pageSize: 1 };
      for await (const { Items = [] } of paginateQuery(config, query)) {
        found.push(...Items.map(({ n }) => n as number));
      }
      const scan = { TableName, IndexName: "by-kind" };
      let scanned = 0;
      for await (const { Count = 0 } of paginateScan(config, scan)) scanned += Count;
      return { found: found.sort(), scanned };
    });
    expect(result).toEqual({ found: [1, 2, 3, 4], scanned: 5 });
  });

  test("that are full end with their last row, whatever the store has behind it", async () => {
    await transact(() => put("9"));
    const { result } = await transact(async () => {
      await put("2");
      await app.document.send(new DeleteCommand({ TableName, Key: { pk: "p", sk: "9" } }));
      const query = { TableName, ...key, Limit: 1 };
      const first = await app.document.send(new QueryCommand(query));
      await put("5");
      const next = { ...query, ExclusiveStartKey: first.LastEvaluatedKey };
      const second = await app.document.send(new QueryCommand(next));
      return [first, second].map(({ Items = [] }) => Items.map(({ sk }) => sk as string));
    });
    expect(result).toEqual([["2"], ["5"]]);
  });

  test("of segments are the table, each row once", async () => {
    await transact(async () => {
      for (let i = 0; i < 10; i += 1) await add(`stored-${i}`);
    });
    const { result } = await transact(async () => {
      for (let i = 0; i < 5; i += 1) await add(`own-${i}`);
      for (let i = 0; i < 5; i += 1) await add(`stored-${i}`);
      const segments = [0, 1, 2].map((Segment) =>
        app.document.send(new ScanCommand({ TableName: "counters", Segment, TotalSegments: 3 })),
      );
      return (await Promise.all(segments)).map(({ Items = [] }) =>
        Items.map(({ id }) => id as string),
      );
    });
    expect(result.filter(({ length }) => length > 0).length).toBeGreaterThan(1);
    expect(new Set(result.flat()).size).toBe(15);
    expect(result.flat()).toHaveLength(15);
  });
});

describe("every row comes once, whatever is the transaction's own", () => {
  type Row = {
    readonly pk: string;
    readonly sk: string;
    readonly kind?: string;
    readonly n?: number;
  };
  const row = fc
    .record({
      pk: fc.constantFrom("p", "q"),
      sk: fc.integer({ min: 0, max: 9 }).map(String),
      indexed: fc.boolean(),
    })
    .map(({ pk, sk, indexed }): Row => {
      const n = (pk === "p" ? 0 : 10) + Number(sk);
      return { pk, sk, ...(indexed ? { kind: "k", n } : {}) };
    });
  const key = ({ pk, sk }: Row): string => pk + sk;
  const distinct = fc.uniqueArray(row, { maxLength: 12, selector: key });
  const change = fc.record({
    committed: distinct,
    own: distinct,
    removed: distinct,
    size: fc.integer({ min: 1, max: 4 }),
    descending: fc.boolean(),
  });
  const ofPartition = {
    ...{ TableName, KeyConditionExpression: "pk = :p" },
    ExpressionAttributeValues: { ":p": "p" },
  };
  const ofIndex = {
    ...{ TableName, IndexName: "by-kind", KeyConditionExpression: "kind = :k" },
    ExpressionAttributeValues: { ":k": "k" },
  };

  async function collect(
    pages: AsyncIterable<{ readonly Items?: unknown[] | undefined }>,
    size: number,
  ): Promise<Row[]> {
    const found: Row[] = [];
    let isOver = false;
    for await (const { Items = [] } of pages) {
      expect(isOver).toBe(false);
      expect(Items.length).toBeLessThanOrEqual(size);
      // Whoever asks for so many gets them, as long as there are any.
      isOver = Items.length < size;
      found.push(...(Items as Row[]));
    }
    return found;
  }

  test("of a partition and an index in their order, of a table in any", async () => {
    await fc.assert(
      fc.asyncProperty(change, async ({ committed, own, removed, size, descending }) => {
        const { cloud, db, document } = (app = await startApplication());
        await cloud.run(() =>
          db.transact(async () => {
            for (const Item of committed) await document.send(new PutCommand({ TableName, Item }));
          }),
        );
        const rows = new Map(committed.map((each) => [key(each), each]));
        await cloud.run(() =>
          db.transact(async (tx) => {
            for (const Item of own) {
              rows.set(key(Item), Item);
              await document.send(new PutCommand({ TableName, Item }));
            }
            for (const { pk, sk } of removed) {
              rows.delete(pk + sk);
              await document.send(new DeleteCommand({ TableName, Key: { pk, sk } }));
            }
            const config = { client: document, pageSize: size };
            const order = { ScanIndexForward: !descending };
            const sorted = (all: Row[], of: (each: Row) => number): Row[] =>
              all.sort((a, b) => (descending ? of(b) - of(a) : of(a) - of(b)));
            const all = [...rows.values()];
            expect(
              await collect(paginateQuery(config, { ...ofPartition, ...order }), size),
            ).toEqual(
              sorted(
                all.filter(({ pk }) => pk === "p"),
                ({ sk }) => Number(sk),
              ),
            );
            const indexed = await collect(paginateQuery(config, { ...ofIndex, ...order }), size);
            const expected = all.filter(({ kind }) => kind !== undefined);
            expect(indexed.map(key).sort()).toEqual(expected.map(key).sort());
            const scanned = await collect(paginateScan(config, { TableName }), size);
            expect(scanned.map(key).sort()).toEqual(all.map(key).sort());
            const ofScan = paginateScan(config, { TableName, IndexName: "by-kind" });
            expect((await collect(ofScan, size)).map(key).sort()).toEqual(expected.map(key).sort());
            tx.rollback();
          }),
        );
      }),
      { numRuns: 60 },
    );
  });
});
