/**
 * Between the rows that callers see and the items that the engine keeps: keys (bare or as
 * objects), marshalling, and the table's validator. One per client; it holds options only.
 */
import { CorruptDataError, InvalidRequestError } from "../core/errors.ts";
import { sameKeyValue } from "../core/key-order.ts";
import type { AttributeValue, Item, TableDescription } from "../core/types.ts";
import {
  type MarshallContext,
  marshallItem,
  type MarshallOptions,
  marshallValue,
} from "./marshall.ts";
import { isPlainObject } from "./check-options.ts";
import type { AnyTable, RowOf, Validator, ValidatorIssue, ValidatorResult } from "./table.ts";
import { type NumberReader, numberReader, numberWriter, unmarshallItem } from "./unmarshall.ts";
import { type Numbers } from "./numbers.ts";

export class RowCodec {
  readonly #context: MarshallContext;
  readonly #readNumber: NumberReader;

  constructor(options: { readonly marshall: MarshallOptions; readonly numbers: Numbers }) {
    const special = numberWriter(options.numbers);
    this.#context = { ...options.marshall, ...(special === undefined ? {} : { special }) };
    this.#readNumber = numberReader(options.numbers);
  }

  /**
   * @param key a bare value, or an object; of an object only the key attributes count, so a row
   *   serves as its own key.
   * @throws InvalidRequestError naming the missing or unfit attribute.
   */
  key(table: AnyTable, description: TableDescription, key: unknown): Item {
    const names = keyNames(table, description);
    if (isPlainObject(key)) {
      return Object.fromEntries(
        names.map((name) => [name, this.keyValue(key[name], `key.${name}`)]),
      );
    }
    const [only, second] = names;
    if (only === undefined || second !== undefined) {
      throw new InvalidRequestError(
        "key",
        `a key of table ${table.name} is an object of ${names.join(" and ")}`,
      );
    }
    return { [only]: this.keyValue(key, `key.${only}`) };
  }

  /** @throws InvalidRequestError unless it is a string, a number or bytes. */
  keyValue(value: unknown, path: string): AttributeValue {
    if (value === undefined) throw new InvalidRequestError(path, `${path} is missing`);
    const marshalled = marshallValue(value, path, this.#context);
    if ("S" in marshalled || "N" in marshalled || "B" in marshalled) return marshalled;
    throw new InvalidRequestError(path, `${path} must be a string, a number or bytes`);
  }

  /**
   * A row to be stored, validated.
   * @throws InvalidRequestError when the validator refuses it or the marshaller cannot store it.
   */
  encode(table: AnyTable, row: object): Item {
    if (table.schema === undefined) return marshallItem(row, "item", this.#context);
    const result = validate(table.schema, row);
    if (result.issues !== undefined) throw refusal(table, result.issues);
    return marshallItem(result.value, "item", this.#context);
  }

  /**
   * As `encode`, for a row whose key is given beside it.
   * @throws InvalidRequestError also when item and key disagree, or the validator changed the key.
   */
  encodeAt(table: AnyTable, key: Item, item: object): Item {
    if (!isPlainObject(item) && table.schema !== undefined) {
      throw new InvalidRequestError("item", "a table with a schema takes plain objects");
    }
    const keyAttributes = unmarshallItem(key, this.#readNumber);
    const encoded =
      table.schema === undefined
        ? { ...key, ...marshallItem(item, "item", this.#context) }
        : this.encode(table, { ...keyAttributes, ...item });
    return agreeing(key, encoded);
  }

  /**
   * The stored item with the patch's attributes replaced, and those that are undefined in it
   * removed. Untouched attributes keep their stored form, every digit of a number included.
   */
  encodePatched(
    table: AnyTable,
    current: { readonly key: Item; readonly item: Item },
    patch: object,
  ): Item {
    const removed = Object.entries(patch).filter(([, value]) => value === undefined);
    const changed = marshallItem(patch, "patch", { ...this.#context, removeUndefinedValues: true });
    const merged: Record<string, AttributeValue> = { ...current.item, ...changed };
    for (const [name] of removed) Reflect.deleteProperty(merged, name);
    if (table.schema === undefined) return agreeing(current.key, merged);
    return this.encodeAt(table, current.key, unmarshallItem(merged, this.#readNumber));
  }

  /**
   * The row's type is the table definition's word, checked where the table validates reads.
   * @throws CorruptDataError where they are validated and the stored row does not pass.
   */
  decode<T extends AnyTable>(table: T, item: Item): RowOf<T> {
    const row = unmarshallItem(item, this.#readNumber);
    if (table.schema === undefined || !table.validateReads) return row as RowOf<T>;
    const result = validate(table.schema, row);
    if (result.issues === undefined) return result.value as RowOf<T>;
    throw new CorruptDataError(
      `a stored row of table ${table.name} does not fit its schema: ` +
        describeIssues(result.issues),
    );
  }
}

/**
 * The names of a table's key attributes, partition key first.
 * @throws InvalidRequestError when the definition names others than the registry.
 */
export function keyNames(table: AnyTable, { partitionKey, sortKey }: TableDescription): string[] {
  const registered =
    sortKey === undefined ? [partitionKey.name] : [partitionKey.name, sortKey.name];
  const defined = table.keyNames;
  if (defined !== undefined && defined.join("\n") !== registered.join("\n")) {
    throw new InvalidRequestError(
      "key",
      `table ${table.name} is defined with the key ${defined.join(", ")}` +
        ` and registered with ${registered.join(", ")}`,
    );
  }
  return registered;
}

/** For callers without types. @throws InvalidRequestError for no object, or an array. */
export function asObject(value: unknown, field: string): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new InvalidRequestError(field, `\`${field}\` must be an object`);
}

/** @throws InvalidRequestError unless the item carries exactly this key. */
function agreeing(key: Item, item: Item): Item {
  for (const [name, value] of Object.entries(key)) {
    const stored = item[name];
    if (stored === undefined || !sameKeyValue(value, stored)) {
      throw new InvalidRequestError(`item.${name}`, `item.${name} differs from the key`);
    }
  }
  return item;
}

function validate(schema: Validator<unknown, object>, row: object): ValidatorResult<object> {
  const result = schema["~standard"].validate(row);
  if (!("then" in result)) return result;
  // Nobody will await it: an unhandled rejection must not end the process.
  result.then(undefined, () => undefined);
  throw new InvalidRequestError(
    "schema",
    "the table's validator is asynchronous; writes need a synchronous one",
  );
}

function refusal(table: AnyTable, issues: readonly ValidatorIssue[]): InvalidRequestError {
  const path = pathOf(issues[0]);
  const message = `table ${table.name} refuses the row: ${describeIssues(issues)}`;
  return new InvalidRequestError(path === "" ? "item" : `item.${path}`, message);
}

function describeIssues(issues: readonly ValidatorIssue[]): string {
  return issues
    .map((issue) => [pathOf(issue), issue.message].filter((part) => part !== "").join(": "))
    .join("; ");
}

function pathOf(issue: ValidatorIssue | undefined): string {
  const keys = (issue?.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  return keys.map(String).join(".");
}
