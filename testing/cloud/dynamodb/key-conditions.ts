/** Key conditions of Query: one partition, and at most one range of sort keys in it. */
import type { AttributeValue, KeyAttribute } from "../../../core/types.ts";
import { typeOf } from "./attribute-values.ts";
import { beginsWith, bindCondition, type Condition, type Operand } from "./conditions.ts";
import type { Comparator } from "./expression-tree.ts";
import { invalid, invalidParameter } from "./failures.ts";
import { compareKeyScalars, keyScalar, type KeyScalar } from "./key-scalar.ts";
import type { Placeholders } from "./placeholders.ts";
import { missing } from "./requests.ts";
import type { RowKey } from "./ordered-rows.ts";
import {
  requireIndexKeys,
  requireKeySize,
  type IndexSchema,
  type KeySchema,
} from "./table-schema.ts";

type KeyTest = {
  readonly name: string;
  readonly operator: Exclude<Comparator, "<>"> | "between" | "begins_with";
  readonly values: readonly AttributeValue[];
};

export type KeyRange = {
  readonly partition: KeyScalar;
  /** Where the range begins and ends; undefined: open. */
  readonly low: KeyScalar | undefined;
  readonly high: KeyScalar | undefined;
  /** Decides exactly, within low and high. */
  readonly holds: (key: RowKey) => boolean;
};

/** What the expression says by itself, before the table is known. @throws ServiceError. */
export function bindKeyTests(
  placeholders: Placeholders,
  text: string | undefined,
): readonly KeyTest[] {
  const condition = bindCondition(placeholders, "KeyConditionExpression", text);
  if (condition === undefined) throw missing("KeyConditionExpression");
  const tests = conjuncts(condition).map(keyTest);
  if (new Set(tests.map(({ name }) => name)).size < tests.length) {
    throw invalid("KeyConditionExpressions must only contain one condition per key");
  }
  if (tests.length > 2) throw invalid("Conditions can be of length 1 or 2 only");
  return tests;
}

function conjuncts(condition: Condition): readonly Condition[] {
  if (condition.kind !== "and") return [condition];
  return [...conjuncts(condition.left), ...conjuncts(condition.right)];
}

const mirrored = { "=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

function keyTest(condition: Condition): KeyTest {
  switch (condition.kind) {
    case "comparison": {
      const { operator, left, right } = condition;
      if (operator === "<>") throw invalidOperator(operator);
      if (right.kind === "path" && left.kind === "value") {
        return { name: keyName(right), operator: mirrored[operator], values: [left.value] };
      }
      return { name: keyName(left), operator, values: [keyValue(right)] };
    }
    case "between": {
      const { operand, low, high } = condition;
      return { name: keyName(operand), operator: "between", values: [low, high].map(keyValue) };
    }
    case "begins_with": {
      const { operand, part } = condition;
      return { name: keyName(operand), operator: "begins_with", values: [keyValue(part)] };
    }
    case "exists":
      throw invalidOperator(condition.wanted ? "attribute_exists" : "attribute_not_exists");
    case "type":
      throw invalidOperator("attribute_type");
    case "contains":
      throw invalidOperator("contains");
    default:
      throw invalidOperator(condition.kind.toUpperCase());
  }
}

function invalidOperator(operator: string): Error {
  return invalid(`Invalid operator used in KeyConditionExpression: ${operator}`);
}

function keyName(operand: Operand): string {
  if (operand.kind === "size") {
    throw invalid("KeyConditionExpressions cannot contain nested operations");
  }
  if (operand.kind === "value") {
    throw invalid("Invalid condition in KeyConditionExpression: No key attribute specified");
  }
  const [name] = operand.path;
  if (operand.path.length > 1 || typeof name !== "string") {
    throw invalid("KeyConditionExpressions cannot have conditions on nested attributes");
  }
  return name;
}

function keyValue(operand: Operand): AttributeValue {
  if (operand.kind === "value") return operand.value;
  throw invalid(
    operand.kind === "size"
      ? "KeyConditionExpressions cannot contain nested operations"
      : "Invalid condition in KeyConditionExpression: Multiple attribute names used in one " +
          "condition",
  );
}

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
