/**
 * Update expressions: what they do to an item. All operands are read from the item as it was;
 * stored values are never changed, the parts on the way to a change are copied.
 */
import { setAttribute, type ValueType } from "../core/attributes.ts";
import { assertNever } from "../core/assert.ts";
import { compareNumbers } from "../core/decimal.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { compareBytes, compareUtf8 } from "../core/utf8.ts";
import { typeOf } from "./attribute-values.ts";
import { addNumbers, subtractNumbers } from "./decimal-arithmetic.ts";
import { parseUpdate } from "./parser.ts";
import { type DocumentPath, pathText, type Placeholders, valueAt } from "./placeholders.ts";
import { requireApart } from "./projections.ts";
import { invalid } from "./refusals.ts";
import { invalidExpression } from "./tokens.ts";
import type { UpdateAction, WrittenCall, WrittenOperand } from "./tree.ts";

type Operand =
  | { readonly kind: "path"; readonly path: DocumentPath }
  | { readonly kind: "value"; readonly value: AttributeValue }
  | { readonly kind: "if_not_exists"; readonly path: DocumentPath; readonly otherwise: Operand }
  | { readonly kind: "list_append"; readonly first: Operand; readonly second: Operand }
  | {
      readonly kind: "arithmetic";
      readonly operator: "+" | "-";
      readonly left: Operand;
      readonly right: Operand;
    };

export type Update = {
  readonly action: UpdateAction;
  readonly path: DocumentPath;
  readonly operand: Operand | undefined;
};

const kind = "UpdateExpression";

/** @throws ServiceError. */
export function bindUpdate(placeholders: Placeholders, text: string): readonly Update[] {
  const updates = parseUpdate(text, kind).map((written): Update => {
    const path = placeholders.path(kind, written.path);
    const operand =
      written.operand === undefined ? undefined : bindOperand(placeholders, written.operand);
    checkSetOperand(written.action, operand);
    return { action: written.action, path, operand };
  });
  requireApart(
    kind,
    updates.map(({ path }) => path),
  );
  return updates;
}

const longTypeNames: Record<ValueType, string> = {
  S: "STRING",
  N: "NUMBER",
  B: "BINARY",
  BOOL: "BOOLEAN",
  NULL: "NULL",
  L: "LIST",
  M: "MAP",
  SS: "STRING_SET",
  NS: "NUMBER_SET",
  BS: "BINARY_SET",
};

function checkSetOperand(action: UpdateAction, operand: Operand | undefined): void {
  if ((action !== "ADD" && action !== "DELETE") || operand?.kind !== "value") return;
  const type = typeOf(operand.value);
  if (type === "SS" || type === "NS" || type === "BS") return;
  if (action === "ADD" && type === "N") return;
  throw invalidExpression(
    kind,
    `Incorrect operand type for operator or function; operator: ${action}, ` +
      `operand type: ${longTypeNames[type]}, typeSet: ALLOWED_FOR_${action}_OPERAND`,
  );
}

function bindOperand(placeholders: Placeholders, written: WrittenOperand): Operand {
  switch (written.kind) {
    case "path":
      return { kind: "path", path: placeholders.path(kind, written) };
    case "value":
      return { kind: "value", value: placeholders.value(kind, written.placeholder) };
    case "arithmetic": {
      const { operator } = written;
      const left = bindOperand(placeholders, written.left);
      const right = bindOperand(placeholders, written.right);
      requireType(operator, [left, right], "N");
      return { kind: "arithmetic", operator, left, right };
    }
    case "call":
      return bindCall(placeholders, written);
    default:
      return assertNever(written);
  }
}

function bindCall(placeholders: Placeholders, { name, operands }: WrittenCall): Operand {
  const [first, second] = operands.map((operand) => bindOperand(placeholders, operand));
  if (first === undefined || second === undefined || operands.length !== 2) {
    throw invalidExpression(
      kind,
      "Incorrect number of operands for operator or function; " +
        `operator or function: ${name}, number of operands: ${operands.length.toString()}`,
    );
  }
  if (first.kind === "list_append" || second.kind === "list_append") {
    throw invalidExpression(
      kind,
      "The function is not allowed to be used this way in an expression; function: list_append",
    );
  }
  if (name === "list_append") {
    requireType(name, [first, second], "L");
    return { kind: "list_append", first, second };
  }
  if (first.kind !== "path") {
    throw invalidExpression(
      kind,
      `Operator or function requires a document path; operator or function: ${name}`,
    );
  }
  if (second.kind === "path" && pathText(second.path) === pathText(first.path)) {
    throw invalidExpression(
      kind,
      "The first operand must be distinct from the remaining operands for this operator or " +
        "function; " +
        `operator: ${name}, first operand: ${pathText(first.path)}`,
    );
  }
  return { kind: "if_not_exists", path: first.path, otherwise: second };
}

