/**
 * Access to the control table by its two key attributes; what the items mean is said where they are
 * used.
 */
import type { CallOptions } from "../core/ports.ts";
import type { Item } from "../core/types.ts";
import { fromSdkItem, toSdkItem, type SdkItem } from "./attribute-values.ts";
import type { SignDeadline } from "./call.ts";
import type { ClientDynamoDb, DynamoDb } from "./dynamodb.ts";

export type ControlKey = { readonly pk: string; readonly sk: string };

export type ControlCondition = {
  readonly expression: string;
  readonly names: Readonly<Record<string, string>>;
  readonly values?: Item;
};

export type ControlReads = {
  /** Strongly consistent. */
  get(key: ControlKey, options?: CallOptions): Promise<Item | undefined>;
  /** One page in sort-key order, strongly consistent. `after` is exclusive. */
  page(
    range: { readonly pk: string; readonly prefix?: string; readonly after?: string | undefined },
    options?: CallOptions,
  ): Promise<{ readonly items: readonly Item[]; readonly complete: boolean }>;
};

type ControlPutOptions = CallOptions & {
  /** Undefined: whatever stands at the key is overwritten. */
  readonly condition?: ControlCondition;
  readonly signDeadline?: SignDeadline;
};

export type ControlTable = ControlReads & {
  put(
    key: ControlKey,
    attributes: Item,
    options?: ControlPutOptions,
  ): Promise<"done" | "condition-failed">;
  delete(key: ControlKey, options?: CallOptions): Promise<void>;
};

/** Holds while nothing stands at the key. */
export const notExists: ControlCondition = {
  expression: "attribute_not_exists(#pk)",
  names: { "#pk": "pk" },
};

/** Wide enough for every safe integer, so that text order is number order. */
export function padded(value: number): string {
  return value.toString().padStart(16, "0");
}

const keyOf = ({ pk, sk }: ControlKey): SdkItem => ({ pk: { S: pk }, sk: { S: sk } });

export function createControlReads(dynamodb: ClientDynamoDb, table: string): ControlReads {
  return {
    get: (key, options) =>
      dynamodb.get({ TableName: table, ConsistentRead: true, Key: keyOf(key) }, options),
    async page({ pk, prefix, after }, options) {
      const output = await dynamodb.query(
        {
          TableName: table,
          ConsistentRead: true,
          KeyConditionExpression:
            prefix === undefined ? "#pk = :pk" : "#pk = :pk AND begins_with(#sk, :prefix)",
          ExpressionAttributeNames: {
            "#pk": "pk",
            ...(prefix === undefined ? {} : { "#sk": "sk" }),
          },
          ExpressionAttributeValues: {
            ":pk": { S: pk },
            ...(prefix === undefined ? {} : { ":prefix": { S: prefix } }),
          },
          ExclusiveStartKey: after === undefined ? undefined : keyOf({ pk, sk: after }),
        },
        options,
      );
      return {
        items: (output.Items ?? []).map((item) => fromSdkItem(item)),
        complete: output.LastEvaluatedKey === undefined,
      };
    },
  };
}

export function createControlTable(dynamodb: DynamoDb, table: string): ControlTable {
  return {
    ...createControlReads(dynamodb, table),
    put(key, attributes, options) {
      const { condition, signDeadline } = options ?? {};
      return dynamodb.put(
        {
          TableName: table,
          Item: { ...toSdkItem(attributes), ...keyOf(key) },
          ConditionExpression: condition?.expression,
          ExpressionAttributeNames: condition?.names,
          ExpressionAttributeValues: condition?.values && toSdkItem(condition.values),
        },
        options,
        signDeadline,
      );
    },
    async delete(key, options) {
      await dynamodb.delete({ TableName: table, Key: keyOf(key) }, options);
    },
  };
}

/** All items of a partition of bounded size (the registry, the shards, the parts of one batch). */
export async function allOf(
  control: ControlReads,
  range: { readonly pk: string; readonly prefix?: string },
  options: CallOptions | undefined,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await control.page({ ...range, after }, options);
    all.push(...page.items);
    after = lastKeyOf(page.items);
    if (page.complete || after === undefined) return all;
  }
}

/** Where a page ends: its last sort key, which is a text in all items of the table. */
export function lastKeyOf(items: readonly Item[]): string | undefined {
  const sk = items.at(-1)?.["sk"];
  return sk !== undefined && "S" in sk ? sk.S : undefined;
}
