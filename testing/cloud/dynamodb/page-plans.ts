/** What a Query or a Scan asks for, checked, and turned into the rows to visit. */
import type { QueryCommandInput, ScanCommandInput, Select } from "@aws-sdk/client-dynamodb";
import { attribute } from "../../../core/attributes.ts";
import type { Item } from "../../../core/types.ts";
import { readItem, typeOf } from "./attribute-values.ts";
import { bindCondition, pathsOf, type Condition } from "./conditions.ts";
import { requireOneOf, requireTableName, type Database } from "./database.ts";
import { invalid, invalidParameter } from "./failures.ts";
import { staleTime } from "./item-operations.ts";
import { bindKeyTests, keyRange, type KeyRange } from "./key-conditions.ts";
import { partitionHash } from "./key-scalar.ts";
import type { CallConditions } from "./operation-types.ts";
import type { OrderedRows, RowKey } from "./ordered-rows.ts";
import type { PagePlan } from "./page-reads.ts";
import type { DocumentPath } from "./placeholders.ts";
import { bindProjection } from "./projections.ts";
import {
  readPlaceholders,
  requireModelled,
  requireReportLevels,
  requireScalarKeys,
} from "./requests.ts";
import * as limits from "./service-limits.ts";
import type { SecondaryIndex, Table } from "./table.ts";
import {
  indexRowKeyOf,
  keyAttributes,
  requireKeySize,
  rowKeyOf,
  type KeySchema,
} from "./table-schema.ts";

type CommonInput = Pick<
  QueryCommandInput & ScanCommandInput,
  | "TableName"
  | "IndexName"
  | "Limit"
  | "Select"
  | "ConsistentRead"
  | "ExclusiveStartKey"
  | "FilterExpression"
  | "ProjectionExpression"
  | "ReturnConsumedCapacity"
  | "ExpressionAttributeNames"
  | "ExpressionAttributeValues"
>;

export function planQuery(
  database: Database,
  input: QueryCommandInput,
  conditions: CallConditions,
): PagePlan {
  requireCommon(input);
  const { KeyConditionExpression, ProjectionExpression: projection } = input;
  if (KeyConditionExpression === undefined) {
    throw invalid(
      "Either the KeyConditions or KeyConditionExpression parameter must be specified in the " +
        "request.",
    );
  }
  const startKey = readStartKey(input);
  const placeholders = readPlaceholders(input, {
    conditions: [KeyConditionExpression, input.FilterExpression],
    projection,
  });
  const tests = bindKeyTests(placeholders, KeyConditionExpression);
  const filter = bindCondition(placeholders, "FilterExpression", input.FilterExpression);
  const paths = bindProjection(placeholders, projection);
  placeholders.requireAllUsed();
  const target = findTarget(database, input);
  const range = keyRange(tests, target.schema, target.index?.schema);
  requireUnkeyedFilter(target.schema, filter);
  const after = startKey === undefined ? undefined : placeOf(target, startKey);
  if (after !== undefined && (after.partition.id !== range.partition.id || !range.holds(after))) {
    throw invalid("The provided starting key does not match the range key predicate");
  }
  const descending = input.ScanIndexForward === false;
  return {
    ...commonPlan(database, { input, target, filter, paths, conditions, query: true }),
    after,
    rows: (place) => rowsOf(target.rows, { range, place, descending }),
  };
}

export function planScan(
  database: Database,
  input: ScanCommandInput,
  conditions: CallConditions,
): PagePlan {
  requireCommon(input);
  const { ProjectionExpression: projection } = input;
  const segment = readSegment(input);
  const startKey = readStartKey(input);
  const placeholders = readPlaceholders(input, {
    conditions: [input.FilterExpression],
    projection,
  });
  const filter = bindCondition(placeholders, "FilterExpression", input.FilterExpression);
  const paths = bindProjection(placeholders, projection);
  placeholders.requireAllUsed();
  const target = findTarget(database, input);
  const after = startKey === undefined ? undefined : placeOf(target, startKey);
  requireInSegment(segment, after);
  return {
    ...commonPlan(database, { input, target, filter, paths, conditions, query: false }),
    after,
    rows: (place) => target.rows.inHashRange({ ...segment, after: place }),
  };
}

