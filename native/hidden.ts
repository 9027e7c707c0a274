/**
 * What of an item in an answer is there for the application: not the reserved attributes, and
 * nothing at all of a placeholder or tombstone. Only names are looked at, and the mark: so it is
 * the same for the wire's form and for that of a document client.
 */
import { isContent, isReserved, markAttribute, type KeyPair } from "../core/attributes.ts";
import type { ShownItem } from "./wire.ts";

/** `unsure`: what was projected does not tell. */
export type Sight = "shown" | "hidden" | "unsure";

/** Made to hold a place, whatever native writers have made of it since. */
function isMarked(item: ShownItem): boolean {
  const mark = Object.hasOwn(item, markAttribute) ? item[markAttribute] : undefined;
  if (typeof mark === "object" && mark !== null) return (mark as { BOOL?: unknown }).BOOL === true;
  return mark === true;
}

/** @param isWhole all of the item's attributes are there. */
export function sightOf(item: ShownItem, keys: KeyPair, isWhole: boolean): Sight {
  if (!isMarked(item)) return "shown";
  if (Object.keys(item).some((name) => isContent(name, keys))) return "shown";
  return isWhole ? "hidden" : "unsure";
}

/** The item itself where it has no reserved attributes. */
export function withoutReserved<Shown extends ShownItem>(item: Shown): Shown {
  if (!Object.keys(item).some(isReserved)) return item;
  const kept = Object.entries(item).filter(([name]) => !isReserved(name));
  return Object.fromEntries(kept) as ShownItem as Shown;
}

/** What a whole item is to the application; undefined: nothing. */
export function visible(item: ShownItem | undefined, keys: KeyPair): ShownItem | undefined {
  if (item === undefined || sightOf(item, keys, true) === "hidden") return undefined;
  return withoutReserved(item);
}

export function visibleItems(items: readonly ShownItem[], keys: KeyPair): ShownItem[] {
  return items.map((item) => visible(item, keys)).filter((item) => item !== undefined);
}
