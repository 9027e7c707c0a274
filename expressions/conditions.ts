/**
 * Conditions with their placeholders replaced: checked as DynamoDB checks operands before it looks
 * at any item, and whether an item meets them.
 */
import { valueTypes, type ValueType } from "../core/attributes.ts";
import { assertNever } from "../core/assert.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { compareBytes } from "../core/utf8.ts";
import {
  compareValues,
  includesText,
  indexOfBytes,
  typeOf,
  valuesEqual,
} from "./attribute-values.ts";
import { parseCondition } from "./parser.ts";
import { type DocumentPath, pathText, type Placeholders, valueAt } from "./placeholders.ts";
import { type ExpressionKind, invalidExpression } from "./tokens.ts";
import type { Comparator, WrittenCall, WrittenCondition, WrittenOperand } from "./tree.ts";
import { inCandidatesMax } from "./limits.ts";

export type Operand =
  | { readonly kind: "path"; readonly path: DocumentPath }
  | { readonly kind: "value"; readonly value: AttributeValue }
  | { readonly kind: "size"; readonly of: Operand };

export type Condition =
  | {
      readonly kind: "comparison";
      readonly operator: Comparator;
      readonly left: Operand;
      readonly right: Operand;
    }
  | {
      readonly kind: "between";
      readonly operand: Operand;
      readonly low: Operand;
      readonly high: Operand;
    }
  | { readonly kind: "in"; readonly operand: Operand; readonly candidates: readonly Operand[] }
  | { readonly kind: "exists"; readonly path: DocumentPath; readonly wanted: boolean }
  | { readonly kind: "type"; readonly operand: Operand; readonly type: string }
  | {
      readonly kind: "begins_with" | "contains";
      readonly operand: Operand;
      readonly part: Operand;
    }
  | { readonly kind: "and" | "or"; readonly left: Condition; readonly right: Condition }
  | { readonly kind: "not"; readonly condition: Condition };

const ordered: readonly ValueType[] = ["S", "N", "B"];

/** Undefined for a request without that expression. @throws ServiceError. */
export function bindCondition(
  placeholders: Placeholders,
  kind: ExpressionKind,
  text: string | undefined,
): Condition | undefined {
  if (text === undefined) return undefined;
  return new Binder(placeholders, kind).condition(parseCondition(text, kind));
}

class Binder {
  readonly #placeholders: Placeholders;
  readonly #kind: ExpressionKind;

  constructor(placeholders: Placeholders, kind: ExpressionKind) {
    this.#placeholders = placeholders;
    this.#kind = kind;
  }

  condition(written: WrittenCondition): Condition {
    switch (written.kind) {
      case "and":
      case "or": {
        const { kind } = written;
        return { kind, left: this.condition(written.left), right: this.condition(written.right) };
      }
      case "not":
        return { kind: "not", condition: this.condition(written.condition) };
      case "call":
        return this.#function(written);
      case "comparison": {
        const { operator } = written;
        const [left, right] = [this.#operand(written.left), this.#operand(written.right)];
        this.#requireDistinct(operator, left, [right]);
        if (operator !== "=" && operator !== "<>") this.#requireTypes(operator, [left, right]);
        return { kind: "comparison", operator, left, right };
      }
      case "between":
        return this.#between(written);
      case "in": {
        const operand = this.#operand(written.operand);
        const candidates = written.candidates.map((each) => this.#operand(each));
        this.#requireDistinct("IN", operand, candidates);
        if (candidates.length > inCandidatesMax) this.#failCount("IN", candidates.length);
        return { kind: "in", operand, candidates };
      }
      default:
        return assertNever(written);
    }
  }

  #between(written: Extract<WrittenCondition, { kind: "between" }>): Condition {
    const operand = this.#operand(written.operand);
    const [low, high] = [this.#operand(written.low), this.#operand(written.high)];
    this.#requireDistinct("BETWEEN", operand, [low, high]);
    this.#requireTypes("BETWEEN", [operand, low, high]);
    if (low.kind === "value" && high.kind === "value") {
      const order = compareValues(low.value, high.value);
      const bounds =
        `lower bound operand: AttributeValue: ${valueText(low.value)}, ` +
        `upper bound operand: AttributeValue: ${valueText(high.value)}`;
      if (order === undefined) {
        this.#fail(
          `The BETWEEN operator requires same data type for lower and upper bounds; ${bounds}`,
        );
      } else if (order > 0) {
        this.#fail(
          "The BETWEEN operator requires upper bound to be greater than or equal to lower " +
            `bound; ${bounds}`,
        );
      }
    }
    return { kind: "between", operand, low, high };
  }

