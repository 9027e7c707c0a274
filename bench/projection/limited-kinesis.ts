/**
 * Kinesis with its limits per shard: what comes in beyond 1,000 records or 1 MB in a second is
 * refused record by record, and all readers without fan-out share five calls and 2 MB a second.
 */
import { utf8Length } from "../../core/utf8.ts";
import { KinesisModel, type KinesisModelOptions } from "../../testing/cloud/kinesis/model.ts";
import type {
  CallConditions,
  OperationName,
  Operations,
} from "../../testing/cloud/kinesis/operation-types.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import { putUnitBytes, serviceLimits } from "./published-figures.ts";
import { TokenBucket } from "./token-bucket.ts";
import type { UsageLedger } from "./usage-ledger.ts";

type Put = Operations["PutRecords"];

/**
 * Little, so that a measured time of seconds shows what a shard takes for good and nothing saved up
 * before. A record is let in while anything is left, however large it is, and the next ones wait
 * for it.
 */
const writeRoomSeconds = 0.1;

type Buckets = {
  readonly records: TokenBucket;
  readonly bytes: TokenBucket;
  readonly readCalls: TokenBucket;
  readonly readBytes: TokenBucket;
};

export type LimitedKinesisOptions = KinesisModelOptions & {
  readonly ledger: UsageLedger;
  /** Of a Kinesis shard's documented limits. Default 1. */
  readonly share?: number;
};

/** The model of one stream, whose shards have equal ranges. */
export class LimitedKinesis extends KinesisModel {
  readonly #nowMs: () => number;
  readonly #ledger: UsageLedger;
  readonly #share: number;
  /** By the hash key that records are put with, and by the name that they are read under. */
  readonly #writes = new Map<string, Buckets>();
  readonly #reads = new Map<string, Buckets>();
  /** The shard that an iterator stands in. */
  readonly #iterators = new Map<string, string>();

  constructor(options: LimitedKinesisOptions) {
    super(options);
    const { nowMs, ledger, share = 1 } = options;
    this.#nowMs = nowMs;
    this.#ledger = ledger;
    this.#share = share;
  }

  override execute<Name extends OperationName>(
    operation: Name,
    input: Operations[Name]["input"],
    conditions: CallConditions = {},
  ): Operations[Name]["output"] {
    if (operation === "PutRecords") return this.#put(input as Put["input"], conditions);
    if (operation === "GetShardIterator") {
      const { ShardId = "" } = input as Operations["GetShardIterator"]["input"];
      const output = super.execute(operation, input, conditions);
      const { ShardIterator } = output as Operations["GetShardIterator"]["output"];
      if (ShardIterator !== undefined) this.#iterators.set(ShardIterator, ShardId);
      return output;
    }
    if (operation !== "GetRecords") return super.execute(operation, input, conditions);
    const { ShardIterator = "" } = input as Operations["GetRecords"]["input"];
    const shard = this.#iterators.get(ShardIterator) ?? "";
    if (!this.mayRead(shard)) {
      this.#ledger.noteThrottled();
      throw rateExceeded();
    }
    const output = super.execute(operation, input, conditions);
    const { Records = [], NextShardIterator } = output as Operations["GetRecords"]["output"];
    if (NextShardIterator !== undefined) this.#iterators.set(NextShardIterator, shard);
    const bytes = Records.reduce((sum, { Data }) => sum + (Data?.length ?? 0), 0);
    this.noteRead(shard, { calls: 1, bytes });
    return output;
  }

  /** Whether a reader without fan-out may call now. */
  mayRead(shard: string): boolean {
    const nowMs = this.#nowMs();
    const { readCalls, readBytes } = this.#bucketsOf(this.#reads, shard);
    return readCalls.left(nowMs) >= 1 && readBytes.left(nowMs) > 0;
  }

  /** What a reader has taken; a mapping's polls, too, which come at their own pace. */
  noteRead(
    shard: string,
    { calls, bytes }: { readonly calls: number; readonly bytes: number },
  ): void {
    const nowMs = this.#nowMs();
    const { readCalls, readBytes } = this.#bucketsOf(this.#reads, shard);
    readCalls.charge(nowMs, calls);
    readBytes.charge(nowMs, bytes);
  }

  #put(input: Put["input"], conditions: CallConditions): Put["output"] {
    const nowMs = this.#nowMs();
    const refused = new Set<number>();
    for (const [index, record] of (input.Records ?? []).entries()) {
      const { Data, PartitionKey = "", ExplicitHashKey = "" } = record;
      const size = (Data?.length ?? 0) + utf8Length(PartitionKey);
      const { records, bytes } = this.#bucketsOf(this.#writes, ExplicitHashKey);
      if (records.left(nowMs) < 1 || bytes.left(nowMs) <= 0) {
        refused.add(index);
        this.#ledger.noteThrottled();
        continue;
      }
      records.charge(nowMs, 1);
      bytes.charge(nowMs, size);
      this.#ledger.noteRecord({ bytes: size, putUnits: Math.ceil(size / putUnitBytes) });
    }
    const failEntries = (index: number): "ProvisionedThroughputExceededException" | undefined =>
      refused.has(index) ? "ProvisionedThroughputExceededException" : undefined;
    return super.execute("PutRecords", input, { ...conditions, failEntries });
  }

  #bucketsOf(of: Map<string, Buckets>, name: string): Buckets {
    let buckets = of.get(name);
    if (buckets === undefined) {
      const begin = { nowMs: this.#nowMs() };
      const writes = { ...begin, roomSeconds: writeRoomSeconds };
      const share = this.#share;
      buckets = {
        records: new TokenBucket(serviceLimits.shardRecordsPerSecond * share, writes),
        bytes: new TokenBucket(serviceLimits.shardBytesPerSecond * share, writes),
        readCalls: new TokenBucket(serviceLimits.shardReadCallsPerSecond, begin),
        readBytes: new TokenBucket(serviceLimits.shardReadBytesPerSecond * share, begin),
      };
      of.set(name, buckets);
    }
    return buckets;
  }
}

function rateExceeded(): ServiceError {
  return new ServiceError("ProvisionedThroughputExceededException", {
    message: "Rate exceeded for shard",
    status: 400,
  });
}
