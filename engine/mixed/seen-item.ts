/** An item of a mixed table as a transaction has read it, and the fence that was on it. */
import { isKey, type KeyNames } from "../../core/attributes.ts";
import { namingItem } from "../../core/damaged-item.ts";
import {
  fenceOf,
  identityOf,
  isCertain,
  sameIdentity,
  type Identity,
} from "../../core/item-identity.ts";
import { contentOf, sameContent } from "../../core/item-content.ts";
import type { MetFence } from "../../core/fence.ts";
import type { Item, TransactionId } from "../../core/types.ts";

export type SeenItem = {
  readonly identity: Identity;
  readonly content: Item | undefined;
  /** A fence on it that bars nothing. */
  readonly over?: TransactionId | undefined;
};

export type StoredState = SeenItem & { readonly fence: TransactionId | undefined };

/** @throws CorruptDataError naming the item, when a reserved attribute is not what it has to be. */
export function stateOf(stored: Item | undefined, table: KeyNames): StoredState {
  try {
    return {
      identity: identityOf(stored),
      content: contentOf(stored, table),
      fence: stored === undefined ? undefined : fenceOf(stored),
    };
  } catch (error) {
    throw namingItem(error, { table: table.name, key: keyIn(stored, table) });
  }
}

/** For whoever has to mend it. */
function keyIn(item: Item | undefined, table: KeyNames): Item {
  return Object.fromEntries(Object.entries(item ?? {}).filter(([name]) => isKey(name, table)));
}

/** A fence that stands there and is not known to be of no effect. */
export function metOn(
  { fence, identity }: StoredState,
  over: TransactionId | undefined,
): MetFence | undefined {
  return fence === undefined || fence === over ? undefined : { fence, under: identity };
}

/**
 * Whether nobody has written it since. Contents may come again, identities never do; what had none,
 * or an unaware update in place, is told by its content.
 */
export function isUntouched(
  read: Pick<SeenItem, "identity" | "content">,
  now: Pick<SeenItem, "identity" | "content">,
): boolean {
  if (isCertain(read.identity) && !sameIdentity(read.identity, now.identity)) return false;
  return sameContent(read.content, now.content);
}

/** A blind write has read nothing: then everything is as it was. */
export function isAsRead(
  read: Pick<SeenItem, "content"> | undefined,
  now: Pick<SeenItem, "content">,
): boolean {
  return read === undefined || sameContent(read.content, now.content);
}
