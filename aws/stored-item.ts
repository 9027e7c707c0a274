/**
 * A user's item as it lies in its table, with the reserved attributes that say which version it is,
 * and the item as the protocol sees it (docs/protocol.md §1). I6: a tombstone is a version like any
 * other.
 */
import { attribute, markAttribute, versionAttribute, withoutReserved } from "../core/attributes.ts";
import { versionOf } from "../core/stored-version.ts";
import type { StoredItem } from "../core/ports.ts";
import type { Item, Version } from "../core/types.ts";

export const absentItem: StoredItem = { item: undefined, version: 0 as Version, tombstone: false };

function isTombstone(item: Item): boolean {
  const value = attribute(item, markAttribute);
  // mutant: delete-leaves-no-tombstone
  return value !== undefined && "BOOL" in value && value.BOOL;
}

export function toStoredItem(item: Item): StoredItem {
  const version = versionOf(item);
  if (isTombstone(item)) return { item: undefined, version, tombstone: true };
  return { item: withoutReserved(item), version, tombstone: false };
}

/** What an install stores: the user's item, or the key alone for a tombstone, under its version. */
export function toInstalledItem(key: Item, item: Item | undefined, version: Version): Item {
  const versioned = { [versionAttribute]: { N: version.toString() } };
  if (item === undefined) return { ...key, ...versioned, [markAttribute]: { BOOL: true } };
  return { ...item, ...versioned };
}
