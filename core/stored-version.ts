/** The version in a stored item (docs/protocol.md §1). */
import { attribute, versionAttribute } from "./attributes.ts";
import { CorruptDataError } from "./errors.ts";
import type { Item, Version } from "./types.ts";

/**
 * The version that an item carries: 0 for one that Tidemark never wrote.
 * @throws CorruptDataError when `_v` is there and is no version.
 */
export function versionOf(item: Item): Version {
  const value = attribute(item, versionAttribute);
  if (value === undefined) return 0 as Version;
  const version = "N" in value ? Number(value.N) : Number.NaN;
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new CorruptDataError("an item's _v is not a version; the attribute is reserved");
  }
  return version as Version;
}
