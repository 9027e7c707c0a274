/** Rows with a shape: what a workload's transactions see instead of attributes of unknown type. */
import type {
  BenchItem,
  BenchKey,
  BenchQuery,
  BenchTable,
  BenchTransaction,
} from "../harness/workload.ts";

declare const shape: unique symbol;

/**
 * A table whose rows look like this. The shape exists in types only: a workload reads what it
 * wrote.
 */
export type TypedTable<Row extends BenchItem> = BenchTable & { readonly [shape]?: Row };

export async function getRow<Row extends BenchItem>(
  transaction: BenchTransaction,
  table: TypedTable<Row>,
  key: BenchKey,
): Promise<Row | undefined> {
  return (await transaction.get(table, key)) as Row | undefined;
}

/** A row that stands there from the start and is never deleted. */
export async function standingRow<Row extends BenchItem>(
  transaction: BenchTransaction,
  table: TypedTable<Row>,
  key: BenchKey,
): Promise<Row> {
  return standing(await getRow(transaction, table, key), `${table.name} ${JSON.stringify(key)}`);
}

/** In the order of the keys, which must differ from each other. */
export async function getRows<Row extends BenchItem>(
  transaction: BenchTransaction,
  table: TypedTable<Row>,
  keys: readonly BenchKey[],
): Promise<readonly (Row | undefined)[]> {
  if (keys.length === 0) return [];
  return (await transaction.batchGet(table, keys)) as readonly (Row | undefined)[];
}

export async function queryRows<Row extends BenchItem>(
  transaction: BenchTransaction,
  table: TypedTable<Row>,
  query: BenchQuery,
): Promise<readonly Row[]> {
  return (await transaction.query(table, query)) as readonly Row[];
}

export function putRow<Row extends BenchItem>(
  transaction: BenchTransaction,
  table: TypedTable<Row>,
  row: Row,
): void {
  transaction.put(table, row);
}

/** @throws Error naming what is missing: the tables were not loaded. */
export function standing<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new Error(`no ${what}; are the workload's rows loaded?`);
  return value;
}

/** Reads of a check, a few at a time, so that a large table does not become one burst. */
export async function inTurns<Element, Result>(
  elements: readonly Element[],
  read: (element: Element) => Promise<Result>,
): Promise<readonly Result[]> {
  const atOnce = 16;
  const results: Result[] = [];
  for (let start = 0; start < elements.length; start += atOnce) {
    results.push(...(await Promise.all(elements.slice(start, start + atOnce).map(read))));
  }
  return results;
}
