/** Operations on one item. */
import type { ReturnConsumedCapacity, ReturnValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../core/types.ts";
import { CapacityCount, readUnits } from "./capacity.ts";
import { requireOneOf, requireTableName, type Database } from "./database.ts";
import { invalid } from "./failures.ts";
import { decide, prepareWrite, type PreparedWrite } from "./item-writes.ts";
import type { Operations, CallConditions } from "./operation-types.ts";
import { imageAt } from "./ordered-rows.ts";
import { bindProjection, project } from "./projections.ts";
import {
  readKey,
  readPlaceholders,
  requireModelled,
  requireReportLevels,
  requireScalarKeys,
} from "./requests.ts";
import { toSdkItem, type SdkItem } from "./sdk-values.ts";
import type { Table, WriteCapacity } from "./table.ts";
import { requireKey } from "./table-schema.ts";

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
  requireOldOrNone(input.ReturnValues);
  const write = prepareWrite(database, { kind: "put", input });
  const { before, capacity } = perform(database, write);
  return {
    ...(input.ReturnValues === "ALL_OLD" ? attributes(before) : {}),
    ...consumed(countWrite(write.table, capacity), input.ReturnConsumedCapacity),
  };
}

export function deleteItem(
  database: Database,
  input: Operations["DeleteItem"]["input"],
): Operations["DeleteItem"]["output"] {
  requireReportLevels(input);
  requireOldOrNone(input.ReturnValues);
  const write = prepareWrite(database, { kind: "delete", input });
  const { before, capacity } = perform(database, write);
  return {
    ...(input.ReturnValues === "ALL_OLD" ? attributes(before) : {}),
    ...consumed(countWrite(write.table, capacity), input.ReturnConsumedCapacity),
  };
}

export function updateItem(
  database: Database,
  input: Operations["UpdateItem"]["input"],
): Operations["UpdateItem"]["output"] {
  requireReportLevels(input);
  const { ReturnValues } = input;
  requireOneOf("returnValues", ReturnValues, [
    ...["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"],
  ]);
  const write = prepareWrite(database, { kind: "update", input });
  const { before, after, capacity } = perform(database, write);
  return {
    ...returned(write, { before, after }, ReturnValues),
    ...consumed(countWrite(write.table, capacity), input.ReturnConsumedCapacity),
  };
}

function returned(
  write: PreparedWrite,
  { before, after }: { readonly before: Item | undefined; readonly after: Item | undefined },
  wanted: ReturnValue | undefined,
): { Attributes?: SdkItem } {
  switch (wanted) {
    case "ALL_OLD":
      return attributes(before);
    case "ALL_NEW":
      return attributes(after);
    case "UPDATED_OLD":
      return attributes(before === undefined ? undefined : project(before, write.updatedPaths));
    case "UPDATED_NEW":
      return attributes(after === undefined ? undefined : project(after, write.updatedPaths));
    default:
      return {};
  }
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
  if (item === undefined || Object.keys(item).length === 0) return {};
  return { Attributes: toSdkItem(item) };
}

function requireOldOrNone(value: ReturnValue | undefined): void {
  if (value === undefined || value === "NONE" || value === "ALL_OLD") return;
  throw invalid("Return values set to invalid value");
}
