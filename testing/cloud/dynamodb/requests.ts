/** Steps that the preparation of many operations shares. */
import type { Item } from "../../../core/types.ts";
import { readItem } from "./attribute-values.ts";
import { requireOneOf } from "./database.ts";
import { NotModelledError } from "../service-error.ts";
import { invalid, misfit } from "./failures.ts";
import { Placeholders, type DocumentPath, type PlaceholderInput } from "./placeholders.ts";
import type { Table } from "./table.ts";
import { keyAttributes } from "./table-schema.ts";

/** Parameters from before there were expressions. */
const legacyParameters = [
  ...["AttributesToGet", "AttributeUpdates", "ConditionalOperator", "Expected"],
  ...["KeyConditions", "QueryFilter", "ScanFilter"],
] as const;

/** @throws NotModelledError for a parameter that DynamoDB has and this model has not. */
export function requireModelled(input: object): void {
  for (const name of legacyParameters) {
    if ((input as Record<string, unknown>)[name] === undefined) continue;
    throw new NotModelledError(`${name} is not modelled; use the expression that replaces it`);
  }
}

/** Parameters of all item operations. @throws ServiceError. */
export function requireReportLevels(input: {
  readonly ReturnConsumedCapacity?: string | undefined;
  readonly ReturnItemCollectionMetrics?: string | undefined;
}): void {
  requireOneOf("returnConsumedCapacity", input.ReturnConsumedCapacity, [
    ...["INDEXES", "TOTAL", "NONE"],
  ]);
  requireOneOf("returnItemCollectionMetrics", input.ReturnItemCollectionMetrics, [
    ...["SIZE", "NONE"],
  ]);
  if (input.ReturnItemCollectionMetrics === "SIZE") {
    throw new NotModelledError("ReturnItemCollectionMetrics is not modelled");
  }
}

/** @throws ServiceError for placeholders without an expression that could use them. */
export function readPlaceholders(
  input: PlaceholderInput,
  expressions: {
    /** Those that may use values. */
    readonly conditions: readonly (string | undefined)[];
    readonly projection?: string | undefined;
  },
): Placeholders {
  const withValues = expressions.conditions.some((text) => text !== undefined);
  return new Placeholders(input, {
    any: withValues || expressions.projection !== undefined,
    withValues,
  });
}

export function readKey(input: unknown): Item {
  if (input === undefined) throw missing("Key");
  return readItem(input);
}

export function missing(parameter: string): Error {
  return invalid(`The parameter '${parameter}' is required but was not present in the request`);
}

/** @throws ServiceError when a path goes into an attribute that is a key somewhere. */
export function requireScalarKeys(table: Table, paths: readonly DocumentPath[]): void {
  for (const path of paths) {
    const [head] = path;
    if (path.length === 1) continue;
    const isKey = keyAttributes(table.schema).some(({ name }) => name === head);
    const isIndexKey = [...table.indexSchemas()].some((index) =>
      keyAttributes(index).some(({ name }) => name === head),
    );
    if (!isKey && !isIndexKey) continue;
    throw invalid(
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not " +
        "allowed: " +
        `${isKey ? "Key" : "IndexKey"}: ${String(head)}`,
    );
  }
}

/** @throws ServiceError when a table's key would be changed. */
export function requireKeyUntouched(table: Table, paths: readonly DocumentPath[]): void {
  for (const { name } of keyAttributes(table.schema)) {
    if (!paths.some(([head]) => head === name)) continue;
    throw misfit(`Cannot update attribute ${name}. This attribute is part of the key`);
  }
}
