/**
 * A test cloud whose services count what each part of Tidemark asks of them. Time is virtual and
 * chance is seeded, so the counts are the same on every machine; what is counted is what the real
 * client, oracle and replay do.
 *
 * A call belongs to the *tail* when an application's process reads the log or the control table,
 * and to the *transaction* when it makes any other; calls of functions belong to the function.
 * Units are DynamoDB's documented ones, as the model of the test cloud reports them.
 */
import * as limits from "../../core/limits.ts";
import { scheduleMs } from "../../functions/shared/settings.ts";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import type { CallConditions } from "../../testing/cloud/dynamodb/operation-types.ts";
import type * as dynamoDb from "../../testing/cloud/dynamodb/operation-types.ts";
import { KinesisModel } from "../../testing/cloud/kinesis/model.ts";
import type * as kinesis from "../../testing/cloud/kinesis/operation-types.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import {
  latencyDefault,
  type ServiceCall,
  ServiceLink,
} from "../../testing/kernel/service-link.ts";
import type { SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import { World } from "../../testing/kernel/world.ts";
import { loadAllParts } from "../../testing/loaded-parts.ts";
import { TestCloud } from "../../testing/test-cloud.ts";
import { TestDeployment } from "../../testing/test-deployment.ts";
import type { TestTable } from "../../testing/deployment-options.ts";

export const parts = ["transaction", "tail", "oracle", "replay"] as const;
export type Part = (typeof parts)[number];

export type PartUsage = {
  calls: number;
  readUnits: number;
  writeUnits: number;
  /** Calls that put records into the stream, and the records. */
  putCalls: number;
  records: number;
};

export type CloudUsage = { readonly [Name in Part]: Readonly<PartUsage> };

/** Replay sweeps by its own schedule after this time, which belongs to no transaction. */
const undisturbedMs = scheduleMs("replay");
const deployment = "guard";
const createdWithinMs = 3600_000;
const reads: ReadonlySet<string> = new Set(["GetItem", "BatchGetItem", "Query", "Scan"]);
const writes: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);
const batchedWrites: ReadonlySet<string> = new Set(["BatchWriteItem", "TransactWriteItems"]);

/**
 * Counts for whoever's call is arriving. Services answer at once, so nobody else's comes in
 * between.
 */
class Meter {
  #usage = noUsage();
  #current: Part | undefined;

  during<Result>(part: Part | undefined, act: () => Result): Result {
    const before = this.#current;
    this.#current = part;
    try {
      return act();
    } finally {
      this.#current = before;
    }
  }

