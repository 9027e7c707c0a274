/** What a Query or a Scan asks for, checked, and turned into the rows to visit. */
import type { QueryCommandInput, ScanCommandInput, Select } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../core/types.ts";
import { pathsOf } from "../../../expressions/conditions.ts";
import {
  type KeySchema,
  requireScalarKeys,
  requireTableName,
} from "../../../expressions/key-schema.ts";
import {
  bindQuery,
  bindScan,
  type BoundPage,
  fetchesOf,
  requireStartKey,
  requireUnkeyedFilter,
  type ScanSegment,
  selectOf,
} from "../../../expressions/pages.ts";
import { invalid } from "../../../expressions/refusals.ts";
import type { Database } from "./database.ts";
import { staleTime } from "./item-operations.ts";
import { keyRange, type KeyRange } from "./key-conditions.ts";
import { partitionHash } from "./key-scalar.ts";
import type { CallConditions } from "./operation-types.ts";
import type { OrderedRows, RowKey } from "./ordered-rows.ts";
import type { PagePlan } from "./page-reads.ts";
import { requireModelled, requireReportLevels } from "./requests.ts";
import { indexRowKeyOf, rowKeyOf } from "./table-schema.ts";
import type { SecondaryIndex, Table } from "./table.ts";

type CommonInput = Pick<
  QueryCommandInput & ScanCommandInput,
  | "TableName"
  | "IndexName"
  | "Limit"
  | "Select"
  | "ConsistentRead"
  | "ProjectionExpression"
  | "ReturnConsumedCapacity"
>;

export function planQuery(
  database: Database,
  input: QueryCommandInput,
  conditions: CallConditions,
): PagePlan {
  requireModelled(input);
  requireReportLevels(input);
  const bound = bindQuery(input);
  const { startKey } = bound;
  const target = findTarget(database, input);
  const range = keyRange(bound.tests, target.schema, target.index?.schema);
  requireUnkeyedFilter(target.schema, bound.filter);
  const after = startKey === undefined ? undefined : placeOf(target, startKey);
  if (after !== undefined && (after.partition.id !== range.partition.id || !range.holds(after))) {
    throw invalid("The provided starting key does not match the range key predicate");
  }
  const descending = input.ScanIndexForward === false;
  return {
    ...commonPlan(database, { input, target, bound, conditions, query: true }),
    after,
    rows: (place) => rowsOf(target.rows, { range, place, descending }),
  };
}

export function planScan(
  database: Database,
  input: ScanCommandInput,
  conditions: CallConditions,
): PagePlan {
  requireModelled(input);
  requireReportLevels(input);
  const bound = bindScan(input);
  const segment = hashesOf(bound.segment);
  const target = findTarget(database, input);
  const after = bound.startKey === undefined ? undefined : placeOf(target, bound.startKey);
  requireInSegment(segment, after);
  return {
    ...commonPlan(database, { input, target, bound, conditions, query: false }),
    after,
    rows: (place) => target.rows.inHashRange({ ...segment, after: place }),
  };
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
  requireStartKey(table, index?.schema, startKey);
  const row = rowKeyOf(table.schema, startKey);
  const place = index === undefined ? row : indexRowKeyOf(index.schema, startKey, row);
  if (place === undefined) throw invalid("The provided starting key is invalid");
  return place;
}

function commonPlan(
  database: Database,
  parts: {
    readonly input: CommonInput;
    readonly target: Target;
    readonly bound: BoundPage;
    readonly conditions: CallConditions;
    readonly query: boolean;
  },
): Omit<PagePlan, "rows" | "after"> {
  const { input, target, conditions, query } = parts;
  const { filter, paths } = parts.bound;
  const { table, index } = target;
  requireScalarKeys(table, [...pathsOf(filter), ...(paths ?? [])]);
  const select = selectOf(input, index) as Select;
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
        : fetchesOf(table, index.schema, { select, filter, paths, query }),
    report: input.ReturnConsumedCapacity,
  };
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

function hashesOf(segment: ScanSegment | undefined): Segment {
  if (segment === undefined) return { hashLow: 0, hashHigh: hashes };
  const { index, total } = segment;
  return {
    hashLow: Math.ceil((index * hashes) / total),
    hashHigh: Math.ceil(((index + 1) * hashes) / total),
  };
}

function requireInSegment({ hashLow, hashHigh }: Segment, place: RowKey | undefined): void {
  if (place === undefined) return;
  const hash = partitionHash(place.partition.id);
  if (hash >= hashLow && hash < hashHigh) return;
  throw invalid(
    "The provided starting key is invalid: Invalid ExclusiveStartKey. " +
      "Please use ExclusiveStartKey with correct Segment.",
  );
}
