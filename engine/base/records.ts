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
