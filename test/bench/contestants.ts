/** What all contestants must do alike, for tests on the store in memory and on real protocols. */
import type { ContestantClient } from "../../bench/harness/contestant.ts";
import { benchRandom } from "../../bench/harness/random.ts";
import {
  type BenchItem,
  type BenchTable,
  type BenchTransaction,
  type Operation,
  RolledBack,
  type Workload,
} from "../../bench/harness/workload.ts";
import { updates } from "../../bench/workloads/counters.ts";
import { ycsb } from "../../bench/workloads/ycsb.ts";

export const table: BenchTable = {
  name: "script",
  partitionKey: { name: "group", type: "S" },
  sortKey: { name: "n", type: "N" },
};

function row(n: number, text: string): BenchItem {
  return { group: "a", n, text, nested: { list: [1, "two", true, null] } };
}

/** Rows 1 to 9 of one group. */
export const script: Workload = {
  name: "script",
  description: "every operation once",
  tables: [table],
  *rows() {
    for (let n = 1; n <= 9; n += 1) yield { table, item: row(n, "loaded") };
  },
  next: () => {
    throw new Error("it has steps of its own");
  },
};

type Step = (tx: BenchTransaction) => Promise<unknown>;

const key = (n: number) => ({ group: "a", n });

const steps: readonly (readonly [name: string, step: Step])[] = [
  ["get", (tx) => tx.get(table, key(1))],
  ["get of nothing", (tx) => tx.get(table, key(77))],
  ["batchGet with a gap", (tx) => tx.batchGet(table, [key(3), key(77), key(1)])],
  ["query of all", (tx) => tx.query(table, { partition: "a" })],
  ["query of a range", (tx) => tx.query(table, { partition: "a", from: 3, to: 5 })],
  ["query from", (tx) => tx.query(table, { partition: "a", from: 8 })],
  [
    "query to, descending, limited",
    (tx) => tx.query(table, { partition: "a", to: 6, limit: 2, descending: true }),
  ],
  ["query of nothing", (tx) => tx.query(table, { partition: "b" })],
  [
    "read-modify-write",
    async (tx) => {
      const before = await tx.get(table, key(1));
      tx.put(table, { ...before, ...key(1), text: "changed" });
      return [before, await tx.get(table, key(1))];
    },
  ],
  [
    "insert, delete, and reads of both",
    async (tx) => {
      tx.put(table, row(10, "new"));
      tx.delete(table, key(2));
      return tx.batchGet(table, [key(10), key(2), key(3)]);
    },
  ],
  [
    "a second change of the same rows",
    async (tx) => {
      const [first, tenth] = await tx.batchGet(table, [key(1), key(10)]);
      tx.put(table, { ...first, ...key(1), text: `${String(first?.["text"])} twice` });
      tx.delete(table, key(10));
      return tenth;
    },
  ],
  [
    "rollback",
    async (tx) => {
      tx.put(table, row(4, "never"));
      tx.delete(table, key(5));
      throw new RolledBack();
    },
  ],
  [
    "a blind put over a row",
    async (tx) => {
      tx.put(table, row(6, "blind"));
    },
  ],
];

/** What each step saw, how it ended, and what stands there at the end. */
export async function playScript(contestant: Omit<ContestantClient, "close">): Promise<unknown> {
  const seen: unknown[] = [];
  for (const [name, step] of steps) {
    let result: unknown;
    const operation: Operation = {
      name,
      readOnly: false,
      // Only the last run counts: a client that meets a table for the first time may run a body
      // twice.
      body: async (tx) => {
        result = await step(tx);
      },
    };
    const { kind } = await contestant.run(operation);
    seen.push({ name, kind, result });
  }
  const end = await contestant.read((read) => read.query(table, { partition: "a" }));
  return { seen, end };
}

/** Real workloads, made anew for each contestant: one may remember what its workers inserted. */
export const samples: readonly (readonly [name: string, make: () => Workload])[] = [
  ["YCSB A", () => ycsb("a", "zipfian")],
  ["YCSB D, which inserts", () => ycsb("d", "latest")],
  ["YCSB E, which scans", () => ycsb("e", "zipfian")],
  ["YCSB F", () => ycsb("f", "uniform")],
  ["pH1's mix", () => ycsb("ph1", "zipfian")],
  ["U4", () => updates(4)],
];

/** Some operations, one after another, and all that they read and wrote. */
export async function playSample(
  contestant: Omit<ContestantClient, "close">,
  workload: Workload,
  operations: number,
): Promise<unknown> {
  const random = benchRandom(3, 0);
  const all: unknown[] = [];
  for (let n = 0; n < operations; n += 1) {
    const operation = workload.next(random, 0);
    let seen: unknown[] = [];
    const body: Operation["body"] = (tx) => {
      seen = [];
      return operation.body(spy(tx, seen));
    };
    const { kind } = await contestant.run({ ...operation, body });
    all.push({ name: operation.name, kind, seen });
  }
  return all;
}

function spy(tx: BenchTransaction, seen: unknown[]): BenchTransaction {
  const note = async <Result>(
    what: readonly unknown[],
    result: Promise<Result>,
  ): Promise<Result> => {
    const got = await result;
    seen.push([...what, got]);
    return got;
  };
  return {
    get: (from, at) => note(["get", at], tx.get(from, at)),
    batchGet: (from, keys) => note(["batchGet", keys], tx.batchGet(from, keys)),
    query: (from, query) => note(["query", query], tx.query(from, query)),
    put: (into, item) => {
      seen.push(["put", item]);
      tx.put(into, item);
    },
    delete: (from, at) => {
      seen.push(["delete", at]);
      tx.delete(from, at);
    },
  };
}
