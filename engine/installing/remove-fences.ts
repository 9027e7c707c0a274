/**
 * Takes the fences and placeholders of an aborted transaction off items of mixed tables
 * (docs/adr/0014-native-operations.md, Vote and install, clean up). Each item is read first: what
 * an unaware writer has made of a placeholder stays, and a read costs less than a refused write.
 */
import type { FencedItems } from "../../core/aborted-fences-port.ts";
import { keyNamesIn } from "../../core/attributes.ts";
import { toRemove } from "../../core/clean-up.ts";
import * as limits from "../../core/limits.ts";
import type { ItemAddress, MixedCallOptions, MixedItemStore } from "../../core/mixed-items-port.ts";
import type { TransactionId } from "../../core/types.ts";

/**
 * How many there were. May be repeated, and cut anywhere.
 * @param inPlace runs one of the calls that write; default: at once.
 * @throws StoreError, once all of a page were tried.
 */
export async function removeFences(
  mixed: Pick<MixedItemStore, "readAll" | "cleanUp">,
  { id, addresses }: { readonly id: TransactionId; readonly addresses: readonly ItemAddress[] },
  {
    call,
    inPlace = (write) => write(),
  }: {
    readonly call?: MixedCallOptions | undefined;
    readonly inPlace?: <Result>(write: () => Promise<Result>) => Promise<Result>;
  },
): Promise<number> {
  let removed = 0;
  for (let from = 0; from < addresses.length; from += limits.fencesLookedMax) {
    const page = addresses.slice(from, from + limits.fencesLookedMax);
    const items = await mixed.readAll(page, call);
    const calls = page.map(({ table, key }, i): Promise<"cleaned" | "kept"> => {
      const removes = toRemove(items[i], { id, keys: table });
      if (removes === undefined) return Promise.resolve("kept");
      return inPlace(() => mixed.cleanUp({ table, key, id, removes }, call));
    });
    for (const result of await Promise.allSettled(calls)) {
      if (result.status === "rejected") throw result.reason;
      if (result.value !== "cleaned") continue;
      // probe: fence-cleaned-up
      removed += 1;
    }
  }
  return removed;
}

/** The same, of what is known by its keys alone. */
export function removeFencesOf(
  mixed: Pick<MixedItemStore, "readAll" | "cleanUp">,
  { id, table, keys }: FencedItems,
  call: MixedCallOptions,
): Promise<number> {
  const addresses = keys.map((key): ItemAddress => ({ table: keyNamesIn(table, key), key }));
  return removeFences(mixed, { id, addresses }, { call });
}