  add(figure: keyof PartUsage, amount: number): void {
    if (this.#current !== undefined) this.#usage[this.#current][figure] += amount;
  }

  reset(): void {
    this.#usage = noUsage();
  }

  snapshot(): CloudUsage {
    return structuredClone(this.#usage);
  }
}

class MeteredDynamoDb extends DynamoDbModel {
  readonly #meter: Meter;

  constructor(meter: Meter, nowMs: () => number) {
    super({ nowMs });
    this.#meter = meter;
  }

  override execute<Name extends dynamoDb.OperationName>(
    operation: Name,
    input: dynamoDb.Operations[Name]["input"],
    conditions: CallConditions = {},
  ): dynamoDb.Operations[Name]["output"] {
    const isRead = reads.has(operation);
    if (!isRead && !writes.has(operation) && !batchedWrites.has(operation)) {
      return super.execute(operation, input, conditions);
    }
    const figure = isRead ? "readUnits" : "writeUnits";
    try {
      const metered = { ...input, ReturnConsumedCapacity: "TOTAL" } as typeof input;
      const output = super.execute(operation, metered, conditions);
      this.#meter.add(figure, unitsOf(output as Answer));
      return output;
    } catch (error) {
      // A condition that failed costs what the write would have; items are below 1 KB here.
      if (error instanceof ServiceError && error.name === "ConditionalCheckFailedException") {
        this.#meter.add("writeUnits", 1);
      }
      throw error;
    }
  }
}

class MeteredKinesis extends KinesisModel {
  readonly #meter: Meter;

  constructor(meter: Meter, nowMs: () => number) {
    super({ nowMs });
    this.#meter = meter;
  }

  override execute<Name extends kinesis.OperationName>(
    operation: Name,
    input: kinesis.Operations[Name]["input"],
    conditions: kinesis.CallConditions = {},
  ): kinesis.Operations[Name]["output"] {
    if (operation === "PutRecords" || operation === "PutRecord") {
      const { Records = [undefined] } = input as { readonly Records?: readonly unknown[] };
      this.#meter.add("putCalls", 1);
      this.#meter.add("records", Records.length);
    }
    return super.execute(operation, input, conditions);
  }
}

class MeteredWorld extends World {
  readonly meter = new Meter();
  override readonly dynamodb: DynamoDbModel = new MeteredDynamoDb(this.meter, () =>
    Math.floor(this.time.nowMs),
  );
  override readonly kinesis: KinesisModel = new MeteredKinesis(this.meter, () =>
    Math.floor(this.time.nowMs),
  );
  override readonly link: ServiceLink;

  constructor(seed: number) {
    super({ seed, faults: {}, keepTrace: false });
    this.link = new MeteredLink(this, this.meter);
  }
}

class MeteredLink extends ServiceLink {
  readonly #meter: Meter;

  constructor(world: World, meter: Meter) {
    const { time, faults, weather, trace } = world;
    const callTimeoutMs = limits.callTimeoutMsDefault;
    super({ time, faults, weather, trace, latency: latencyDefault, callTimeoutMs });
    this.#meter = meter;
  }

  override try(
    process: SimulatedProcess,
    call: ServiceCall,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const part = partOf(process.name, call);
    this.#meter.during(part, () => {
      this.#meter.add("calls", 1);
    });
    const perform = (): unknown => this.#meter.during(part, call.perform);
    return super.try(process, { ...call, perform }, signal);
  }
}

/**
 * Instances of a function are numbered after its name; undefined for what belongs to no
 * transaction.
 */
function partOf(process: string, { operation, target }: ServiceCall): Part | undefined {
  const [name] = process.split(/[.#]/);
  if (name === "oracle" || name === "replay") return name;
  if (name !== "app" && name !== "api") return undefined;
  const ofTidemark =
    target === `tidemark-${deployment}-log` || target === `tidemark-${deployment}-control`;
  return ofTidemark && reads.has(operation) ? "tail" : "transaction";
}

export type MeteredCloud = {
  readonly cloud: TestCloud;
  reset(): void;
  /**
   * Since the last `reset`, everything under way having come to its end; with `settled: false`, as
   * it is now.
   * @throws Error when so much virtual time has passed that scheduled work is in the figures.
   */
  usage(when?: { readonly settled: boolean }): Promise<CloudUsage>;
};

export async function createMeteredCloud(
  seed: number,
  tables: readonly TestTable[],
): Promise<MeteredCloud> {
  await loadAllParts();
  const world = new MeteredWorld(seed);
  const created = TestDeployment.create(world, {
    deployment,
    tables,
    historyRetentionMs: limits.historyRetentionMsDefault,
    oracleConsumer: "fan-out",
  });
  const cloud = new TestCloud(world, await world.time.runUntil(created, createdWithinMs), {
    commit: "stream",
  });
  const beginMs = world.time.nowMs;
  return {
    cloud,
    reset: () => {
      world.meter.reset();
    },
    async usage({ settled } = { settled: true }) {
      if (settled && !(await cloud.settled()))
        throw new Error("oracle and replay do not come to an end");
      if (world.time.nowMs - beginMs >= undisturbedMs) {
        throw new Error("the scenario takes so long that scheduled work is in its figures");
      }
      return world.meter.snapshot();
    },
  };
}

type Answer = {
  readonly ConsumedCapacity?:
    | { readonly CapacityUnits?: number }
    | readonly { readonly CapacityUnits?: number }[];
};

function unitsOf({ ConsumedCapacity }: Answer): number {
  const list = ConsumedCapacity === undefined ? [] : [ConsumedCapacity].flat();
  return list.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
}

function noUsage(): { readonly [Name in Part]: PartUsage } {
  const none = (): PartUsage => ({
    calls: 0,
    readUnits: 0,
    writeUnits: 0,
    putCalls: 0,
    records: 0,
  });
  return { transaction: none(), tail: none(), oracle: none(), replay: none() };
}
