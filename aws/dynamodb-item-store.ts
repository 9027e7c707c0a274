/**
 * User tables on DynamoDB. Reads are strongly consistent except on indexes. An install is one
 * conditional PutItem, so a stored version never falls (I6), and is never signed after its deadline
 * (aws/call.ts).
 */
import type { QueryCommandOutput } from "@aws-sdk/client-dynamodb";
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import type {
  CallOptions,
  ClientPorts,
  InstallRequest,
  ItemStore,
  Page,
  QueryRequest,
  ScanRequest,
  SortKeyCondition,
} from "../core/ports.ts";
import type { TableDescription } from "../core/types.ts";
import { fromSdkItem, toSdkItem, toSdkValue, type SdkItem } from "./attribute-values.ts";
import { batchGetItems, type BatchGetParts } from "./dynamodb-batch-get.ts";
import type { DynamoDb } from "./dynamodb.ts";
import { absentItem, keyOf, toInstalledItem, toStoredItem, versionOf } from "./stored-item.ts";

export type ItemStoreParts = BatchGetParts & { readonly dynamodb: DynamoDb };

/** What a client needs of it. */
export function createClientItemStore(parts: BatchGetParts): ClientPorts["items"] {
  const { dynamodb } = parts;
  return {
    async get(table, key, options) {
      const item = await dynamodb.get(
        { TableName: table.name, Key: toSdkItem(key), ConsistentRead: true },
        options,
      );
      return item === undefined ? absentItem : toStoredItem(item);
    },
    async batchGet(keys, options) {
      const asked = keys.map(({ table, key }) => ({ table: table.name, key }));
      const items = await batchGetItems(parts, asked, { attributes: undefined, options });
      return items.map((item) => (item === undefined ? absentItem : toStoredItem(item)));
    },
    query: (request, options) => query(parts, request, options),
    scan: (request, options) => scan(parts, request, options),
    install: (request, options) => install(parts, request, options),
  };
}

export function createDynamoDbItemStore(parts: ItemStoreParts): ItemStore {
  return {
    ...createClientItemStore(parts),
    async versions(keys, options) {
      const isEventual = options.consistency === "eventual";
      const items = await batchGetItems(parts, keys, { attributes: ["_v"], isEventual, options });
      return items.map((item) => (item === undefined ? absentItem.version : versionOf(item)));
    },
    async removeTombstone({ table, key, version }, options) {
      try {
        const result = await parts.dynamodb.delete(
          {
            TableName: table,
            Key: toSdkItem(key),
            // mutant: reaper-removes-whatever-stands
            ConditionExpression: "#tombstone = :true AND #version = :version",
            ExpressionAttributeNames: { "#tombstone": "_x", "#version": "_v" },
            ExpressionAttributeValues: {
              ":true": { BOOL: true },
              ":version": { N: version.toString() },
            },
          },
          options,
        );
        return result === "done" ? "removed" : "kept";
      } catch (error) {
        // Without the table there is no tombstone to remove, and there never will be again.
        const gone = error instanceof StoreError && error.code === "ResourceNotFoundException";
        if (gone && error.fault === "rejected") return "kept";
        throw error;
      }
    },
  };
}

async function install(
  parts: BatchGetParts,
  request: InstallRequest,
  options: CallOptions | undefined,
): Promise<"installed" | "superseded"> {
  const { key, item, version, expects } = request;
  const result = await parts.dynamodb.put(
    {
      TableName: request.table,
      Item: toSdkItem(toInstalledItem(key, item, version)),
      ExpressionAttributeNames: { "#version": "_v" },
      ...installCondition(version, expects),
    },
    options,
    { clock: parts.clock, beforeMs: request.signBeforeMs },
  );
  return result === "done" ? "installed" : "superseded";
}

function installCondition(
  version: InstallRequest["version"],
  expects: InstallRequest["expects"],
): { ConditionExpression: string; ExpressionAttributeValues?: SdkItem } {
  if (expects === "below") {
    return {
      // mutant: install-without-condition
      ConditionExpression: "attribute_not_exists(#version) OR #version < :version",
      ExpressionAttributeValues: { ":version": { N: version.toString() } },
    };
  }
  if (expects === 0) return { ConditionExpression: "attribute_not_exists(#version)" };
  return {
    ConditionExpression: "#version = :expected",
    ExpressionAttributeValues: { ":expected": { N: expects.toString() } },
  };
}

async function query(
  parts: BatchGetParts,
  request: QueryRequest,
  options: CallOptions | undefined,
): Promise<Page> {
  const { table, index } = request;
  const condition = keyCondition(request);
  const output = await parts.dynamodb.query(
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
  return toPage(table, output);
}

async function scan(
  parts: BatchGetParts,
  request: ScanRequest,
  options: CallOptions | undefined,
): Promise<Page> {
  const { table, segment } = request;
  const output = await parts.dynamodb.scan(
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
  return toPage(table, output);
}

function sdkStartKey({ startKey }: Pick<ScanRequest, "startKey">): SdkItem | undefined {
  return startKey === undefined ? undefined : toSdkItem(startKey);
}

function toPage(
  table: TableDescription,
  output: Pick<QueryCommandOutput, "Items" | "LastEvaluatedKey">,
): Page {
  const rows = (output.Items ?? []).map((row) => {
    const item = fromSdkItem(row);
    return { ...toStoredItem(item), key: keyOf(table, item) };
  });
  const last = output.LastEvaluatedKey;
  return { rows, lastKey: last === undefined ? undefined : fromSdkItem(last) };
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
