/**
 * Tables as programs have them that know nothing of Tidemark: rows put without versions, rows read
 * as they are stored. At once, without a call and without time.
 */
import { isReserved, markAttribute } from "../core/attributes.ts";
import { compareKeyValues } from "../core/key-order.ts";
import type { Item, TableDescription } from "../core/types.ts";
import { marshallItem } from "../sdk/marshall.ts";
import { numberReader, unmarshallItem } from "../sdk/unmarshall.ts";
import type { DynamoDbModel } from "./cloud/dynamodb/model.ts";
import { toSdkItem } from "./cloud/dynamodb/sdk-values.ts";
import { assertKeyTypes } from "./test-tables.ts";
import { historyAttribute } from "./history/key-text.ts";

const readNumber = numberReader("bigint-when-unsafe");

/** @throws InvalidRequestError for a key of another type; ServiceError for a row without one. */
export function putPlainRows(
  dynamodb: DynamoDbModel,
  table: TableDescription,
  rows: readonly object[],
): void {
  rows.forEach((row, i) => {
    const item = marshallItem(row, `rows[${i.toString()}]`, {});
    assertKeyTypes(table, item);
    dynamodb.execute("PutItem", { TableName: table.name, Item: toSdkItem(item) });
  });
}

/** Rows without what Tidemark and its recorder keep in them, in the order of their keys. */
export function plainRows(
  dynamodb: DynamoDbModel,
  table: Pick<TableDescription, "name" | "partitionKey" | "sortKey">,
): readonly Readonly<Record<string, unknown>>[] {
  const keys = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  return dynamodb
    .rows(table.name)
    .filter(({ item }) => item[markAttribute] === undefined)
    .toSorted((a, b) => compareKeys(a.key, b.key, keys))
    .map(({ item }) => unmarshallItem(withoutOurs(item), readNumber));
}

function withoutOurs(item: Item): Item {
  return Object.fromEntries(
    Object.entries(item).filter(([name]) => !isReserved(name) && name !== historyAttribute),
  );
}

function compareKeys(a: Item, b: Item, attributes: readonly { readonly name: string }[]): number {
  for (const { name } of attributes) {
    const [left, right] = [a[name], b[name]];
    if (left === undefined || right === undefined) continue;
    const order = compareKeyValues(left, right);
    if (order !== 0) return order;
  }
  return 0;
}