/** Parameters that both operations have. */
function requireCommon(input: CommonInput): void {
  requireModelled(input);
  requireReportLevels(input);
  const { Limit, Select, IndexName, ProjectionExpression } = input;
  if (Limit !== undefined && Limit < 1) {
    throw invalid("Limit must be greater than or equal to 1");
  }
  requireOneOf("select", Select, [
    ...["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"],
  ]);
  if (Select === "SPECIFIC_ATTRIBUTES" && ProjectionExpression === undefined) {
    throw invalid(
      "Must specify the AttributesToGet or ProjectionExpression when choosing to get " +
        "SPECIFIC_ATTRIBUTES",
    );
  }
  if (
    ProjectionExpression !== undefined &&
    (Select ?? "SPECIFIC_ATTRIBUTES") !== "SPECIFIC_ATTRIBUTES"
  ) {
    const what = Select === "COUNT" ? "only the Count" : String(Select);
    throw invalid(`Cannot specify the ProjectionExpression when choosing to get ${what}`);
  }
  if (Select === "ALL_PROJECTED_ATTRIBUTES" && IndexName === undefined) {
    throw invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
}

function readStartKey({ ExclusiveStartKey }: CommonInput): Item | undefined {
  return ExclusiveStartKey === undefined ? undefined : readItem(ExclusiveStartKey);
}

type Target = {
  readonly table: Table;
  readonly index: SecondaryIndex | undefined;
  readonly schema: KeySchema;
  readonly rows: OrderedRows;
};

function findTarget(database: Database, input: CommonInput): Target {
  const table = database.table(requireTableName(input.TableName));
  if (input.IndexName === undefined) {
    return { table, index: undefined, schema: table.schema, rows: table.rows };
  }
  const index = table.indexes.get(input.IndexName);
  if (index === undefined) {
    throw invalid(`The table does not have the specified index: ${input.IndexName}`);
  }
  if (index.schema.kind === "global" && input.ConsistentRead === true) {
    throw invalid("Consistent reads are not supported on global secondary indexes");
  }
  return { table, index, schema: index.schema, rows: index.rows };
}

/** Where the start key stands, whether or not an item is there. */
function placeOf({ table, index }: Target, startKey: Item): RowKey {
  const attributes = new Map(
    [table.schema, ...(index === undefined ? [] : [index.schema])]
      .flatMap(keyAttributes)
      .map((key) => [key.name, key.type]),
  );
  if (Object.keys(startKey).length !== attributes.size) {
    throw invalid("The provided starting key is invalid");
  }
  for (const [name, type] of attributes) {
    const value = attribute(startKey, name);
    if (value === undefined || typeOf(value) !== type) {
      throw invalid(
        "The provided starting key is invalid: The provided key element does not match the schema",
      );
    }
    requireKeySize(name, value, name === table.schema.partition.name);
  }
  const row = rowKeyOf(table.schema, startKey);
  const place = index === undefined ? row : indexRowKeyOf(index.schema, startKey, row);
  if (place === undefined) throw invalid("The provided starting key is invalid");
  return place;
}

function requireUnkeyedFilter(schema: KeySchema, filter: Condition | undefined): void {
  for (const { name } of keyAttributes(schema)) {
    if (!pathsOf(filter).some(([head]) => head === name)) continue;
    throw invalid(
      "Filter Expression can only contain non-primary key attributes: Primary key attribute: " +
        name,
    );
  }
}

function commonPlan(
  database: Database,
  parts: {
    readonly input: CommonInput;
    readonly target: Target;
    readonly filter: Condition | undefined;
    readonly paths: readonly DocumentPath[] | undefined;
    readonly conditions: CallConditions;
    readonly query: boolean;
  },
): Omit<PagePlan, "rows" | "after"> {
  const { input, target, filter, paths, conditions } = parts;
  const { table, index } = target;
  requireScalarKeys(table, [...pathsOf(filter), ...(paths ?? [])]);
  const select = selectOf(input, index);
  const consistent = input.ConsistentRead === true;
  return {
    table,
    index,
    atMs: consistent ? undefined : staleTime(database, conditions),
    limit: input.Limit,
    consistent,
    filter,
    paths,
    select,
    fetches:
      index === undefined
        ? "never"
        : fetchesOf(target.table, index, { select, filter, paths, query: parts.query }),
    report: input.ReturnConsumedCapacity,
  };
}

function selectOf(input: CommonInput, index: SecondaryIndex | undefined): Select {
  if (input.Select !== undefined) return input.Select;
  if (input.ProjectionExpression !== undefined) return "SPECIFIC_ATTRIBUTES";
  return index === undefined ? "ALL_ATTRIBUTES" : "ALL_PROJECTED_ATTRIBUTES";
}

/**
 * Whether items of the index lack what is asked for.
 * @throws ServiceError where a table is not
 * asked for the rest.
 */
function fetchesOf(
  table: Table,
  { schema }: SecondaryIndex,
  asked: {
    readonly select: Select;
    readonly filter: Condition | undefined;
    readonly paths: readonly DocumentPath[] | undefined;
    /** A scan does not mind a filter on what the index lacks. */
    readonly query: boolean;
  },
): PagePlan["fetches"] {
  if (schema.projection.type === "ALL") return "never";
  const names = table.projectedNames(schema);
  const absent = (paths: readonly DocumentPath[]) =>
    paths.map(([head]) => String(head)).filter((head) => !names.includes(head));
  const filtered = absent(pathsOf(asked.filter));
  if (filtered.length > 0 && asked.query) {
    throw invalidParameter(
      `Secondary index ${schema.name} does not project one or more filter attributes: ` +
        `[${filtered.join(", ")}]`,
    );
  }
  const projected = absent(asked.paths ?? []);
  if (schema.kind === "local") {
    if (asked.select === "ALL_ATTRIBUTES" || projected.length > 0) return "to-return";
    return filtered.length > 0 ? "to-filter" : "never";
  }
  if (asked.select === "ALL_ATTRIBUTES") {
    throw invalidParameter(
      `Select type ALL_ATTRIBUTES is not supported for global secondary index ${schema.name} ` +
        "because its projection type is not ALL",
    );
  }
  if (projected.length > 0) {
    throw invalidParameter(
      `Global secondary index ${schema.name} does not project [${projected.join(", ")}]`,
    );
  }
  return "never";
}

/** The rows of a key range behind a place; ends where the range does. */
function* rowsOf(
  rows: OrderedRows,
  walk: {
    readonly range: KeyRange;
    readonly place: RowKey | undefined;
    readonly descending: boolean;
  },
) {
  const { range, place, descending } = walk;
  const { partition, low, high, holds } = range;
  const edge = descending ? high : low;
  const start =
    place === undefined ? (edge === undefined ? undefined : { from: edge }) : { after: place };
  let entered = place !== undefined;
  for (const row of rows.inPartition(partition, {
    descending,
    ...(start === undefined ? {} : { start }),
  })) {
    if (holds(row.key)) {
      entered = true;
      yield row;
    } else if (entered) {
      // What belongs to a range stands together.
      return;
    } else if (!descending && edge !== undefined && row.key.sort?.id !== edge.id) {
      // Past the edge itself, and not in the range: nothing is.
      return;
    }
  }
}

const hashes = 2 ** 32;

/** Hashes of partitions, `[hashLow, hashHigh)`. */
type Segment = { readonly hashLow: number; readonly hashHigh: number };

function requireInSegment({ hashLow, hashHigh }: Segment, place: RowKey | undefined): void {
  if (place === undefined) return;
  const hash = partitionHash(place.partition.id);
  if (hash >= hashLow && hash < hashHigh) return;
  throw invalid(
    "The provided starting key is invalid: Invalid ExclusiveStartKey. " +
      "Please use ExclusiveStartKey with correct Segment.",
  );
}

function readSegment(input: ScanCommandInput): Segment {
  const { Segment: segment, TotalSegments: total } = input;
  if (segment === undefined && total === undefined) return { hashLow: 0, hashHigh: hashes };
  if (total === undefined) {
    throw invalid(
      "The TotalSegments parameter is required but was not present in the request when Segment " +
        "parameter is present",
    );
  }
  if (segment === undefined) {
    throw invalid(
      "The Segment parameter is required but was not present in the request when parameter " +
        "TotalSegments is present",
    );
  }
  if (total < 1 || total > limits.segmentsMax || segment < 0) {
    throw invalid("Segment and TotalSegments are out of range");
  }
  if (segment >= total) {
    throw invalid(
      "The Segment parameter is zero-based and must be less than parameter TotalSegments: " +
        `Segment: ${segment.toString()} is not less than TotalSegments: ${total.toString()}`,
    );
  }
  return {
    hashLow: Math.ceil((segment * hashes) / total),
    hashHigh: Math.ceil(((segment + 1) * hashes) / total),
  };
}
