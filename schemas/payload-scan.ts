/**
 * Walks an encoded payload (docs/formats/payload.md) without building it: checks all of it, so that
 * what is committed can always be decoded and installed, and computes the hashes of each write from
 * the key's own bytes, so that no client can certify one key and write another.
 *
 * What no table takes, whatever its registration, is a FrameError. What the registered table does
 * not take is a fault of the request: who sent it may have an old copy of the registry.
 *
 * One scanner is reused for any number of payloads; scanning allocates nothing per write.
 */
import { FrameError } from "../core/errors.ts";
import { hashKinds, type KeyHasher } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import { tableFaults, type RequestBatch, type TableFault } from "../core/request-batch.ts";
import { hashSlot, type SlotSeed } from "../core/slot-seed.ts";
import {
  scanMapBody,
  scanValue,
  skipSizedUtf8,
  type AttributeRules,
} from "./attribute-value-scan.ts";
import { ByteReader, malformed, oversized } from "./byte-reader.ts";
import { isEncodedIdempotencyEntry, isEncodedIdempotencyKey } from "./idempotency-entry-scan.ts";
import { readEarlierAttempts } from "./earlier-attempts.ts";
import { encodedValueSizeBytes, mapBodySizeBytes, sizePerEncodedByte } from "./item-size-scan.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { tableFlags, writeFlags } from "./payload.ts";
import {
  fitsIndexKey,
  isAt,
  keyContentBytes,
  keyTypeOfTag,
  type Admission,
  type CatalogueEntry,
  type CatalogueIndexKey,
} from "./table-catalogue.ts";
import * as tags from "./value-tags.ts";

/** Up to this many writes are compared pairwise for duplicates; a hash table is dearer below. */
const pairwiseMax = 8;

const tableBytesMin = 5;
const writeBytesMin = 2;
/** What an item's own attributes may take. */
const ownBytesMax = limits.itemBytesMax - limits.reservedAttributeBytes;
/** An encoded write of so many bytes holds no larger item, whatever is in it. */
const unmeasuredBytesMax = Math.floor((ownBytesMax - 2 * limits.nameBytesMax) / sizePerEncodedByte);
const noIndexKeys: readonly CatalogueIndexKey[] = [];

export class PayloadScanner implements AttributeRules {
  private readonly hasher: KeyHasher;
  private readonly seed: SlotSeed;
  private tableCount = 0;
  private readonly tableHigh = new Int32Array(limits.tablesPerTransactionMax);
  private readonly tableLow = new Int32Array(limits.tablesPerTransactionMax);
  /** The names that those are the hashes of. */
  private readonly hashedNames = new Uint8Array(
    limits.tablesPerTransactionMax * limits.nameBytesMax,
  );
  private readonly hashedLength = new Uint8Array(limits.tablesPerTransactionMax);
  /** Position and length of the names; a table without a sort key has length 0 there. */
  private readonly nameAt = new Uint32Array(limits.tablesPerTransactionMax);
  private readonly nameLength = new Uint32Array(limits.tablesPerTransactionMax);
  private readonly partitionAt = new Uint32Array(limits.tablesPerTransactionMax);
  private readonly partitionLength = new Uint32Array(limits.tablesPerTransactionMax);
  private readonly sortAt = new Uint32Array(limits.tablesPerTransactionMax);
  private readonly sortLength = new Uint32Array(limits.tablesPerTransactionMax);
  private readonly used = new Uint8Array(limits.tablesPerTransactionMax);
  /** The table of the write being scanned. */
  private table = 0;
  /** What the registry says of each, where there is a registry; undefined: it does not know it. */
  private readonly entries: (CatalogueEntry | undefined)[] = [];
  private admission: Admission | undefined;
  private batch: RequestBatch | undefined;
  /** Of the write being scanned. */
  private indexKeys = noIndexKeys;

  /** For each write so far: hash, position and length of the key's values, table. */
  private keyHigh = new Int32Array(64);
  private keyLow = new Int32Array(64);
  private keyAt = new Uint32Array(64);
  private keyLength = new Uint32Array(64);
  private keyTable = new Uint8Array(64);
  /** Open addressing: index of a write plus one, 0 for a free slot. */
  private slots = new Int32Array(64);
  /** Steps in it beyond the first one of each search, of all payloads so far. */
  detours = 0;

  /** @param seed chooses where keys are kept while duplicates are looked for. */
  constructor(hashes: KeyHashes, seed: SlotSeed) {
    this.hasher = hashes.hasher;
    this.seed = seed;
  }

