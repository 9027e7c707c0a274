/**
 * A transaction's buffered writes: the last one per item counts, and reads see them. Validated as
 * they come, so that the caller learns of a bad item where it was written.
 */
import { keyNamesOf, payloadTableOf } from "../../core/attributes.ts";
import { tooLarge, TransactionClosedError } from "../../core/errors.ts";
import { itemSizeBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { ShardMap } from "../../core/shard-map.ts";
import { isClosed } from "../../core/table-access.ts";
import type {
  Item,
  Payload,
  PayloadTable,
  ShardNumber,
  TableDescription,
  Write,
  WriteHashes,
} from "../../core/types.ts";
import { canonicalKey, type KeyHashes } from "../../schemas/key-hashes.ts";
import { closedError } from "../table-registry.ts";

export type BufferedWrite = {
  readonly table: TableDescription;
  readonly key: Item;
  /** Undefined deletes. */
  readonly item: Item | undefined;
  readonly hashes: WriteHashes;
  readonly bytes: number;
  /** See `Write`. */
  readonly sawVersion: boolean;
};

const noItems: ReadonlySet<string> = new Set();

export class WriteBuffer {
  readonly #writes = new Map<string, BufferedWrite>();
  readonly #laid = new Map<string, BufferedWrite>();
  #bytes = 0;
  #isComplete = false;
  /** How often whose writes these are were run in vain before. */
  #earlierAttempts = 0;
  readonly #hashes: KeyHashes;

  constructor(hashes: KeyHashes) {
    this.#hashes = hashes;
  }

  get size(): number {
    return this.#writes.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  values(): IterableIterator<BufferedWrite> {
    return this.#writes.values();
  }

  /** With each item's identity. */
  entries(): IterableIterator<[string, BufferedWrite]> {
    return this.#writes.entries();
  }

  /** The buffered write of this item, if there is one; or what is laid over it. */
  find(table: TableDescription, key: Item): BufferedWrite | undefined {
    if (this.#writes.size === 0 && this.#laid.size === 0) return undefined;
    const identity = itemIdentity(table, key);
    return this.#writes.get(identity) ?? this.#laid.get(identity);
  }

  /** Reads are to show this in place of what is stored. It is nobody's write, and never sent. */
  lay(table: TableDescription, key: Item, item: Item | undefined): void {
    const hashes = this.#hashes.item(keyNamesOf(table), key);
    const laid = { table, key, item, hashes, bytes: 0, sawVersion: false };
    this.#laid.set(itemIdentity(table, key), laid);
  }

  /**
   * @param versioned identities of items that the transaction has read with a version.
   * @throws TransactionTooLargeError naming the limit. TransactionClosedError of a further item
   *   once the buffer is complete.
   */
  set(
    table: TableDescription,
    key: Item,
    item: Item | undefined,
    versioned: ReadonlySet<string> = noItems,
  ): void {
    const identity = itemIdentity(table, key);
    const previous = this.#writes.get(identity);
    if (previous === undefined && this.#isComplete) {
      throw new TransactionClosedError(
        "the transaction is being committed; wait for its writes within its body",
      );
    }
    const bytes = itemSizeBytes(item ?? key);
    const total = this.#bytes - (previous?.bytes ?? 0) + bytes;
    const max = limits.payloadBytesMax;
    if (total > max) throw tooLarge({ name: "payloadBytesMax", max, actual: total });
    this.#bytes = total;
    const hashes = previous?.hashes ?? this.#hashes.item(keyNamesOf(table), key);
    // A later write of the same item keeps its place: the order among items means nothing.
    // mutant: blind-writes-yield
    const sawVersion = versioned.has(identity);
    this.#writes.set(identity, { table, key, item, hashes, bytes, sawVersion });
  }

  /** To be told with them. */
  noteEarlierAttempts(attempts: number): void {
    this.#earlierAttempts = Math.min(attempts, limits.earlierAttemptsMax);
  }

  /** From now on no further item is written: the shards in which these lie are found. */
  complete(): void {
    this.#isComplete = true;
  }

  clear(): void {
    this.#writes.clear();
    this.#bytes = 0;
  }

  /** Those that lie in the shard. */
  inShard(number: ShardNumber, map: ShardMap): WriteBuffer {
    const part = new WriteBuffer(this.#hashes);
    part.noteEarlierAttempts(this.#earlierAttempts);
    for (const [identity, write] of this.#writes) {
      // mutant: writes-in-all-shards
      if (map.at(write.hashes.partition).number === number) {
        part.#writes.set(identity, write);
        part.#bytes += write.bytes;
      }
    }
    return part;
  }

  /**
   * Takes over another transaction's writes, which come after these. As one transaction both have
   * seen what one of them has.
   */
  absorb(other: WriteBuffer): void {
    this.noteEarlierAttempts(this.#earlierAttempts + other.#earlierAttempts);
    for (const [identity, write] of other.#writes) {
      const previous = this.#writes.get(identity);
      this.#bytes += write.bytes - (previous?.bytes ?? 0);
      const sawVersion = write.sawVersion || previous?.sawVersion === true;
      this.#writes.set(identity, { ...write, sawVersion });
    }
  }

  /** Writes to one table, and what is laid over it, for overlaying query results. */
  *ofTable({ name }: TableDescription): Generator<BufferedWrite> {
    for (const write of this.#writes.values()) if (write.table.name === name) yield write;
    for (const write of this.#laid.values()) if (write.table.name === name) yield write;
  }

  /**
   * `hashes[i]` belongs to `payload.writes[i]`.
   * @throws TableRefusedError for a table that is closed for a moment. TransactionTooLargeError.
   */
  toPayload(): Payload {
    const tables: PayloadTable[] = [];
    const indices = new Map<string, number>();
    const writes: Write[] = [];
    for (const { table, key, item, sawVersion } of this.#writes.values()) {
      let index = indices.get(table.name);
      if (index === undefined) {
        // Oracles and express clients refuse it by the registry; so it is not even sent.
        if (isClosed(table)) throw closedError(table);
        index = tables.push(payloadTableOf(table)) - 1;
        indices.set(table.name, index);
        const actual = tables.length;
        const max = limits.tablesPerTransactionMax;
        if (actual > max) {
          const limit = { name: "tablesPerTransactionMax", max, actual };
          throw tooLarge(limit, "write to fewer tables at once");
        }
      }
      writes.push({ table: index, key, item, ...(sawVersion ? { sawVersion } : {}) });
    }
    const earlierAttempts = this.#earlierAttempts;
    return { tables, writes, ...(earlierAttempts === 0 ? {} : { earlierAttempts }) };
  }
}

/** @throws TransactionTooLargeError when reads and writes together exceed the key limit. */
export function assertKeyCount(reads: number, writes: number): void {
  const actual = reads + writes;
  const max = limits.transactionKeysMax;
  if (actual > max) throw tooLarge({ name: "transactionKeysMax", max, actual });
}

/** Equal exactly for the same item, which a 64-bit hash cannot promise. */
export function itemIdentity(table: TableDescription, key: Item): string {
  const bytes = canonicalKey(keyNamesOf(table), key);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
