/** Operations on one item. */
import type { ReturnConsumedCapacity } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../core/types.ts";
import { CapacityCount, readUnits } from "../../../expressions/capacity.ts";
import {
  readKey,
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../../../expressions/key-schema.ts";
import { readPlaceholders } from "../../../expressions/placeholders.ts";
import { bindProjection, project } from "../../../expressions/projections.ts";
import { requireReturnValues, returnedItem } from "../../../expressions/writes.ts";
import type { Database } from "./database.ts";
import { decide, type PreparedWrite, prepareWrite } from "./item-writes.ts";
import type { CallConditions, Operations } from "./operation-types.ts";
import { imageAt } from "./ordered-rows.ts";
import { requireModelled, requireReportLevels } from "./requests.ts";
import { type SdkItem, toSdkItem } from "./sdk-values.ts";
import type { Table, WriteCapacity } from "./table.ts";

export function getItem(
  database: Database,
  input: Operations["GetItem"]["input"],
  conditions: CallConditions,
): Operations["GetItem"]["output"] {
  requireModelled(input);
  requireReportLevels(input);
  const name = requireTableName(input.TableName);
  const key = readKey(input.Key);
  const { ProjectionExpression: projection } = input;
  const placeholders = readPlaceholders(input, { conditions: [], projection });
  const paths = bindProjection(placeholders, projection);
  placeholders.requireAllUsed();
  const table = database.table(name);
  requireKey(table.schema, key);
  requireScalarKeys(table, paths ?? []);
  const consistent = input.ConsistentRead === true;
  const stored = findAt(table, key, consistent ? undefined : staleTime(database, conditions));
  const capacity = new CapacityCount(table.name);
  capacity.addTable(readUnits(stored?.bytes ?? 0, consistent ? "consistent" : "eventual"));
  const item =
    stored === undefined || paths === undefined ? stored?.item : project(stored.item, paths);
  return {
    ...(item === undefined ? {} : { Item: toSdkItem(item) }),
    ...consumed(capacity, input.ReturnConsumedCapacity),
  };
}

/** What stood under the key at that time, or stands there now. */
export function findAt(table: Table, key: Item, atMs: number | undefined) {
  const row = table.rows.find(table.rowKey(key));
  return row === undefined ? undefined : imageAt(row, atMs);
}

/** The time that a read which need not be consistent sees; undefined: now. */
export function staleTime(database: Database, { staleMs }: CallConditions): number | undefined {
  if (staleMs === undefined || staleMs <= 0) return undefined;
  return database.nowMs - Math.min(staleMs, database.staleMsMax);
}

export function putItem(
  database: Database,
  input: Operations["PutItem"]["input"],
): Operations["PutItem"]["output"] {
  requireReportLevels(input);
  requireReturnValues("put", input.ReturnValues);
  const write = prepareWrite(database, { kind: "put", input });
  const { before, capacity } = perform(database, write);
  return {
    ...attributes(returnedItem(write, { before, after: undefined }, input.ReturnValues)),
    ...consumed(countWrite(write.table, capacity), input.ReturnConsumedCapacity),
  };
}

export function deleteItem(
  database: Database,
  input: Operations["DeleteItem"]["input"],
): Operations["DeleteItem"]["output"] {
  requireReportLevels(input);
  requireReturnValues("delete", input.ReturnValues);
  const write = prepareWrite(database, { kind: "delete", input });
  const { before, capacity } = perform(database, write);
  return {
    ...attributes(returnedItem(write, { before, after: undefined }, input.ReturnValues)),
    ...consumed(countWrite(write.table, capacity), input.ReturnConsumedCapacity),
  };
}

export function updateItem(
  database: Database,
  input: Operations["UpdateItem"]["input"],
): Operations["UpdateItem"]["output"] {
  requireReportLevels(input);
  const { ReturnValues } = input;
  requireReturnValues("update", ReturnValues);
  const write = prepareWrite(database, { kind: "update", input });
  const { before, after, capacity } = perform(database, write);
  return {
    ...attributes(returnedItem(write, { before, after }, ReturnValues)),
    ...consumed(countWrite(write.table, capacity), input.ReturnConsumedCapacity),
  };
}

function perform(
  database: Database,
  write: PreparedWrite,
): {
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly capacity: WriteCapacity;
} {
  const { before, after } = decide(write);
  return { before, after, capacity: database.write(write.table, write.key, after) };
}

export function countWrite(
  table: Table,
  written: WriteCapacity,
  count = new CapacityCount(table.name),
  factor = 1,
): CapacityCount {
  count.addTable(written.table * factor);
  for (const [{ schema }, units] of written.indexes) count.addIndex(schema, units * factor);
  return count;
}

export function consumed(
  count: CapacityCount,
  level: ReturnConsumedCapacity | undefined,
): { ConsumedCapacity?: NonNullable<ReturnType<CapacityCount["report"]>> } {
  const report = count.report(level);
  return report === undefined ? {} : { ConsumedCapacity: report };
}

/** Nothing where there is nothing to return. */
function attributes(item: Item | undefined): { Attributes?: SdkItem } {
  return item === undefined ? {} : { Attributes: toSdkItem(item) };
}
