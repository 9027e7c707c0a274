/**
 * Bodies that write the rows which their queries and scans show, page by page: each row comes once.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Item, TableDescription } from "../../core/types.ts";
import type { EngineTransaction, RowPage } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { key, number, numberOf, putAll, readOne, text } from "./support.ts";

let deployment: LocalDeployment;
const pks = ["a", "b", "c", "d", "e"];

beforeAll(async () => {
  deployment = await startLocalDeployment();
});

afterAll(() => deployment.stop());

type Fetch = (page: { readonly limit: number; readonly cursor?: Item }) => Promise<RowPage>;

/**
 * Raises `n` of every row that the pages show, as they show it; gives the keys in the order of
 * their coming.
 */
async function raiseAll(tx: EngineTransaction, table: string, fetch: Fetch): Promise<string[]> {
  const seen: string[] = [];
  let cursor: Item | undefined;
  do {
    const page = await fetch({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    for (const row of page.rows) {
      seen.push(JSON.stringify(row["pk"]));
      tx.put(table, { ...row, n: number(numberOf(row) + 1) });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return seen;
}

async function filled(name: string): Promise<TableDescription> {
  const index = {
    name: "by-group",
    partitionKey: { name: "group", type: "S" },
    sortKey: { name: "rank", type: "N" },
  } as const;
  const table = await deployment.stores.createTable(name, { indexes: [index] });
  const rows = pks.map((pk, rank) => ({
    ...key(pk),
    n: number(1),
    group: text("g"),
    rank: number(rank),
  }));
  await putAll(deployment.openEngine(), table, rows);
  return table;
}

const ways = {
  scan: (tx: EngineTransaction, table: string): Fetch => {
    return (page) => tx.scanPage(table, {}, page);
  },
  "index query": (tx: EngineTransaction, table: string): Fetch => {
    const index = { name: "by-group", partitionKey: "group" };
    return (page) => tx.queryPage(table, { index, partitionKey: text("g") }, page);
  },
};

test.each(["scan", "index query"] as const)(
  "own writes: a pass by %s that its own body rewrites row by row shows and raises each row once",
  async (way) => {
    const engine = deployment.openEngine();
    const table = await filled(`raised-${way.replace(" ", "-")}`);
    const added = { ...key("added"), n: number(1), group: text("g"), rank: number(9) };
    const { result } = await engine.transact({}, async (tx) => {
      tx.put(table.name, added);
      tx.delete(table.name, key("b"));
      return raiseAll(tx, table.name, ways[way](tx, table.name));
    });
    const expected = ["a", "added", "c", "d", "e"];
    expect(result.sort()).toEqual(expected.map((pk) => JSON.stringify(text(pk))));
    for (const pk of expected) {
      const item = await readOne(engine, table, key(pk));
      expect([pk, numberOf(item)]).toEqual([pk, 2]);
    }
  },
);

test("a query of a table without a sort key shows its body's row rewritten once", async () => {
  const engine = deployment.openEngine();
  const table = await deployment.stores.createTable("one-row");
  await putAll(engine, table, [{ ...key("a"), n: number(1) }]);
  const { result } = await engine.transact({}, (tx) =>
    raiseAll(tx, table.name, (page) => tx.queryPage(table.name, { partitionKey: text("a") }, page)),
  );
  expect(result).toHaveLength(1);
  expect(numberOf(await readOne(engine, table, key("a")))).toBe(2);
});
