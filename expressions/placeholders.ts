/**
 * The names and values that an expression's placeholders stand for, and which of them were used.
 */
import { attribute } from "../core/attributes.ts";
import { attributeNameBytesMax } from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { utf8Length } from "../core/utf8.ts";
import { readValue } from "./attribute-values.ts";
import { invalid, malformed } from "./refusals.ts";
import { isReservedWord } from "./reserved-words.ts";
import { sentMembers } from "./sent-members.ts";
import { type ExpressionKind, invalidExpression } from "./tokens.ts";
import type { WrittenPath } from "./tree.ts";
import { listIndexMax } from "./limits.ts";

/** From an item to something in it: attribute names and indexes of lists. */
export type DocumentPath = readonly (string | number)[];

/** As requests of all operations have them. */
export type PlaceholderInput = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>> | undefined;
};

export class Placeholders {
  readonly #names: Readonly<Record<string, string>>;
  readonly #values: Item;
  readonly #unusedNames: Set<string>;
  readonly #unusedValues: Set<string>;

  /**
   * @param hasExpression whether the request has any expression, and one that may use values.
   * @throws ServiceError for placeholders that cannot be, or that nothing can use.
   */
  constructor(
    input: PlaceholderInput,
    hasExpression: { readonly any: boolean; readonly withValues: boolean },
  ) {
    const { ExpressionAttributeNames: givenNames, ExpressionAttributeValues: givenValues } = input;
    const names = givenNames && sentMembers(givenNames);
    const values = givenValues && sentMembers(givenValues);
    if (names !== undefined) {
      if (!hasExpression.any) {
        throw invalid("ExpressionAttributeNames can only be specified when using expressions");
      }
      checkKeys("ExpressionAttributeNames", Object.keys(names), /^#[0-9a-zA-Z_]+$/);
      for (const [key, name] of Object.entries(names)) checkName(key, name);
    }
    const read: Record<string, AttributeValue> = {};
    if (values !== undefined) {
      if (!hasExpression.withValues) {
        throw invalid("ExpressionAttributeValues can only be specified when using expressions");
      }
      checkKeys("ExpressionAttributeValues", Object.keys(values), /^:[0-9a-zA-Z_]+$/);
      for (const [name, value] of Object.entries(values)) read[name] = readValue(value);
    }
    this.#names = names ?? {};
    this.#values = read;
    this.#unusedNames = new Set(Object.keys(this.#names));
    this.#unusedValues = new Set(Object.keys(read));
  }

  path(kind: ExpressionKind, { steps }: WrittenPath): DocumentPath {
    return steps.map((step) => {
      switch (step.kind) {
        case "word":
          if (isReservedWord(step.text)) {
            throw invalidExpression(
              kind,
              `Attribute name is a reserved keyword; reserved keyword: ${step.text}`,
            );
          }
          return step.text;
        case "placeholder":
          return this.#name(kind, step.text);
        case "index":
          if (step.index > listIndexMax) {
            throw invalidExpression(
              kind,
              `List index is not within the allowable range; index: [${step.index.toString()}]`,
            );
          }
          return step.index;
      }
    });
  }

  value(kind: ExpressionKind, placeholder: string): AttributeValue {
    const value = attribute(this.#values, placeholder);
    if (value === undefined) {
      throw invalidExpression(
        kind,
        "An expression attribute value used in expression is not defined; attribute value: " +
          placeholder,
      );
    }
    this.#unusedValues.delete(placeholder);
    return value;
  }

  /**
   * After all expressions of a request are bound.
   * @throws ServiceError when something was not used.
   */
  requireAllUsed(): void {
    requireNone("ExpressionAttributeNames", this.#unusedNames);
    requireNone("ExpressionAttributeValues", this.#unusedValues);
  }

  #name(kind: ExpressionKind, placeholder: string): string {
    const name = Object.hasOwn(this.#names, placeholder) ? this.#names[placeholder] : undefined;
    if (name === undefined) {
      throw invalidExpression(
        kind,
        "An expression attribute name used in the document path is not defined; attribute name: " +
          placeholder,
      );
    }
    this.#unusedNames.delete(placeholder);
    return name;
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

function checkKeys(parameter: string, keys: readonly string[], pattern: RegExp): void {
  if (keys.length === 0) throw invalid(`${parameter} must not be empty`);
  for (const key of keys) {
    if (pattern.test(key)) continue;
    throw invalid(`${parameter} contains invalid key: Syntax error; key: "${key}"`);
  }
}

function checkName(key: string, name: unknown): void {
  if (typeof name !== "string") throw malformed("Unexpected value type, expected a string");
  const length = utf8Length(name);
  if (length > 0 && length <= attributeNameBytesMax) return;
  const why = length === 0 ? "Empty attribute name" : "Attribute name is too large";
  throw invalid(`ExpressionAttributeNames contains invalid value: ${why} for key ${key}`);
}

function requireNone(parameter: string, unused: ReadonlySet<string>): void {
  if (unused.size === 0) return;
  const keys = [...unused].join(", ");
  throw invalid(`Value provided in ${parameter} unused in expressions: keys: {${keys}}`);
}

/** As the service prints paths: `[m, [0]]`. */
export function pathText(path: DocumentPath): string {
  const steps = path.map((step) => (typeof step === "number" ? `[${step.toString()}]` : step));
  return `[${steps.join(", ")}]`;
}

/** What stands at the path, or undefined. */
export function valueAt(item: Item, path: DocumentPath): AttributeValue | undefined {
  const [first, ...rest] = path;
  let value = typeof first === "string" ? attribute(item, first) : undefined;
  for (const step of rest) value = stepInto(value, step);
  return value;
}

function stepInto(
  value: AttributeValue | undefined,
  step: string | number,
): AttributeValue | undefined {
  if (value === undefined) return undefined;
  if (typeof step === "number") return "L" in value ? value.L[step] : undefined;
  return "M" in value ? attribute(value.M, step) : undefined;
}
