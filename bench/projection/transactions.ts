/** The transactions that the projection runs, on items of about 100 bytes. */
import { defineTable, type Snapshot, type Transaction } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { Body } from "./load.ts";
import { projectionTable } from "./projected-deployment.ts";

type Item = {
  readonly balanceCents: number;
  readonly owner: string;
  readonly updatedAt: string;
  readonly filler?: string;
};

const items = defineTable<Item, { readonly id: string }>(projectionTable);

export const hotItemId = "hot";

export function itemIdAt(n: number): string {
  return `item-${n.toString().padStart(6, "0")}`;
}

function itemAt(n: number, balanceCents: number, filler?: string) {
  const text = n.toString().padStart(6, "0");
  return {
    id: itemIdAt(n),
    balanceCents,
    owner: `Customer ${text}`,
    updatedAt: "2026-01-01T00:00:00.000Z",
    ...(filler === undefined ? {} : { filler }),
  };
}

/** `count` different numbers below `below`. */
function differentNumbers(random: SeededRandom, count: number, below: number): readonly number[] {
  const found = new Set<number>();
  while (found.size < Math.min(count, below)) found.add(random.integer(0, below - 1));
  return [...found];
}

/** By which items a transaction is one: numbers of what it reads and what it writes. */
export type Accesses = { readonly reads: readonly number[]; readonly writes: readonly number[] };

/** Reads in one batch, then puts; what is written was read or not. */
export async function access(
  transaction: Transaction,
  { reads, writes }: Accesses,
  filler?: string,
): Promise<void> {
  const rows =
    reads.length === 0
      ? []
      : await transaction.batchGet(reads.map((n) => [items, itemIdAt(n)] as const));
  const found = new Map(reads.map((n, at) => [n, rows[at]?.balanceCents ?? 0]));
  for (const n of writes) transaction.put(items, itemAt(n, (found.get(n) ?? 0) + 1, filler));
}

/** As above, of what is only read. */
export async function look(snapshot: Snapshot, reads: readonly number[]): Promise<void> {
  await snapshot.batchGet(reads.map((n) => [items, itemIdAt(n)] as const));
}

/**
 * Reads n different items in one batch and puts those that are not only read, each chosen anew
 * whenever the body runs.
 */
export function readAndWrite(options: {
  readonly items: number;
  /** Of these are only read. Default: none. */
  readonly onlyRead?: number;
  readonly keys: number;
  /** Added to each item. Default 0. */
  readonly fillerBytes?: number;
}): Body {
  const { fillerBytes = 0, onlyRead = 0 } = options;
  const filler = fillerBytes === 0 ? undefined : "x".repeat(fillerBytes);
  return async (transaction, random) => {
    const reads = differentNumbers(random, options.items, options.keys);
    await access(transaction, { reads, writes: reads.slice(onlyRead) }, filler);
  };
}

/** Counts one item up. */
export const increment: Body = async (transaction) => {
  const row = await transaction.get(items, hotItemId);
  transaction.put(items, {
    ...itemAt(0, (row?.balanceCents ?? 0) + 1),
    id: hotItemId,
  });
};