function requireType(operator: string, operands: readonly Operand[], wanted: ValueType): void {
  for (const operand of operands) {
    const type = staticType(operand);
    if (type === undefined || type === wanted) continue;
    throw invalidExpression(
      kind,
      "Incorrect operand type for operator or function; " +
        `operator or function: ${operator}, operand type: ${type}`,
    );
  }
}

function staticType(operand: Operand): ValueType | undefined {
  if (operand.kind === "value") return typeOf(operand.value);
  if (operand.kind === "arithmetic") return "N";
  return operand.kind === "list_append" ? "L" : undefined;
}

/** Paths that updates read from. */
export function operandPaths(updates: readonly Update[]): readonly DocumentPath[] {
  return updates.flatMap(({ operand }) => (operand === undefined ? [] : pathsIn(operand)));
}

function pathsIn(operand: Operand): readonly DocumentPath[] {
  switch (operand.kind) {
    case "path":
      return [operand.path];
    case "value":
      return [];
    case "if_not_exists":
      return [operand.path, ...pathsIn(operand.otherwise)];
    case "list_append":
      return [...pathsIn(operand.first), ...pathsIn(operand.second)];
    case "arithmetic":
      return [...pathsIn(operand.left), ...pathsIn(operand.right)];
    default:
      return assertNever(operand);
  }
}

type Change =
  | { readonly kind: "set"; readonly value: AttributeValue }
  | { readonly kind: "remove" }
  | { readonly kind: "within"; readonly steps: Map<string | number, Change> };

/** The item after the update. @throws ServiceError when the item is not as the update needs it. */
export function applyUpdates(item: Item, updates: readonly Update[]): Item {
  const root: Change = { kind: "within", steps: new Map() };
  for (const update of updates) {
    let at = root.steps;
    for (const step of update.path.slice(0, -1)) {
      let next = at.get(step);
      if (next?.kind !== "within") {
        next = { kind: "within", steps: new Map() };
        at.set(step, next);
      }
      at = next.steps;
    }
    const last = update.path.at(-1);
    if (last !== undefined) at.set(last, changeOf(item, update));
  }
  return changeMap(item, root.steps);
}

function changeOf(item: Item, { action, path, operand }: Update): Change {
  if (operand === undefined) return { kind: "remove" };
  const value = evaluate(operand, item);
  const before = valueAt(item, path);
  switch (action) {
    case "SET":
      return { kind: "set", value };
    case "ADD":
      return { kind: "set", value: before === undefined ? value : added(before, value) };
    case "DELETE": {
      if (before === undefined) return { kind: "remove" };
      const rest = withoutMembers(before, value);
      return rest === undefined ? { kind: "remove" } : { kind: "set", value: rest };
    }
    case "REMOVE":
      return { kind: "remove" };
    default:
      return assertNever(action);
  }
}

function changeMap(map: Item, steps: ReadonlyMap<string | number, Change>): Item {
  const changed: Record<string, AttributeValue> = { ...map };
  for (const [step, change] of steps) {
    if (typeof step === "number") throw invalidPath();
    if (change.kind === "remove") {
      // The copy is this function's own, and names are the user's.
      Reflect.deleteProperty(changed, step);
      continue;
    }
    setAttribute(changed, step, changedValue(valueAt(map, [step]), change));
  }
  return changed;
}

