/**
 * What of an aborted transaction is taken off an item of a mixed table, and of a committed one
 * whose fence is garbage there (docs/adr/0014-native-operations.md, Vote and install, clean up). It
 * is decided by what stands there: a placeholder that an unaware UpdateItem has made an item of
 * stays, without its mark; and so does a tombstone, which a table on its way still has
 * (core/table-access.ts).
 */
import { attribute, versionAttribute, type KeyPair } from "./attributes.ts";
import { isFencedBy } from "./fence.ts";
import { isHidden } from "./item-content.ts";
import { isMarked } from "./item-identity.ts";
import type { CleanUpRequest } from "./mixed-items-port.ts";
import type { Item, TransactionId } from "./types.ts";

/** Undefined: there is nothing of that transaction. */
export function toRemove(
  stored: Item | undefined,
  of: { readonly id: TransactionId; readonly keys: KeyPair },
): CleanUpRequest["removes"] | undefined {
  if (!isFencedBy(stored, of.id)) return undefined;
  if (!isMarked(stored)) return "fence";
  if (!isHidden(stored, of.keys)) return "mark";
  return attribute(stored, versionAttribute) === undefined ? "item" : "tombstone-fence";
}
