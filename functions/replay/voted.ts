/**
 * What becomes of items of mixed tables when the log has decided what was prepared
 * (docs/adr/0014-native-operations.md, Vote and install): a commit replaces what its stamps name,
 * of an abort the fences and placeholders are taken away. No table can be mixed yet, so nothing
 * else is there to do: who meets one stops, and passes nothing over. A stamp names an item of such
 * a table; whoever may write to the stream can vote with stamps all the same: they name nothing.
 */
import { assert } from "../../core/assert.ts";
import type { TableDescription } from "../../core/types.ts";
import type { Commit } from "./chunk.ts";

type KnownTables = {
  find(table: string): TableDescription | undefined;
  all(): readonly TableDescription[];
};

/** Before a commit by vote is installed as any other. */
export function installVoted({ payload }: Commit, tables: KnownTables): void {
  const isMixed = payload.tables.some(({ name }) => isOfMixed(tables.find(name)));
  assert(!isMixed, "replay: what a stamp names is replaced by nobody yet");
}

/** Of transactions that were voted down. */
export function cleanUpAborted(tables: KnownTables): void {
  const isMixed = tables.all().some(isOfMixed);
  assert(!isMixed, "replay: fences on mixed tables are taken away by nobody yet");
}

/** By the word that the registry will have for them. */
function isOfMixed(table: TableDescription | undefined): boolean {
  const access: string | undefined = table?.access;
  return access !== undefined && access !== "transactional";
}
