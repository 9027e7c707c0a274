/** A registry that knows these tables, and never any others. */
import { retentionDefault } from "../core/history.ts";
import type { TableDescription } from "../core/types.ts";
import type { RegistryView } from "../engine/shard-session.ts";

export function registryOf(tables: readonly TableDescription[]): RegistryView {
  return {
    find: (name) => tables.find((table) => table.name === name),
    lookAgain: () => Promise.resolve(),
    retention: retentionDefault,
  };
}
