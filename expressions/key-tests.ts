/** Key conditions of Query, as tests of single attributes. */
import type { AttributeValue, KeyAttribute } from "../core/types.ts";
import { typeOf } from "./attribute-values.ts";
import { bindCondition, type Condition, type Operand } from "./conditions.ts";
import {
  type IndexSchema,
  type KeySchema,
  requireIndexKeys,
  requireKeySize,
} from "./key-schema.ts";
import type { Placeholders } from "./placeholders.ts";
import { invalid, invalidParameter, missing } from "./refusals.ts";
import type { Comparator } from "./tree.ts";

export type KeyTest = {
  readonly name: string;
  readonly operator: Exclude<Comparator, "<>"> | "between" | "begins_with";
  readonly values: readonly AttributeValue[];
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

/** One partition, and what is asked of the sort keys in it. */
export type FittedTests = {
  readonly partition: AttributeValue;
  readonly sort: KeyTest | undefined;
};

/** @throws ServiceError when the tests do not fit the key of the table or the index. */
export function fitKeyTests(
  tests: readonly KeyTest[],
  schema: KeySchema,
  index: IndexSchema | undefined,
): FittedTests {
  const byName = new Map(tests.map((test) => [test.name, test]));
  const partitionTest = byName.get(schema.partition.name);
  const sort = schema.sort === undefined ? undefined : byName.get(schema.sort.name);
  if (partitionTest === undefined) throw missedKey(schema.partition.name);
  if (tests.length > 1 && schema.sort === undefined) {
    throw invalid("Query key condition not supported");
  }
  if (tests.length > 1 && sort === undefined) throw missedKey(schema.sort?.name ?? "");
  requireFitting(partitionTest, { ...schema.partition, isPartition: true }, index);
  const [partition] = partitionTest.values;
  if (partitionTest.operator !== "=" || partition === undefined) {
    throw invalid("Query key condition not supported");
  }
  if (sort !== undefined && schema.sort !== undefined) {
    requireFitting(sort, { ...schema.sort, isPartition: false }, index);
  }
  return { partition, sort };
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
