/**
 * Items between JSON and core, in the two formats of the REST interface. Both are lossless or
 * refuse.
 *
 * - `dynamodb`: the wire form, `{"N":"12.50"}`; binary as base64.
 * - `json`: plain values. What plain JSON cannot carry (sets, binary, numbers that no double
 *   holds) stands as `{"$typed": <wire form>}`, in answers and requests alike. A map that happens
 *   to have an attribute `$typed` is wrapped the same way, so that nothing is ever ambiguous.
 */
import { canonicalNumber } from "../../core/decimal.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import { isWellFormed } from "../../core/utf8.ts";
import { isLosslessNumber } from "./json-text.ts";

export type ItemFormat = "json" | "dynamodb";

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** The escape of the plain format. */
const typedName = "$typed";

type Place = { readonly format: ItemFormat; readonly field: string; readonly depth?: number };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws InvalidRequestError naming the attribute and the remedy. */
export function decodeItem(value: unknown, { format, field, depth = 0 }: Place): Item {
  if (!isJsonObject(value)) throw new InvalidRequestError(field, `${field}: must be an object`);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const place = { format, field: `${field}.${name}`, depth: depth + 1 };
      return [requireWellFormed(name, place.field), decodeValue(member, place)];
    }),
  );
}

/** @throws InvalidRequestError naming the attribute and the remedy. */
export function decodeValue(value: unknown, { format, field, depth = 1 }: Place): AttributeValue {
  if (depth > limits.itemDepthMax) {
    const max = limits.itemDepthMax.toString();
    throw new InvalidRequestError(field, `${field}: nested deeper than ${max} levels`);
  }
  const place = { format, field, depth };
  return format === "dynamodb" ? decodeTyped(value, place) : decodePlain(value, place);
}

function decodePlain(value: unknown, place: Required<Place>): AttributeValue {
  const { format, field, depth } = place;
  switch (typeof value) {
    case "string":
      return { S: requireWellFormed(value, field) };
    case "boolean":
      return { BOOL: value };
    case "number": {
      const text = value.toString();
      if (!isLosslessNumber(text)) throw unsafeNumber(text, field);
      return { N: canonicalNumber(text, field) };
    }
    default:
      break;
  }
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) {
    const members = value as readonly unknown[];
    return {
      L: members.map((member, index) =>
        decodeValue(member, { format, field: `${field}[${index.toString()}]`, depth: depth + 1 }),
      ),
    };
  }
  if (!isJsonObject(value)) throw new InvalidRequestError(field, `${field}: is not a JSON value`);
  if (!Object.hasOwn(value, typedName)) return { M: decodeItem(value, place) };
  if (Object.keys(value).length > 1) {
    throw new InvalidRequestError(
      field,
      `${field}: "${typedName}" must stand alone; write a map that has such an attribute as ` +
        `{"${typedName}":{"M":{…}}}`,
    );
  }
  return decodeTyped(value[typedName], { format: "dynamodb", field, depth });
}

/** What to say of a number that plain JSON cannot carry. */
export function unsafeNumber(text: string, field: string): InvalidRequestError {
  const shown = text.length > 60 ? `${text.slice(0, 57)}…` : text;
  return new InvalidRequestError(
    field,
    `${field}: ${shown} would be rounded by JSON parsers (a double holds integers up to 2^53 - ` +
      "1 and about 17 digits); " +
      `write it as {"${typedName}":{"N":"…"}} or use "format": "dynamodb"`,
  );
}

