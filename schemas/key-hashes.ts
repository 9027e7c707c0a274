/**
 * Hashes of tables, partitions and keys from names and values, for whoever reads and buffers
 * (docs/protocol.md §2). The oracle computes the same ones from encoded bytes (payload-scan.ts).
 */
import { attribute, type KeyNames } from "../core/attributes.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { hashSeeds, keyHash, KeyHasher } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item, KeyHash, WriteHashes } from "../core/types.ts";
import { utf8Length } from "../core/utf8.ts";
import { writeValue } from "./attribute-value.ts";
import { ByteWriter } from "./byte-writer.ts";

/** Words of a table's hash, by name: an application uses few tables, and uses them again. */
const tableWords = new Map<string, { readonly high: number; readonly low: number }>();
const tableWordsMax = 1_024;

const hasher = new KeyHasher();
const scratch = new ByteWriter(256);

/** Predicate of a scan: every write to the table enters it. */
export function hashTable(name: string): KeyHash {
  setTable(name);
  return hasher.keyHash();
}

/** Predicate of a query: every write to the partition enters it. */
export function hashPartition(table: string, partitionKey: AttributeValue): KeyHash {
  setTable(table);
  chainValue(hashSeeds.partition, partitionKey);
  return hasher.keyHash();
}

/**
 * All hashes of the item with this key; other attributes of `key` are ignored.
 * @throws InvalidRequestError when a key attribute is missing or not encodable.
 */
export function hashKey(table: KeyNames, key: Item): WriteHashes {
  setTable(table.name);
  const tableHash = hasher.keyHash();
  chainValue(hashSeeds.partition, requireAttribute(key, table.partitionKey));
  const partition = hasher.keyHash();
  if (table.sortKey === undefined) {
    return { table: tableHash, partition, key: partition, sortKey: undefined };
  }
  const sortKey = chainValue(hashSeeds.key, requireAttribute(key, table.sortKey));
  return {
    table: tableHash,
    partition,
    key: hasher.keyHash(),
    sortKey: sortKey.length > limits.blockSortKeyBytesMax ? undefined : sortKey.slice(),
  };
}

/**
 * The key hash that follows from a partition's hash and an encoded sort key, as log blocks carry
 * them.
 */
export function hashSortKey(partition: KeyHash, encodedSortKey: Uint8Array): KeyHash {
  hasher.set(Number(partition >> 32n), Number(partition & 0xffff_ffffn));
  hasher.chain(hashSeeds.key, encodedSortKey, 0, encodedSortKey.length);
  return hasher.keyHash();
}

/** Hash of any bytes, to recognise them again (spilled payloads). */
export function hashContent(bytes: Uint8Array): bigint {
  hasher.hash(hashSeeds.content, bytes, 0, bytes.length);
  return keyHash(hasher.high, hasher.low);
}

/**
 * The table's name and the key's values in one canonical sequence: equal exactly for the same item.
 * May exceed what DynamoDB takes as a partition key.
 * @throws InvalidRequestError when a key attribute is missing or not encodable.
 */
export function canonicalKey(table: KeyNames, key: Item): Uint8Array {
  scratch.clear();
  scratch.sizedUtf8(table.name);
  writeValue(scratch, requireAttribute(key, table.partitionKey));
  if (table.sortKey !== undefined) writeValue(scratch, requireAttribute(key, table.sortKey));
  return scratch.toBytes();
}

/** Leaves the table's hash in the hasher. */
function setTable(name: string): void {
  const known = tableWords.get(name);
  if (known !== undefined) {
    hasher.set(known.high, known.low);
    return;
  }
  scratch.clear();
  scratch.utf8(name, utf8Length(name));
  hasher.hash(hashSeeds.table, scratch.view(), 0, scratch.length);
  if (tableWords.size >= tableWordsMax) tableWords.clear();
  tableWords.set(name, { high: hasher.high, low: hasher.low });
}

/** Chains a value onto the hasher; gives its encoding, valid until the next call. */
function chainValue(seed: number, value: AttributeValue): Uint8Array {
  scratch.clear();
  writeValue(scratch, value);
  const encoded = scratch.view();
  hasher.chain(seed, encoded, 0, encoded.length);
  return encoded;
}

function requireAttribute(key: Item, name: string): AttributeValue {
  const value = attribute(key, name);
  if (value === undefined) {
    throw new InvalidRequestError(name, `the key lacks its attribute ${name}; give a value for it`);
  }
  return value;
}
