/**
 * Items as objects that strangers name the attributes of: access that neither inherits
 * (`constructor`) nor changes a prototype (`__proto__`), the type of a value, reserved names.
 */
import { isGuarded } from "./table-access.ts";
import type { AttributeValue, Item, PayloadTable, TableDescription } from "./types.ts";

export const versionAttribute = "_v";
/** Of an aware native write, of a fence on what had no identity, of a local commit. */
export const nonceAttribute = "_n";
/** The id of a transaction that is about to write the item, or was. */
export const fenceAttribute = "_f";
/** A placeholder, made by the fence of what was absent; on transactional tables a tombstone. */
export const markAttribute = "_x";
/** Kept free for BASE transactions. */
const baseAttribute = "_b";

/** Attributes of stored items that belong to Tidemark. */
export const reservedAttributes = [
  ...([versionAttribute, nonceAttribute, fenceAttribute, markAttribute] as const),
  baseAttribute,
] as const;

export const valueTypes = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"] as const;
export type ValueType = (typeof valueTypes)[number];

/** Names of a table's key attributes, partition key first. */
export type KeyNames = Pick<PayloadTable, "name" | "partitionKey" | "sortKey">;

export type KeyPair = Pick<KeyNames, "partitionKey" | "sortKey">;

/** The attribute's value, or undefined: never what the object inherits. */
export function attribute(item: Item, name: string): AttributeValue | undefined {
  return Object.hasOwn(item, name) ? item[name] : undefined;
}

/** Adds an attribute to an item under construction, whatever its name. */
export function setAttribute(
  item: Record<string, AttributeValue>,
  name: string,
  value: AttributeValue,
): void {
  if (name === "__proto__") {
    Object.defineProperty(item, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    item[name] = value;
  }
}

export function isReserved(name: string): boolean {
  return name.length === 2 && (reservedAttributes as readonly string[]).includes(name);
}

export function isKey(name: string, { partitionKey, sortKey }: KeyPair): boolean {
  return name === partitionKey || name === sortKey;
}

/** Of the application, and no part of the key. */
export function isContent(name: string, keys: KeyPair): boolean {
  return !isKey(name, keys) && !isReserved(name);
}

export function withoutReserved(item: Item): Item {
  const kept: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(item)) {
    if (!isReserved(name)) setAttribute(kept, name, value);
  }
  return kept;
}

export function keyNamesOf(table: TableDescription): KeyNames {
  const names = { name: table.name, partitionKey: table.partitionKey.name };
  return table.sortKey === undefined ? names : { ...names, sortKey: table.sortKey.name };
}

/** Of a key that is all there is to go by: which of its attributes is which is not known. */
export function keyNamesIn(table: string, key: Item): KeyNames {
  const [partitionKey = "", sortKey] = Object.keys(key);
  const names = { name: table, partitionKey };
  return sortKey === undefined ? names : { ...names, sortKey };
}

/** The attributes of `item` that make up the table's key. */
export function keyOf(table: TableDescription, item: Item): Item {
  const names = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  const key: Record<string, AttributeValue> = {};
  for (const { name } of names) {
    const value = attribute(item, name);
    if (value !== undefined) key[name] = value;
  }
  return key;
}

/** What a payload says of a table, so that replay needs no registry. */
export function payloadTableOf(table: TableDescription): PayloadTable {
  const payloadTable = { ...keyNamesOf(table), history: table.history };
  if (table.access !== "mixed") return payloadTable;
  return { ...payloadTable, isMixed: true, ...(isGuarded(table) ? { isGuarded: true } : {}) };
}

/**
 * The one member that an attribute value has; undefined where there is none, several, or a strange
 * one.
 */
export function valueTypeOf(value: object): ValueType | undefined {
  const names = Object.keys(value);
  const name = names[0];
  return names.length === 1 && name !== undefined && isValueType(name) ? name : undefined;
}

function isValueType(name: string): name is ValueType {
  return (valueTypes as readonly string[]).includes(name);
}
