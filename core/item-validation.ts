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
 * Checks one value in itself: exactly one type, its content fitting the type, nesting within
 * limits.
 * @param field names the value in errors.
 * @throws InvalidRequestError.
 */
export function validateAttributeValue(value: AttributeValue, field: string, level = 1): void {
  if (level > limits.itemDepthMax) {
    throw invalid(field, `nests deeper than ${limits.itemDepthMax} levels; flatten it`);
  }
  const type = typeof value === "object" ? valueTypeOf(value) : undefined;
  if (type === undefined) {
    throw invalid(
      field,
      "must be an object with exactly one of S, N, B, BOOL, NULL, L, M, SS, NS, BS",
    );
  }
  validateContent({ field, type, content: (value as Record<string, unknown>)[type], level });
}

function validateContent(part: {
  readonly field: string;
  readonly type: ValueType;
  readonly content: unknown;
  readonly level: number;
}): void {
  const { field, type, content, level } = part;
  switch (type) {
    case "S":
      validateText(content, field);
      return;
    case "N":
      validateNumber(content, field);
      return;
    case "B":
      validateBinary(content, field);
      return;
    case "BOOL":
      if (typeof content !== "boolean") throw invalid(field, "BOOL must be true or false");
      return;
    case "NULL":
      if (content !== true)
        throw invalid(field, "NULL must be true; leave the attribute out instead");
      return;
    case "L":
      if (!Array.isArray(content)) throw invalid(field, "L must be an array of values");
      content.forEach((element: unknown, index) => {
        validateUnknown(element, `${field}[${index}]`, level + 1);
      });
      return;
    case "M":
      if (typeof content !== "object" || content === null || Array.isArray(content)) {
        throw invalid(field, "M must be an object of named values");
      }
      validateMap(content, field, level + 1);
      return;
    case "SS":
      validateSet(content, field, validateText);
      return;
    case "NS":
      validateSet(content, field, validateNumber);
      return;
    case "BS":
      validateSet(content, field, validateBinaryMember);
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
    validateUnknown(value, field, level);
  }
}

function validateUnknown(value: unknown, field: string, level: number): void {
  if (typeof value !== "object" || value === null) {
    throw invalid(
      field,
      "must be an object with exactly one of S, N, B, BOOL, NULL, L, M, SS, NS, BS",
    );
  }
  validateAttributeValue(value as AttributeValue, field, level);
}

/** The validators of set members return what makes two of them the same. */
function validateText(content: unknown, field: string): string {
  if (typeof content !== "string") throw invalid(field, "must hold a string");
  if (!isWellFormed(content)) {
    throw invalid(field, "has an unpaired surrogate; remove it, or use a binary");
  }
  return content;
}

function validateNumber(content: unknown, field: string): string {
  if (typeof content !== "string") throw invalid(field, "must hold a number as a string");
  return canonicalNumber(content, field);
}

function validateBinary(content: unknown, field: string): Uint8Array {
  if (!(content instanceof Uint8Array)) throw invalid(field, "must hold a Uint8Array");
  return content;
}

function validateBinaryMember(content: unknown, field: string): string {
  return validateBinary(content, field).join();
}

function validateSet(
  content: unknown,
  field: string,
  validateMember: (member: unknown, field: string) => string,
): void {
  if (!Array.isArray(content)) throw invalid(field, "must hold an array of members");
  if (content.length === 0) throw invalid(field, "is an empty set; leave the attribute out");
  const seen = new Set<string>();
  for (const member of content as readonly unknown[]) seen.add(validateMember(member, field));
  if (seen.size < content.length) throw invalid(field, "holds a member twice; give each once");
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
  validateUnknown(value, name, 1);
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
