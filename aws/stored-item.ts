/**
 * A user's item as it lies in its table, with the reserved attributes that say which version it is,
 * and the item as the protocol sees it (docs/protocol.md §1). I6: a tombstone is a version like any
 * other.
 */
import {
  attribute,
  keyOf,
  markAttribute,
  versionAttribute,
  withoutReserved,
} from "../core/attributes.ts";
import { namingItem } from "../core/damaged-item.ts";
import type { DamagedItem } from "../core/errors.ts";
import { versionOf } from "../core/stored-version.ts";
import type { StoredItem } from "../core/ports.ts";
import type { Item, TableDescription, Version } from "../core/types.ts";

export const absentItem: StoredItem = { item: undefined, version: 0 as Version, tombstone: false };

function isTombstone(item: Item): boolean {
  const value = attribute(item, markAttribute);
  // mutant: delete-leaves-no-tombstone
  return value !== undefined && "BOOL" in value && value.BOOL;
}

/** @throws CorruptDataError, with the item's table and key, where `_v` is no version. */
export function toStoredItem(table: TableDescription, item: Item): StoredItem {
  const version = versionIn(item, () => ({ table: table.name, key: keyOf(table, item) }));
  if (isTombstone(item)) return { item: undefined, version, tombstone: true };
  return { item: withoutReserved(item), version, tombstone: false };
}

/** @throws CorruptDataError that names the item, where `_v` is no version. */
export function versionIn(item: Item, nameOf: () => DamagedItem): Version {
  try {
    return versionOf(item);
  } catch (error) {
    throw namingItem(error, nameOf());
  }
}

/** What an install stores: the user's item, or the key alone for a tombstone, under its version. */
export function toInstalledItem(key: Item, item: Item | undefined, version: Version): Item {
  const versioned = { [versionAttribute]: { N: version.toString() } };
  if (item === undefined) return { ...key, ...versioned, [markAttribute]: { BOOL: true } };
  return { ...item, ...versioned };
}
