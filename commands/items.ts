/** Commands of one item. */
import type { Item } from "../core/types.ts";
import { itemSizeBytes } from "../core/item-size.ts";
import {
  CapacityCount,
  readUnits,
  writeUnits,
  type CapacityLevel,
  type ConsumedCapacity,
} from "../expressions/capacity.ts";
import {
  readKey,
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../expressions/key-schema.ts";
import {
  readPlaceholders,
  type DocumentPath,
  type PlaceholderInput,
} from "../expressions/placeholders.ts";
import { bindProjection, project } from "../expressions/projections.ts";
import {
  bindWrite,
  requireReturnValues,
  returnedItem,
  type Decision,
  type WriteInput,
} from "../expressions/writes.ts";
import { checkPart, checkRequest, type Reported } from "./refused.ts";
import type { CommandTable } from "./tables.ts";
import type { TableWrite, TransactionCommands } from "./transaction-commands.ts";

/** Of GetItem, and of each table or item that others read by key. */
export type ProjectedInput = PlaceholderInput & {
  readonly TableName?: string | undefined;
  readonly Key?: unknown;
  readonly ConsistentRead?: boolean | undefined;
  readonly ProjectionExpression?: string | undefined;
};

export async function getItem(
  input: ProjectedInput & Reported,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  const name = requireTableName(input.TableName);
  const key = readKey(input.Key);
  const paths = projectionOf(input);
  const table = commands.table(name);
  requireKey(table.schema, key);
  requireScalarKeys(table, paths ?? []);
  const item = await commands.get(table, key);
  const count = new CapacityCount(table.name);
  count.addTable(readUnits(sizeOf(item), kindOfRead(input)));
  return {
    ...(item === undefined ? {} : { Item: projected(item, paths) }),
    ...consumed(count, input.ReturnConsumedCapacity),
  };
}

export function projectionOf(input: ProjectedInput): readonly DocumentPath[] | undefined {
  const { ProjectionExpression: projection } = input;
  const placeholders = readPlaceholders(input, { conditions: [], projection });
  const paths = bindProjection(placeholders, projection);
  placeholders.requireAllUsed();
  return paths;
}

export function projected(item: Item, paths: readonly DocumentPath[] | undefined): Item {
  return paths === undefined ? item : project(item, paths);
}

/** Reads are consistent, whatever was asked for; they count as what was asked for. */
export function kindOfRead({ ConsistentRead }: ProjectedInput): "consistent" | "eventual" {
  return ConsistentRead === true ? "consistent" : "eventual";
}

export function sizeOf(item: Item | undefined): number {
  return item === undefined ? 0 : itemSizeBytes(item);
}

type OneWrite = WriteInput["input"] & Reported & { readonly ReturnValues?: string | undefined };

export const putItem = (input: OneWrite, commands: TransactionCommands): Promise<object> =>
  writeItem("put", input, commands);
export const updateItem = (input: OneWrite, commands: TransactionCommands): Promise<object> =>
  writeItem("update", input, commands);
export const deleteItem = (input: OneWrite, commands: TransactionCommands): Promise<object> =>
  writeItem("delete", input, commands);

async function writeItem(
  kind: "put" | "update" | "delete",
  input: OneWrite,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  const { ReturnValues: wanted } = input;
  requireReturnValues(kind, wanted);
  const write = boundWrite({ kind, input }, commands);
  const decision = await commands.write(
    write,
    dependsOnItem(write) || (wanted ?? "NONE") !== "NONE",
  );
  const attributes = returnedItem(write, decision, wanted);
  return {
    ...(attributes === undefined ? {} : { Attributes: attributes }),
    ...consumed(countWrite(write.table, decision), input.ReturnConsumedCapacity),
  };
}

export function boundWrite(write: WriteInput, commands: TransactionCommands): TableWrite {
  checkPart(write.input);
  return bindWrite((name) => commands.table(name), write);
}

/** A put or a delete without condition stays blind: it conflicts with nobody. */
export function dependsOnItem({ kind, condition }: TableWrite): boolean {
  return kind === "update" || condition !== undefined;
}

/**
 * As DynamoDB counts the command natively, its indexes left out; of a blind write by what it
 * writes.
 */
export function countWrite(
  table: CommandTable,
  { before, after }: Decision,
  count = new CapacityCount(table.name),
  factor = 1,
): CapacityCount {
  count.addTable(writeUnits(Math.max(sizeOf(before), sizeOf(after))) * factor);
  return count;
}

export function consumed(
  count: CapacityCount,
  level: CapacityLevel,
): { readonly ConsumedCapacity?: ConsumedCapacity } {
  const report = count.report(level);
  return report === undefined ? {} : { ConsumedCapacity: report };
}

export function consumedByTable(
  counts: Iterable<CapacityCount>,
  level: CapacityLevel,
  both?: "read" | "write",
): { readonly ConsumedCapacity?: readonly ConsumedCapacity[] } {
  const reports = Array.from(counts, (count) => count.report(level, both));
  const ConsumedCapacity = reports.filter((report) => report !== undefined);
  return ConsumedCapacity.length === 0 ? {} : { ConsumedCapacity };
}
