/**
 * Salt's three microbenchmarks (OSDI 2014, §5.4): over how few rows transactions meet, at which
 * place in them, and how many only read; and one that the paper has not: what waits in the middle
 * for the world outside.
 */
import type {
  BenchItem,
  BenchRandom,
  BenchTable,
  BenchTransaction,
  Operation,
  Step,
} from "../harness/workload.ts";
import { getRow, putRow, type TypedTable } from "../workloads/typed-rows.ts";
import type { SaltWorkload } from "./salt-load.ts";

type Row = { readonly id: string; readonly count: number };

const rowsTable: TypedTable<Row> = { name: "rows", partitionKey: { name: "id", type: "S" } };

/** Five rows, each from N of its own; N says how often transactions meet. */
export function contention(rowsPerTable: number): SaltWorkload {
  return {
    ...of(Array.from({ length: 5 }, (_, at) => ids(`${at.toString()}-`, rowsPerTable)).flat()),
    next: (random) =>
      updates(
        Array.from({ length: 5 }, (_, at) => ({
          id: `${at.toString()}-${random.below(rowsPerTable).toString()}`,
        })),
      ),
  };
}

const ownRows = 10_000;
const sharedRows = 10;

/** Ten rows, one of them from ten that all share. `place` from 1 to 10. */
export function placeOfContended(place: number): SaltWorkload {
  return {
    ...of([...ids("own-", ownRows), ...ids("shared-", sharedRows)]),
    next: (random) =>
      updates(
        Array.from({ length: 10 }, (_, at) => ({
          id: at + 1 === place ? someId("shared-", sharedRows, random) : ownId(random, at),
        })),
      ),
  };
}

/** Five reads, or five writes, of a hundred rows. */
export function readShare(share: number): SaltWorkload {
  const rows = 100;
  return {
    ...of(ids("row-", rows)),
    next: (random) => {
      const chosen = new Set<string>();
      while (chosen.size < 5) chosen.add(someId("row-", rows, random));
      const wanted = [...chosen];
      return random.fraction() < share ? reads(wanted) : updates(wanted.map((id) => ({ id })));
    },
  };
}

/** One of ten rows, then a wait for something outside, then a row of its own. */
export function waiting(waitMs: number): SaltWorkload {
  return {
    ...of([...ids("own-", ownRows), ...ids("shared-", sharedRows)]),
    next: (random) =>
      updates([
        { id: someId("shared-", sharedRows, random), waitMs },
        { id: someId("own-", ownRows, random) },
      ]),
  };
}

function of(all: readonly string[]): Pick<SaltWorkload, "tables" | "rows"> {
  return {
    tables: [rowsTable],
    *rows(): Generator<{ table: BenchTable; item: BenchItem }> {
      for (const id of all) yield { table: rowsTable, item: { id, count: 0 } };
    },
  };
}

function ids(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at.toString()}`);
}

function someId(prefix: string, count: number, random: BenchRandom): string {
  return `${prefix}${random.below(count).toString()}`;
}

/** Of as many ranges as there are places, so that no two of one operation are the same row. */
function ownId(random: BenchRandom, at: number): string {
  const range = ownRows / 10;
  return `own-${(at * range + random.below(range)).toString()}`;
}

/** One after the other, as statements of SQL are. */
function updates(rows: readonly { readonly id: string; readonly waitMs?: number }[]): Operation {
  const steps = rows.map(({ id, waitMs }, at): Step => ({
    name: at.toString(),
    body: (transaction) => countUp(transaction, id),
    ...(waitMs === undefined ? {} : { waitMs }),
  }));
  return {
    name: "update",
    readOnly: false,
    steps,
    body: async (transaction) => {
      for (const { body } of steps) await body(transaction);
    },
  };
}

async function countUp(transaction: BenchTransaction, id: string): Promise<void> {
  const row = await getRow(transaction, rowsTable, { id });
  putRow(transaction, rowsTable, { id, count: (row?.count ?? 0) + 1 });
}

function reads(wanted: readonly string[]): Operation {
  return {
    name: "read",
    readOnly: true,
    body: async (transaction) => {
      for (const id of wanted) await getRow(transaction, rowsTable, { id });
    },
  };
}
