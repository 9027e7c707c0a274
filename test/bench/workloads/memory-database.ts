/**
 * The simplest database that keeps a workload's promises: maps, one transaction at a time. It is
 * stricter than a real one about what a workload may ask: no duplicate keys, no values that a store
 * cannot hold, no write in a read-only operation.
 */
import {
  RolledBack,
  type BenchItem,
  type BenchKey,
  type BenchQuery,
  type BenchTable,
  type BenchTransaction,
  type Operation,
  type Workload,
} from "../../../bench/harness/workload.ts";
import { namedRandom } from "../../../bench/workloads/draws.ts";

type KeyPart = string | number;
type Write = { readonly table: BenchTable; readonly key: BenchKey; readonly item?: BenchItem };

export class MemoryDatabase {
  readonly #tables: ReadonlyMap<string, Map<KeyPart, Map<KeyPart, BenchItem>>>;

  readonly #workload: Workload;

  constructor(workload: Workload, rows = workload.rows()) {
    this.#workload = workload;
    this.#tables = new Map(workload.tables.map(({ name }) => [name, new Map()]));
    for (const { table, item } of rows) {
      const key = keyOf(table, item);
      if (this.get(table, key) !== undefined) {
        throw new Error(`two rows of ${table.name} have the key ${JSON.stringify(key)}`);
      }
      this.put(table, item);
    }
  }

  /** Whether it committed: false if the workload rolled it back. */
  async run({ body, readOnly }: Operation): Promise<boolean> {
    const writes: Write[] = [];
    try {
      await body(this.transaction(writes));
    } catch (error) {
      if (error instanceof RolledBack) return false;
      throw error;
    }
    if (readOnly && writes.length > 0) throw new Error("a read-only operation writes");
    for (const { table, key, item } of writes) {
      if (item === undefined) this.delete(table, key);
      else this.put(table, item);
    }
    return true;
  }

  /** Reads as they stand; writes go to the list. */
  transaction(writes: Write[] = []): BenchTransaction {
    return {
      get: async (table, key) => this.get(table, key),
      batchGet: async (table, keys) => {
        const distinct = new Set(keys.map((key) => JSON.stringify(keyOf(table, key))));
        if (distinct.size < keys.length) throw new Error("a key twice in one batch");
        return keys.map((key) => this.get(table, key));
      },
      query: async (table, query) => this.query(table, query),
      put: (table, item) => {
        assertStorable(item);
        writes.push({ table, key: keyOf(table, item), item });
      },
      delete: (table, key) => {
        writes.push({ table, key: keyOf(table, key) });
      },
    };
  }

  get(table: BenchTable, key: BenchKey): BenchItem | undefined {
    const { partition, sort } = partsOf(table, key);
    if (Object.keys(key).length !== (table.sortKey === undefined ? 1 : 2)) {
      throw new Error(`${JSON.stringify(key)} is no key of ${table.name}`);
    }
    return this.#rows(table, partition).get(sort);
  }

  query(table: BenchTable, query: BenchQuery): BenchItem[] {
    if (table.sortKey === undefined) throw new Error(`${table.name} has no sort key`);
    const { from, to, limit, descending = false } = query;
    const found = [...this.#rows(table, query.partition)]
      .filter(([sort]) => (from === undefined || sort >= from) && (to === undefined || sort <= to))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, item]) => item);
    return (descending ? found.reverse() : found).slice(0, limit);
  }

  put(table: BenchTable, item: BenchItem): void {
    assertStorable(item);
    const { partition, sort } = partsOf(table, item);
    this.#rows(table, partition).set(sort, Object.freeze({ ...item }));
  }

  delete(table: BenchTable, key: BenchKey): void {
    const { partition, sort } = partsOf(table, key);
    this.#rows(table, partition).delete(sort);
  }

  /** Changes a row that stands there, as no transaction would. */
  damage(table: BenchTable, key: BenchKey, change: (row: BenchItem) => BenchItem): void {
    const row = this.get(table, key);
    if (row === undefined) throw new Error(`no row of ${table.name} to damage`);
    this.put(table, change(row));
  }

  copy(): MemoryDatabase {
    const rows = this.#workload.tables.flatMap((table) =>
      [...(this.#tables.get(table.name)?.values() ?? [])].flatMap((partition) =>
        [...partition.values()].map((item) => ({ table, item })),
      ),
    );
    return new MemoryDatabase(this.#workload, rows);
  }

  /** Everything, in a fixed order: equal for equal contents. */
  contents(): unknown {
    return [...this.#tables].map(([name, partitions]) => [
      name,
      [...partitions]
        .flatMap(([partition, rows]) =>
          [...rows].map(([sort, item]) => [JSON.stringify([partition, sort]), item] as const),
        )
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ]);
  }

  #rows(table: BenchTable, partition: KeyPart): Map<KeyPart, BenchItem> {
    const partitions = this.#tables.get(table.name);
    if (partitions === undefined) throw new Error(`${table.name} is not among the tables`);
    const rows = partitions.get(partition) ?? new Map<KeyPart, BenchItem>();
    partitions.set(partition, rows);
    return rows;
  }
}

export type Tally = { committed: number; rolledBack: number };

/**
 * Runs operations of several workers in turn; how many of each kind committed and were rolled back.
 */
export async function runOperations(
  { workload, database }: { readonly workload: Workload; readonly database: MemoryDatabase },
  {
    count,
    seed,
    workers = 4,
  }: { readonly count: number; readonly seed: string; readonly workers?: number },
): Promise<Map<string, Tally>> {
  const randoms = Array.from({ length: workers }, (_, index) => namedRandom(`${seed}/${index}`));
  const tallies = new Map<string, Tally>();
  for (let i = 0; i < count; i += 1) {
    const worker = i % workers;
    const operation = workload.next(randoms[worker]!, worker);
    const tally = tallies.get(operation.name) ?? { committed: 0, rolledBack: 0 };
    tallies.set(operation.name, tally);
    if (await database.run(operation)) tally.committed += 1;
    else tally.rolledBack += 1;
  }
  return tallies;
}

function partsOf(table: BenchTable, row: BenchItem): { partition: KeyPart; sort: KeyPart } {
  const { partitionKey, sortKey } = table;
  return {
    partition: keyPart(table, partitionKey, row),
    sort: sortKey === undefined ? "" : keyPart(table, sortKey, row),
  };
}

function keyPart(
  table: BenchTable,
  { name, type }: BenchTable["partitionKey"],
  row: BenchItem,
): KeyPart {
  const value = row[name];
  if (typeof value === "string" && type === "S" && value !== "") return value;
  if (typeof value === "number" && type === "N" && Number.isFinite(value)) return value;
  throw new Error(`${String(value)} is no ${name} of ${table.name}`);
}

function keyOf(table: BenchTable, row: BenchItem): BenchKey {
  const { partition, sort } = partsOf(table, row);
  const { partitionKey, sortKey } = table;
  return { [partitionKey.name]: partition, ...(sortKey && { [sortKey.name]: sort }) };
}

function assertStorable(item: BenchItem): void {
  for (const [name, value] of Object.entries(item)) {
    const storable = typeof value === "number" ? Number.isSafeInteger(value) : value !== undefined;
    if (!storable) throw new Error(`${name} holds ${String(value)}`);
  }
}