  /**
   * Checks a whole payload and adds the hashes of its writes, in order, to the batch's open
   * request, whose `source` must be `bytes`; without a batch it only checks.
   * @param admission what it may write: the open request is marked where it does not fit. Anything
   * when undefined.
   * @throws FrameError, with some of the writes added already.
   */
  scan(bytes: Uint8Array, batch?: RequestBatch, admission?: Admission): void {
    this.scanAt(new ByteReader(bytes), batch, admission);
  }

  /** As `scan`, for the payload between the reader's position and its end. */
  scanAt(
    reader: ByteReader,
    batch: RequestBatch | undefined,
    admission: Admission | undefined,
  ): void {
    this.admission = admission;
    this.batch = batch;
    if (reader.remaining > limits.payloadBytesMax) throw oversized("payloadBytesMax");
    readEarlierAttempts(reader);
    this.scanTables(reader, batch);
    const writes = reader.count(writeBytesMin);
    if (writes === 0) throw malformed("a payload has no writes");
    if (writes > limits.transactionKeysMax) throw oversized("transactionKeysMax");
    this.prepare(writes);
    for (let i = 0; i < writes; i++) this.scanWrite(reader, i, writes, batch);
    for (let i = 0; i < this.tableCount; i++) {
      if (this.used[i] === 0) throw malformed("a payload names a table that it does not write to");
    }
    reader.expectEnd();
  }

  /** Reserved attributes, and key attributes: their values stand before the item's others. */
  forbids(bytes: Uint8Array, start: number, end: number): boolean {
    const length = end - start;
    if (length === 2 && bytes[start] === 0x5f) {
      const second = bytes[start + 1];
      if (second === 0x76 || second === 0x66 || second === 0x78 || second === 0x62) return true;
      if (second === 0x6e) return true;
    }
    const partition = this.partitionLength[this.table] ?? 0;
    if (length === partition && same(bytes, start, this.partitionAt[this.table] ?? 0, length)) {
      return true;
    }
    const sort = this.sortLength[this.table] ?? 0;
    return length === sort && sort > 0 && same(bytes, start, this.sortAt[this.table] ?? 0, length);
  }

  /** An index does not take every item that its table would take. */
  look(bytes: Uint8Array, nameAt: number, nameEnd: number, end: number): void {
    for (const key of this.indexKeys) {
      if (!isAt(bytes, nameAt, nameEnd, key.name)) continue;
      const fits = fitsIndexKey(bytes, { start: nameEnd, end, key });
      if (!fits) this.batch?.setTableFault(tableFaults.differs);
    }
  }

  private scanTables(reader: ByteReader, batch: RequestBatch | undefined): void {
    const count = reader.count(tableBytesMin);
    if (count === 0) throw malformed("a payload has no tables");
    if (count > limits.tablesPerTransactionMax) throw oversized("tablesPerTransactionMax");
    this.tableCount = count;
    for (let i = 0; i < count; i++) {
      const flags = reader.u8();
      if (flags > tableFlags.known) {
        throw new FrameError("future-version", "a table has flags of a later version");
      }
      this.nameLength[i] = scanName(reader);
      this.nameAt[i] = reader.position - (this.nameLength[i] ?? 0);
      this.hashName(reader.bytes, i);
      this.partitionLength[i] = scanName(reader);
      this.partitionAt[i] = reader.position - (this.partitionLength[i] ?? 0);
      this.sortLength[i] = (flags & tableFlags.sortKey) === 0 ? 0 : scanName(reader);
      this.sortAt[i] = reader.position - (this.sortLength[i] ?? 0);
      this.used[i] = 0;
      this.checkTable(reader.bytes, i);
      batch?.setTableFault(this.lookUp(reader.bytes, i, flags));
    }
  }

  /** Compares what the payload says of a table with the registry. */
  private lookUp(bytes: Uint8Array, table: number, flags: number): TableFault {
    if (this.admission === undefined) {
      this.entries[table] = undefined;
      return tableFaults.none;
    }
    const nameAt = this.nameAt[table] ?? 0;
    const entry = this.admission.tables.find(bytes, nameAt, nameAt + (this.nameLength[table] ?? 0));
    this.entries[table] = entry;
    if (entry === undefined) return tableFaults.unknown;
    // What no vote commits has no stamps, and could be installed on no mixed table.
    if ((flags & tableFlags.mixed) !== 0 && !this.isVotedOn()) return tableFaults.differs;
    const partitionAt = this.partitionAt[table] ?? 0;
    const sortAt = this.sortAt[table] ?? 0;
    const fits =
      flags === entry.flags &&
      isAt(
        bytes,
        partitionAt,
        partitionAt + (this.partitionLength[table] ?? 0),
        entry.partitionKey,
      ) &&
      isAt(bytes, sortAt, sortAt + (this.sortLength[table] ?? 0), entry.sortKey);
    return fits ? tableFaults.none : tableFaults.differs;
  }

