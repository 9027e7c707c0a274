/**
 * YCSB's core workloads A to F (Cooper et al., SoCC 2010) and the mix of the pH1 paper, on 10,000
 * rows of ten fields of 100 bytes. A partition is a bucket of 100 rows, so that a scan is one
 * Query.
 *
 * Differences from YCSB: an update writes all fields (its option `writeallfields`), since a put is
 * a whole row and reading first would be another workload (F); a scan stays within its bucket; each
 * worker inserts into buckets of its own, and D's latest rows are those of the worker itself, then
 * the last of the rows loaded.
 */
import type {
  BenchItem,
  BenchKey,
  BenchRandom,
  BenchTable,
  Operation,
  Workload,
} from "../harness/workload.ts";
import { scattered, zipfRanks } from "./zipf.ts";

const ycsbTable: BenchTable = {
  name: "ycsb",
  partitionKey: { name: "bucket", type: "N" },
  sortKey: { name: "row", type: "N" },
};

const ycsbRows = 10_000;
const bucketRows = 100;
const fields = 10;
const fieldBytes = 100;
const scanRowsMax = 100;
const manyRows = 10;
/** Each worker's own range of row numbers, whole buckets. */
const insertsPerWorker = 1_000_000;

type Kind = "read" | "update" | "insert" | "scan" | "read-modify-write" | "update-10";
type Mix = readonly (readonly [share: number, kind: Kind])[];
type Distribution = "uniform" | "zipfian" | "latest";

const mixes = {
  a: {
    mix: [
      [0.5, "read"],
      [0.5, "update"],
    ],
    about: "50 % read, 50 % update",
  },
  b: {
    mix: [
      [0.95, "read"],
      [0.05, "update"],
    ],
    about: "95 % read, 5 % update",
  },
  c: { mix: [[1, "read"]], about: "read only" },
  d: {
    mix: [
      [0.95, "read"],
      [0.05, "insert"],
    ],
    about: "95 % read of the latest, 5 % insert",
  },
  e: {
    mix: [
      [0.95, "scan"],
      [0.05, "insert"],
    ],
    about: "95 % scan, 5 % insert",
  },
  f: {
    mix: [
      [0.5, "read"],
      [0.5, "read-modify-write"],
    ],
    about: "50 % read, 50 % read-modify-write",
  },
  ph1: {
    mix: [
      [0.45, "read"],
      [0.3, "scan"],
      [0.125, "update"],
      [0.125, "update-10"],
    ],
    about: "pH1's mix: 45 % read, 30 % scan, 12.5 % update, 12.5 % update of ten rows",
  },
} as const satisfies Record<string, { readonly mix: Mix; readonly about: string }>;

export type YcsbMix = keyof typeof mixes;

export const ycsbMixes = Object.keys(mixes) as readonly YcsbMix[];

export function ycsb(name: YcsbMix, distribution: Distribution): Workload {
  const { mix, about } = mixes[name];
  const draws = new Draws(distribution);
  return {
    name: `ycsb-${name}${distribution === "uniform" ? "-uniform" : ""}`,
    description: `YCSB ${name.toUpperCase()}, ${distribution}: ${about}`,
    tables: [ycsbTable],
    rows: loadedRows,
    next: (random, worker) =>
      operationOf(kindOf(mix, random.fraction()), { draws, random, worker }),
  };
}

function* loadedRows(): Generator<{ table: BenchTable; item: BenchItem }> {
  for (let row = 0; row < ycsbRows; row += 1) yield { table: ycsbTable, item: rowItem(row, row) };
}

function kindOf(mix: Mix, drawn: number): Kind {
  let left = drawn;
  for (const [share, kind] of mix) {
    left -= share;
    if (left < 0) return kind;
  }
  return mix[0]?.[1] ?? "read";
}

type Draw = { readonly draws: Draws; readonly random: BenchRandom; readonly worker: number };

function operationOf(kind: Kind, { draws, random, worker }: Draw): Operation {
  const content = random.below(contentVariants);
  switch (kind) {
    case "read": {
      const key = keyOf(draws.row(random, worker));
      return reading(kind, async (tx) => {
        await tx.get(ycsbTable, key);
      });
    }
    case "scan": {
      const rows = 1 + random.below(scanRowsMax);
      const bucket = Math.floor(draws.row(random, worker) / bucketRows);
      const from = bucket * bucketRows + random.below(bucketRows - rows + 1);
      return reading(kind, async (tx) => {
        await tx.query(ycsbTable, { partition: bucket, from, to: from + rows - 1 });
      });
    }
    case "update": {
      const item = rowItem(draws.row(random, worker), content);
      return writing(kind, async (tx) => {
        tx.put(ycsbTable, item);
      });
    }
    case "insert": {
      const item = rowItem(draws.insert(worker), content);
      return writing(kind, async (tx) => {
        tx.put(ycsbTable, item);
      });
    }
    case "read-modify-write": {
      const row = draws.row(random, worker);
      return writing(kind, async (tx) => {
        const item = await tx.get(ycsbTable, keyOf(row));
        tx.put(ycsbTable, { ...item, ...keyOf(row), field0: contentOf(content) });
      });
    }
    case "update-10": {
      const rows = new Set<number>();
      while (rows.size < manyRows) rows.add(draws.row(random, worker));
      return writing(kind, async (tx) => {
        for (const row of rows) tx.put(ycsbTable, rowItem(row, content));
      });
    }
  }
}

function reading(name: string, body: Operation["body"]): Operation {
  return { name, readOnly: true, body };
}

function writing(name: string, body: Operation["body"]): Operation {
  return { name, readOnly: false, body };
}

class Draws {
  readonly #distribution: Distribution;
  readonly #rank = zipfRanks(ycsbRows);
  /** Rows inserted by each worker. */
  readonly #inserted = new Map<number, number>();

  constructor(distribution: Distribution) {
    this.#distribution = distribution;
  }

  row(random: BenchRandom, worker: number): number {
    if (this.#distribution === "uniform") return random.below(ycsbRows);
    const rank = this.#rank(random);
    if (this.#distribution === "zipfian") return scattered(rank, ycsbRows);
    const inserted = this.#inserted.get(worker) ?? 0;
    const back = inserted - 1 - rank;
    return back >= 0 ? firstInsert(worker) + back : ycsbRows + back;
  }

  insert(worker: number): number {
    const inserted = this.#inserted.get(worker) ?? 0;
    this.#inserted.set(worker, inserted + 1);
    return firstInsert(worker) + inserted;
  }
}

function firstInsert(worker: number): number {
  return insertsPerWorker * (1 + worker);
}

function keyOf(row: number): BenchKey {
  return { bucket: Math.floor(row / bucketRows), row };
}

const contentVariants = 997;
const contentSource = Array.from({ length: contentVariants + fieldBytes }, (_, n) =>
  String.fromCharCode(97 + ((n * 31 + (n >> 3)) % 26)),
).join("");

function contentOf(variant: number): string {
  const start = variant % contentVariants;
  return contentSource.slice(start, start + fieldBytes);
}

function rowItem(row: number, variant: number): BenchItem {
  const item: Record<string, unknown> = { ...keyOf(row) };
  for (let field = 0; field < fields; field += 1) {
    item[`field${field.toString()}`] = contentOf(variant * (field + 1));
  }
  return item;
}
