/**
 * The last part of a token (token.ts): what the transaction has read of mixed tables. Numbers are
 * varints, values as docs/formats/values.md has them.
 *
 *     tables     count, each: name, count of key attributes, their names
 *     keys       count, each: table, values of the key, bytes read, digest (16)
 *     pages      count, each: table, flags, what was asked for, rows, bytes read, digest (16)
 *
 * Flags of a page, from the lowest bit: it is a scan's, descending, the last one, has a limit, has
 * a start key; then three bits of the operator on the sort key, 0 for none. What was asked for: the
 * partition key and the operator's values, of a query; the limit; the values of the start key.
 */
import { attribute, setAttribute } from "../../core/attributes.ts";
import { FrameError } from "../../core/errors.ts";
import type { SortKeyCondition } from "../../core/ports.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import type {
  MixedPageRequest,
  MixedState,
  RememberedKey,
  RememberedPage,
} from "../../engine/attempts/remembered-state.ts";
import { writeValue } from "../../schemas/attribute-value.ts";
import { readValue } from "../../schemas/attribute-value-reading.ts";
import type { ByteReader } from "../../schemas/byte-reader.ts";
import type { ByteWriter } from "../../schemas/byte-writer.ts";
import { contentDigestBytes } from "../../schemas/content-digest.ts";

const isScan = 1;
const isDescending = 2;
const isLast = 4;
const isLimited = 8;
const hasStartKey = 16;
const operatorShift = 5;
const operators = [undefined, "=", "<", "<=", ">", ">=", "between", "begins_with"] as const;

/** A table as keys of it name it. */
type Table = { readonly name: string; readonly attributes: readonly string[] };

export function writeMixedState(writer: ByteWriter, state: MixedState | undefined): void {
  const { keys, pages } = state ?? { keys: [], pages: [] };
  const tables = new Tables();
  for (const { table, key } of keys) tables.add(table, key);
  for (const { request } of pages) tables.add(request.table, request.startKey);
  tables.write(writer);
  writer.varint(keys.length);
  for (const key of keys) {
    writeKey(writer, tables.placeOf(key.table, key.key), key.key);
    writeContent(writer, key);
  }
  writer.varint(pages.length);
  for (const page of pages) writePage(writer, tables, page);
}

/** @throws FrameError unless the rest of the bytes is one. */
export function readMixedState(reader: ByteReader): MixedState | undefined {
  const tables = readEach(reader, (): Table => {
    const name = reader.sizedUtf8();
    return { name, attributes: readEach(reader, () => reader.sizedUtf8()) };
  });
  const keys = readEach(reader, (): RememberedKey => {
    const table = tableAt(reader, tables);
    const key = readKey(reader, table);
    return { table: table.name, key, ...readContent(reader) };
  });
  const pages = readEach(reader, () => readPage(reader, tables));
  reader.expectEnd();
  return keys.length + pages.length === 0 ? undefined : { keys, pages };
}

/** Tables by their names and key attributes: a page without a start key names none of those. */
class Tables {
  readonly #places = new Map<string, { readonly place: number; readonly table: Table }>();