  private isVotedOn(): boolean {
    return this.batch?.isVotedOn(this.batch.count) === true;
  }

  /** The same of a write's key, whose values begin at `start` and `sortStart`. */
  private lookUpKey(
    bytes: Uint8Array,
    key: { start: number; sortStart: number; end: number; isPut: boolean },
  ): TableFault {
    const entry = this.entries[this.table];
    if (entry === undefined) return tableFaults.none;
    const { start, sortStart } = key;
    if (keyTypeOfTag(bytes[start] ?? 0) !== entry.partitionKeyType) return tableFaults.differs;
    const sorted = entry.sortKeyType !== undefined && sortStart > 0;
    if (sorted && keyTypeOfTag(bytes[sortStart] ?? 0) !== entry.sortKeyType) {
      return tableFaults.differs;
    }
    const partitionEnd = sorted ? sortStart : key.end;
    if (keyContentBytes(bytes, start, partitionEnd) > entry.partitionKeyBytesMax) {
      return tableFaults.differs;
    }
    if (sorted && keyContentBytes(bytes, sortStart, key.end) > entry.sortKeyBytesMax) {
      return tableFaults.differs;
    }
    // The control table's other items are nobody's rows.
    if (entry.idempotency && !(key.isPut && isEncodedIdempotencyKey(bytes, key))) {
      return tableFaults.unknown;
    }
    return tableFaults.none;
  }

  /** Payloads that follow each other mostly write to the same tables. */
  private hashName(bytes: Uint8Array, table: number): void {
    const start = this.nameAt[table] ?? 0;
    const length = this.nameLength[table] ?? 0;
    const hashed = table * limits.nameBytesMax;
    if (this.hashedLength[table] === length) {
      let same = 0;
      while (same < length && bytes[start + same] === this.hashedNames[hashed + same]) same += 1;
      if (same === length) return;
    }
    this.hasher.hash(hashKinds.table, bytes, start, start + length);
    this.tableHigh[table] = this.hasher.high;
    this.tableLow[table] = this.hasher.low;
    this.hashedNames.set(bytes.subarray(start, start + length), hashed);
    this.hashedLength[table] = length;
  }

  private checkTable(bytes: Uint8Array, table: number): void {
    const partition = this.partitionLength[table] ?? 0;
    const partitionAt = this.partitionAt[table] ?? 0;
    if (
      this.sortLength[table] === partition &&
      same(bytes, partitionAt, this.sortAt[table] ?? 0, partition)
    ) {
      throw malformed("a table's key attributes have one name");
    }
    const length = this.nameLength[table] ?? 0;
    for (let i = 0; i < table; i++) {
      const equal =
        this.tableLow[i] === this.tableLow[table] &&
        this.nameLength[i] === length &&
        same(bytes, this.nameAt[i] ?? 0, this.nameAt[table] ?? 0, length);
      if (equal) throw malformed("a payload names a table twice");
    }
  }

  private scanWrite(
    reader: ByteReader,
    index: number,
    writes: number,
    batch: RequestBatch | undefined,
  ): void {
    const head = reader.varint();
    const table = Math.floor(head / writeFlags.table);
    if (table >= this.tableCount) throw malformed("a write names no table of its payload");
    this.table = table;
    this.used[table] = 1;
    const hasher = this.hasher;
    const tableHigh = this.tableHigh[table] ?? 0;
    const tableLow = this.tableLow[table] ?? 0;

    const start = reader.position;
    scanKeyValue(reader, limits.partitionKeyBytesMax);
    hasher.set(tableHigh, tableLow);
    hasher.chain(hashKinds.partition, reader.bytes, start, reader.position);
    const partitionHigh = hasher.high;
    const partitionLow = hasher.low;
    let sortStart = 0;
    let sortLength = 0;
    if (this.sortLength[table] !== 0) {
      sortStart = reader.position;
      scanKeyValue(reader, limits.sortKeyBytesMax);
      sortLength = reader.position - sortStart;
      hasher.chain(hashKinds.key, reader.bytes, sortStart, reader.position);
    }
    if (this.admission !== undefined) {
      const key = { start, sortStart, end: reader.position, isPut: (head & writeFlags.put) !== 0 };
      batch?.setTableFault(this.lookUpKey(reader.bytes, key));
    }
    this.keyHigh[index] = hasher.high;
    this.keyLow[index] = hasher.low;
    this.keyAt[index] = start;
    this.keyLength[index] = reader.position - start;
    this.keyTable[index] = table;
    if (writes <= pairwiseMax) this.findPairwise(reader.bytes, index);
    else this.findInSlots(reader.bytes, index);
    batch?.addWrite(
      tableHigh,
      tableLow,
      partitionHigh,
      partitionLow,
      hasher.high,
      hasher.low,
      sortStart,
      sortLength,
    );
    if ((head & writeFlags.put) !== 0) this.scanItem(reader, start);
  }

