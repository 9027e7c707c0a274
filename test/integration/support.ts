/** What the integration tests share: short spellings of items, and transactions of one step. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Item, TableDescription } from "../../core/types.ts";
import type {
  Engine,
  EngineTransaction,
  QuerySpec,
  Reader,
  Receipt,
  ResultCodec,
} from "../../engine/types.ts";
import type { LocalStores } from "../harness/local-stores.ts";

/**
 * The tables that most tests need: with a partition key only, with a sort key, and with history as
 * well.
 */
export async function createTables(
  stores: LocalStores,
): Promise<readonly [TableDescription, TableDescription, TableDescription]> {
  const sortKey = { name: "sk", type: "S" } as const;
  return Promise.all([
    stores.createTable("plain"),
    stores.createTable("sorted", { sortKey }),
    stores.createTable("kept", { sortKey, history: true }),
  ]);
}

export function text(value: string): { readonly S: string } {
  return { S: value };
}

export function number(value: number): { readonly N: string } {
  return { N: value.toString() };
}

export function key(pk: string, sk?: string | number): Item {
  if (sk === undefined) return { pk: text(pk) };
  return { pk: text(pk), sk: typeof sk === "number" ? number(sk) : text(sk) };
}

/** The number under an attribute; 0 where the item or the attribute is missing. */
export function numberOf(item: Item | undefined, name = "n"): number {
  const value = item?.[name];
  return value !== undefined && "N" in value ? Number(value.N) : 0;
}

export function textOf(item: Item | undefined, name: string): string | undefined {
  const value = item?.[name];
  return value !== undefined && "S" in value ? value.S : undefined;
}

export async function putAll(
  engine: Engine,
  table: TableDescription,
  items: readonly Item[],
): Promise<Receipt> {
  const { receipt } = await engine.transact({}, (tx) => {
    for (const item of items) tx.put(table.name, item);
    return Promise.resolve();
  });
  return receipt;
}

export async function deleteAll(
  engine: Engine,
  table: TableDescription,
  keys: readonly Item[],
): Promise<Receipt> {
  const { receipt } = await engine.transact({}, (tx) => {
    for (const each of keys) tx.delete(table.name, each);
    return Promise.resolve();
  });
  return receipt;
}

/** As a later reader sees it, in a snapshot of its own. */
export async function readOne(
  engine: Engine,
  table: TableDescription,
  of: Item,
): Promise<Item | undefined> {
  const { result } = await engine.snapshot({}, (snapshot) => snapshot.get(table.name, of));
  return result;
}

export async function increment(
  tx: EngineTransaction,
  table: TableDescription,
  of: Item,
  by = 1,
): Promise<number> {
  const item = await tx.get(table.name, of);
  const sum = numberOf(item) + by;
  tx.put(table.name, { ...of, n: number(sum) });
  return sum;
}

/** Every row of a query, page after page. */
export async function queryRows(
  reader: Reader,
  table: TableDescription,
  query: QuerySpec,
  limit?: number,
): Promise<Item[]> {
  const rows: Item[] = [];
  let cursor: Item | undefined;
  do {
    const page = await reader.queryPage(table.name, query, {
      ...(limit === undefined ? {} : { limit }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

export async function scanRows(
  reader: Reader,
  table: TableDescription,
  limit?: number,
): Promise<Item[]> {
  const rows: Item[] = [];
  let cursor: Item | undefined;
  do {
    const page = await reader.scanPage(
      table.name,
      {},
      { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) },
    );
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

/** Keeps a result as a text under an idempotency key. */
export const textCodec: ResultCodec<string> = {
  encode: (result) => text(result),
  decode: (value) => ("S" in value ? value.S : ""),
};

/** A client of AWS's own, for what a program without Tidemark does to the tables. */
export function openDynamoDb({ clientOptions }: LocalStores): DynamoDBClient {
  const { region, credentials, endpoint } = clientOptions;
  return new DynamoDBClient({ region, credentials, endpoint: endpoint.dynamodb });
}

/** A promise and the functions that end it. */
export type Gate = {
  readonly opened: Promise<void>;
  open(): void;
};

export function gate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** The error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection");
}
