/** A registry that knows these tables, and never any others. */
import { retentionDefault } from "../core/history.ts";
import type { TableDescription } from "../core/types.ts";
import type { KnownTables } from "../engine/shard-session.ts";

export function knownTables(tables: readonly TableDescription[]): KnownTables {
  return {
    find: (name) => tables.find((table) => table.name === name),
    lookAgain: () => Promise.resolve(),
    retention: retentionDefault,
  };
}
