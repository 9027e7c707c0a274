/**
 * The write payload of a transaction as bytes: docs/formats/payload.md. Self-contained: table and
 * key names are in it, so that replay needs no registry, each only once. What the oracle checks of
 * one stands in payload-scan.ts.
 */
import { assert } from "../core/assert.ts";
import { attribute, isReserved } from "../core/attributes.ts";
import { InvalidRequestError, tooLarge } from "../core/errors.ts";
import { sameKeyValue } from "../core/key-order.ts";
import * as limits from "../core/limits.ts";
import type { Payload, PayloadTable, Write } from "../core/types.ts";
import { writeMapBody, writeValue } from "./attribute-value.ts";
import { ByteWriter } from "./byte-writer.ts";
import { writeEarlierAttempts } from "./earlier-attempts.ts";

/** Bits of a table's first byte. */
export const tableFlags = { sortKey: 1, history: 2, mixed: 4, guarded: 8, known: 15 } as const;

/** A table's first byte. */
export function tableFlagsOf(table: {
  readonly sortKey?: unknown;
  readonly history: boolean;
  readonly isMixed: boolean;
  readonly isGuarded: boolean;
}): number {
  const sortKey = table.sortKey === undefined ? 0 : tableFlags.sortKey;
  const history = table.history ? tableFlags.history : 0;
  const guarded = table.isGuarded ? tableFlags.guarded : 0;
  return sortKey | history | guarded | (table.isMixed ? tableFlags.mixed : 0);
}

/** Bits of a write's first number; `table` is the value of the lowest bit of its table's index. */
export const writeFlags = { put: 1, sawVersion: 2, table: 4 } as const;

/**
 * The writes must have distinct keys, and every table at least one write.
 * @throws TransactionTooLargeError over the limit of bytes.
 * @throws InvalidRequestError for a reserved attribute, or a value that DynamoDB has no place for.
 */
export function encodePayload(payload: Payload): Uint8Array {
  const { tables, writes } = payload;
  const isCountable =
    Math.min(tables.length, writes.length) > 0 &&
    tables.length <= limits.tablesPerTransactionMax &&
    writes.length <= limits.transactionKeysMax;
  assert(isCountable, "payload: counts");
  const writer = new ByteWriter(1024);
  if (payload.earlierAttempts !== undefined) writeEarlierAttempts(writer, payload.earlierAttempts);
  writer.varint(tables.length);
  for (const table of tables) writeTable(writer, table);
  writer.varint(writes.length);
  for (const write of writes) {
    const table = tables[write.table];
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

function writeTable(writer: ByteWriter, table: PayloadTable): void {
  const { sortKey, history, isMixed = false, isGuarded = false } = table;
  writer.u8(tableFlagsOf({ sortKey, history, isMixed, isGuarded }));
  writer.sizedUtf8(table.name);
  writer.sizedUtf8(table.partitionKey);
  if (sortKey !== undefined) writer.sizedUtf8(sortKey);
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
