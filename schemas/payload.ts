/**
 * The write payload of a transaction as bytes: docs/formats/payload.md. Self-contained: table and
 * key names are in it, so that replay needs no registry, each only once. What the oracle checks of
 * one stands in payload-scan.ts.
 */
import { assert } from "../core/assert.ts";
import { attribute, isReserved, setAttribute } from "../core/attributes.ts";
import { InvalidRequestError, tooLarge } from "../core/errors.ts";
import { sameKeyValue } from "../core/key-order.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Payload, PayloadTable, Write } from "../core/types.ts";
import { readMapBody, readValue, writeMapBody, writeValue } from "./attribute-value.ts";
import { ByteReader, malformed } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";

/** Bits of a table's first byte. */
export const tableFlags = { sortKey: 1, history: 2 } as const;

/** Bits of a write's first number; `table` is the value of the lowest bit of its table's index. */
export const writeFlags = { put: 1, sawVersion: 2, table: 4 } as const;

/**
 * The writes must have distinct keys, and every table at least one write.
 * @throws TransactionTooLargeError over the limit of bytes.
 * @throws InvalidRequestError for a reserved attribute, or a value that DynamoDB has no place for.
 */
export function encodePayload(payload: Payload): Uint8Array {
  assert(payload.writes.length > 0, "payload: holds at least one write");
  assert(payload.tables.length > 0, "payload: names at least one table");
  assert(payload.tables.length <= limits.tablesPerTransactionMax, "payload: too many tables");
  assert(payload.writes.length <= limits.transactionKeysMax, "payload: too many writes");
  const writer = new ByteWriter(1024);
  writer.varint(payload.tables.length);
  for (const table of payload.tables) writeTable(writer, table);
  writer.varint(payload.writes.length);
  for (const write of payload.writes) {
    const table = payload.tables[write.table];
    assert(table !== undefined, "payload: a write names one of the payload's tables");
    writeWrite(writer, write, table);
    const actual = writer.length;
    const max = limits.payloadBytesMax;
    // What was counted while the writes were buffered, by DynamoDB's way of counting, may come out
    // longer.
    if (actual > max) throw tooLarge({ name: "payloadBytesMax", max, actual });
  }
  return writer.toBytes();
}

/**
 * The payload of a committed transaction, which the oracle has scanned (payload-scan.ts) before:
 * what that refuses but has a meaning all the same, such as a key written twice, is not looked for
 * again.
 * @throws FrameError unless the bytes have the layout of one payload. The result shares no memory
 * with them.
 */
export function decodePayload(bytes: Uint8Array): Payload {
  const reader = new ByteReader(bytes);
  const tables = buildEach(reader, readTable);
  const writes = buildEach(reader, (each) => readWrite(each, tables));
  reader.expectEnd();
  return { tables, writes };
}

function writeTable(writer: ByteWriter, table: PayloadTable): void {
  writer.u8(
    (table.sortKey === undefined ? 0 : tableFlags.sortKey) |
      (table.history ? tableFlags.history : 0),
  );
  writer.sizedUtf8(table.name);
  writer.sizedUtf8(table.partitionKey);
  if (table.sortKey !== undefined) writer.sizedUtf8(table.sortKey);
}

function readTable(reader: ByteReader): PayloadTable {
  const flags = reader.u8();
  const table = {
    name: reader.sizedUtf8(),
    partitionKey: reader.sizedUtf8(),
  };
  const sortKey = (flags & tableFlags.sortKey) === 0 ? {} : { sortKey: reader.sizedUtf8() };
  return { ...table, ...sortKey, history: (flags & tableFlags.history) !== 0 };
}

function writeWrite(writer: ByteWriter, write: Write, table: PayloadTable): void {
  const put = write.item === undefined ? 0 : writeFlags.put;
  const sawVersion = write.sawVersion === true ? writeFlags.sawVersion : 0;
  writer.varint(write.table * writeFlags.table + sawVersion + put);
  writeKeyValue(writer, write, table.partitionKey);
  if (table.sortKey !== undefined) writeKeyValue(writer, write, table.sortKey);
  if (write.item === undefined) return;
  const others: string[] = [];
  for (const name of Object.keys(write.item)) {
    if (isReserved(name)) {
      throw new InvalidRequestError(name, `attribute ${name} is reserved; give it another name`);
    }
    if (name !== table.partitionKey && name !== table.sortKey) others.push(name);
  }
  writeMapBody(writer, write.item, others, 1);
}

/** The item must hold the very value that the key does: readers rebuild it from the key. */
function writeKeyValue(writer: ByteWriter, write: Write, name: string): void {
  const value = attribute(write.key, name);
  assert(value !== undefined, "payload: a write's key has the table's key attributes");
  if (write.item !== undefined) {
    const own = attribute(write.item, name);
    assert(own !== undefined && sameKeyValue(own, value), "payload: an item holds its own key");
  }
  writeValue(writer, value);
}

function readWrite(reader: ByteReader, tables: readonly PayloadTable[]): Write {
  const head = reader.varint();
  const index = Math.floor(head / writeFlags.table);
  const table = tables[index];
  if (table === undefined) throw malformed("a write names no table of its payload");
  const key: Record<string, AttributeValue> = {};
  setAttribute(key, table.partitionKey, readValue(reader));
  if (table.sortKey !== undefined) setAttribute(key, table.sortKey, readValue(reader));
  const base = {
    table: index,
    key,
    ...((head & writeFlags.sawVersion) === 0 ? {} : { sawVersion: true as const }),
  };
  if ((head & writeFlags.put) === 0) return { ...base, item: undefined };
  const item: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(key)) setAttribute(item, name, value);
  readMapBody(reader, item);
  return { ...base, item };
}

function buildEach<Element>(reader: ByteReader, build: (reader: ByteReader) => Element): Element[] {
  const elements: Element[] = [];
  const count = reader.varint();
  for (let i = 0; i < count; i++) elements.push(build(reader));
  return elements;
}
