/**
 * Idempotency entries as payloads have them, by their bytes: of the control table a transaction may
 * put these and nothing else. An entry of another form could not be read by those whose key it has,
 * so it is not certified.
 */
import {
  idempotencyAttributes,
  idempotencyPrefix,
  idempotencySorts,
} from "../core/idempotency-key.ts";
import * as limits from "../core/limits.ts";
import { scanValue } from "./attribute-value-scan.ts";
import { ByteReader, utf8Text } from "./byte-reader.ts";
import { isAt } from "./table-catalogue.ts";
import { isTransactionId } from "./transaction-id-text.ts";
import * as tags from "./value-tags.ts";

const utf8 = new TextEncoder();
const idempotencyPartition = utf8.encode(idempotencyPrefix);
const idempotencySortBytes = Object.values(idempotencySorts).map((text) => utf8.encode(text));
/** In the order in which a payload has them. */
const names = [...idempotencyAttributes].sort().map((name) => utf8.encode(name));
const transactionIdDigits = 32;

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

/**
 * Whether the map body `[start, end)`, which is well formed, has what the engine writes beside the
 * key: each attribute of its type, and an end within bounds of the time of arrival.
 */
export function isEncodedIdempotencyEntry(
  bytes: Uint8Array,
  { start, end }: { start: number; end: number },
  arrivalMs: number,
): boolean {
  const reader = new ByteReader(bytes, start, end);
  if (reader.varint() !== names.length) return false;
  const values: { readonly start: number; readonly end: number }[] = [];
  for (const name of names) {
    const length = reader.varint();
    const at = reader.advance(length);
    if (!isAt(bytes, at, at + length, name)) return false;
    scanValue(reader);
    values.push({ start: at + length, end: reader.position });
  }
  const [expiresAt, place, , transactionId] = values;
  if (expiresAt === undefined || place === undefined || transactionId === undefined) return false;
  const seconds = wholeNumberAt(bytes, expiresAt);
  const latest = Math.floor(arrivalMs / 1_000) + limits.idempotencyExpirySecondsMax;
  return (
    seconds !== undefined &&
    seconds <= latest &&
    (wholeNumberAt(bytes, place) ?? limits.chainedTransactionsMax) <
      limits.chainedTransactionsMax &&
    isTransactionId(textOf(bytes, transactionId))
  );
}

function wholeNumberAt(
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
): number | undefined {
  const reader = new ByteReader(bytes, start, end);
  const tag = reader.u8();
  if (tag >= tags.shortInteger) return tag - tags.shortInteger;
  if (tag !== tags.integer) return undefined;
  const value = reader.zigzag();
  return value < 0 ? undefined : value;
}

/** Empty for another type, and for a text that no id has. */
function textOf(
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
): string {
  const at = textAt(bytes, start);
  return at === undefined || end - at > transactionIdDigits ? "" : utf8Text(bytes, at, end);
}