  add(name: string, key: Item | undefined): void {
    const identity = identityOf(name, key);
    if (this.#places.has(identity)) return;
    const table = { name, attributes: Object.keys(key ?? {}).sort() };
    this.#places.set(identity, { place: this.#places.size, table });
  }

  placeOf(name: string, key: Item | undefined): { place: number; table: Table } {
    const found = this.#places.get(identityOf(name, key));
    if (found === undefined) throw new RangeError("a table of a token was not written before it");
    return found;
  }

  write(writer: ByteWriter): void {
    writer.varint(this.#places.size);
    for (const { table } of this.#places.values()) {
      writer.sizedUtf8(table.name);
      writer.varint(table.attributes.length);
      for (const name of table.attributes) writer.sizedUtf8(name);
    }
  }
}

function identityOf(name: string, key: Item | undefined): string {
  return JSON.stringify([name, ...Object.keys(key ?? {}).sort()]);
}

function writeKey(
  writer: ByteWriter,
  { place, table }: { readonly place: number; readonly table: Table },
  key: Item,
): void {
  writer.varint(place);
  writeKeyValues(writer, table, key);
}

function writeKeyValues(writer: ByteWriter, { attributes }: Table, key: Item): void {
  for (const name of attributes) writeValue(writer, attribute(key, name) ?? { NULL: true });
}

function writeContent(
  writer: ByteWriter,
  { bytes, digest }: Pick<RememberedKey, "bytes" | "digest">,
): void {
  writer.varint(bytes);
  writer.bytes(digest);
}

function writePage(writer: ByteWriter, tables: Tables, page: RememberedPage): void {
  const { request } = page;
  const { limit, startKey } = request;
  const found = tables.placeOf(request.table, startKey);
  const condition = request.kind === "query" ? request.sortKey : undefined;
  writer.varint(found.place);
  writer.u8(
    (request.kind === "scan" ? isScan : request.descending ? isDescending : 0) |
      (page.isLast ? isLast : 0) |
      (limit === undefined ? 0 : isLimited) |
      (startKey === undefined ? 0 : hasStartKey) |
      (operators.indexOf(condition?.operator) << operatorShift),
  );
  if (request.kind === "query") writeValue(writer, request.partitionKey);
  if (condition !== undefined) {
    for (const value of valuesOf(condition)) writeValue(writer, value);
  }
  if (limit !== undefined) writer.varint(limit);
  if (startKey !== undefined) writeKeyValues(writer, found.table, startKey);
  writer.varint(page.rows);
  writeContent(writer, page);
}

function valuesOf(condition: SortKeyCondition): readonly AttributeValue[] {
  return condition.operator === "between" ? [condition.low, condition.high] : [condition.value];
}

function readPage(reader: ByteReader, tables: readonly Table[]): RememberedPage {
  const table = tableAt(reader, tables);
  const flags = reader.u8();
  const request = readRequest(reader, table, flags);
  const rows = reader.varint();
  return { request, rows, isLast: (flags & isLast) > 0, ...readContent(reader) };
}

function readRequest(reader: ByteReader, table: Table, flags: number): MixedPageRequest<string> {
  const { name } = table;
  const query =
    (flags & isScan) > 0
      ? undefined
      : { partitionKey: readValue(reader), sortKey: readCondition(reader, flags) };
  const limit = (flags & isLimited) > 0 ? reader.varint() : undefined;
  const startKey = (flags & hasStartKey) > 0 ? readKey(reader, table) : undefined;
  if (query === undefined) return { kind: "scan", table: name, limit, startKey };
  const descending = (flags & isDescending) > 0;
  return { kind: "query", table: name, ...query, descending, limit, startKey };
}

function readCondition(reader: ByteReader, flags: number): SortKeyCondition | undefined {
  const operator = operators[flags >> operatorShift];
  if (operator === undefined) return undefined;
  if (operator !== "between") return { operator, value: readValue(reader) };
  return { operator, low: readValue(reader), high: readValue(reader) };
}

function tableAt(reader: ByteReader, tables: readonly Table[]): Table {
  const table = tables[reader.varint()];
  if (table === undefined) throw new FrameError("malformed", "a table's number is too large");
  return table;
}

function readKey(reader: ByteReader, { attributes }: Table): Item {
  const key: Record<string, AttributeValue> = {};
  for (const name of attributes) setAttribute(key, name, readValue(reader));
  return key;
}

function readContent(reader: ByteReader): Pick<RememberedKey, "bytes" | "digest"> {
  return { bytes: reader.varint(), digest: reader.view(contentDigestBytes).slice() };
}

function readEach<Element>(reader: ByteReader, read: () => Element): Element[] {
  return Array.from({ length: reader.count(1) }, read);
}
