/**
 * User tables on DynamoDB. Reads are strongly consistent except on indexes. An install is one
 * conditional PutItem, so a stored version never falls (I6), and is never signed after its deadline
 * (aws/call.ts).
 */
import { markAttribute, versionAttribute } from "../core/attributes.ts";
import { StoreError } from "../core/errors.ts";
import type { CallOptions, ClientPorts, InstallRequest, ItemStore } from "../core/ports.ts";
import { OnDemand } from "../core/on-demand.ts";
import { toSdkItem, type SdkItem } from "./attribute-values.ts";
import type { BatchGetParts } from "./dynamodb-batch-get.ts";
import type { DynamoDb } from "./dynamodb.ts";
import { absentItem, toInstalledItem, toStoredItem, versionIn } from "./stored-item.ts";

const batches = new OnDemand("batches", () => import("./dynamodb-batch-get.ts"));
const pages = new OnDemand("pages of tables", () => import("./dynamodb-pages.ts"));

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
      return item === undefined ? absentItem : toStoredItem(table, item);
    },
    async batchGet(keys, options) {
      const asked = keys.map(({ table, key }) => ({ table: table.name, key }));
      const items = await batches.use(({ batchGetItems }) =>
        batchGetItems(parts, asked, { attributes: undefined, options }),
      );
      return keys.map(({ table }, i) => {
        const item = items[i];
        return item === undefined ? absentItem : toStoredItem(table, item);
      });
    },
    query: (request, options) => pages.use(({ query }) => query(parts, request, options)),
    scan: (request, options) => pages.use(({ scan }) => scan(parts, request, options)),
    install: (request, options) => install(parts, request, options),
  };
}

export function createDynamoDbItemStore(parts: ItemStoreParts): ItemStore {
  return {
    ...createClientItemStore(parts),
    async versions(keys, options) {
      const isEventual = options.consistency === "eventual";
      const items = await batches.use(({ batchGetItems }) =>
        batchGetItems(parts, keys, { attributes: [versionAttribute], isEventual, options }),
      );
      return keys.map((named, i) => {
        const item = items[i];
        return item === undefined ? absentItem.version : versionIn(item, () => named);
      });
    },
    async removeTombstone({ table, key, version }, options) {
      try {
        const result = await parts.dynamodb.delete(
          {
            TableName: table,
            Key: toSdkItem(key),
            // mutant: reaper-removes-whatever-stands
            ConditionExpression: "#tombstone = :true AND #version = :version",
            ExpressionAttributeNames: { "#tombstone": markAttribute, "#version": versionAttribute },
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
      ...installCondition(version, expects, Object.keys(key)),
    },
    options,
    { clock: parts.clock, beforeMs: request.signBeforeMs },
  );
  return result === "done" ? "installed" : "superseded";
}

function installCondition(
  version: InstallRequest["version"],
  expects: InstallRequest["expects"],
  [keyAttribute = versionAttribute]: readonly string[],
): {
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: SdkItem;
} {
  const versionName = { "#version": versionAttribute };
  if (expects === "below") {
    return {
      // mutant: install-without-condition
      ConditionExpression: "attribute_not_exists(#version) OR #version < :version",
      ExpressionAttributeNames: versionName,
      ExpressionAttributeValues: { ":version": { N: version.toString() } },
    };
  }
  if (expects === "below-or-gone") {
    return {
      ConditionExpression: "attribute_not_exists(#key) OR #version < :version",
      ExpressionAttributeNames: { ...versionName, "#key": keyAttribute },
      ExpressionAttributeValues: { ":version": { N: version.toString() } },
    };
  }
  if (expects === 0) {
    return {
      ConditionExpression: "attribute_not_exists(#version)",
      ExpressionAttributeNames: versionName,
    };
  }
  return {
    ConditionExpression: "#version = :expected",
    ExpressionAttributeNames: versionName,
    ExpressionAttributeValues: { ":expected": { N: expects.toString() } },
  };
}
