/**
 * Hashes of tables, partitions and keys from names and values, for whoever reads and buffers
 * (docs/protocol.md §2). The oracle computes the same ones from encoded bytes (payload-scan.ts).
 */
import { attribute, type KeyNames } from "../core/attributes.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { hashKinds, type KeyHasher } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import type {
  AttributeValue,
  Item,
  KeyHash,
  Lineage,
  LogPosition,
  ShardNumber,
  WriteHashes,
} from "../core/types.ts";
import { utf8Length } from "../core/utf8.ts";
import { writeValue } from "./attribute-value.ts";
import { ByteWriter } from "./byte-writer.ts";

const scratch = new ByteWriter(256);

/** The hashes of one shard, under the hash secret of all: they are equal, their names differ. */
export class KeyHashes {
  /** For hashing encoded bytes under the same key. */
  readonly hasher: KeyHasher;
  /** Words of a table's hash, by name: an application uses few tables, and uses them again. */
  readonly #tables = new Map<string, { readonly high: number; readonly low: number }>();

  /** Names the key and the shard: records and blocks made under another one are refused. */
  readonly fingerprint: number;
  /** Whose records and blocks they are for. */
  readonly shard: ShardNumber;
  readonly #past: readonly {
    readonly through: LogPosition;
    readonly shard: ShardNumber;
    readonly fingerprint: number;
  }[];

  /**
   * @param hasher the shard's (ControlStore.keyHasher).
   * @param named of another shard of the deployment.
   */
  constructor(
    hasher: KeyHasher,
    named: { readonly shard: ShardNumber; readonly lineage: Lineage } = hasher,
  ) {
    this.hasher = hasher;
    this.shard = named.shard;
    this.fingerprint = hasher.fingerprintOf(named.shard);
    this.#past = named.lineage.map((past) => ({
      ...past,
      fingerprint: hasher.fingerprintOf(past.shard),
    }));
  }

  /** That of the log's block there: of what lies before a fork it is the other log's. */
  fingerprintAt(position: LogPosition): number {
    const past = this.#past.find(({ through }) => position <= through);
    return past?.fingerprint ?? this.fingerprint;
  }

  /** In whose log the block there stands. */
  shardAt(position: LogPosition): ShardNumber {
    return this.#past.find(({ through }) => position <= through)?.shard ?? this.shard;
  }

  /** Where the log's blocks stand that lie before its fork. */
  get past(): Lineage {
    return this.#past;
  }

  /** All shards in whose name something of this log may have been stored, its own first. */
  get shards(): readonly ShardNumber[] {
    return [this.shard, ...this.#past.map(({ shard }) => shard)];
  }

  /** Predicate of a scan: every write to the table enters it. */
  table(name: string): KeyHash {
    this.#setTable(name);
    return this.hasher.keyHash();
  }

  /** Predicate of a query: every write to the partition enters it. */
  partition(table: string, partitionKey: AttributeValue): KeyHash {
    this.#setTable(table);
    this.#chainValue(hashKinds.partition, partitionKey);
    return this.hasher.keyHash();
  }

  /**
   * All hashes of the item with this key; other attributes of `key` are ignored.
   * @throws InvalidRequestError when a key attribute is missing or not encodable.
   */
  item(table: KeyNames, key: Item): WriteHashes {
    const { hasher } = this;
    this.#setTable(table.name);
    const tableHash = hasher.keyHash();
    this.#chainValue(hashKinds.partition, requireAttribute(key, table.partitionKey));
    const partition = hasher.keyHash();
    if (table.sortKey === undefined) {
      return { table: tableHash, partition, key: partition, sortKey: undefined };
    }
    const sortKey = this.#chainValue(hashKinds.key, requireAttribute(key, table.sortKey));
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
  sortKey(partition: KeyHash, encodedSortKey: Uint8Array): KeyHash {
    const { hasher } = this;
    hasher.set(Number(partition >> 32n), Number(partition & 0xffff_ffffn));
    hasher.chain(hashKinds.key, encodedSortKey, 0, encodedSortKey.length);
    return hasher.keyHash();
  }

  /** Leaves the table's hash in the hasher. */
  #setTable(name: string): void {
    const { hasher } = this;
    const known = this.#tables.get(name);
    if (known !== undefined) {
      hasher.set(known.high, known.low);
      return;
    }
    scratch.clear();
    scratch.utf8(name, utf8Length(name));
    hasher.hash(hashKinds.table, scratch.view(), 0, scratch.length);
    if (this.#tables.size >= limits.hashedTablesMax) this.#tables.clear();
    this.#tables.set(name, { high: hasher.high, low: hasher.low });
  }

  /** Chains a value onto the hasher; gives its encoding, valid until the next call. */
  #chainValue(kind: number, value: AttributeValue): Uint8Array {
    scratch.clear();
    writeValue(scratch, value);
    const encoded = scratch.view();
    this.hasher.chain(kind, encoded, 0, encoded.length);
    return encoded;
  }
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

function requireAttribute(key: Item, name: string): AttributeValue {
  const value = attribute(key, name);
  if (value === undefined) {
    throw new InvalidRequestError(name, `the key lacks its attribute ${name}; give a value for it`);
  }
  return value;
}
