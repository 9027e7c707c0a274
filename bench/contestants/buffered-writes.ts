/**
 * Writes of a body as contestants without buffering stores keep them until it ends; its own reads
 * by key see them.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { BenchItem, BenchKey, BenchTable } from "../harness/workload.ts";

export type BufferedWrite = {
  readonly table: BenchTable;
  readonly key: BenchKey;
  /** Undefined deletes. */
  readonly item: BenchItem | undefined;
};

export type SdkItem = Record<string, AttributeValue>;

export class BufferedWrites {
  readonly #writes = new Map<string, BufferedWrite>();

  put(table: BenchTable, item: BenchItem): void {
    const key = keyOf(table, item);
    this.#writes.set(keyText(table, key), { table, key, item });
  }

  delete(table: BenchTable, key: BenchKey): void {
    this.#writes.set(keyText(table, key), { table, key, item: undefined });
  }

  find(table: BenchTable, key: BenchKey): BufferedWrite | undefined {
    return this.#writes.get(keyText(table, key));
  }

  get entries(): ReadonlyMap<string, BufferedWrite> {
    return this.#writes;
  }
}

/** The key attributes of an item or of a key. */
export function keyOf(table: BenchTable, item: BenchItem): BenchKey {
  const names = [table.partitionKey, table.sortKey].flatMap((each) => each?.name ?? []);
  return Object.fromEntries(names.map((name) => [name, item[name]])) as BenchKey;
}

/** One text per key of a table. */
export function keyText(table: BenchTable, key: BenchKey): string {
  const { partitionKey, sortKey } = table;
  const sort = sortKey === undefined ? "" : String(key[sortKey.name]);
  return `${table.name}\u0000${String(key[partitionKey.name])}\u0000${sort}`;
}

/** As the document client would. */
export function toSdkItem(item: BenchItem): SdkItem {
  return marshall(item, { removeUndefinedValues: true });
}