function changeList(
  list: readonly AttributeValue[],
  steps: ReadonlyMap<string | number, Change>,
): readonly AttributeValue[] {
  const indexes = [...steps.keys()];
  if (indexes.some((step) => typeof step === "string")) throw invalidPath();
  const changed: AttributeValue[] = [];
  list.forEach((element, index) => {
    const change = steps.get(index);
    if (change === undefined) changed.push(element);
    else if (change.kind !== "remove") changed.push(changedValue(element, change));
  });
  // What is set behind the end is appended, in the order of the indexes.
  const behind = indexes.filter((step) => typeof step === "number" && step >= list.length);
  behind.sort((a, b) => Number(a) - Number(b));
  for (const index of behind) {
    const change = steps.get(index);
    if (change === undefined || change.kind === "remove") continue;
    changed.push(changedValue(undefined, change));
  }
  return changed;
}

function changedValue(
  value: AttributeValue | undefined,
  change: Exclude<Change, { kind: "remove" }>,
): AttributeValue {
  if (change.kind === "set") return change.value;
  if (value !== undefined && "M" in value) return { M: changeMap(value.M, change.steps) };
  if (value !== undefined && "L" in value) return { L: changeList(value.L, change.steps) };
  throw invalidPath();
}

function evaluate(operand: Operand, item: Item): AttributeValue {
  switch (operand.kind) {
    case "value":
      return operand.value;
    case "path": {
      const value = valueAt(item, operand.path);
      if (value !== undefined) return value;
      throw invalid(
        "The provided expression refers to an attribute that does not exist in the item",
      );
    }
    case "if_not_exists": {
      // The other operand must exist even where it is not needed, as DynamoDB Local has it.
      const otherwise = evaluate(operand.otherwise, item);
      return valueAt(item, operand.path) ?? otherwise;
    }
    case "list_append": {
      const [first, second] = [evaluate(operand.first, item), evaluate(operand.second, item)];
      if (!("L" in first && "L" in second)) throw wrongType();
      return { L: [...first.L, ...second.L] };
    }
    case "arithmetic": {
      const [left, right] = [evaluate(operand.left, item), evaluate(operand.right, item)];
      if (!("N" in left && "N" in right)) throw wrongType();
      const sum = operand.operator === "+" ? addNumbers : subtractNumbers;
      return { N: sum(left.N, right.N) };
    }
    default:
      return assertNever(operand);
  }
}

function added(before: AttributeValue, value: AttributeValue): AttributeValue {
  if ("N" in before && "N" in value) return { N: addNumbers(before.N, value.N) };
  if ("SS" in before && "SS" in value) return { SS: union(before.SS, value.SS, compareUtf8) };
  if ("NS" in before && "NS" in value) return { NS: union(before.NS, value.NS, compareNumbers) };
  if ("BS" in before && "BS" in value) return { BS: union(before.BS, value.BS, compareBytes) };
  throw wrongType();
}

/** Undefined when no member is left: DynamoDB has no empty sets. */
function withoutMembers(before: AttributeValue, value: AttributeValue): AttributeValue | undefined {
  if ("SS" in before && "SS" in value) {
    const SS = difference(before.SS, value.SS, compareUtf8);
    return SS.length === 0 ? undefined : { SS };
  }
  if ("NS" in before && "NS" in value) {
    const NS = difference(before.NS, value.NS, compareNumbers);
    return NS.length === 0 ? undefined : { NS };
  }
  if ("BS" in before && "BS" in value) {
    const BS = difference(before.BS, value.BS, compareBytes);
    return BS.length === 0 ? undefined : { BS };
  }
  throw wrongType();
}

function union<Member>(
  a: readonly Member[],
  b: readonly Member[],
  compare: (x: Member, y: Member) => number,
): readonly Member[] {
  return [...a, ...difference(b, a, compare)].sort(compare);
}

function difference<Member>(
  from: readonly Member[],
  taken: readonly Member[],
  compare: (x: Member, y: Member) => number,
): readonly Member[] {
  // Each with each would take minutes, where both are as large as an item may be.
  const sorted = taken.toSorted(compare);
  return from.filter((member) => !includes(sorted, member, compare));
}

function includes<Member>(
  sorted: readonly Member[],
  wanted: Member,
  compare: (x: Member, y: Member) => number,
): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compare(sorted[middle] as Member, wanted);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

function wrongType(): Error {
  return invalid("An operand in the update expression has an incorrect data type");
}

function invalidPath(): Error {
  return invalid("The document path provided in the update expression is invalid for update");
}
