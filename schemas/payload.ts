/**
 * The write payload of a transaction as bytes: docs/formats/payload.md. Self-contained: table and key
 * names are in it, so that replay needs no registry, each only once.
 */
import { assert } from "../core/assert.ts";
import { attribute, isReserved, setAttribute } from "../core/attributes.ts";
import { FrameError, InvalidRequestError, TransactionTooLargeError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { RequestBatch } from "../core/request-batch.ts";
import type { AttributeValue, Payload, PayloadTable, Write } from "../core/types.ts";
import { compareBytes } from "../core/utf8.ts";
import { buildMap, buildValue, writeMapBody, writeValue } from "./attribute-value.ts";
import { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { PayloadScanner, tableFlags } from "./payload-scan.ts";

const scanner = new PayloadScanner();

/**
 * The writes must have distinct keys, and every table at least one write.
 * @throws TransactionTooLargeError over the limits of keys or bytes.
 * @throws InvalidRequestError for a reserved attribute, or a value that DynamoDB has no place for.
 */
export function encodePayload(payload: Payload): Uint8Array {
  assert(payload.writes.length > 0, "payload: holds at least one write");
  assert(payload.tables.length > 0, "payload: names at least one table");
  requireWithin("tablesPerTransactionMax", payload.tables.length);
  requireWithin("transactionKeysMax", payload.writes.length);
  const writer = new ByteWriter(1024);
  writer.varint(payload.tables.length);
  for (const table of payload.tables) writeTable(writer, table);
  writer.varint(payload.writes.length);
  for (const write of payload.writes) {
    const table = payload.tables[write.table];
    assert(table !== undefined, "payload: a write names one of the payload's tables");
    writeWrite(writer, write, table);
    requireWithin("payloadBytesMax", writer.length);
  }
  const bytes = writer.toBytes();
  assertScans(bytes);
  return bytes;
}

/** @throws FrameError unless the bytes are exactly one payload. The result shares no memory with them. */
export function decodePayload(bytes: Uint8Array): Payload {
  const reader = new ByteReader(bytes);
  scanner.scan(reader, undefined);
  reader.reset(bytes);
  const tables = buildEach(reader, readTable);
  const writes = buildEach(reader, (each) => readWrite(each, tables));
  return { tables, writes };
}

/**
 * Checks a whole payload and adds the hashes of its writes, in order, to the batch's open request, whose
 * `source` must be `bytes`.
 * @throws FrameError, with some of the writes added already.
 */
export function scanPayload(bytes: Uint8Array, batch: RequestBatch): void {
  scanner.scan(new ByteReader(bytes), batch);
}

/** As `scanPayload`, for the payload between the reader's position and its end. */
export function scanPayloadAt(reader: ByteReader, batch: RequestBatch): void {
  scanner.scan(reader, batch);
}

/** What this process sends, every reader must take: I7 needs each committed payload decodable. */
function assertScans(bytes: Uint8Array): void {
  try {
    scanner.scan(new ByteReader(bytes), undefined);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    assert(false, `I7: an encoded payload must decode: ${error.message}`);
  }
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
  writer.varint(write.table * 2 + (write.item === undefined ? 0 : 1));
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

function sameKeyValue(a: AttributeValue, b: AttributeValue): boolean {
  if (a === b) return true;
  const left = new ByteWriter(64);
  const right = new ByteWriter(64);
  writeValue(left, a);
  writeValue(right, b);
  return compareBytes(left.view(), right.view()) === 0;
}

function readWrite(reader: ByteReader, tables: readonly PayloadTable[]): Write {
  const head = reader.varint();
  const index = Math.floor(head / 2);
  const table = tables[index];
  assert(table !== undefined, "payload: the scan has checked the table's index");
  const key: Record<string, AttributeValue> = {};
  setAttribute(key, table.partitionKey, buildValue(reader));
  if (table.sortKey !== undefined) setAttribute(key, table.sortKey, buildValue(reader));
  if (head % 2 === 0) return { table: index, key, item: undefined };
  const item: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(key)) setAttribute(item, name, value);
  buildMap(reader, item);
  return { table: index, key, item };
}

function buildEach<Element>(reader: ByteReader, build: (reader: ByteReader) => Element): Element[] {
  const elements: Element[] = [];
  const count = reader.varint();
  for (let i = 0; i < count; i++) elements.push(build(reader));
  return elements;
}

function requireWithin(
  name: "tablesPerTransactionMax" | "transactionKeysMax" | "payloadBytesMax",
  actual: number,
): void {
  const max = limits[name];
  if (actual <= max) return;
  throw new TransactionTooLargeError(
    `a transaction writes ${actual.toString()}, above ${name} = ${max.toString()}; split it`,
    { name, max, actual },
  );
}
