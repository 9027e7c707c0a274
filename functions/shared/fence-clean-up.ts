/**
 * Takes the fences and placeholders of an aborted transaction off items of one table
 * (docs/adr/0014-native-operations.md, Vote and install, clean up). Each item is read first: what
 * an unaware writer has made of a placeholder stays, and a read costs less than a refused write.
 */
import type { KeyNames } from "../../core/attributes.ts";
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ItemAddress, MixedItemStore } from "../../core/mixed-items-port.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { Item, TransactionId } from "../../core/types.ts";
import { toRemove } from "../../engine/mixed/clean-up.ts";

export type FencedItems = {
  readonly id: TransactionId;
  readonly table: string;
  readonly keys: readonly Item[];
};

/**
 * How many there were. May be repeated, and cut anywhere.
 * @throws StoreError, once all of a page were tried.
 */
export async function removeFences(
  mixed: Pick<MixedItemStore, "readAll" | "cleanUp">,
  { id, table, keys }: FencedItems,
  call: CallOptions,
): Promise<number> {
  let removed = 0;
  for (let from = 0; from < keys.length; from += limits.fencesLookedMax) {
    const page = keys.slice(from, from + limits.fencesLookedMax);
    const addresses = page.map((key): ItemAddress => ({ table: keyNamesIn(table, key), key }));
    const items = await mixed.readAll(addresses, call);
    const calls = addresses.map((at, i): Promise<"cleaned" | "kept"> => {
      const removes = removalOf(items[i], { id, keys: at.table });
      if (removes === undefined) return Promise.resolve("kept");
      return mixed.cleanUp({ ...at, id, removes }, call);
    });
    for (const result of await Promise.allSettled(calls)) {
      if (result.status === "rejected") throw result.reason;
      if (result.value === "cleaned") removed += 1;
    }
  }
  return removed;
}

/** Which of a key's attributes is which makes no difference here. */
function keyNamesIn(table: string, key: Item): KeyNames {
  const [partitionKey = "", sortKey] = Object.keys(key);
  const names = { name: table, partitionKey };
  return sortKey === undefined ? names : { ...names, sortKey };
}

function removalOf(
  stored: Item | undefined,
  of: Parameters<typeof toRemove>[1],
): ReturnType<typeof toRemove> {
  try {
    return toRemove(stored, of);
  } catch (error) {
    // What stands there as a fence is nobody's id.
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}
