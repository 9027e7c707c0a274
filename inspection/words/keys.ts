/** Keys of items as they are typed: the values alone, or an object of JSON. */
import { InvalidRequestError } from "../../core/errors.ts";
import { attribute, setAttribute } from "../../core/attributes.ts";
import type { AttributeValue, Item, KeyAttribute, TableDescription } from "../../core/types.ts";

type Keyed = Pick<TableDescription, "name" | "partitionKey" | "sortKey">;

/**
 * @param words one for each key attribute; or one that is an object of JSON, plain or with
 *   DynamoDB's types. Binary values are hexadecimal behind `0x`, or base64.
 * @throws InvalidRequestError that says what key the table has.
 */
export function keyFrom(table: Keyed, words: readonly string[]): Item {
  const attributes = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  const [only = ""] = words;
  if (words.length === 1 && only.trimStart().startsWith("{"))
    return fromJson(table, attributes, only);
  if (words.length !== attributes.length) throw wrong(table, attributes, `got ${words.length}`);
  const key: Record<string, AttributeValue> = {};
  for (const [at, each] of attributes.entries()) {
    setAttribute(key, each.name, valueOf(table, attributes, { each, text: words[at] ?? "" }));
  }
  return key;
}

type Attributes = readonly KeyAttribute[];

function fromJson(table: Keyed, attributes: Attributes, text: string): Item {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong(table, attributes, "it is no JSON");
  }
  const given = parsed as Readonly<Record<string, unknown>>;
  const key: Record<string, AttributeValue> = {};
  for (const each of attributes) {
    const value = Object.hasOwn(given, each.name) ? given[each.name] : undefined;
    const plain = isTyped(value) ? value[each.type] : value;
    if (typeof plain !== "string" && typeof plain !== "number") {
      throw wrong(table, attributes, `${each.name} is missing or of another type`);
    }
    setAttribute(key, each.name, valueOf(table, attributes, { each, text: plain.toString() }));
  }
  const other = Object.keys(given).find((name) => attribute(key, name) === undefined);
  if (other !== undefined) throw wrong(table, attributes, `${other} is no part of it`);
  return key;
}

function isTyped(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function valueOf(
  table: Keyed,
  attributes: Attributes,
  { each, text }: { readonly each: KeyAttribute; readonly text: string },
): AttributeValue {
  switch (each.type) {
    case "S":
      if (text === "") throw wrong(table, attributes, `${each.name} is empty`);
      return { S: text };
    case "N":
      if (!/^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
        throw wrong(table, attributes, `${each.name} is no number`);
      }
      return { N: text };
    case "B": {
      const bytes = bytesOf(text);
      if (bytes.length === 0) throw wrong(table, attributes, `${each.name} is empty, or no base64`);
      return { B: bytes };
    }
  }
}

function bytesOf(text: string): Uint8Array {
  const isHex = /^0x([0-9a-f]{2})+$/i.test(text);
  return new Uint8Array(Buffer.from(isHex ? text.slice(2) : text, isHex ? "hex" : "base64"));
}

function wrong(table: Keyed, attributes: Attributes, why: string): InvalidRequestError {
  const names = attributes.map(({ name, type }) => `${name} (${type})`).join(" and ");
  const words = attributes.map(({ name }) => `<${name}>`).join(" ");
  return new InvalidRequestError(
    "key",
    `table "${table.name}" has the key ${names}: give ${words}, or one object of JSON; ${why}`,
  );
}
