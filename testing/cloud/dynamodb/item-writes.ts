/**
 * PutItem, UpdateItem, DeleteItem and ConditionCheck as one thing: checked and bound first, then
 * decided against what is stored. Single operations and transactions differ only in when they
 * decide.
 */
import type { ReturnValuesOnConditionCheckFailure } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../core/types.ts";
import { readItem } from "./attribute-values.ts";
import { bindCondition, meets, pathsOf, type Condition } from "./conditions.ts";
import { requireItemSize, requireOneOf, requireTableName, type Database } from "./database.ts";
import { conditionFailed } from "./failures.ts";
import type { RowKey } from "./ordered-rows.ts";
import type { DocumentPath, PlaceholderInput } from "./placeholders.ts";
import {
  missing,
  readKey,
  readPlaceholders,
  requireKeyUntouched,
  requireModelled,
  requireScalarKeys,
} from "./requests.ts";
import type { Table } from "./table.ts";
import { requireIndexKeys, requireItemKeys, requireKey } from "./table-schema.ts";
import { applyUpdates, bindUpdate, operandPaths } from "./updates.ts";

type ConditionInput = PlaceholderInput & {
  readonly TableName?: string | undefined;
  readonly ConditionExpression?: string | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: ReturnValuesOnConditionCheckFailure | undefined;
};

export type WriteInput =
  | { readonly kind: "put"; readonly input: ConditionInput & { readonly Item?: unknown } }
  | { readonly kind: "delete"; readonly input: ConditionInput & { readonly Key?: unknown } }
  | { readonly kind: "check"; readonly input: ConditionInput & { readonly Key?: unknown } }
  | {
      readonly kind: "update";
      readonly input: ConditionInput & {
        readonly Key?: unknown;
        readonly UpdateExpression?: string | undefined;
      };
    };

const noAttributes: Item = {};

export type PreparedWrite = {
  readonly kind: WriteInput["kind"];
  readonly table: Table;
  readonly key: RowKey;
  /** Key attributes only. */
  readonly keyItem: Item;
  /** What the item will be; undefined: it will not be. A check leaves what there is. */
  readonly result: (before: Item | undefined) => Item | undefined;
  /** Paths that an update expression names. */
  readonly updatedPaths: readonly DocumentPath[];
  readonly condition: Condition | undefined;
  readonly returnItemOnFailure: boolean;
};

/** Values and expressions first, then the table: the service's order. @throws ServiceError. */
export function prepareWrite(database: Database, write: WriteInput): PreparedWrite {
  const { kind, input } = write;
  requireModelled(input);
  const name = requireTableName(input.TableName);
  requireOneOf("returnValuesOnConditionCheckFailure", input.ReturnValuesOnConditionCheckFailure, [
    "ALL_OLD",
    "NONE",
  ]);
  const item = kind === "put" ? readPutItem(write.input.Item) : readKey(write.input.Key);
  const updateText = kind === "update" ? write.input.UpdateExpression : undefined;
  const placeholders = readPlaceholders(input, {
    conditions: [updateText, input.ConditionExpression],
  });
  const updates = updateText === undefined ? [] : bindUpdate(placeholders, updateText);
  const condition = bindCondition(placeholders, "ConditionExpression", input.ConditionExpression);
  placeholders.requireAllUsed();
  if (kind === "check" && condition === undefined) throw missing("ConditionExpression");

  const table = database.table(name);
  if (kind === "put") requireItemKeys(table.schema, table.indexSchemas(), item);
  else requireKey(table.schema, item);
  const updatedPaths = updates.map(({ path }) => path);
  requireKeyUntouched(table, updatedPaths);
  requireScalarKeys(table, [...updatedPaths, ...operandPaths(updates), ...pathsOf(condition)]);
  return {
    kind,
    table,
    key: table.rowKey(item),
    keyItem: table.key(item),
    result: (before) => {
      if (kind === "put") return item;
      if (kind === "delete") return undefined;
      if (kind === "check") return before;
      const after = applyUpdates(before ?? item, updates);
      if (updates.length > 0) requireStorable(table, after);
      return after;
    },
    updatedPaths,
    condition,
    returnItemOnFailure: input.ReturnValuesOnConditionCheckFailure === "ALL_OLD",
  };
}

function readPutItem(input: unknown): Item {
  if (input === undefined) throw missing("Item");
  const item = readItem(input);
  requireItemSize(item, "Item size has exceeded the maximum allowed size");
  return item;
}

function requireStorable(table: Table, item: Item): void {
  for (const index of table.indexSchemas()) requireIndexKeys(index, item);
  requireItemSize(item, "Item size to update has exceeded the maximum allowed size");
}

/** What the write makes of what is stored. @throws ServiceError when its condition fails. */
export function decide(write: PreparedWrite): {
  readonly before: Item | undefined;
  readonly after: Item | undefined;
} {
  const before = write.table.find(write.key)?.item;
  if (!meets(write.condition, before ?? noAttributes)) {
    throw conditionFailed(write.returnItemOnFailure ? before : undefined);
  }
  return { before, after: write.result(before) };
}
