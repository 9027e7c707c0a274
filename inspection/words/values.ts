/** DynamoDB's values as text for people, and as JSON for programs. */
import type { AttributeValue, Item, KeyHash } from "../../core/types.ts";
import * as limits from "../limits.ts";

/** Short and readable; what it leaves out it says: JSON has all of it. */
export function itemText(item: Item): string {
  const fields = Object.entries(item).map(([name, value]) => `${nameText(name)}: ${of(value)}`);
  return cut(`{ ${fields.join(", ")} }`);
}

/** A key without its names: `"ann"`, `"ann" / 3`. */
export function keyText(key: Item): string {
  return cut(Object.values(key).map(of).join(" / "));
}

function cut(text: string): string {
  const all = Array.from(text);
  if (all.length <= limits.itemTextMax) return text;
  return `${all.slice(0, limits.itemTextMax).join("")}…`;
}

function nameText(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Texts are quoted as in JSON, so that none of them commands the terminal. */
function of(value: AttributeValue): string {
  if ("S" in value) return quoted(value.S);
  if ("N" in value) return value.N;
  if ("B" in value) return bytesText(value.B);
  if ("BOOL" in value) return value.BOOL.toString();
  if ("NULL" in value) return "null";
  if ("L" in value) return `[${value.L.map(of).join(", ")}]`;
  if ("M" in value) {
    const fields = Object.entries(value.M).map(([name, each]) => `${nameText(name)}: ${of(each)}`);
    return `{ ${fields.join(", ")} }`;
  }
  const members =
    "SS" in value ? value.SS.map(quoted) : "NS" in value ? value.NS : value.BS.map(bytesText);
  return `<${members.join(", ")}>`;
}

/** JSON escapes the control characters below a blank, but not those above it. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function bytesText(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString("hex")}`;
}

/** In DynamoDB's own JSON: each value with its type, binary ones in base64. */
export function itemJson(item: Item): object {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, json(value)]));
}

function json(value: AttributeValue): object {
  if ("B" in value) return { B: base64(value.B) };
  if ("BS" in value) return { BS: value.BS.map(base64) };
  if ("L" in value) return { L: value.L.map(json) };
  if ("M" in value) return { M: itemJson(value.M) };
  return value;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** 16 hexadecimal digits, as tests and formats spell them. */
export function hashText(hash: KeyHash): string {
  return hash.toString(16).padStart(16, "0");
}

/** The upper 32 bits of a hash, where a shard's range begins. */
export function boundText(bound: number): string {
  return `0x${bound.toString(16).padStart(8, "0")}`;
}
