/** Key conditions of Query: one partition, and at most one range of sort keys in it. */
import type { KeyAttribute } from "../../../core/types.ts";
import { typeOf } from "../../../expressions/attribute-values.ts";
import { beginsWith } from "../../../expressions/conditions.ts";
import {
  type IndexSchema,
  type KeySchema,
  requireIndexKeys,
  requireKeySize,
} from "../../../expressions/key-schema.ts";
import { invalid, invalidParameter } from "../../../expressions/refusals.ts";
import type { KeyTest } from "../../../expressions/key-tests.ts";
import { compareKeyScalars, keyScalar, type KeyScalar } from "./key-scalar.ts";
import type { RowKey } from "./ordered-rows.ts";

export type KeyRange = {
  readonly partition: KeyScalar;
  /** Where the range begins and ends; undefined: open. */
  readonly low: KeyScalar | undefined;
  readonly high: KeyScalar | undefined;
  /** Decides exactly, within low and high. */
  readonly holds: (key: RowKey) => boolean;
};

/** The range in a table or an index. @throws ServiceError when the tests do not fit its key. */
export function keyRange(
  tests: readonly KeyTest[],
  schema: KeySchema,
  index: IndexSchema | undefined,
): KeyRange {
  const byName = new Map(tests.map((test) => [test.name, test]));
  const partitionTest = byName.get(schema.partition.name);
  const sortTest = schema.sort === undefined ? undefined : byName.get(schema.sort.name);
  if (partitionTest === undefined) throw missedKey(schema.partition.name);
  if (tests.length > 1 && schema.sort === undefined) {
    throw invalid("Query key condition not supported");
  }
  if (tests.length > 1 && sortTest === undefined) throw missedKey(schema.sort?.name ?? "");
  requireFitting(partitionTest, { ...schema.partition, isPartition: true }, index);
  const [value] = partitionTest.values;
  if (partitionTest.operator !== "=" || value === undefined) {
    throw invalid("Query key condition not supported");
  }
  const partition = keyScalar(value);
  if (sortTest === undefined || schema.sort === undefined) {
    return { partition, low: undefined, high: undefined, holds: () => true };
  }
  requireFitting(sortTest, { ...schema.sort, isPartition: false }, index);
  return { partition, ...sortRange(sortTest) };
}

function missedKey(name: string): Error {
  return invalid(`Query condition missed key schema element: ${name}`);
}

function requireFitting(
  test: KeyTest,
  key: KeyAttribute & { readonly isPartition: boolean },
  index: IndexSchema | undefined,
): void {
  for (const value of test.values) {
    if (typeOf(value) !== key.type) {
      throw invalidParameter("Condition parameter type does not match schema type");
    }
    if (index === undefined) requireKeySize(key.name, value, key.isPartition);
    else requireIndexKeys(index, { [key.name]: value });
  }
}

function sortRange({ operator, values }: KeyTest): Omit<KeyRange, "partition"> {
  const [first, second] = values.map(keyScalar);
  if (first === undefined) throw new TypeError("a key test without a value");
  const within = (test: (order: number) => boolean) => (key: RowKey) =>
    key.sort !== undefined && test(compareKeyScalars(key.sort, first));
  switch (operator) {
    case "=":
      return { low: first, high: first, holds: within((order) => order === 0) };
    case "<":
      return { low: undefined, high: first, holds: within((order) => order < 0) };
    case "<=":
      return { low: undefined, high: first, holds: within((order) => order <= 0) };
    case ">":
      return { low: first, high: undefined, holds: within((order) => order > 0) };
    case ">=":
      return { low: first, high: undefined, holds: within((order) => order >= 0) };
    case "between": {
      const high = second ?? first;
      return {
        low: first,
        high,
        holds: (key) =>
          key.sort !== undefined &&
          compareKeyScalars(key.sort, first) >= 0 &&
          compareKeyScalars(key.sort, high) <= 0,
      };
    }
    case "begins_with":
      // Everything with the prefix stands together, from the prefix on.
      return {
        low: first,
        high: undefined,
        holds: (key) => beginsWith(key.sort?.value, first.value),
      };
  }
}
