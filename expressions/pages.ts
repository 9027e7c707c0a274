/**
 * Query and Scan, as far as they are requests: their parameters and expressions, and what of an
 * index they ask for.
 */
import { attribute } from "../core/attributes.ts";
import type { Item } from "../core/types.ts";
import { readItem, typeOf } from "./attribute-values.ts";
import { bindCondition, type Condition, pathsOf } from "./conditions.ts";
import {
  type IndexSchema,
  keyAttributes,
  type KeyedTable,
  type KeySchema,
  projectedNames,
  requireKeySize,
} from "./key-schema.ts";
import { bindKeyTests, type KeyTest } from "./key-tests.ts";
import { type DocumentPath, type PlaceholderInput, readPlaceholders } from "./placeholders.ts";
import { bindProjection } from "./projections.ts";
import { invalid, invalidParameter, requireJsonType, requireOneOf } from "./refusals.ts";
import { segmentsMax } from "./limits.ts";

export type PageInput = PlaceholderInput & {
  readonly IndexName?: string | undefined;
  readonly Limit?: number | undefined;
  readonly Select?: string | undefined;
  readonly ConsistentRead?: boolean | undefined;
  readonly ScanIndexForward?: boolean | undefined;
  readonly ExclusiveStartKey?: unknown;
  readonly KeyConditionExpression?: string | undefined;
  readonly FilterExpression?: string | undefined;
  readonly ProjectionExpression?: string | undefined;
  readonly Segment?: number | undefined;
  readonly TotalSegments?: number | undefined;
};

export type BoundPage = {
  readonly startKey: Item | undefined;
  readonly filter: Condition | undefined;
  readonly paths: readonly DocumentPath[] | undefined;
};

/**
 * Whether items of an index lack what is asked for, or what is filtered by, and come from the
 * table.
 */
export type Fetches = "never" | "to-return" | "to-filter";

/** @throws ServiceError. */
export function bindQuery(input: PageInput): BoundPage & { readonly tests: readonly KeyTest[] } {
  requireParameters(input);
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
  return { tests, startKey, filter, paths };
}

/** @throws ServiceError. */
export function bindScan(
  input: PageInput,
): BoundPage & { readonly segment: ScanSegment | undefined } {
  requireParameters(input);
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
  return { segment, startKey, filter, paths };
}

/** Parameters that both operations have. */
function requireParameters(input: PageInput): void {
  const { Limit, Select, IndexName, ProjectionExpression } = input;
  for (const name of ["Limit", "Segment", "TotalSegments"] as const) {
    requireJsonType(name, input[name], "integer");
  }
  requireJsonType("ConsistentRead", input.ConsistentRead, "boolean");
  requireJsonType("ScanIndexForward", input.ScanIndexForward, "boolean");
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

function readStartKey({ ExclusiveStartKey }: PageInput): Item | undefined {
  return ExclusiveStartKey === undefined ? undefined : readItem(ExclusiveStartKey);
}

/** @throws ServiceError unless it has the keys of the table and of the index, and nothing else. */
export function requireStartKey(
  { schema }: KeyedTable,
  index: IndexSchema | undefined,
  startKey: Item,
): void {
  const attributes = new Map(
    [schema, ...(index === undefined ? [] : [index])]
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
    requireKeySize(name, value, name === schema.partition.name);
  }
}

/** @throws ServiceError for a filter of a query by its key. */
export function requireUnkeyedFilter(schema: KeySchema, filter: Condition | undefined): void {
  for (const { name } of keyAttributes(schema)) {
    if (!pathsOf(filter).some(([head]) => head === name)) continue;
    throw invalid(
      "Filter Expression can only contain non-primary key attributes: Primary key attribute: " +
        name,
    );
  }
}

/** What a page returns. */
export function selectOf(input: PageInput, index: unknown): string {
  if (input.Select !== undefined) return input.Select;
  if (input.ProjectionExpression !== undefined) return "SPECIFIC_ATTRIBUTES";
  return index === undefined ? "ALL_ATTRIBUTES" : "ALL_PROJECTED_ATTRIBUTES";
}

/**
 * Whether items of the index lack what is asked for.
 * @throws ServiceError where a table is not asked for the rest.
 */
export function fetchesOf(
  table: KeyedTable,
  index: IndexSchema,
  asked: {
    readonly select: string;
    readonly filter: Condition | undefined;
    readonly paths: readonly DocumentPath[] | undefined;
    /** A scan does not mind a filter on what the index lacks. */
    readonly query: boolean;
  },
): Fetches {
  if (index.projection.type === "ALL") return "never";
  const names = projectedNames(table.schema, index);
  const absent = (paths: readonly DocumentPath[]) =>
    paths.map(([head]) => String(head)).filter((head) => !names.includes(head));
  const filtered = absent(pathsOf(asked.filter));
  if (filtered.length > 0 && asked.query) {
    throw invalidParameter(
      `Secondary index ${index.name} does not project one or more filter attributes: ` +
        `[${filtered.join(", ")}]`,
    );
  }
  const projected = absent(asked.paths ?? []);
  if (index.kind === "local") {
    if (asked.select === "ALL_ATTRIBUTES" || projected.length > 0) return "to-return";
    return filtered.length > 0 ? "to-filter" : "never";
  }
  if (asked.select === "ALL_ATTRIBUTES") {
    throw invalidParameter(
      `Select type ALL_ATTRIBUTES is not supported for global secondary index ${index.name} ` +
        "because its projection type is not ALL",
    );
  }
  if (projected.length > 0) {
    throw invalidParameter(
      `Global secondary index ${index.name} does not project [${projected.join(", ")}]`,
    );
  }
  return "never";
}

export type ScanSegment = { readonly index: number; readonly total: number };

/** Undefined: the whole. @throws ServiceError. */
function readSegment(input: PageInput): ScanSegment | undefined {
  const { Segment: segment, TotalSegments: total } = input;
  if (segment === undefined && total === undefined) return undefined;
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
  if (total < 1 || total > segmentsMax || segment < 0) {
    throw invalid("Segment and TotalSegments are out of range");
  }
  if (segment >= total) {
    throw invalid(
      "The Segment parameter is zero-based and must be less than parameter TotalSegments: " +
        `Segment: ${segment.toString()} is not less than TotalSegments: ${total.toString()}`,
    );
  }
  return { index: segment, total };
}
