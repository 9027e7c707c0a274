/**
 * Page cursors: the key of the last row examined as opaque text that may leave the process (a web
 * page's "next" link). A cursor says which table and index it belongs to, so that one from
 * elsewhere is refused instead of starting at a wrong place. It is not signed: it can only choose
 * where a query that the caller makes anyway begins.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { AttributeValue, Item } from "../core/types.ts";

export type CursorScope = { readonly table: string; readonly index: string | undefined };

export function encodeCursor(scope: CursorScope, key: Item): string {
  const text = JSON.stringify([scope.table, scope.index ?? "", keyPairs(key)]);
  return Buffer.from(text, "utf8").toString("base64url");
}

/** @throws InvalidRequestError for text that is no cursor, or one of another table or index. */
export function decodeCursor(scope: CursorScope, cursor: string): Item {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch (cause) {
    throw notACursor(cause);
  }
  const [table, index, pairs] = Array.isArray(parsed) ? (parsed as unknown[]) : [];
  if (typeof table !== "string" || !Array.isArray(pairs)) {
    throw notACursor();
  }
  if (table !== scope.table || index !== (scope.index ?? "")) {
    throw new InvalidRequestError("cursor", "`cursor` belongs to another table or index");
  }
  return Object.fromEntries((pairs as unknown[]).map(pairOf));
}

/** One text per key value, equal for equal keys of one table. */
export function keyText(table: string, key: Item): string {
  return JSON.stringify([table, keyPairs(key).sort()]);
}

function keyPairs(key: Item): [string, string, string][] {
  return Object.entries(key).map(([name, value]) => {
    if ("S" in value) return [name, "S", value.S];
    if ("N" in value) return [name, "N", value.N];
    if ("B" in value) return [name, "B", Buffer.from(value.B).toString("base64url")];
    throw new InvalidRequestError(`key.${name}`, "a key attribute is a string, a number or bytes");
  });
}

function pairOf(pair: unknown): [string, AttributeValue] {
  const [name, type, text] = Array.isArray(pair) ? (pair as unknown[]) : [];
  if (typeof name === "string" && typeof text === "string") {
    if (type === "S") return [name, { S: text }];
    if (type === "N") return [name, { N: text }];
    if (type === "B") return [name, { B: new Uint8Array(Buffer.from(text, "base64url")) }];
  }
  throw notACursor();
}

function notACursor(cause?: unknown): InvalidRequestError {
  return new InvalidRequestError("cursor", "`cursor` is not one that a page returned", { cause });
}
