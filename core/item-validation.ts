/**
 * Refuses, before anything is sent, what DynamoDB would refuse when a committed write is installed:
 * after the commit it would be too late. Every refusal names the field, the limit and the remedy.
 */
import { attribute, isReserved, valueTypeOf, type ValueType } from "./attributes.ts";
import { canonicalNumber } from "./decimal.ts";
import { InvalidRequestError, TransactionTooLargeError } from "./errors.ts";
import { itemSizeBytes } from "./item-size.ts";
import * as limits from "./limits.ts";
import type { AttributeValue, Item, KeyAttribute, TableDescription } from "./types.ts";
import { isWellFormed, utf8Length } from "./utf8.ts";

/**
 * Checks that the key has exactly the table's key attributes, each of its type, not empty and
 * within its limit.
 * @throws InvalidRequestError.
 */
export function validateKey(table: TableDescription, key: Item): void {
  validateKeyAttributes(table, key);
  for (const name of Object.keys(key)) {
    if (name === table.partitionKey.name || name === table.sortKey?.name) continue;
    const names = keyNames(table).join(" and ");
    throw invalid(name, `is no key attribute of table ${table.name}; a key has ${names} only`);
  }
}

/**
 * Checks a whole item: its key, every name and value, and its size with the attributes that
 * Tidemark adds.
 * @throws InvalidRequestError, TransactionTooLargeError (the item alone exceeds `itemBytesMax`).
 */
export function validateItem(table: TableDescription, item: Item): void {
  validateKeyAttributes(table, item);
  validateIndexKeys(table, item);
  validateMap(item, "", 1);
  for (const name of Object.keys(item)) {
    if (isReserved(name)) throw invalid(name, "is reserved by Tidemark; give it another name");
  }
  const actual = itemSizeBytes(item) + limits.reservedAttributeBytes;
  const max = limits.itemBytesMax;
  if (actual <= max) return;
  throw new TransactionTooLargeError(
    `an item of table ${table.name} takes ${actual} bytes with the attributes that ` +
      `Tidemark adds, above DynamoDB's ${max}; store large parts elsewhere`,
    { name: "itemBytesMax", max, actual },
  );
}

/**
 * Checks the key of a delete: its tombstone stands in indexes like an item does.
 * @throws InvalidRequestError.
 */
export function validateDeletedKey(table: TableDescription, key: Item): void {
  validateKey(table, key);
  validateIndexKeys(table, key);
}

/**
 * Checks a value that is kept so deep in an item.
 * @throws InvalidRequestError
 */
export function validateKept(value: AttributeValue, field: string, depth: number): void {
  validateValue(value, field, depth);
}

/** Checks one value in itself. @param field names the value in errors. */
function validateValue(value: unknown, field: string, level: number): void {
  if (level > limits.itemDepthMax) {
    throw invalid(field, `nests deeper than ${limits.itemDepthMax} levels; flatten it`);
  }
  const type = typeof value === "object" && value !== null ? valueTypeOf(value) : undefined;
  const content = type && (value as Record<string, unknown>)[type];
  if (type === undefined || !fits(type, content)) {
    throw invalid(
      field,
      "must be an object with exactly one of S, N, B, BOOL, NULL, L, M, SS, NS, BS, and in it " +
        "what belongs to that type",
    );
  }
  if (typeof content === "string") {
    if (type === "N") canonicalNumber(content, field);
    else if (!isWellFormed(content)) {
      throw invalid(field, "has an unpaired surrogate; remove it, or use a binary");
    }
  } else if (type === "M") {
    validateMap(content as object, field, level + 1);
  } else if (type === "L") {
    (content as readonly unknown[]).forEach((element, index) => {
      validateValue(element, `${field}[${index}]`, level + 1);
    });
  } else if (Array.isArray(content)) {
    validateSet(content, { type, field, level });
  }
}

/** Whether the content is of the kind that the type asks for. */
function fits(type: ValueType, content: unknown): boolean {
  switch (type) {
    case "S":
    case "N":
      return typeof content === "string";
    case "B":
      return content instanceof Uint8Array;
    case "BOOL":
      return typeof content === "boolean";
    case "NULL":
      return content === true;
    case "M":
      return typeof content === "object" && content !== null && !Array.isArray(content);
    default:
      return Array.isArray(content);
  }
}

function validateMap(map: object, path: string, level: number): void {
  for (const [name, value] of Object.entries(map)) {
    const field = path === "" ? name : `${path}.${name}`;
    const length = utf8Length(name);
    const max = limits.attributeNameBytesMax;
    if (length === 0) throw invalid(field, "has an attribute with an empty name; name it");
    if (length > max) {
      throw invalid(field.slice(0, 64), `has a name of over ${max} bytes; shorten it`);
    }
    if (!isWellFormed(name))
      throw invalid(field, "has an unpaired surrogate in its name; remove it");
    validateValue(value, field, level);
  }
}

/** Each member is a value of the type that the set's begins with. */
function validateSet(
  members: readonly unknown[],
  place: { readonly type: ValueType; readonly field: string; readonly level: number },
): void {
  const { type, field, level } = place;
  if (members.length === 0) throw invalid(field, "is an empty set; leave the attribute out");
  const identities = members.map((member) => {
    validateValue({ [type.charAt(0)]: member }, field, level);
    if (member instanceof Uint8Array) return member.join();
    return type === "NS" ? canonicalNumber(String(member)) : String(member);
  });
  if (new Set(identities).size < members.length) {
    throw invalid(field, "holds a member twice; give each once");
  }
}

function validateKeyAttributes(table: TableDescription, item: Item): void {
  validateKeyAttribute(table.name, item, {
    ...table.partitionKey,
    bytesMax: limits.partitionKeyBytesMax,
  });
  if (table.sortKey === undefined) return;
  validateKeyAttribute(table.name, item, { ...table.sortKey, bytesMax: limits.sortKeyBytesMax });
}

/**
 * An index takes only items that have its key attributes, so one may be missing; it must not be of
 * another type.
 */
function validateIndexKeys(table: TableDescription, item: Item): void {
  for (const { role, ...key } of table.indexKeys ?? []) {
    if (attribute(item, key.name) === undefined) continue;
    const bytesMax = role === "partition" ? limits.partitionKeyBytesMax : limits.sortKeyBytesMax;
    validateKeyAttribute(table.name, item, { ...key, bytesMax });
  }
}

function validateKeyAttribute(
  table: string,
  item: Item,
  { name, type, bytesMax }: KeyAttribute & { readonly bytesMax: number },
): void {
  const value = attribute(item, name);
  if (value === undefined) {
    throw invalid(name, `is a key attribute of table ${table} and is missing; give it a value`);
  }
  validateValue(value, name, 1);
  if (!(type in value)) {
    const found = valueTypeOf(value) ?? "none";
    throw invalid(name, `is a key attribute of type ${type} in table ${table}, not ${found}`);
  }
  if ("N" in value) return;
  const length = "S" in value ? utf8Length(value.S) : "B" in value ? value.B.length : 0;
  if (length === 0) throw invalid(name, `is a key attribute of table ${table} and is empty`);
  if (length > bytesMax) {
    const sizes = `${length} bytes, above the limit of ${bytesMax}`;
    throw invalid(name, `is a key attribute of table ${table} and has ${sizes}; shorten it`);
  }
}

function keyNames(table: TableDescription): readonly string[] {
  const partition = table.partitionKey.name;
  return table.sortKey === undefined ? [partition] : [partition, table.sortKey.name];
}

function invalid(field: string, message: string): InvalidRequestError {
  return new InvalidRequestError(field, `attribute ${field} ${message}`);
}
