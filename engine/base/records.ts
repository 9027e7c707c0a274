/** The records table, as transactions of Tidemark's own read it. */
import { baseRecordsTable } from "../../core/base-tables.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { QueryRequest } from "../../core/ports.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { EngineCore } from "../engine-core.ts";
import { headKey, toHead, type BaseHead } from "./record.ts";

export type PartitionRange = {
  readonly partition: string;
  /** Without it, and all before it. */
  readonly behind?: Item | undefined;
  /** Sort keys below it. */
  readonly before?: string | undefined;
};

/** @throws InvalidRequestError where no table takes BASE transactions. */
export function recordsOf({ registry, ports }: Pick<EngineCore, "registry" | "ports">) {
  const name = baseRecordsTable(ports.control.idempotencyTable.name);
  const records = registry.find(name);
  if (records !== undefined) return records;
  throw new InvalidRequestError(
    "table",
    `the deployment has no table for BASE transactions (${name}): register a table with ` +
      "`base: true` (`npx tidemark register <name> --base`), which makes it",
  );
}

/** Undefined: there is none, or its record has expired. */
export async function headIn(
  context: TransactionContext,
  records: TableDescription,
  base: string,
): Promise<BaseHead | undefined> {
  const item = await context.get(records.name, headKey(base));
  return item && toHead(item);
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

/** What a query for it says; it begins behind `behind`. */
export function queryOf({
  partition,
  before,
}: PartitionRange): Pick<QueryRequest, "partitionKey" | "sortKey"> {
  const partitionKey = { S: partition };
  if (before === undefined) return { partitionKey };
  return { partitionKey, sortKey: { operator: "<", value: { S: before } } };
}
