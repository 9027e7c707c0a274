/** The records table, as commits of Tidemark's own layers write it. */
import { baseRecordsTable } from "../../core/base-tables.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { EngineCore } from "../engine-core.ts";
import { queryOf, type PartitionRange } from "./unreadable.ts";

export type RecordsWriter = {
  readonly context: Pick<TransactionContext, "putInto" | "deleteFrom">;
  readonly records: TableDescription;
};

/** @throws InvalidRequestError where no table takes BASE transactions. */
export function recordsOf({ registry, ports }: Pick<EngineCore, "registry" | "ports">) {
  const name = baseRecordsTable(ports.control.idempotencyTable.name);
  const records = registry.find(name);
  if (records !== undefined) return records;
  throw new InvalidRequestError(
    "table",
    `the deployment has no table for BASE transactions (${name}): register a table with ` +
      "`base: true`, which makes it",
  );
}

export function putRecord({ context, records }: RecordsWriter, item: Item): void {
  context.putInto(records, item);
}

export function deleteRecord({ context, records }: RecordsWriter, key: Item): void {
  context.deleteFrom(records, key);
}

/** All items of a partition, or of a part of it. */
export async function allIn(
  context: TransactionContext,
  records: TableDescription,
  range: PartitionRange,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  const query = queryOf(range);
  for (let cursor = range.behind; ;) {
    const page = await context.queryPage(records.name, query, { cursor });
    items.push(...page.rows);
    cursor = page.cursor;
    if (cursor === undefined) return items;
  }
}
