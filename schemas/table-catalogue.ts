/**
 * The tables that payloads may write to, as the oracle compares them: by the bytes of their names,
 * without building anything per payload. What a payload says of a table (its key's attributes and
 * their types, whether it keeps history, who writes it) has to be what the registry says: replay
 * goes by the payload, so a lie there would write to another item, or to a table that is not a
 * user's.
 */
import * as limits from "../core/limits.ts";
import { isOwnTable } from "../core/own-tables.ts";
import { isClosed, isGuarded } from "../core/table-access.ts";
import type { IndexKeyAttribute, KeyAttribute, KeyType, TableDescription } from "../core/types.ts";
import { tableFlagsOf } from "./payload.ts";
import * as tags from "./value-tags.ts";

export type CatalogueEntry = {
  readonly name: Uint8Array;
  readonly partitionKey: Uint8Array;
  readonly partitionKeyType: KeyType;
  /** Empty on a table without a sort key. */
  readonly sortKey: Uint8Array;
  readonly sortKeyType: KeyType | undefined;
  /** How long the key's values may be: less than a key may where an index has them, too. */
  readonly partitionKeyBytesMax: number;
  readonly sortKeyBytesMax: number;
  /** Key attributes of indexes that are none of the table's own. */
  readonly indexKeys: readonly CatalogueIndexKey[];
  /** As a payload has them (payload.ts). */
  readonly flags: number;
  /**
   * The control table: only entries of idempotency keys, and only to put them, as the engine does.
   */
  readonly idempotency: boolean;
};

export type CatalogueIndexKey = {
  readonly name: Uint8Array;
  readonly type: KeyType;
  readonly bytesMax: number;
};

/** What a payload is held against before it is certified. */
export type Admission = {
  readonly tables: TableCatalogue;
  /** When its record came. */
  readonly arrivalMs: number;
};

const utf8 = new TextEncoder();
const empty = new Uint8Array(0);

export class TableCatalogue {
  readonly #byName = new Map<number, CatalogueEntry[]>();
  /** Most payloads name the table that the one before did. */
  #last: CatalogueEntry | undefined;

  /**
   * @param tables the registry's. Tidemark's own are never a user's tables, even where somebody has
   * registered one.
   */
  constructor(tables: readonly TableDescription[], control: TableDescription) {
    for (const table of tables) if (!isOwnTable(table.name)) this.#add(table, false);
    this.#add(control, true);
  }

  /** The table whose name is `bytes[start, end)`. */
  find(bytes: Uint8Array, start: number, end: number): CatalogueEntry | undefined {
    const last = this.#last;
    if (last !== undefined && isAt(bytes, start, end, last.name)) return last;
    const bucket = this.#byName.get(nameHash(bytes, start, end));
    this.#last = bucket?.find(({ name }) => isAt(bytes, start, end, name));
    return this.#last;
  }

  #add(table: TableDescription, idempotency: boolean): void {
    const { sortKey } = table;
    const name = utf8.encode(table.name);
    const entry: CatalogueEntry = {
      name,
      partitionKey: utf8.encode(table.partitionKey.name),
      partitionKeyType: table.partitionKey.type,
      sortKey: sortKey === undefined ? empty : utf8.encode(sortKey.name),
      sortKeyType: sortKey?.type,
      partitionKeyBytesMax: keyBytesMax(table, table.partitionKey, limits.partitionKeyBytesMax),
      sortKeyBytesMax:
        sortKey === undefined ? 0 : keyBytesMax(table, sortKey, limits.sortKeyBytesMax),
      indexKeys: indexKeysOf(table),
      flags: isClosed(table) ? flagsOfNone : flagsOf(table),
      idempotency,
    };
    const hash = nameHash(name, 0, name.length);
    const bucket = this.#byName.get(hash);
    if (bucket === undefined) this.#byName.set(hash, [entry]);
    else bucket.push(entry);
  }
}

/** No payload has them in a byte. */
const flagsOfNone = 256;

function flagsOf(table: TableDescription): number {
  const { sortKey, history, access } = table;
  const isMixed = access === "mixed";
  return tableFlagsOf({ sortKey, history, isMixed, isGuarded: isGuarded(table) });
}

function keyBytesMax(
  { indexKeys = [] }: TableDescription,
  { name }: KeyAttribute,
  ownMax: number,
): number {
  const indexMaxima = indexKeys.filter((key) => key.name === name).map(indexKeyBytesMax);
  return Math.min(ownMax, ...indexMaxima);
}

function indexKeysOf(table: TableDescription): readonly CatalogueIndexKey[] {
  const own = [table.partitionKey.name, table.sortKey?.name];
  return (table.indexKeys ?? [])
    .filter(({ name }) => !own.includes(name))
    .map((key) => ({
      name: utf8.encode(key.name),
      type: key.type,
      bytesMax: indexKeyBytesMax(key),
    }));
}

function indexKeyBytesMax({ role }: IndexKeyAttribute): number {
  return role === "partition" ? limits.partitionKeyBytesMax : limits.sortKeyBytesMax;
}

/** Whether `bytes[start, end)` are exactly these. */
export function isAt(bytes: Uint8Array, start: number, end: number, wanted: Uint8Array): boolean {
  if (end - start !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
}

/** The type of a key's value by its first byte; undefined for a value that no key has. */
export function keyTypeOfTag(tag: number): KeyType | undefined {
  if (tag >= tags.shortInteger || tag === tags.integer || tag === tags.decimal) return "N";
  if (tag >= tags.shortText || tag === tags.text) return "S";
  return tag === tags.binary ? "B" : undefined;
}

/** How many bytes of text or binary the encoded value `[start, end)` holds; 0 for a number. */
export function keyContentBytes(bytes: Uint8Array, start: number, end: number): number {
  const tag = bytes[start] ?? 0;
  if (tag >= tags.shortInteger) return 0;
  if (tag >= tags.shortText) return tag - tags.shortText;
  if (tag !== tags.text && tag !== tags.binary) return 0;
  let at = start + 1;
  while ((bytes[at] ?? 0) >= 0x80) at += 1;
  return end - at - 1;
}

/** Whether an index takes an item with this value of its key, encoded in `[start, end)`. */
export function fitsIndexKey(
  bytes: Uint8Array,
  { start, end, key }: { start: number; end: number; key: CatalogueIndexKey },
): boolean {
  if (keyTypeOfTag(bytes[start] ?? 0) !== key.type) return false;
  if (key.type === "N") return true;
  const length = keyContentBytes(bytes, start, end);
  return length > 0 && length <= key.bytesMax;
}

/** FNV-1a. Whoever could make names collide here registers tables. */
function nameHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  return hash;
}
