/** What a transaction reads by. */
import { keyNamesOf } from "../../core/attributes.ts";
import type { Item, TableDescription, WriteHashes } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";

/** A key to read, with its hashes computed once. */
export type ReadKey = {
  readonly table: TableDescription;
  readonly key: Item;
  readonly hashes: WriteHashes;
  /** Equal exactly for equal items. Without it, nothing is read from undecided commits. */
  readonly identity?: string;
};

export function readKeyOf(
  hashes: KeyHashes,
  of: {
    readonly table: TableDescription;
    readonly key: Item;
    readonly identity?: string | undefined;
  },
): ReadKey {
  const { table, key, identity } = of;
  const hashed = hashes.item(keyNamesOf(table), key);
  return { table, key, hashes: hashed, ...(identity === undefined ? {} : { identity }) };
}
