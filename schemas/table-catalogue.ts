/**
 * The tables that payloads may write to, as the oracle compares them: by the bytes of their names,
 * without building anything per payload. What a payload says of a table (its key's attributes and
 * their types, whether it keeps history) has to be what the registry says: replay goes by the
 * payload, so a lie there would write to another item, or to a table that is not a user's.
 */
import { idempotencyPrefix, idempotencySorts } from "../core/idempotency-key.ts";
import { isOwnTable } from "../core/own-tables.ts";
import type { KeyType, TableDescription } from "../core/types.ts";
import { tableFlags } from "./payload.ts";
import * as tags from "./value-tags.ts";

export type CatalogueEntry = {
  readonly name: Uint8Array;
  readonly partitionKey: Uint8Array;
  readonly partitionKeyType: KeyType;
  /** Empty on a table without a sort key. */
  readonly sortKey: Uint8Array;
  readonly sortKeyType: KeyType | undefined;
  /** As a payload has them (payload.ts). */
  readonly flags: number;
  /**
   * The control table: only entries of idempotency keys, and only to put them, as the engine does.
   */
  readonly idempotency: boolean;
};

const utf8 = new TextEncoder();
const idempotencyPartition = utf8.encode(idempotencyPrefix);
const idempotencySortBytes = Object.values(idempotencySorts).map((text) => utf8.encode(text));
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
      flags:
        (sortKey === undefined ? 0 : tableFlags.sortKey) | (table.history ? tableFlags.history : 0),
      idempotency,
    };
    const hash = nameHash(name, 0, name.length);
    const bucket = this.#byName.get(hash);
    if (bucket === undefined) this.#byName.set(hash, [entry]);
    else bucket.push(entry);
  }
}

/** Whether `bytes[start, end)` are exactly these. */
export function isAt(bytes: Uint8Array, start: number, end: number, wanted: Uint8Array): boolean {
  if (end - start !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
}

/** The type of a key's value by its first byte, which a scan has checked to be one of a key's. */
export function keyTypeOfTag(tag: number): KeyType {
  if (tag >= tags.shortInteger || tag === tags.integer || tag === tags.decimal) return "N";
  return tag === tags.binary ? "B" : "S";
}

/** As core/idempotency-key.ts has it, of a key of the control table, encoded from `start` on. */
export function isEncodedIdempotencyKey(
  bytes: Uint8Array,
  { start, sortStart, end }: { start: number; sortStart: number; end: number },
): boolean {
  const partition = textAt(bytes, start);
  const sort = textAt(bytes, sortStart);
  if (partition === undefined || sort === undefined) return false;
  const prefixEnd = partition + idempotencyPartition.length;
  return (
    prefixEnd < sortStart &&
    isAt(bytes, partition, prefixEnd, idempotencyPartition) &&
    idempotencySortBytes.some((wanted) => isAt(bytes, sort, end, wanted))
  );
}

/** Where the bytes of an encoded text begin; undefined for another type. */
function textAt(bytes: Uint8Array, start: number): number | undefined {
  const tag = bytes[start] ?? 0;
  if (tag >= tags.shortText && tag < tags.shortInteger) return start + 1;
  if (tag !== tags.text) return undefined;
  let at = start + 1;
  while ((bytes[at] ?? 0) >= 0x80) at += 1;
  return at + 1;
}

/** FNV-1a. Whoever could make names collide here registers tables. */
function nameHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  return hash;
}
