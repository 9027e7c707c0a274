/**
 * What transactions read and write, without stores: for measuring oracles alone. Of a workload each
 * draw is one transaction; one that only reads needs no oracle and is not asked for.
 *
 * Paper: Centiman §5.3 (64 M records, 8 / 16 / 24 accesses, half of them writes; uniform and by a
 * power law), §5.4 (TPC-C, new orders and payments 1:1).
 */
import type { Item, TableDescription } from "../../core/types.ts";
import { marshallItem } from "../../sdk/marshall.ts";
import {
  type BenchItem,
  type BenchKey,
  type BenchRandom,
  type BenchTable,
  type BenchTransaction,
  type Operation,
  RolledBack,
} from "../harness/workload.ts";
import { tpccRows } from "../workloads/tpcc/population.ts";
import { tpccCentiman } from "../workloads/tpcc/tpcc.ts";
import { itemsCount, overSplitTables, splitTables } from "./tpcc-split.ts";

export type KeyedTable = {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey?: string;
};

export type KeySet = {
  /** Keys; and queries, whose partition is checked. */
  readonly reads: readonly { readonly table: KeyedTable; readonly key: Item }[];
  readonly queries: readonly { readonly table: KeyedTable; readonly key: Item }[];
  readonly writes: readonly {
    readonly table: KeyedTable;
    readonly key: Item;
    readonly item: Item | undefined;
  }[];
};

/** The same transactions for the same random numbers. */
export type KeySets = { readonly next: (random: BenchRandom) => Promise<KeySet> };

const syntheticRecords = 64_000_000;
const records: KeyedTable = { name: "records", partitionKey: "id" };

/**
 * @param options `power`: rank u^power of a uniform u, so that the first n of N records have a
 * share of (n / N)^(1 / power) of all accesses; 1 is uniform.
 */
export function synthetic({
  accesses,
  power,
}: {
  readonly accesses: number;
  readonly power: number;
}): KeySets {
  return {
    next: (random) => {
      const chosen = new Set<number>();
      while (chosen.size < accesses) {
        chosen.add(Math.floor(syntheticRecords * random.fraction() ** power));
      }
      const keys = Array.from(chosen, (n): Item => ({ id: { S: `record-${n.toString()}` } }));
      const half = accesses / 2;
      return Promise.resolve({
        reads: keys.slice(0, half).map((key) => ({ table: records, key })),
        queries: [],
        writes: keys.slice(half).map((key) => ({
          ...{ table: records, key },
          item: { ...key, value: { S: "x".repeat(80) }, count: { N: "1" } },
        })),
      });
    },
  };
}

/** The paper's mix, by terminals of so many warehouses, each in its turn. */
export function tpccKeySets(warehouses: number): KeySets {
  const customersPerDistrict = 10;
  const { next } = tpccCentiman({ warehouses, customersPerDistrict, items: itemsCount });
  const rows = new Rows();
  for (const { table, item } of tpccRows({ warehouses, customersPerDistrict, items: 20 })) {
    if (table.name !== "tpcc-orders" && table.name !== "tpcc-history") rows.put(table, item);
  }
  const terminals = warehouses * 10;
  let turn = 0;
  return {
    async next(random) {
      for (;;) {
        const worker = turn % terminals;
        turn += 1;
        const operation = next(random, worker);
        const found = await recorded(operation, rows, worker);
        if (found !== undefined) return found;
      }
    },
  };
}

/** What the operation reads and writes; undefined if it is rolled back. */
async function recorded(
  operation: Operation,
  rows: Rows,
  worker: number,
): Promise<KeySet | undefined> {
  const reads: KeySet["reads"][number][] = [];
  const queries: KeySet["queries"][number][] = [];
  const writes: KeySet["writes"][number][] = [];
  const plain: BenchTransaction = {
    get: (table, key) => {
      reads.push({ table: keyed(table), key: marshalled(key) });
      return Promise.resolve(rows.get(table, key));
    },
    batchGet: (table, keys) => {
      for (const key of keys) reads.push({ table: keyed(table), key: marshalled(key) });
      return Promise.resolve(keys.map((key) => rows.get(table, key)));
    },
    query: (table, { partition }) => {
      const key = marshalled({ [table.partitionKey.name]: partition });
      queries.push({ table: keyed(table), key });
      return Promise.resolve(rows.query(table, partition));
    },
    put: (table, item) => {
      rows.put(table, item);
      const key = marshalled(keyIn(table, item));
      writes.push({ table: keyed(table), key, item: marshalled(item) });
    },
    delete: () => {
      throw new Error("new orders and payments delete nothing");
    },
  };
  try {
    await operation.body(overSplitTables(plain, { operation, worker }));
  } catch (error) {
    if (error instanceof RolledBack) return undefined;
    throw error;
  }
  return { reads, queries, writes };
}

const tables = new Map(splitTables.map((table) => [table.name, toKeyed(table)]));

function keyed({ name }: BenchTable): KeyedTable {
  const found = tables.get(name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
}

function toKeyed({ name, partitionKey, sortKey }: BenchTable): KeyedTable {
  const sort = sortKey === undefined ? {} : { sortKey: sortKey.name };
  return { name, partitionKey: partitionKey.name, ...sort };
}

function keyIn({ partitionKey, sortKey }: BenchTable, item: BenchItem): BenchKey {
  const names = [partitionKey.name, ...(sortKey === undefined ? [] : [sortKey.name])];
  return Object.fromEntries(names.map((name) => [name, item[name] as string | number]));
}

function marshalled(item: BenchItem): Item {
  return marshallItem(item, "item", {});
}

/** Rows by table and partition. What is inserted is forgotten but for what can be read again. */
class Rows {
  readonly #partitions = new Map<string, Map<string, BenchItem>>();

  get(table: BenchTable, key: BenchKey): BenchItem | undefined {
    const { partition, whole } = this.#place(table, key);
    return this.#partitions.get(partition)?.get(whole);
  }

  query(table: BenchTable, partition: string | number): readonly BenchItem[] {
    const found = this.#partitions.get(`${table.name} ${partition.toString()}`);
    return found === undefined ? [] : [...found.values()];
  }

  put(table: BenchTable, item: BenchItem): void {
    const isInserted = /orders|history/u.test(table.name);
    if (isInserted) return;
    const { partition, whole } = this.#place(table, keyIn(table, item));
    let rows = this.#partitions.get(partition);
    if (rows === undefined) {
      rows = new Map();
      this.#partitions.set(partition, rows);
    }
    rows.set(whole, item);
  }

  #place(table: BenchTable, key: BenchKey): { readonly partition: string; readonly whole: string } {
    const [first] = Object.values(keyIn(table, key));
    return { partition: `${table.name} ${String(first)}`, whole: JSON.stringify(key) };
  }
}

function described(table: BenchTable): TableDescription {
  return { ...table, history: false, access: "transactional" };
}

/** Of all that is drawn here, as the registry would have them. */
export const keySetTables: readonly TableDescription[] = [
  described({ name: records.name, partitionKey: { name: "id", type: "S" } }),
  ...splitTables.map(described),
];
