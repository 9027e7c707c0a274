/**
 * When a fence on an item of a mixed table bars (docs/adr/0014-native-operations.md, Items; `Bars`
 * of model/TidemarkNative.tla): a write of its transaction may still come to this very state of the
 * item. Any other fence is garbage, a late copy of one too, and whoever writes may replace it.
 */
import { CorruptDataError } from "./errors.ts";
import { fenceOf, identityOf, sameIdentity, type Identity } from "./item-identity.ts";
import type { Item, Stamp, TransactionId } from "./types.ts";

/** What becomes of the transaction whose id a fence is, as far as one item goes. */
export type FenceFate =
  /** Prepared and not decided; or not in the log yet, as far as it was looked at. */
  | { readonly kind: "open" }
  /** The stamp of its vote for this item; undefined if it does not write it under one. */
  | { readonly kind: "committed"; readonly stamp: Stamp | undefined }
  /**
   * Aborted; or a tail that was refreshed _after the item was read_ does not know the id: the
   * watermark has passed it, so it was settled and installed.
   */
  | { readonly kind: "over" };

/** A fence that was met, and the identity that it stands on. */
export type MetFence = { readonly fence: TransactionId; readonly under: Identity };

export function bars({ under }: Pick<MetFence, "under">, fate: FenceFate): boolean {
  if (fate.kind === "committed") return fate.stamp !== undefined && sameIdentity(fate.stamp, under);
  return fate.kind === "open";
}

/**
 * Whether what a committed transaction has voted to replace still stands there under its fence
 * (`IsDue` of model/TidemarkNative.tla): else it was installed, or superseded by a native write.
 */
export function isDue(
  stored: Item | undefined,
  { id, stamp }: { readonly id: TransactionId; readonly stamp: Stamp },
): boolean {
  return isFencedBy(stored, id) && isUnharmed(() => sameIdentity(identityOf(stored), stamp));
}

/** Whether that transaction's fence stands there, on whatever state. */
export function isFencedBy(stored: Item | undefined, id: TransactionId): stored is Item {
  return stored !== undefined && isUnharmed(() => fenceOf(stored) === id);
}

/** No fence and no identity that a transaction has made: somebody else's write. */
function isUnharmed(look: () => boolean): boolean {
  try {
    return look();
  } catch (error) {
    if (error instanceof CorruptDataError) return false;
    throw error;
  }
}