  #function({ name, operands }: WrittenCall): Condition {
    const bound = operands.map((each) => this.#operand(each));
    const [first, second] = bound;
    if (name === "size") {
      return this.#fail(
        `The function is not allowed to be used this way in an expression; function: ${name}`,
      );
    }
    const count = name.startsWith("attribute_") && name !== "attribute_type" ? 1 : 2;
    if (first === undefined || bound.length !== count) return this.#failCount(name, bound.length);
    if (second === undefined) {
      if (first.kind !== "path") {
        this.#fail(`Operator or function requires a document path; operator or function: ${name}`);
      }
      return { kind: "exists", path: first.path, wanted: name === "attribute_exists" };
    }
    this.#requireDistinct(name, first, [second]);
    if (name === "attribute_type") return this.#typeCondition(first, second);
    if (name === "begins_with") {
      for (const operand of bound) {
        const type = staticType(operand);
        if (type !== undefined && type !== "S" && type !== "B") this.#failType(name, type);
      }
      return { kind: "begins_with", operand: first, part: second };
    }
    return { kind: "contains", operand: first, part: second };
  }

  #typeCondition(operand: Operand, type: Operand): Condition {
    if (type.kind !== "value" || !("S" in type.value)) {
      const found = staticType(type) ?? `{${valueTypes.join(",")}}`;
      return this.#failType("attribute_type", found);
    }
    const name = type.value.S;
    if (!(valueTypes as readonly string[]).includes(name)) {
      this.#fail(
        `Invalid attribute type name found; type: ${name}, valid types: {${valueTypes.join(",")}}`,
      );
    }
    return { kind: "type", operand, type: name };
  }

  #operand(written: WrittenOperand): Operand {
    switch (written.kind) {
      case "path":
        return { kind: "path", path: this.#placeholders.path(this.#kind, written) };
      case "value":
        return { kind: "value", value: this.#placeholders.value(this.#kind, written.placeholder) };
      case "call":
        return this.#size(written);
      case "arithmetic":
        return this.#fail("Syntax error; arithmetic in a condition");
      default:
        return assertNever(written);
    }
  }

  #size({ name, operands }: WrittenCall): Operand {
    const [operand] = operands;
    if (name !== "size") {
      return this.#fail(
        `The function is not allowed to be used this way in an expression; function: ${name}`,
      );
    }
    if (operand === undefined || operands.length !== 1) {
      return this.#failCount(name, operands.length);
    }
    const of = this.#operand(operand);
    const type = staticType(of);
    if (type === "N" || type === "BOOL" || type === "NULL") this.#failType(name, type);
    return { kind: "size", of };
  }

  #requireDistinct(operator: string, first: Operand, others: readonly Operand[]): void {
    if (first.kind !== "path") return;
    const text = pathText(first.path);
    for (const other of others) {
      if (other.kind !== "path" || pathText(other.path) !== text) continue;
      this.#fail(
        "The first operand must be distinct from the remaining operands for this operator or " +
          "function; " +
          `operator: ${operator}, first operand: ${text}`,
      );
    }
  }

  /** Only texts, numbers and binaries have an order. */
  #requireTypes(operator: string, operands: readonly Operand[]): void {
    for (const operand of operands) {
      const type = staticType(operand);
      if (type !== undefined && !ordered.includes(type)) this.#failType(operator, type);
    }
  }

  #failType(operator: string, type: string): never {
    return this.#fail(
      "Incorrect operand type for operator or function; " +
        `operator or function: ${operator}, operand type: ${type}`,
    );
  }

  #failCount(operator: string, count: number): never {
    return this.#fail(
      "Incorrect number of operands for operator or function; " +
        `operator or function: ${operator}, number of operands: ${count.toString()}`,
    );
  }

  #fail(detail: string): never {
    throw invalidExpression(this.#kind, detail);
  }
}

function staticType(operand: Operand): ValueType | undefined {
  if (operand.kind === "size") return "N";
  return operand.kind === "value" ? typeOf(operand.value) : undefined;
}

/** As the service prints values in messages: `{N:6}`. */
function valueText(value: AttributeValue): string {
  if ("S" in value) return `{S:${value.S}}`;
  return "N" in value ? `{N:${value.N}}` : `{${typeOf(value)}}`;
}

