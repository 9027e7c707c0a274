/** Key conditions of Query, as tests of single attributes. */
import type { AttributeValue } from "../core/types.ts";
import { bindCondition, type Condition, type Operand } from "./conditions.ts";
import type { Placeholders } from "./placeholders.ts";
import { invalid, missing } from "./refusals.ts";
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
