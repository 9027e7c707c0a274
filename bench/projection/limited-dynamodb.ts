/**
 * DynamoDB with the limit that no quota raises: one partition serves 1,000 write units and 3,000
 * read units a second. Every partition key counts as a partition of its own, which is the best that
 * adaptive capacity does for a hot one.
 */
import { itemSizeBytes } from "../../core/item-size.ts";
import { writeUnits } from "../../expressions/capacity.ts";
import { DynamoDbModel, type DynamoDbModelOptions } from "../../testing/cloud/dynamodb/model.ts";
import type {
  CallConditions,
  OperationName,
  Operations,
} from "../../testing/cloud/dynamodb/operation-types.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import { serviceLimits } from "./published-figures.ts";
import { TokenBucket } from "./token-bucket.ts";
import type { UsageLedger } from "./usage-ledger.ts";

/** Of the log's table. */
const ownTableSuffix = "-log";

type StoredAttributes = Parameters<typeof itemSizeBytes>[0];

type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What this file looks at in the requests of all operations. */
type Request = {
  readonly TableName?: string;
  readonly Key?: Values;
  readonly Item?: Values;
  readonly ExpressionAttributeValues?: Values;
  readonly RequestItems?: Readonly<Record<string, { readonly Keys?: readonly Values[] }>>;
};

type Answer = {
  readonly ConsumedCapacity?:
    | { readonly CapacityUnits?: number }
    | readonly { readonly CapacityUnits?: number }[];
};

const reads: ReadonlySet<string> = new Set(["GetItem", "BatchGetItem", "Query", "Scan"]);
const writes: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

type Buckets = { readonly read: TokenBucket; readonly write: TokenBucket };

export class LimitedDynamoDb extends DynamoDbModel {
  readonly #nowMs: () => number;
  readonly #ledger: UsageLedger;
  readonly #logShare: number;
  readonly #partitions = new Map<string, Buckets>();
  #isLimited = true;

  /** @param options `logShare`: of the log's partitions' limits. Default 1. */
  constructor(
    options: DynamoDbModelOptions & { readonly ledger: UsageLedger; readonly logShare?: number },
  ) {
    super(options);
    this.#nowMs = options.nowMs;
    this.#ledger = options.ledger;
    this.#logShare = options.logShare ?? 1;
  }

  override execute<Name extends OperationName>(
    operation: Name,
    input: Operations[Name]["input"],
    conditions: CallConditions = {},
  ): Operations[Name]["output"] {
    const kind = reads.has(operation) ? "read" : writes.has(operation) ? "write" : undefined;
    if (kind === undefined || !this.#isLimited) return super.execute(operation, input, conditions);
    const nowMs = this.#nowMs();
    const touched = partitionsOf(input as Request).map((name) => this.#bucketsOf(name)[kind]);
    if (touched.some((bucket) => bucket.left(nowMs) <= 0)) {
      this.#ledger.noteThrottled();
      throw new ServiceError("ProvisionedThroughputExceededException", {
        message: "The level of configured provisioned throughput for the table was exceeded.",
      });
    }
    const charge = (units: number, isRefused = false): void => {
      for (const bucket of touched) bucket.charge(nowMs, units / touched.length);
      if (kind === "read") {
        this.#ledger.noteRead(operation, units);
        return;
      }
      this.#ledger.noteWrite(units);
      const { TableName } = input as Request;
      if (TableName?.endsWith(ownTableSuffix) === true) this.#ledger.noteBlock(units, isRefused);
    };
    try {
      const metered = { ...input, ReturnConsumedCapacity: "TOTAL" } as typeof input;
      const output = super.execute(operation, metered, conditions);
      charge(unitsOf(output as Answer));
      return output;
    } catch (error) {
      // A condition that failed costs what the write would have.
      if (error instanceof ServiceError && error.name === "ConditionalCheckFailedException") {
        const { Item } = input as Request;
        const units = Item === undefined ? 1 : writeUnits(itemSizeBytes(Item as StoredAttributes));
        charge(units, true);
      }
      throw error;
    }
  }

  /** What stood there long before anything is measured: without limits, and charged to nobody. */
  fill(task: () => void): void {
    this.#isLimited = false;
    try {
      task();
    } finally {
      this.#isLimited = true;
    }
  }

  #bucketsOf(partition: string): Buckets {
    let buckets = this.#partitions.get(partition);
    if (buckets === undefined) {
      const begin = { nowMs: this.#nowMs() };
      const [table = ""] = partition.split(" ");
      const share = table.endsWith(ownTableSuffix) ? this.#logShare : 1;
      buckets = {
        read: new TokenBucket(serviceLimits.partitionReadUnitsPerSecond * share, begin),
        write: new TokenBucket(serviceLimits.partitionWriteUnitsPerSecond * share, begin),
      };
      this.#partitions.set(partition, buckets);
    }
    return buckets;
  }
}

/**
 * The adapters name the partition key first in keys, items and key conditions; a test holds them to
 * it.
 */
function partitionsOf({ TableName = "", Key, Item, ...more }: Request): readonly string[] {
  const { ExpressionAttributeValues, RequestItems } = more;
  if (RequestItems !== undefined) {
    return Object.entries(RequestItems).flatMap(([table, { Keys = [] }]) =>
      Keys.map((key) => partitionOf(table, key)),
    );
  }
  return [partitionOf(TableName, Key ?? Item ?? ExpressionAttributeValues ?? {})];
}

function partitionOf(table: string, values: Values): string {
  const [first] = Object.values(values);
  return `${table} ${String(Object.values(first ?? {})[0])}`;
}

function unitsOf({ ConsumedCapacity }: Answer): number {
  const list = ConsumedCapacity === undefined ? [] : [ConsumedCapacity].flat();
  return list.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
}
