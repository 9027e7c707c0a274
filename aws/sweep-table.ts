/**
 * One pass over a table on its way from one access to the other (core/table-access.ts), which takes
 * away what its stage says (core/swept-item.ts). Reads strongly consistent; each removal is on
 * condition that the item stands as it was read. May be broken off and begun again.
 */
import type { ScanCommandOutput } from "@aws-sdk/client-dynamodb";
import {
  attribute,
  fenceAttribute,
  isReserved,
  keyNamesOf,
  keyOf,
  markAttribute,
  nonceAttribute,
  versionAttribute,
} from "../core/attributes.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, Random } from "../core/ports.ts";
import { sweptItem, type SweptItem } from "../core/swept-item.ts";
import type { Sweep } from "../core/table-access.ts";
import type { AttributeValue, Item, TableDescription } from "../core/types.ts";
import { fromSdkItem, toSdkItem, type SdkItem } from "./attribute-values.ts";
import { mapBounded, persistently } from "./bounded.ts";
import { callWrite } from "./call.ts";
import { prepared, type DynamoDb } from "./dynamodb.ts";
import { inKnownOrder } from "./middleware-order.ts";

export type SweepParts = {
  readonly dynamodb: DynamoDb;
  readonly clock: Clock;
  readonly random: Random;
};

export type Swept = {
  /** Items that were changed or are gone. */
  readonly swept: number;
  /** Those that have to be looked at again. */
  readonly waiting: number;
};

/** @throws StoreError when a call fails again and again. */
export async function sweepTable(
  parts: SweepParts,
  { table, removes }: { readonly table: TableDescription; readonly removes: Sweep },
  options?: CallOptions,
): Promise<Swept> {
  let swept = 0;
  let waiting = 0;
  let ExclusiveStartKey: ScanCommandOutput["LastEvaluatedKey"];
  do {
    const from = ExclusiveStartKey;
    const page = await persistently(parts, options?.signal, () =>
      parts.dynamodb.scan(
        {
          TableName: table.name,
          ConsistentRead: true,
          FilterExpression: "attribute_exists(#mark) OR attribute_exists(#fence)",
          ExpressionAttributeNames: { "#mark": markAttribute, "#fence": fenceAttribute },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        },
        options,
      ),
    );
    const items = (page.Items ?? []).map(fromSdkItem);
    const ends = await mapBounded(items, limits.reaperConcurrencyMax, async (item) => {
      const becomes = sweptItem(item, removes, keyNamesOf(table));
      if (becomes === "stays" || becomes === "waits") return becomes;
      const result = await persistently(parts, options?.signal, () =>
        change(parts.dynamodb, { table, item, becomes }, options),
      );
      // A transaction, or another pass, was faster.
      return result === "done" ? "swept" : "waits";
    });
    swept += ends.filter((end) => end === "swept").length;
    waiting += ends.filter((end) => end === "waits").length;
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  return { swept, waiting };
}

type Change = {
  readonly table: TableDescription;
  readonly item: Item;
  readonly becomes: Exclude<SweptItem, "stays" | "waits">;
};

async function change(
  dynamodb: DynamoDb,
  { table, item, becomes }: Change,
  options: CallOptions | undefined,
): Promise<"done" | "condition-failed"> {
  const at = { TableName: table.name, Key: toSdkItem(keyOf(table, item)) };
  if (becomes === "goes") return dynamodb.delete({ ...at, ...asItStands(item) }, options);
  const removed = becomes === "unmarked" ? markAttribute : fenceAttribute;
  // What has made an item of it stays, whoever has fenced or written it since.
  const keys = new Set(Object.keys(at.Key));
  const own = Object.keys(item).find((name) => !keys.has(name) && !isReserved(name));
  const condition =
    becomes === "unmarked"
      ? { text: "attribute_exists(#own)", names: { "#own": own ?? "" }, values: {} }
      : { text: "#removed = :was", names: {}, values: { ":was": attribute(item, removed) } };
  const input = {
    ...at,
    UpdateExpression: "REMOVE #removed",
    ConditionExpression: condition.text,
    ExpressionAttributeNames: { "#removed": removed, ...condition.names },
    ...(Object.keys(condition.values).length === 0
      ? {}
      : { ExpressionAttributeValues: toSdkItem(condition.values as Item) }),
  };
  const operation = { handle: dynamodb.handle, name: "UpdateItem", table: table.name, options };
  const call = await prepared(operation, (to, metered) => {
    const command = inKnownOrder(to.client, new to.sdk.UpdateItemCommand({ ...input, ...metered }));
    return { command, send: (http) => to.client.send(command, http) };
  });
  return (await callWrite(call)).kind;
}

const internal = new Set([versionAttribute, nonceAttribute, fenceAttribute, markAttribute]);

/** Each of the attributes that say which state it is. */
function asItStands(item: Item): {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: SdkItem;
} {
  const all = [...internal].map((name, i) => [name, attribute(item, name), i] as const);
  const has = (value: AttributeValue | undefined): value is AttributeValue => value !== undefined;
  return {
    ConditionExpression: all
      .map(([, value, i]) => (has(value) ? `#${i} = :${i}` : `attribute_not_exists(#${i})`))
      .join(" AND "),
    ExpressionAttributeNames: Object.fromEntries(all.map(([name, , i]) => [`#${i}`, name])),
    ExpressionAttributeValues: toSdkItem(
      Object.fromEntries(all.flatMap(([, value, i]) => (has(value) ? [[`:${i}`, value]] : []))),
    ),
  };
}
