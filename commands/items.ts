/** Commands of one item. */
import { CapacityCount, readUnits } from "../expressions/capacity.ts";
import {
  readKey,
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../expressions/key-schema.ts";
import { requireReturnValues, returnedItem, type WriteInput } from "../expressions/writes.ts";
import { boundWrite, dependsOnItem } from "./bound-writes.ts";
import { consumed, countWrite, sizeOf } from "./consumption.ts";
import { kindOfRead, projected, projectionOf, type ProjectedInput } from "./projections.ts";
import { checkRequest, type Reported } from "./refused.ts";
import type { TransactionCommands } from "./transaction-commands.ts";

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
