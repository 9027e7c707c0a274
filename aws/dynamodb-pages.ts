/**
 * Pages of user tables on DynamoDB: queries and scans, strongly consistent except on indexes.
 * Loaded with the first of them.
 */
import type { QueryCommandOutput } from "@aws-sdk/client-dynamodb";
import { attribute, setAttribute } from "../core/attributes.ts";
import { CorruptDataError, InvalidRequestError } from "../core/errors.ts";
import type { MixedPage } from "../core/mixed-items-port.ts";
import type {
  CallOptions,
  Page,
  QueryRequest,
  ScanRequest,
  SortKeyCondition,
} from "../core/ports.ts";
import type { AttributeValue, Item, TableDescription } from "../core/types.ts";
import { fromSdkItem, toSdkItem, toSdkValue, type SdkItem } from "./attribute-values.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { toStoredItem } from "./stored-item.ts";

export type PageParts = { readonly dynamodb: ClientDynamoDb };

type Output = Pick<QueryCommandOutput, "Items" | "LastEvaluatedKey">;

export async function query(
  parts: PageParts,
  request: QueryRequest,
  options: CallOptions | undefined,
): Promise<Page> {
  return toPage(request.table, await send(parts, request, options));
}

export async function scan(
  parts: PageParts,
  request: ScanRequest,
  options: CallOptions | undefined,
): Promise<Page> {
  return toPage(request.table, await sendScan(parts, request, options));
}

/** As `query`, of items of a mixed table as they are stored. */
export async function queryMixed(
  parts: PageParts,
  request: Omit<QueryRequest, "index">,
  options: CallOptions | undefined,
): Promise<MixedPage> {
  return toMixedPage(await send(parts, request, options));
}

/** As `scan`, of items of a mixed table as they are stored. */
export async function scanMixed(
  parts: PageParts,
  request: ScanRequest,
  options: CallOptions | undefined,
): Promise<MixedPage> {
  return toMixedPage(await sendScan(parts, request, options));
}

function send(
  parts: PageParts,
  request: QueryRequest,
  options: CallOptions | undefined,
): Promise<Output> {
  const { table, index } = request;
  const condition = keyCondition(request);
  return parts.dynamodb.query(
    {
      TableName: table.name,
      ...(index === undefined ? { ConsistentRead: true } : { IndexName: index.name }),
      ...condition,
      ScanIndexForward: !request.descending,
      Limit: request.limit,
      ExclusiveStartKey: sdkStartKey(request),
    },
    options,
  );
}

function sendScan(
  parts: PageParts,
  request: ScanRequest,
  options: CallOptions | undefined,
): Promise<Output> {
  const { table, segment } = request;
  return parts.dynamodb.scan(
    {
      TableName: table.name,
      ConsistentRead: true,
      Limit: request.limit,
      ExclusiveStartKey: sdkStartKey(request),
      Segment: segment?.index,
      TotalSegments: segment?.total,
    },
    options,
  );
}

function sdkStartKey({ startKey }: Pick<ScanRequest, "startKey">): SdkItem | undefined {
  return startKey === undefined ? undefined : toSdkItem(startKey);
}

function toMixedPage({ Items = [], LastEvaluatedKey: last }: Output): MixedPage {
  return {
    rows: Items.map((row) => fromSdkItem(row)),
    lastKey: last === undefined ? undefined : fromSdkItem(last),
  };
}

function toPage(table: TableDescription, output: Output): Page {
  const { rows, lastKey } = toMixedPage(output);
  return {
    rows: rows.map((item) => ({ ...toStoredItem(table, item), key: keyOf(table, item) })),
    lastKey,
  };
}

type KeyCondition = {
  KeyConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues: SdkItem;
};

function keyCondition(request: QueryRequest): KeyCondition {
  const { table, index, sortKey } = request;
  const partitionName = index?.partitionKey ?? table.partitionKey.name;
  const sortName = index === undefined ? table.sortKey?.name : index.sortKey;
  const condition: KeyCondition = {
    KeyConditionExpression: "#partition = :partition",
    ExpressionAttributeNames: { "#partition": partitionName },
    ExpressionAttributeValues: { ":partition": toSdkValue(request.partitionKey) },
  };
  if (sortKey === undefined) return condition;
  if (sortName === undefined) {
    const where = index === undefined ? `table "${table.name}"` : `index "${index.name}"`;
    throw new InvalidRequestError("sortKey", `${where} has no sort key to put a condition on`);
  }
  const sort = sortCondition(sortKey);
  return {
    KeyConditionExpression: `${condition.KeyConditionExpression} AND ${sort.expression}`,
    ExpressionAttributeNames: { ...condition.ExpressionAttributeNames, "#sort": sortName },
    ExpressionAttributeValues: { ...condition.ExpressionAttributeValues, ...sort.values },
  };
}

function sortCondition(condition: SortKeyCondition): { expression: string; values: SdkItem } {
  switch (condition.operator) {
    case "between":
      return {
        expression: "#sort BETWEEN :low AND :high",
        values: { ":low": toSdkValue(condition.low), ":high": toSdkValue(condition.high) },
      };
    case "begins_with":
      return {
        expression: "begins_with(#sort, :prefix)",
        values: { ":prefix": toSdkValue(condition.value) },
      };
    default:
      return {
        expression: `#sort ${condition.operator} :sort`,
        values: { ":sort": toSdkValue(condition.value) },
      };
  }
}

/**
 * The key of a row.
 * @throws CorruptDataError when it lacks a key attribute, which no table allows.
 */
function keyOf(table: TableDescription, item: Item): Item {
  const key: Record<string, AttributeValue> = {};
  for (const { name } of keyAttributes(table)) {
    const value = attribute(item, name);
    if (value === undefined) {
      throw new CorruptDataError(
        `table "${table.name}": a row without the key attribute "${name}"; is the table ` +
          "registered with its true key?",
      );
    }
    setAttribute(key, name, value);
  }
  return key;
}

function keyAttributes(table: TableDescription): TableDescription["partitionKey"][] {
  return table.sortKey === undefined ? [table.partitionKey] : [table.partitionKey, table.sortKey];
}
