/** The records table, as commits of Tidemark's own layers write it. */
import type { Item, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";

export type RecordsWriter = {
  readonly context: Pick<TransactionContext, "putInto" | "deleteFrom">;
  readonly records: TableDescription;
};

export function putRecord({ context, records }: RecordsWriter, item: Item): void {
  context.putInto(records, item);
}

export function deleteRecord({ context, records }: RecordsWriter, key: Item): void {
  context.deleteFrom(records, key);
}

/** All items of a partition. */
export async function allIn(
  context: TransactionContext,
  records: TableDescription,
  partition: string,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let cursor: Item | undefined; ;) {
    const query = { partitionKey: { S: partition } };
    const page = await context.queryPage(records.name, query, { cursor });
    items.push(...page.rows);
    cursor = page.cursor;
    if (cursor === undefined) return items;
  }
}
