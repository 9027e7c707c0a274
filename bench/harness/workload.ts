/**
 * What a workload is, and what it needs of a database. Workloads (bench/workloads) are written once
 * against these types; each contestant (bench/contestants) gives them in its own way: as Tidemark
 * transactions, as plain calls, as TransactWriteItems with conditions.
 */

/** Plain JSON-like values, as the document client takes them. */
export type BenchItem = { readonly [attribute: string]: unknown };

export type BenchKey = { readonly [attribute: string]: string | number };

export type BenchTable = {
  readonly name: string;
  readonly partitionKey: { readonly name: string; readonly type: "S" | "N" };
  readonly sortKey?: { readonly name: string; readonly type: "S" | "N" };
};

/** Rows of one partition in the order of their sort key; both ends of the range are included. */
export type BenchQuery = {
  readonly partition: string | number;
  readonly from?: string | number;
  readonly to?: string | number;
  readonly limit?: number;
  readonly descending?: boolean;
};

export interface BenchTransaction {
  get(table: BenchTable, key: BenchKey): Promise<BenchItem | undefined>;
  /** In the order of the keys. */
  batchGet(
    table: BenchTable,
    keys: readonly BenchKey[],
  ): Promise<readonly (BenchItem | undefined)[]>;
  query(table: BenchTable, query: BenchQuery): Promise<readonly BenchItem[]>;
  /**
   * Takes effect when the body ends: contestants without transactions send their writes side by
   * side then.
   */
  put(table: BenchTable, item: BenchItem): void;
  delete(table: BenchTable, key: BenchKey): void;
}

/** Numbers drawn from one seed; each worker of each process has its own. */
export type BenchRandom = {
  /** In `[0, 1)`. */
  readonly fraction: () => number;
  /** A whole number in `[0, below)`. */
  readonly below: (below: number) => number;
};

/** One transaction to run; the body may run more than once, and must then do the same. */
export type Operation = {
  /** Its kind, by which results are broken down: `read`, `new-order`. */
  readonly name: string;
  readonly readOnly: boolean;
  /**
   * One get or one put that asks for no transaction: a plain call where the contestant can make one
   * beside its transactions. Undefined: no.
   */
  readonly native?: boolean;
  /** Throws `RolledBack` where the benchmark's rules ask for a rollback. */
  readonly body: (transaction: BenchTransaction) => Promise<void>;
  /** The same as a BASE transaction, where it is worth one; steps share what they close over. */
  readonly steps?: readonly Step[];
};

/** Throws `RolledBack` in the first one only. May run more than once, as a body may. */
export type Step = {
  readonly name: string;
  readonly body: (transaction: BenchTransaction) => Promise<void>;
  /** Waiting for the world outside once it is committed; in ACID before its commit. Default: 0. */
  readonly waitMs?: number;
};

/** The workload's own, wanted rollback: neither a conflict nor a failure. */
export class RolledBack extends Error {
  override readonly name = "RolledBack";
}

export type Workload = {
  /** As on the command line. */
  readonly name: string;
  /** Where its rules come from, and what was left out. */
  readonly description: string;
  readonly tables: readonly BenchTable[];
  /** What stands in the tables at start; the same for the same workload. */
  readonly rows: () => Iterable<{ readonly table: BenchTable; readonly item: BenchItem }>;
  /**
   * The next transaction of one worker. `worker` is unique among all workers of all processes, and
   * dense from 0.
   */
  readonly next: (random: BenchRandom, worker: number) => Operation;
  /**
   * Conditions that hold whenever nothing is under way, each violation in one sentence; contestants
   * without transactions may break them.
   */
  readonly violations?: (read: BenchTransaction) => Promise<readonly string[]>;
};
