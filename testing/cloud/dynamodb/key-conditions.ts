/** Key conditions of Query: one partition, and at most one range of sort keys in it. */
import { beginsWith } from "../../../expressions/conditions.ts";
import type { IndexSchema, KeySchema } from "../../../expressions/key-schema.ts";
import { fitKeyTests, type KeyTest } from "../../../expressions/key-tests.ts";
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
  const { partition: value, sort } = fitKeyTests(tests, schema, index);
  const partition = keyScalar(value);
  if (sort === undefined) return { partition, low: undefined, high: undefined, holds: () => true };
  return { partition, ...sortRange(sort) };
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
