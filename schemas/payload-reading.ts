/**
 * Reads what payload.ts writes. A file of its own: of the SDK only what finishes other clients'
 * commits needs it.
 */
import { setAttribute } from "../core/attributes.ts";
import type { AttributeValue, Payload, PayloadTable, Write } from "../core/types.ts";
import { readMapBody, readValue } from "./attribute-value-reading.ts";
import { ByteReader, malformed } from "./byte-reader.ts";
import { tableFlags, writeFlags } from "./payload.ts";
import { readEarlierAttempts } from "./earlier-attempts.ts";

/**
 * The payload of a committed transaction, which the oracle has scanned (payload-scan.ts) before:
 * what that refuses but has a meaning all the same, such as a key written twice, is not looked for
 * again.
 * @throws FrameError unless the bytes have the layout of one payload. The result shares no memory
 * with them.
 */
export function decodePayload(bytes: Uint8Array): Payload {
  const reader = new ByteReader(bytes);
  const earlierAttempts = readEarlierAttempts(reader);
  const tables = buildEach(reader, readTable);
  const writes = buildEach(reader, (each) => readWrite(each, tables));
  reader.expectEnd();
  return { tables, writes, ...(earlierAttempts === 0 ? {} : { earlierAttempts }) };
}

/** What a payload says of them, without the rest of it. @throws FrameError. */
export function earlierAttemptsOf(payload: Uint8Array): number {
  return readEarlierAttempts(new ByteReader(payload));
}

function readTable(reader: ByteReader): PayloadTable {
  const flags = reader.u8();
  const table = {
    name: reader.sizedUtf8(),
    partitionKey: reader.sizedUtf8(),
  };
  const sortKey = (flags & tableFlags.sortKey) === 0 ? {} : { sortKey: reader.sizedUtf8() };
  const isMixed = (flags & tableFlags.mixed) === 0 ? {} : { isMixed: true as const };
  const isGuarded = (flags & tableFlags.guarded) === 0 ? {} : { isGuarded: true as const };
  const history = (flags & tableFlags.history) !== 0;
  return { ...table, ...sortKey, history, ...isMixed, ...isGuarded };
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
