/**
 * What a sweep does with one item of a table on its way (core/table-access.ts). Each takes away
 * what nobody waits for any more, and nothing of a transaction that is under way.
 */
import { attribute, fenceAttribute, versionAttribute, type KeyPair } from "./attributes.ts";
import { isHidden } from "./item-content.ts";
import { isMarked } from "./item-identity.ts";
import type { Sweep } from "./table-access.ts";
import type { Item } from "./types.ts";

export type SweptItem =
  | "stays"
  /** As it stands, and in no other state. */
  | "goes"
  /** A fence is on it: its transaction ends within seconds. */
  | "waits"
  /** It has become an item, and loses its mark. */
  | "unmarked"
  /** It loses a fence that bars nobody: transactions alone write the table. */
  | "unfenced";

export function sweptItem(item: Item, sweep: Sweep, keys: KeyPair): SweptItem {
  const isFenced = attribute(item, fenceAttribute) !== undefined;
  const isVersioned = attribute(item, versionAttribute) !== undefined;
  if (sweep === "fences" && isFenced && (isVersioned || !isMarked(item))) return "unfenced";
  if (!isMarked(item)) return "stays";
  const isItem = !isHidden(item, keys);
  switch (sweep) {
    case "tombstones":
      // A placeholder is its transaction's.
      if (isItem || !isVersioned) return isItem ? "unmarked" : "stays";
      return isFenced ? "waits" : "goes";
    case "marks":
      return isItem ? "unmarked" : "stays";
    case "fences":
      // A tombstone is the reaper's, and an item that was made of one no transaction sees.
      return isItem || isVersioned ? "stays" : "goes";
  }
}
