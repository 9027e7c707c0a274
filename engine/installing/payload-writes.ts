/** What the writes of a decoded payload are about: their tables, and their items. */
import type {
  CommittedVerdict,
  Item,
  KeyType,
  Payload,
  PayloadTable,
  Stamp,
  TableDescription,
  Write,
} from "../../core/types.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";

/** A committed transaction, and what it writes. */
export type Commit = { readonly verdict: CommittedVerdict; readonly payload: Payload };

export function writeAt(
  payload: Payload,
  index: number,
): { readonly write: Write; readonly table: PayloadTable } {
  const write = payload.writes[index];
  const table = write === undefined ? undefined : payload.tables[write.table];
  if (write === undefined || table === undefined) {
    throw new RangeError(`the payload has no write ${index}`);
  }
  return { write, table };
}

/**
 * What the install of a write on a mixed table replaces: stamps stand in the order of such writes.
 * Undefined where the commit has none for it, as one that was not voted.
 */
export function stampAt({ verdict, payload }: Commit, index: number): Stamp | undefined {
  let at = 0;
  for (let before = 0; before < index; before++) {
    if (writeAt(payload, before).table.isMixed === true) at += 1;
  }
  return verdict.stamps?.[at];
}

/** The item that a payload's write is about: equal exactly for the same one. */
export function writtenItem(payload: Payload, index: number): string {
  const { write, table } = writeAt(payload, index);
  return itemIdentity(describeTable(table, write.key), write.key);
}

/** The payload names a table's key; its types are those of the key's own values. */
export function describeTable(table: PayloadTable, key: Item): TableDescription {
  const partitionKey = { name: table.partitionKey, type: keyType(key, table.partitionKey) };
  const base = {
    name: table.name,
    partitionKey,
    history: table.history,
    access: table.isMixed === true ? "mixed" : "transactional",
  } as const;
  if (table.sortKey === undefined) return base;
  return { ...base, sortKey: { name: table.sortKey, type: keyType(key, table.sortKey) } };
}

function keyType(key: Item, attribute: string): KeyType {
  const value = key[attribute];
  if (value !== undefined && "N" in value) return "N";
  return value !== undefined && "B" in value ? "B" : "S";
}
