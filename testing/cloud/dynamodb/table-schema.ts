/**
 * Keys of tables and their secondary indexes: what an item or a key must have, and where it then
 * stands.
 */
import { attribute, setAttribute } from "../../../core/attributes.ts";
import * as limits from "./service-limits.ts";
import type { AttributeValue, Item, KeyAttribute, KeyType } from "../../../core/types.ts";
import { utf8Length } from "../../../core/utf8.ts";
import { typeOf } from "./attribute-values.ts";
import { invalid, invalidParameter, keyMismatch, keyTypeMismatch, misfit } from "./failures.ts";
import { keyScalar } from "./key-scalar.ts";
import type { RowKey } from "./ordered-rows.ts";

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

/** Of an item or a key that was checked. */
export function rowKeyOf(schema: KeySchema, item: Item): RowKey {
  const partition = attribute(item, schema.partition.name);
  const sort = schema.sort === undefined ? undefined : attribute(item, schema.sort.name);
  if (partition === undefined || (schema.sort !== undefined && sort === undefined)) {
    throw new TypeError("an item without its key");
  }
  return {
    partition: keyScalar(partition),
    sort: sort === undefined ? undefined : keyScalar(sort),
    owner: "",
  };
}

/** Undefined for an item without the index's key attributes: such an item is not in the index. */
export function indexRowKeyOf(index: IndexSchema, item: Item, row: RowKey): RowKey | undefined {
  const partition = attribute(item, index.partition.name);
  const sort = index.sort === undefined ? undefined : attribute(item, index.sort.name);
  if (partition === undefined || (index.sort !== undefined && sort === undefined)) return undefined;
  const { id } = row.partition;
  return {
    partition: keyScalar(partition),
    sort: sort === undefined ? undefined : keyScalar(sort),
    owner: `${id.length.toString()}:${id}${row.sort?.id ?? ""}`,
  };
}

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
