/** What a transaction reads by. */
import type { Item, TableDescription, WriteHashes } from "../core/types.ts";

/** A key to read, with its hashes computed once. */
export type ReadKey = {
  readonly table: TableDescription;
  readonly key: Item;
  readonly hashes: WriteHashes;
  /** Equal exactly for equal items. Without it, nothing is read from undecided commits. */
  readonly identity?: string;
};