/** Whether the item meets the condition; no item is an item without attributes. */
export function meets(condition: Condition | undefined, item: Item): boolean {
  if (condition === undefined) return true;
  switch (condition.kind) {
    case "and":
      return meets(condition.left, item) && meets(condition.right, item);
    case "or":
      return meets(condition.left, item) || meets(condition.right, item);
    case "not":
      return !meets(condition.condition, item);
    case "exists":
      return (valueAt(item, condition.path) !== undefined) === condition.wanted;
    case "comparison": {
      const [left, right] = [resolve(condition.left, item), resolve(condition.right, item)];
      return compares(condition.operator, left, right);
    }
    case "between": {
      const value = resolve(condition.operand, item);
      const [low, high] = [resolve(condition.low, item), resolve(condition.high, item)];
      return compares(">=", value, low) && compares("<=", value, high);
    }
    case "in": {
      const value = resolve(condition.operand, item);
      return condition.candidates.some((each) => compares("=", value, resolve(each, item)));
    }
    case "type": {
      const value = resolve(condition.operand, item);
      return value !== undefined && typeOf(value) === condition.type;
    }
    case "begins_with":
      return beginsWith(resolve(condition.operand, item), resolve(condition.part, item));
    case "contains":
      return contains(resolve(condition.operand, item), resolve(condition.part, item));
    default:
      return assertNever(condition);
  }
}

function resolve(operand: Operand, item: Item): AttributeValue | undefined {
  switch (operand.kind) {
    case "value":
      return operand.value;
    case "path":
      return valueAt(item, operand.path);
    case "size": {
      const value = resolve(operand.of, item);
      const size = value === undefined ? undefined : sizeOf(value);
      return size === undefined ? undefined : { N: size.toString() };
    }
  }
}

/** Undefined for the types that have no size. */
function sizeOf(value: AttributeValue): number | undefined {
  // In UTF-16 units: as measured, the documentation says only "length".
  if ("S" in value) return value.S.length;
  if ("B" in value) return value.B.length;
  if ("SS" in value) return value.SS.length;
  if ("NS" in value) return value.NS.length;
  if ("BS" in value) return value.BS.length;
  if ("L" in value) return value.L.length;
  return "M" in value ? Object.keys(value.M).length : undefined;
}

/** With something that is not there no comparison holds, except that it differs from everything. */
function compares(
  operator: Comparator,
  left: AttributeValue | undefined,
  right: AttributeValue | undefined,
): boolean {
  if (left === undefined || right === undefined) return operator === "<>";
  if (operator === "=") return valuesEqual(left, right);
  if (operator === "<>") return !valuesEqual(left, right);
  const order = compareValues(left, right);
  if (order === undefined) return false;
  switch (operator) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}

export function beginsWith(
  value: AttributeValue | undefined,
  part: AttributeValue | undefined,
): boolean {
  if (value === undefined || part === undefined) return false;
  if ("S" in value && "S" in part) return value.S.startsWith(part.S);
  if (!("B" in value && "B" in part) || value.B.length < part.B.length) return false;
  return compareBytes(value.B.subarray(0, part.B.length), part.B) === 0;
}

function contains(value: AttributeValue | undefined, part: AttributeValue | undefined): boolean {
  if (value === undefined || part === undefined) return false;
  if ("L" in value) return value.L.some((element) => valuesEqual(element, part));
  if ("S" in part) {
    if ("S" in value) return includesText(value.S, part.S);
    return "SS" in value && value.SS.includes(part.S);
  }
  if ("N" in part) return "NS" in value && value.NS.includes(part.N);
  if (!("B" in part)) return false;
  const { B } = part;
  if ("B" in value) return indexOfBytes(value.B, B) >= 0;
  return "BS" in value && value.BS.some((member) => compareBytes(member, B) === 0);
}

/** Every path that the condition names. */
export function pathsOf(condition: Condition | undefined): readonly DocumentPath[] {
  if (condition === undefined) return [];
  switch (condition.kind) {
    case "and":
    case "or":
      return [...pathsOf(condition.left), ...pathsOf(condition.right)];
    case "not":
      return pathsOf(condition.condition);
    case "exists":
      return [condition.path];
    case "comparison":
      return [...operandPaths(condition.left), ...operandPaths(condition.right)];
    case "between":
      return [condition.operand, condition.low, condition.high].flatMap(operandPaths);
    case "in":
      return [condition.operand, ...condition.candidates].flatMap(operandPaths);
    case "type":
      return operandPaths(condition.operand);
    case "begins_with":
    case "contains":
      return [...operandPaths(condition.operand), ...operandPaths(condition.part)];
    default:
      return assertNever(condition);
  }
}

function operandPaths(operand: Operand): readonly DocumentPath[] {
  if (operand.kind === "path") return [operand.path];
  return operand.kind === "size" ? operandPaths(operand.of) : [];
}
