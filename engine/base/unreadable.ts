/**
 * Reads around items whose version cannot be read, and at which a read of them and others fails:
 * whoever wrote such an item hurts one BASE transaction, and hides none of the others.
 */
import { CorruptDataError, type DamagedItem } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import { itemKey, textOf } from "./attributes.ts";
import { openPartitions, toListed, type Listed, type StrangeEntry } from "./open-list.ts";
import {
  baseOfRecord,
  headKey,
  toLookedAt,
  toShown,
  type LookedAt,
  type ShownHead,
} from "./record.ts";
import type { PartitionRange } from "./records.ts";

/** All items of a range, in the order of their keys. */
export type ReadsRange = (range: PartitionRange) => Promise<readonly Item[]>;

type Unreadable = { readonly sort: string; readonly cause: CorruptDataError };

/**
 * The items of a partition that can be read, and the others.
 * @throws CorruptDataError where there are too many of the others.
 */
async function readableIn(
  partition: string,
  read: ReadsRange,
): Promise<{ readonly items: readonly Item[]; readonly unreadable: readonly Unreadable[] }> {
  const items: Item[] = [];
  const unreadable: Unreadable[] = [];
  for (let behind: Item | undefined; ;) {
    try {
      items.push(...(await read({ partition, behind })));
      return { items, unreadable };
    } catch (error) {
      const cause = unreadableIn(error);
      if (unreadable.length === limits.baseUnreadableMax) throw cause;
      const sort = textOf(cause.item.key, "sk");
      // A page's first one is named, so that all before it can be read.
      items.push(...(await read({ partition, behind, before: sort })));
      unreadable.push({ sort, cause });
      behind = itemKey(partition, sort);
    }
  }
}

/**
 * What the partitions of the list hold. An item that cannot be read hides none of the others; a
 * partition of too many such items hides no other one.
 */
export async function listedIn(read: ReadsRange): Promise<Listed> {
  const strange: StrangeEntry[] = [];
  const found = await Promise.all(
    openPartitions.map(async (partition): Promise<readonly Item[]> => {
      try {
        const { items, unreadable } = await readableIn(partition, read);
        strange.push(...unreadable.map(({ sort, cause }) => ({ base: sort, cause })));
        return items;
      } catch (cause) {
        if (!(cause instanceof CorruptDataError)) throw cause;
        strange.push({ base: partition, cause });
        return [];
      }
    }),
  );
  const listed = toListed(found.flat());
  return { ...listed, strange: [...strange, ...listed.strange] };
}

export type Looked = {
  /** In no particular order. */
  readonly heads: readonly LookedAt<ShownHead>[];
  /** The time was not enough for all of them. */
  readonly isCut: boolean;
};

/** Heads of many, some at a time, as long as there is time: of the others nothing is said. */
export async function lookedAtInTime(
  bases: readonly string[],
  look: (some: readonly string[]) => Promise<readonly LookedAt[]>,
  isOver: () => boolean = () => false,
): Promise<Looked> {
  const heads: LookedAt<ShownHead>[] = [];
  for (let at = 0; at < bases.length; at += limits.baseHeadsAtOnceMax) {
    if (at > 0 && isOver()) return { heads, isCut: true };
    const some = await look(bases.slice(at, at + limits.baseHeadsAtOnceMax));
    heads.push(...some.map(toShown));
  }
  return { heads, isCut: false };
}

/** Of several heads what each says, in no particular order; of those that are gone, nothing. */
export async function lookedAt(
  bases: readonly string[],
  read: (keys: readonly Item[]) => Promise<readonly (Item | undefined)[]>,
): Promise<readonly LookedAt[]> {
  const left = new Set(bases);
  const found: LookedAt[] = [];
  for (;;) {
    const readable = [...left];
    try {
      const items = await read(readable.map(headKey));
      readable.forEach((base, i) => {
        const item = items[i];
        if (item !== undefined) found.push(toLookedAt(base, item));
      });
      return found;
    } catch (error) {
      const cause = unreadableIn(error);
      const base = baseOfRecord(cause.item.key);
      // Each is met once: this ends.
      if (!left.delete(base)) throw cause;
      found.push({ base, cause });
    }
  }
}

/** What a read has failed with. @throws it, unless it is about an item that cannot be read. */
function unreadableIn(error: unknown): CorruptDataError & { readonly item: DamagedItem } {
  if (error instanceof CorruptDataError && isOfItem(error)) return error;
  throw error;
}

function isOfItem(error: CorruptDataError): error is CorruptDataError & {
  readonly item: DamagedItem;
} {
  return error.item !== undefined;
}
