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

export class LimitedKinesis extends KinesisModel {
  readonly #nowMs: () => number;
  readonly #ledger: UsageLedger;
  readonly #records: TokenBucket;
  readonly #bytes: TokenBucket;
  readonly #readCalls: TokenBucket;
  readonly #readBytes: TokenBucket;

  /** The model of one stream with one shard. */
  constructor(options: KinesisModelOptions & { readonly ledger: UsageLedger }) {
    super(options);
    const { nowMs } = options;
    this.#nowMs = nowMs;
    this.#ledger = options.ledger;
    const begin = { nowMs: nowMs() };
    const writes = { ...begin, roomSeconds: writeRoomSeconds };
    this.#records = new TokenBucket(serviceLimits.shardRecordsPerSecond, writes);
    this.#bytes = new TokenBucket(serviceLimits.shardBytesPerSecond, writes);
    this.#readCalls = new TokenBucket(serviceLimits.shardReadCallsPerSecond, begin);
    this.#readBytes = new TokenBucket(serviceLimits.shardReadBytesPerSecond, begin);
  }

  override execute<Name extends OperationName>(
    operation: Name,
    input: Operations[Name]["input"],
    conditions: CallConditions = {},
  ): Operations[Name]["output"] {
    if (operation === "PutRecords") return this.#put(input as Put["input"], conditions);
    if (operation !== "GetRecords") return super.execute(operation, input, conditions);
    if (!this.mayRead()) {
      this.#ledger.noteThrottled();
      throw rateExceeded();
    }
    const output = super.execute(operation, input, conditions);
    const { Records = [] } = output as Operations["GetRecords"]["output"];
    const bytes = Records.reduce((sum, { Data }) => sum + (Data?.length ?? 0), 0);
    this.noteRead({ calls: 1, bytes });
    return output;
  }

  /** Whether a reader without fan-out may call now. */
  mayRead(): boolean {
    const nowMs = this.#nowMs();
    return this.#readCalls.left(nowMs) >= 1 && this.#readBytes.left(nowMs) > 0;
  }

  /** What a reader has taken; a mapping's polls, too, which come at their own pace. */
  noteRead({ calls, bytes }: { readonly calls: number; readonly bytes: number }): void {
    const nowMs = this.#nowMs();
    this.#readCalls.charge(nowMs, calls);
    this.#readBytes.charge(nowMs, bytes);
  }

  #put(input: Put["input"], conditions: CallConditions): Put["output"] {
    const nowMs = this.#nowMs();
    const sizes = (input.Records ?? []).map(
      ({ Data, PartitionKey }) => (Data?.length ?? 0) + utf8Length(PartitionKey ?? ""),
    );
    const refused = new Set<number>();
    for (const [index, bytes] of sizes.entries()) {
      if (this.#records.left(nowMs) < 1 || this.#bytes.left(nowMs) <= 0) {
        refused.add(index);
        this.#ledger.noteThrottled();
        continue;
      }
      this.#records.charge(nowMs, 1);
      this.#bytes.charge(nowMs, bytes);
      this.#ledger.noteRecord({ bytes, putUnits: Math.ceil(bytes / putUnitBytes) });
    }
    const failEntries = (index: number): "ProvisionedThroughputExceededException" | undefined =>
      refused.has(index) ? "ProvisionedThroughputExceededException" : undefined;
    return super.execute("PutRecords", input, { ...conditions, failEntries });
  }
}

function rateExceeded(): ServiceError {
  return new ServiceError("ProvisionedThroughputExceededException", {
    message: "Rate exceeded for shard",
    status: 400,
  });
}
