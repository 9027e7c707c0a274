/** One stream: its shards, open and closed, and all records that were ever put into them. */
import { createHash } from "node:crypto";
import { endingCount, sequenceNumber } from "./sequence-numbers.ts";
import * as limits from "./service-limits.ts";

export type StoredRecord = {
  readonly sequenceNumber: string;
  /** Milliseconds since the epoch; may step back from one record to the next. */
  readonly arrivalMs: number;
  readonly partitionKey: string;
  readonly data: Uint8Array;
};

export type HashRange = {
  readonly low: bigint;
  /** The last one that belongs to it. */
  readonly high: bigint;
};

export class Shard {
  readonly index: number;
  readonly range: HashRange;
  /** Of the shards that this one took over from, the one that was named first first. */
  readonly parents: readonly Shard[];
  readonly createdMs: number;
  /** Kept beyond their retention, for judges; an index is a place for good. */
  readonly records: StoredRecord[] = [];
  readonly children: Shard[] = [];
  endingSequenceNumber: string | undefined = undefined;
  /** Records before this index are gone for readers. */
  #trimmed = 0;

  constructor(parts: {
    readonly index: number;
    readonly range: HashRange;
    readonly parents: readonly Shard[];
    readonly createdMs: number;
  }) {
    this.index = parts.index;
    this.range = parts.range;
    this.parents = parts.parents;
    this.createdMs = parts.createdMs;
  }

  get id(): string {
    return `shardId-${this.index.toString().padStart(12, "0")}`;
  }

  get isOpen(): boolean {
    return this.endingSequenceNumber === undefined;
  }

  get startingSequenceNumber(): string {
    return this.#sequenceNumber(0n, this.createdMs);
  }

  get createdSeconds(): number {
    return Math.floor(this.createdMs / 1000);
  }

  append(
    record: Pick<StoredRecord, "partitionKey" | "data" | "arrivalMs">,
    nowMs: number,
  ): StoredRecord {
    const count = BigInt(this.records.length + 1);
    const stored = { ...record, sequenceNumber: this.#sequenceNumber(count, nowMs) };
    this.records.push(stored);
    return stored;
  }

  close(nowMs: number): void {
    this.endingSequenceNumber = this.#sequenceNumber(endingCount, nowMs);
  }

  /**
   * Index of the oldest record that arrived at or after that time, or later: it never goes back.
   */
  trim(beforeMs: number): number {
    for (;;) {
      const record = this.records[this.#trimmed];
      if (record === undefined || record.arrivalMs >= beforeMs) return this.#trimmed;
      this.#trimmed += 1;
    }
  }

  #sequenceNumber(count: bigint, nowMs: number): string {
    return sequenceNumber({
      shardIndex: this.index,
      shardCreatedSeconds: this.createdSeconds,
      count,
      seconds: Math.floor(Math.max(nowMs, this.createdMs) / 1000),
    });
  }
}

export class Stream {
  readonly name: string;
  readonly createdMs: number;
  readonly mode: "PROVISIONED" | "ON_DEMAND";
  readonly shards: Shard[] = [];
  retentionHours = limits.retentionHoursMin;

  constructor(parts: {
    readonly name: string;
    readonly createdMs: number;
    readonly mode: "PROVISIONED" | "ON_DEMAND";
    readonly shardCount: number;
  }) {
    this.name = parts.name;
    this.createdMs = parts.createdMs;
    this.mode = parts.mode;
    const count = BigInt(parts.shardCount);
    const width = limits.hashKeys / count;
    for (let i = 0n; i < count; i++) {
      const high = i === count - 1n ? limits.hashKeys - 1n : width * (i + 1n) - 1n;
      this.addShard({ low: width * i, high }, { parents: [], createdMs: parts.createdMs });
    }
  }

  get arn(): string {
    return `arn:aws:kinesis:us-east-1:000000000000:stream/${this.name}`;
  }

  addShard(
    range: HashRange,
    parts: { readonly parents: readonly Shard[]; readonly createdMs: number },
  ): Shard {
    const shard = new Shard({ index: this.shards.length, range, ...parts });
    this.shards.push(shard);
    for (const parent of parts.parents) parent.children.push(shard);
    return shard;
  }

  shard(id: string): Shard | undefined {
    return this.shards.find((shard) => shard.id === id);
  }

  /** The open shard whose range has the hash key. */
  shardOf(hashKey: bigint): Shard {
    const found = this.shards.find(
      ({ isOpen, range }) => isOpen && range.low <= hashKey && hashKey <= range.high,
    );
    if (found === undefined) throw new RangeError("a hash key that no open shard has");
    return found;
  }

  /** Index of the oldest record of a shard that is still to be read. */
  firstRecord(shard: Shard, nowMs: number): number {
    return shard.trim(nowMs - this.retentionHours * 3600_000);
  }
}

/** MD5, as the service maps partition keys to hash keys. */
export function hashKeyOf(partitionKey: string): bigint {
  return BigInt(`0x${createHash("md5").update(partitionKey, "utf8").digest("hex")}`);
}