function decodeTyped(value: unknown, place: Required<Place>): AttributeValue {
  const { field, depth } = place;
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  const [entry] = entries;
  if (entry === undefined || entries.length !== 1) {
    throw new InvalidRequestError(
      field,
      `${field}: must be an object with exactly one type, such as {"S":"text"} or {"N":"12.5"}`,
    );
  }
  const [type, member] = entry;
  const inner = { ...place, field: `${field}.${type}` };
  switch (type) {
    case "S":
      return { S: requireWellFormed(requireString(member, inner.field), inner.field) };
    case "N":
      return { N: canonicalNumber(requireString(member, inner.field), inner.field) };
    case "B":
      return { B: decodeBase64(member, inner.field) };
    case "BOOL":
      if (typeof member === "boolean") return { BOOL: member };
      throw new InvalidRequestError(inner.field, `${inner.field}: must be true or false`);
    case "NULL":
      if (member === true) return { NULL: true };
      throw new InvalidRequestError(inner.field, `${inner.field}: must be true`);
    case "M":
      return { M: decodeItem(member, { ...inner, depth }) };
    case "L":
      return {
        L: requireArray(member, inner.field).map((each, index) =>
          decodeValue(each, {
            format: "dynamodb",
            field: `${inner.field}[${index.toString()}]`,
            depth: depth + 1,
          }),
        ),
      };
    default:
      return decodeSet(type, member, inner.field);
  }
}

function decodeSet(type: string, member: unknown, field: string): AttributeValue {
  if (type !== "SS" && type !== "NS" && type !== "BS") {
    throw new InvalidRequestError(field, `${field}: "${type}" is not a DynamoDB type`);
  }
  const members = requireArray(member, field);
  if (members.length === 0) throw new InvalidRequestError(field, `${field}: a set cannot be empty`);
  const at = (index: number): string => `${field}[${index.toString()}]`;
  const texts = members.map((each, index) => {
    const text = requireString(each, at(index));
    return type === "NS" ? canonicalNumber(text, at(index)) : requireWellFormed(text, at(index));
  });
  if (new Set(texts).size < texts.length) {
    throw new InvalidRequestError(field, `${field}: a set cannot hold a value twice`);
  }
  if (type === "SS") return { SS: texts };
  if (type === "NS") return { NS: texts };
  return { BS: texts.map((text, index) => decodeBase64(text, at(index))) };
}

export function encodeItem(item: Item, format: ItemFormat): JsonObject {
  const entries = Object.entries(item).map(([name, value]): [string, Json] => [
    name,
    encodeValue(value, format),
  ]);
  return Object.fromEntries(entries);
}

function encodeValue(value: AttributeValue, format: ItemFormat): Json {
  return format === "dynamodb" ? encodeTyped(value) : encodePlain(value);
}

function encodePlain(value: AttributeValue): Json {
  if ("S" in value) return value.S;
  if ("BOOL" in value) return value.BOOL;
  if ("NULL" in value) return null;
  if ("L" in value) return value.L.map(encodePlain);
  if ("N" in value && isLosslessNumber(value.N)) return Number(value.N) + 0;
  if ("M" in value && !Object.hasOwn(value.M, typedName)) return encodeItem(value.M, "json");
  return { [typedName]: encodeTyped(value) };
}

function encodeTyped(value: AttributeValue): JsonObject {
  if ("B" in value) return { B: encodeBase64(value.B) };
  if ("BS" in value) return { BS: value.BS.map(encodeBase64) };
  if ("L" in value) return { L: value.L.map(encodeTyped) };
  if ("M" in value) return { M: encodeItem(value.M, "dynamodb") };
  return value;
}

function requireString(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw new InvalidRequestError(field, `${field}: must be a string`);
}

function requireArray(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw new InvalidRequestError(field, `${field}: must be an array`);
}

function requireWellFormed(text: string, field: string): string {
  if (isWellFormed(text)) return text;
  throw new InvalidRequestError(
    field,
    `${field}: has half a surrogate pair, which UTF-8 cannot carry`,
  );
}

function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Strict: what does not come back the same (wrong padding, foreign characters) is refused. */
function decodeBase64(value: unknown, field: string): Uint8Array {
  const text = requireString(value, field);
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") === text) return new Uint8Array(bytes);
  throw new InvalidRequestError(field, `${field}: is not base64 (standard alphabet, padded)`);
}
