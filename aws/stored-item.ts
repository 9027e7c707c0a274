/**
 * A user's item as it lies in its table, with the reserved attributes that say which version it is,
 * and the item as the protocol sees it (docs/protocol.md §1). I6: a tombstone is a version like any
 * other.
 */
import { attribute, isReserved, setAttribute } from "../core/attributes.ts";
import { CorruptDataError } from "../core/errors.ts";
import type { StoredItem } from "../core/ports.ts";
import type { AttributeValue, Item, Version } from "../core/types.ts";

export const absentItem: StoredItem = { item: undefined, version: 0 as Version, tombstone: false };

/**
 * The version that an item carries: 0 for one that Tidemark never wrote.
 * @throws CorruptDataError when `_v` is there and is no version.
 */
export function versionOf(item: Item): Version {
  const value = attribute(item, "_v");
  if (value === undefined) return 0 as Version;
  const version = "N" in value ? Number(value.N) : Number.NaN;
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new CorruptDataError("an item's _v is not a version; the attribute is reserved");
  }
  return version as Version;
}

function isTombstone(item: Item): boolean {
  const value = attribute(item, "_x");
  // mutant: delete-leaves-no-tombstone
  return value !== undefined && "BOOL" in value && value.BOOL;
}

export function toStoredItem(item: Item): StoredItem {
  const version = versionOf(item);
  if (isTombstone(item)) return { item: undefined, version, tombstone: true };
  return { item: withoutReserved(item), version, tombstone: false };
}

function withoutReserved(item: Item): Item {
  const kept: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(item)) {
    if (!isReserved(name)) setAttribute(kept, name, value);
  }
  return kept;
}

/** What an install stores: the user's item, or the key alone for a tombstone, under its version. */
export function toInstalledItem(key: Item, item: Item | undefined, version: Version): Item {
  const versionValue = { N: version.toString() };
  if (item === undefined) return { ...key, _v: versionValue, _x: { BOOL: true } };
  return { ...item, _v: versionValue };
}
