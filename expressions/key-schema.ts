/**
 * Keys of tables and their secondary indexes: what an item or a key must have, in the words of the
 * service.
 */
import { attribute, setAttribute } from "../core/attributes.ts";
import { itemSizeBytes } from "../core/item-size.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item, KeyAttribute, KeyType } from "../core/types.ts";
import { utf8Length } from "../core/utf8.ts";
import { readItem, typeOf } from "./attribute-values.ts";
import type { DocumentPath } from "./placeholders.ts";
import {
  invalid,
  invalidParameter,
  keyMismatch,
  keyTypeMismatch,
  misfit,
  missing,
} from "./refusals.ts";

export type KeySchema = {
  readonly partition: KeyAttribute;
  readonly sort: KeyAttribute | undefined;
};

export type IndexSchema = KeySchema & {
  readonly name: string;
  readonly kind: "global" | "local";
  readonly projection: {
    readonly type: "ALL" | "KEYS_ONLY" | "INCLUDE";
    readonly nonKeyAttributes: readonly string[];
  };
};

export function keyAttributes({ partition, sort }: KeySchema): readonly KeyAttribute[] {
  return sort === undefined ? [partition] : [partition, sort];
}

/** The key attributes of an item, in a table's order. */
export function keyOf(schema: KeySchema, item: Item): Item {
  const key: Record<string, AttributeValue> = {};
  for (const { name } of keyAttributes(schema)) {
    const value = attribute(item, name);
    if (value !== undefined) setAttribute(key, name, value);
  }
  return key;
}

/** Attributes that an index which does not project all of them holds. */
export function projectedNames(table: KeySchema, index: IndexSchema): readonly string[] {
  const keys = [...keyAttributes(table), ...keyAttributes(index)].map(({ name }) => name);
  return [...new Set([...keys, ...index.projection.nonKeyAttributes])];
}

/** A table, as far as requests are checked against it. */
export type KeyedTable = {
  readonly schema: KeySchema;
  indexSchemas(): Iterable<IndexSchema>;
};

/** @throws ServiceError unless the key has the table's key attributes and nothing else. */
export function requireKey(schema: KeySchema, key: Item): void {
  const attributes = keyAttributes(schema);
  if (Object.keys(key).length !== attributes.length) throw keyMismatch();
  attributes.forEach(({ name, type }, index) => {
    const value = attribute(key, name);
    if (value === undefined) throw keyMismatch();
    const actual = typeOf(value);
    if (actual !== "S" && actual !== "N" && actual !== "B") {
      throw invalid("Invalid attribute value type");
    }
    if (actual !== type) throw keyTypeMismatch();
    requireKeySize(name, value, index === 0);
  });
}

/**
 * @throws ServiceError unless the item's attributes fit the keys of the table and of its indexes.
 */
export function requireItemKeys(
  schema: KeySchema,
  indexes: Iterable<IndexSchema>,
  item: Item,
): void {
  keyAttributes(schema).forEach(({ name, type }, index) => {
    const value = attribute(item, name);
    if (value === undefined) throw invalidParameter(`Missing the key ${name} in the item`);
    requireKeyType(name, value, type);
    requireKeySize(name, value, index === 0);
  });
  for (const index of indexes) requireIndexKeys(index, item);
}

/**
 * An attribute of an index's key may be missing; it may not be of another type, empty or too long.
 */
export function requireIndexKeys(index: IndexSchema, item: Item): void {
  keyAttributes(index).forEach(({ name, type }, position) => {
    const value = attribute(item, name);
    if (value === undefined) return;
    const actual = typeOf(value);
    if (actual !== type) {
      throw misfit(
        `Type mismatch for Index Key ${name} Expected: ${type} Actual: ${actual} IndexName: ` +
          index.name,
      );
    }
    const empty = emptyKind(value);
    if (empty !== undefined) {
      throw invalid(
        "One or more parameter values are not valid. A value specified for a secondary index " +
          "key is not supported. " +
          `The AttributeValue for a key attribute cannot contain an empty ${empty} value. ` +
          `IndexName: ${index.name}, IndexKey: ${name}`,
      );
    }
    requireKeySize(name, value, position === 0);
  });
}

function requireKeyType(name: string, value: AttributeValue, type: KeyType): void {
  const actual = typeOf(value);
  if (actual === type) return;
  throw misfit(`Type mismatch for key ${name} expected: ${type} actual: ${actual}`);
}

/** Neither empty nor longer than keys may be. */
export function requireKeySize(name: string, value: AttributeValue, isPartition: boolean): void {
  const empty = emptyKind(value);
  if (empty !== undefined) {
    throw invalid(
      "One or more parameter values are not valid. " +
        `The AttributeValue for a key attribute cannot contain an empty ${empty} value. Key: ` +
        name,
    );
  }
  const bytes = "S" in value ? utf8Length(value.S) : "B" in value ? value.B.length : 0;
  if (isPartition && bytes > limits.partitionKeyBytesMax) {
    throw invalidParameter(
      "Size of hashkey has exceeded the maximum size limit " +
        `of${limits.partitionKeyBytesMax.toString()} bytes`,
    );
  }
  if (!isPartition && bytes > limits.sortKeyBytesMax) {
    throw invalidParameter(
      "Aggregated size of all range keys has exceeded the size limit of " +
        `${limits.sortKeyBytesMax.toString()} bytes`,
    );
  }
}

function emptyKind(value: AttributeValue): "string" | "binary" | undefined {
  if ("S" in value && value.S === "") return "string";
  return "B" in value && value.B.length === 0 ? "binary" : undefined;
}

/** @throws ServiceError when a path goes into an attribute that is a key somewhere. */
export function requireScalarKeys(table: KeyedTable, paths: readonly DocumentPath[]): void {
  for (const path of paths) {
    const [head] = path;
    if (path.length === 1) continue;
    const isKey = keyAttributes(table.schema).some(({ name }) => name === head);
    const isIndexKey = [...table.indexSchemas()].some((index) =>
      keyAttributes(index).some(({ name }) => name === head),
    );
    if (!isKey && !isIndexKey) continue;
    throw invalid(
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not " +
        "allowed: " +
        `${isKey ? "Key" : "IndexKey"}: ${String(head)}`,
    );
  }
}

/** @throws ServiceError when a table's key would be changed. */
export function requireKeyUntouched({ schema }: KeyedTable, paths: readonly DocumentPath[]): void {
  for (const { name } of keyAttributes(schema)) {
    if (!paths.some(([head]) => head === name)) continue;
    throw misfit(`Cannot update attribute ${name}. This attribute is part of the key`);
  }
}

export function readKey(input: unknown): Item {
  if (input === undefined) throw missing("Key");
  return readItem(input);
}

/** @throws ServiceError for a name that no table can have. */
export function requireTableName(name: unknown): string {
  if (typeof name !== "string") {
    throw invalid("The parameter 'TableName' is required but was not present in the request");
  }
  // A table may also be named by its ARN, which ends with its name.
  const own = name.startsWith("arn:") ? name.slice(name.indexOf("/") + 1) : name;
  if (own.length < 3 || own.length > 255) {
    throw invalid("TableName must be at least 3 characters long and at most 255 characters long");
  }
  if (!/^[a-zA-Z0-9_.-]+$/.test(own)) {
    throw invalid(
      `1 validation error detected: Value '${own}' at 'tableName' failed to satisfy constraint: ` +
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    );
  }
  return own;
}

/** @throws ServiceError for an item above 400 KB. */
export function requireItemSize(item: Item, message: string): void {
  if (itemSizeBytes(item) > limits.itemBytesMax) throw invalid(message);
}
