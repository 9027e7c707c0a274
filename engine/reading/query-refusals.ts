/**
 * What is wrong with a query by what is known of its table, told before the store is asked; and
 * what the store then says of an index, which may be newer than what the registry knows.
 */
import { InvalidRequestError, StoreError } from "../../core/errors.ts";
import { compareKeyValues } from "../../core/key-order.ts";
import type { QueryRequest } from "../../core/ports.ts";
import type { AttributeValue, KeyAttribute, TableDescription } from "../../core/types.ts";
import type { QuerySpec } from "../types.ts";

/** @throws InvalidRequestError whose `field` is the key attribute that the query has wrong. */
export function validateQuery({ table, index, partitionKey, sortKey }: QueryRequest): void {
  const partitionName = index?.partitionKey ?? table.partitionKey.name;
  requireType(table, partitionName, { role: "partition", value: partitionKey });
  const sortName = index === undefined ? table.sortKey?.name : index.sortKey;
  if (sortKey === undefined || sortName === undefined) return;
  const type = keyType(table, sortName);
  if (sortKey.operator === "begins_with" && (type === "N" || "N" in sortKey.value)) {
    throw new InvalidRequestError(
      sortName,
      `\`beginsWith\` is for strings and bytes, and the sort key "${sortName}" of table ` +
        `"${table.name}" is a number; use eq, lt, lte, gt, gte or between`,
    );
  }
  const isRange = sortKey.operator === "between";
  for (const value of isRange ? [sortKey.low, sortKey.high] : [sortKey.value]) {
    requireType(table, sortName, { role: "sort", value });
  }
  // Of two types, where the registry knows none, the store says so.
  if (!isRange || Object.keys(sortKey.low)[0] !== Object.keys(sortKey.high)[0]) return;
  if (compareKeyValues(sortKey.low, sortKey.high) <= 0) return;
  throw new InvalidRequestError(
    sortName,
    `\`between\` takes the lower bound of "${sortName}" first`,
  );
}

function requireType(
  table: TableDescription,
  name: string,
  { role, value }: { readonly role: "partition" | "sort"; readonly value: AttributeValue },
): void {
  const type = keyType(table, name);
  if (type === undefined || type in value) return;
  throw new InvalidRequestError(
    name,
    `the ${role} key "${name}" of table "${table.name}" is of type ${type}; give a value of ` +
      "that type",
  );
}

/** DynamoDB has one type for an attribute, whatever it is a key of. */
function keyType(
  { partitionKey, sortKey, indexKeys = [] }: TableDescription,
  name: string,
): KeyAttribute["type"] | undefined {
  return [partitionKey, sortKey, ...indexKeys].find((key) => key?.name === name)?.type;
}

/** An error of the store's, as whoever queried the index should see it. */
export function indexRefusal(
  error: unknown,
  { name, indexNames = [] }: TableDescription,
  index: NonNullable<QuerySpec["index"]>,
): unknown {
  if (!(error instanceof StoreError) || error.code !== "ValidationException") return error;
  const { message } = error;
  const isUnknown = /not have the specified index/iu.test(message);
  const known = indexNames.length === 0 ? "" : `; registered are: ${indexNames.join(", ")}`;
  return new InvalidRequestError(
    "index",
    isUnknown
      ? `table "${name}" has no index "${index.name}"${known}`
      : `the index "${index.name}" of table "${name}" cannot be queried by ` +
          `${[index.partitionKey, index.sortKey ?? []].flat().join(" and ")}: ${message}`,
    { cause: error },
  );
}
