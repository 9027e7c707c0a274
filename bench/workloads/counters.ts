/**
 * Read-modify-writes of small rows: Mediator's U1, U4 and U20 (so many random keys per
 * transaction), the contention sweep (four keys, drawn from ever fewer), one hot row, and as a
 * control disjoint keys, on which every abort is spurious.
 */
import type {
  BenchItem,
  BenchRandom,
  BenchTable,
  BenchTransaction,
  Workload,
} from "../harness/workload.ts";

const countersDefault = 10_000;
const sweepKeys = 4;
/** Enough for as many workers as a run can have. */
const workersMax = 4_096;

type Keys = (random: BenchRandom, worker: number) => readonly number[];

/** So many distinct keys, all equally likely. */
function anyKeys(count: number, below: number): Keys {
  return (random) => {
    const keys = new Set<number>();
    while (keys.size < count) keys.add(random.below(below));
    return [...keys];
  };
}

function counters(options: {
  readonly name: string;
  readonly table: string;
  readonly description: string;
  readonly rows: number;
  readonly keys: Keys;
}): Workload {
  const table: BenchTable = { name: options.table, partitionKey: { name: "id", type: "N" } };
  return {
    name: options.name,
    description: options.description,
    tables: [table],
    *rows() {
      for (let id = 0; id < options.rows; id += 1) yield { table, item: counterItem(id) };
    },
    next: (random, worker) => {
      const keys = options.keys(random, worker);
      return {
        name: "increment",
        readOnly: false,
        body: (transaction) => increment(transaction, table, keys),
      };
    },
  };
}

/** About 100 bytes. */
function counterItem(id: number): BenchItem {
  return { id, count: 0, owner: `Customer ${id.toString().padStart(6, "0")}`, currency: "EUR" };
}

async function increment(
  transaction: BenchTransaction,
  table: BenchTable,
  ids: readonly number[],
): Promise<void> {
  const keys = ids.map((id) => ({ id }));
  const [only] = keys;
  const rows =
    keys.length === 1 && only !== undefined
      ? [await transaction.get(table, only)]
      : await transaction.batchGet(table, keys);
  for (const [n, id] of ids.entries()) {
    const row = rows[n] ?? counterItem(id);
    transaction.put(table, { ...row, count: Number(row["count"]) + 1 });
  }
}

export function updates(count: number): Workload {
  return counters({
    name: `u${count.toString()}`,
    table: "counters",
    description:
      `read-modify-write of ${count} random rows of ${countersDefault} (Mediator's ` + `U${count})`,
    rows: countersDefault,
    keys: anyKeys(count, countersDefault),
  });
}

export function contention(keySpace: number): Workload {
  const name = `contention-${keySpace.toString()}`;
  return counters({
    name,
    table: name,
    description: `read-modify-write of ${sweepKeys} random rows of ${keySpace}`,
    rows: keySpace,
    keys: anyKeys(sweepKeys, keySpace),
  });
}

export function hotRow(): Workload {
  return counters({
    name: "hot-row",
    table: "hot-row",
    description: "read-modify-write of the one row there is",
    rows: 1,
    keys: () => [0],
  });
}

export function disjoint(): Workload {
  return counters({
    name: "disjoint",
    table: "disjoint",
    description:
      `read-modify-write of ${sweepKeys} rows that no other worker touches: every abort is ` +
      "spurious",
    rows: workersMax * sweepKeys,
    keys: (_random, worker) => {
      const first = (worker % workersMax) * sweepKeys;
      return Array.from({ length: sweepKeys }, (_, n) => first + n);
    },
  });
}
