/**
 * The simulator's world with published latencies in place of its own, with limits, and without
 * faults. Each process also has a processor: its calls take their turns on it.
 */
import { type DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import { type KinesisModel } from "../../testing/cloud/kinesis/model.ts";
import { Faults } from "../../testing/kernel/faults.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { type Latency, type ServiceCall, ServiceLink } from "../../testing/kernel/service-link.ts";
import type { SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import { Weather } from "../../testing/kernel/weather.ts";
import { World } from "../../testing/kernel/world.ts";
import * as limits from "../../core/limits.ts";
import { LimitedDynamoDb } from "./limited-dynamodb.ts";
import { LimitedKinesis } from "./limited-kinesis.ts";
import { drawLogNormal, type LogNormal, logNormalThrough } from "./log-normal.ts";
import { callLatencies } from "./published-figures.ts";
import { type Part, UsageLedger } from "./usage-ledger.ts";

const fitted: ReadonlyMap<string, LogNormal> = new Map(
  Object.entries(callLatencies).map(([operation, figure]) => [operation, logNormalThrough(figure)]),
);

/** For operations that only setting a deployment up needs. */
const otherMs = 10;

export const projectedLatency: Latency = ({ operation }, random) => {
  const distribution = fitted.get(operation);
  return distribution === undefined ? otherMs : drawLogNormal(distribution, random);
};

export type ProjectedWorldOptions = {
  readonly seed: number | string;
  /**
   * Of the limits of a Kinesis shard and of a log's partition: so that a whole is simulated in
   * small, with as much less load. Default 1.
   */
  readonly limitsShare?: number | undefined;
};

export class ProjectedWorld extends World {
  readonly ledger = new UsageLedger();
  readonly limitedDynamoDb: LimitedDynamoDb;
  override readonly dynamodb: DynamoDbModel;
  readonly limitedKinesis: LimitedKinesis;
  override readonly kinesis: KinesisModel;
  override readonly link: MeteredLink;

  constructor({ seed, limitsShare: share = 1 }: ProjectedWorldOptions) {
    super({ seed, faults: {}, latency: projectedLatency, keepTrace: false });
    const nowMs = (): number => Math.floor(this.time.nowMs);
    const { ledger } = this;
    this.limitedDynamoDb = new LimitedDynamoDb({ nowMs, ledger, logShare: share });
    this.dynamodb = this.limitedDynamoDb;
    this.limitedKinesis = new LimitedKinesis({ nowMs, ledger, share });
    this.kinesis = this.limitedKinesis;
    this.link = new MeteredLink(this, this.random.fork("link"));
  }
}

type Processor = { readonly part: Part; readonly callMs: number; freeAtMs: number };

/** Counts whose call it is, and lets it wait for its process's processor. */
class MeteredLink extends ServiceLink {
  readonly #world: ProjectedWorld;
  readonly #processors = new Map<string, Processor>();
  readonly #onProcessor: { ms: number };

  constructor(world: ProjectedWorld, random: SeededRandom) {
    const onProcessor = { ms: 0 };
    const { time, trace } = world;
    const faults = new Faults({ plan: {}, random, onStrike: () => undefined });
    super({
      time,
      trace,
      faults,
      weather: new Weather({ time, faults, trace }),
      // Drawn while `try` below runs, so what it has just noted is this call's.
      latency: (call, drawn) => projectedLatency(call, drawn) + onProcessor.ms,
      callTimeoutMs: limits.callTimeoutMsDefault,
    });
    this.#world = world;
    this.#onProcessor = onProcessor;
  }

  /** Whose process it is, and how long one of its calls keeps its processor busy. */
  register(
    process: SimulatedProcess,
    { part, callMs }: { readonly part: Part; readonly callMs: number },
  ): void {
    this.#processors.set(process.name, { part, callMs, freeAtMs: 0 });
  }

  override try(
    process: SimulatedProcess,
    call: ServiceCall,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const { ledger, time } = this.#world;
    const processor = this.#processors.get(process.name);
    const part = processor?.part ?? "other";
    if (processor !== undefined) {
      processor.freeAtMs = Math.max(processor.freeAtMs, time.nowMs) + processor.callMs;
      this.#onProcessor.ms = processor.freeAtMs - time.nowMs;
    }
    ledger.noteCall(part);
    const perform = (): unknown => ledger.during(part, call.perform);
    const answer = super.try(process, { ...call, perform }, signal);
    this.#onProcessor.ms = 0;
    return answer;
  }
}