  /** The rest of a put, whose key's values begin at `start`. */
  private scanItem(reader: ByteReader, start: number): void {
    const entry = this.admission === undefined ? undefined : this.entries[this.table];
    this.indexKeys = entry === undefined ? noIndexKeys : entry.indexKeys;
    const body = reader.position;
    scanMapBody(reader, 1, this);
    if (reader.position - start > unmeasuredBytesMax) this.measure(reader, start);
    if (entry?.idempotency !== true) return;
    const arrivalMs = this.admission?.arrivalMs ?? 0;
    const range = { start: body, end: reader.position };
    if (!isEncodedIdempotencyEntry(reader.bytes, range, arrivalMs)) {
      this.batch?.setTableFault(tableFaults.unknown);
    }
  }

  /** The item that begins with its key's values at `start`, and ends here. */
  private measure({ bytes, position }: ByteReader, start: number): void {
    const reader = new ByteReader(bytes, start, position);
    const sortLength = this.sortLength[this.table] ?? 0;
    let size = (this.partitionLength[this.table] ?? 0) + sortLength;
    size += encodedValueSizeBytes(reader);
    if (sortLength > 0) size += encodedValueSizeBytes(reader);
    size += mapBodySizeBytes(reader);
    if (size > ownBytesMax) throw oversized("itemBytesMax");
  }

  private findPairwise(bytes: Uint8Array, index: number): void {
    for (let i = 0; i < index; i++) {
      if (this.keyLow[i] === this.keyLow[index]) this.refuseSameKey(bytes, i, index);
    }
  }

  private findInSlots(bytes: Uint8Array, index: number): void {
    const mask = this.slots.length - 1;
    const mixed = hashSlot(this.seed, this.keyHigh[index] ?? 0, this.keyLow[index] ?? 0);
    let slot = mixed >>> Math.clz32(mask);
    for (;;) {
      const held = this.slots[slot] ?? 0;
      if (held === 0) break;
      this.refuseSameKey(bytes, held - 1, index);
      this.detours += 1;
      slot = (slot + 1) & mask;
    }
    this.slots[slot] = index + 1;
  }

  /** Hashes only sort out what differs; the bytes decide, so that a collision refuses nothing. */
  private refuseSameKey(bytes: Uint8Array, a: number, b: number): void {
    const length = this.keyLength[b] ?? 0;
    const equal =
      this.keyHigh[a] === this.keyHigh[b] &&
      this.keyTable[a] === this.keyTable[b] &&
      this.keyLength[a] === length &&
      same(bytes, this.keyAt[a] ?? 0, this.keyAt[b] ?? 0, length);
    if (equal) throw malformed("a payload writes a key twice");
  }

  private prepare(writes: number): void {
    if (writes > this.keyHigh.length) {
      const capacity = Math.min(limits.transactionKeysMax, writes * 2);
      this.keyHigh = new Int32Array(capacity);
      this.keyLow = new Int32Array(capacity);
      this.keyAt = new Uint32Array(capacity);
      this.keyLength = new Uint32Array(capacity);
      this.keyTable = new Uint8Array(capacity);
    }
    if (writes <= pairwiseMax) return;
    // At most half full, so that a probe ends soon, and one always ends.
    let size = 32;
    while (size < writes * 2) size *= 2;
    if (size === this.slots.length) this.slots.fill(0);
    else this.slots = new Int32Array(size);
  }
}

/** Steps over a name of a table or key attribute; gives its byte length. */
function scanName(reader: ByteReader): number {
  const length = skipSizedUtf8(reader);
  if (length === 0) throw malformed("a name is empty");
  if (length > limits.nameBytesMax) throw oversized("nameBytesMax");
  return length;
}

/** Steps over a key's value: a text, number or binary, not empty, within its limit. */
function scanKeyValue(reader: ByteReader, bytesMax: number): void {
  const start = reader.position;
  const tag = reader.u8();
  reader.position = start;
  scanValue(reader);
  if (tag >= tags.shortInteger || tag === tags.integer || tag === tags.decimal) return;
  if (tag === tags.shortText) throw malformed("a key value is empty");
  if (tag > tags.shortText) return;
  if (tag !== tags.text && tag !== tags.binary) {
    throw malformed("a key value is neither text, number nor binary");
  }
  // What a length up to the limit takes: the tag, and one or two bytes of varint.
  const whole = reader.position - start;
  const content = whole - (whole - 2 > 0x7f ? 3 : 2);
  if (content === 0) throw malformed("a key value is empty");
  if (content > bytesMax) throw oversized("partitionKeyBytesMax or sortKeyBytesMax");
}

function same(bytes: Uint8Array, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}
