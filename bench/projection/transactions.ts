/** The transactions that the projection runs, on items of about 100 bytes. */
import { defineTable } from "../../sdk/index.ts";
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

function itemAt(n: number, balanceCents: number, filler?: string) {
  const text = n.toString().padStart(6, "0");
  return {
    id: `item-${text}`,
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
    const chosen = differentNumbers(random, options.items, options.keys);
    const rows = await transaction.batchGet(chosen.map((n) => [items, itemAt(n, 0).id] as const));
    for (const [i, n] of chosen.entries()) {
      if (i < onlyRead) continue;
      transaction.put(items, itemAt(n, (rows[i]?.balanceCents ?? 0) + 1, filler));
    }
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
