/**
 * What of an aborted transaction is taken off an item of a mixed table, and of a committed one
 * whose fence is garbage there (docs/adr/0014-native-operations.md, Vote and install, clean up). It
 * is decided by what stands there: a placeholder that an unaware UpdateItem has made an item of
 * stays, without its mark; and so does a tombstone, which a table on its way still has
 * (core/table-access.ts).
 */
import { attribute } from "../../core/attributes.ts";
import { isHidden, type KeyPair } from "../../core/item-content.ts";
import { fenceOf, isMarked, versionAttribute } from "../../core/item-identity.ts";
import type { CleanUpRequest } from "../../core/mixed-items-port.ts";
import type { Item, TransactionId } from "../../core/types.ts";

/** Undefined: there is nothing of that transaction. */
export function toRemove(
  stored: Item | undefined,
  of: { readonly id: TransactionId; readonly keys: KeyPair },
): CleanUpRequest["removes"] | undefined {
  if (stored === undefined || fenceOf(stored) !== of.id) return undefined;
  if (!isMarked(stored)) return "fence";
  if (!isHidden(stored, of.keys)) return "mark";
  return attribute(stored, versionAttribute) === undefined ? "item" : "tombstone-fence";
}
