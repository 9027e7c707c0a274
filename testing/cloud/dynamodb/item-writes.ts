/**
 * Writes of items as the model performs them. Single operations and transactions differ only in
 * when they decide.
 */
import type { Item } from "../../../core/types.ts";
import { keyOf } from "../../../expressions/key-schema.ts";
import {
  bindWrite,
  type BoundWrite,
  decideWrite,
  type Decision,
  type WriteInput,
} from "../../../expressions/writes.ts";
import type { Database } from "./database.ts";
import type { RowKey } from "./ordered-rows.ts";
import { requireModelled } from "./requests.ts";
import type { Table } from "./table.ts";

export type PreparedWrite = BoundWrite<Table> & {
  readonly key: RowKey;
  /** Key attributes only. */
  readonly keyItem: Item;
};

/** Values and expressions first, then the table: the service's order. @throws ServiceError. */
export function prepareWrite(database: Database, write: WriteInput): PreparedWrite {
  requireModelled(write.input);
  const bound = bindWrite((name) => database.table(name), write);
  const { table, item } = bound;
  return { ...bound, key: table.rowKey(item), keyItem: keyOf(table.schema, item) };
}

/** What the write makes of what is stored. @throws ServiceError when its condition fails. */
export function decide(write: PreparedWrite): Decision {
  const before = write.table.find(write.key)?.item;
  return { before, after: decideWrite(write, before) };
}
