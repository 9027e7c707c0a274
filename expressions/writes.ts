/**
 * PutItem, UpdateItem, DeleteItem and ConditionCheck as one thing: checked and bound first, then
 * decided against what is there. Who finds the table and the item is left to the caller.
 */
import type { Item } from "../core/types.ts";
import { readItem } from "./attribute-values.ts";
import { bindCondition, type Condition, meets, pathsOf } from "./conditions.ts";
import {
  type KeyedTable,
  readKey,
  requireIndexKeys,
  requireItemKeys,
  requireItemSize,
  requireKey,
  requireKeyUntouched,
  requireScalarKeys,
  requireTableName,
} from "./key-schema.ts";
import { type DocumentPath, type PlaceholderInput, readPlaceholders } from "./placeholders.ts";
import { project } from "./projections.ts";
import { conditionFailed, invalid, missing, requireOneOf } from "./refusals.ts";
import type { WriteKind } from "./write-kinds.ts";
import { applyUpdates, bindUpdate, operandPaths, type Update } from "./updates.ts";

type ConditionInput = PlaceholderInput & {
  readonly TableName?: string | undefined;
  readonly ConditionExpression?: string | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: string | undefined;
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

export type BoundWrite<Table extends KeyedTable = KeyedTable> = {
  readonly kind: WriteKind;
  readonly table: Table;
  /** The whole item of a put; of others its key. */
  readonly item: Item;
  readonly updates: readonly Update[];
  readonly condition: Condition | undefined;
  readonly returnItemOnFailure: boolean;
};

/** Values and expressions first, then the table: the service's order. @throws ServiceError. */
export function bindWrite<Table extends KeyedTable>(
  tableOf: (name: string) => Table,
  write: WriteInput,
): BoundWrite<Table> {
  const { kind, input } = write;
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

  const table = tableOf(name);
  if (kind === "put") requireItemKeys(table.schema, table.indexSchemas(), item);
  else requireKey(table.schema, item);
  const updatedPaths = updates.map(({ path }) => path);
  requireKeyUntouched(table, updatedPaths);
  requireScalarKeys(table, [...updatedPaths, ...operandPaths(updates), ...pathsOf(condition)]);
  return {
    ...{ kind, table, item, updates, condition },
    returnItemOnFailure: input.ReturnValuesOnConditionCheckFailure === "ALL_OLD",
  };
}

function readPutItem(input: unknown): Item {
  if (input === undefined) throw missing("Item");
  const item = readItem(input);
  requireItemSize(item, "Item size has exceeded the maximum allowed size");
  return item;
}

/**
 * What the write makes of what is there: undefined is no item. A check leaves what there is.
 * @throws ServiceError when its condition fails, or the item is not as an update needs it.
 */
export function decideWrite(write: BoundWrite, before: Item | undefined): Item | undefined {
  if (!meets(write.condition, before ?? noAttributes)) {
    throw conditionFailed(write.returnItemOnFailure ? before : undefined);
  }
  const { kind, table, item, updates } = write;
  if (kind === "put") return item;
  if (kind === "delete") return undefined;
  if (kind === "check") return before;
  const after = applyUpdates(before ?? item, updates);
  if (updates.length > 0) {
    for (const index of table.indexSchemas()) requireIndexKeys(index, after);
    requireItemSize(after, "Item size to update has exceeded the maximum allowed size");
  }
  return after;
}

/** Before and after a write. */
export type Decision = { readonly before: Item | undefined; readonly after: Item | undefined };

const returnValues: Readonly<Record<string, readonly string[]>> = {
  update: ["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"],
};

/** @throws ServiceError for what the operation does not return. */
export function requireReturnValues(kind: "put" | "update" | "delete", value?: string): void {
  const allowed = returnValues[kind];
  if (allowed !== undefined) requireOneOf("returnValues", value, allowed);
  else if (value !== undefined && value !== "NONE" && value !== "ALL_OLD") {
    throw invalid("Return values set to invalid value");
  }
}

/** What `ReturnValues` asks for; undefined where there is nothing to return. */
export function returnedItem(
  { updates }: BoundWrite,
  { before, after }: Decision,
  wanted: string | undefined,
): Item | undefined {
  const paths: readonly DocumentPath[] = updates.map(({ path }) => path);
  const part = (item: Item | undefined): Item | undefined => item && project(item, paths);
  const asked =
    wanted === "ALL_OLD"
      ? before
      : wanted === "ALL_NEW"
        ? after
        : wanted === "UPDATED_OLD"
          ? part(before)
          : wanted === "UPDATED_NEW"
            ? part(after)
            : undefined;
  return asked === undefined || Object.keys(asked).length === 0 ? undefined : asked;
}
