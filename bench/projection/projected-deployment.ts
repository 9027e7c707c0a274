/**
 * Tidemark deployed in a projected world: the real client, oracle and replay, on mappings and on
 * the schedule as they are deployed (functions/shared/settings.ts), on one shard.
 */
import { createAwsClientPorts } from "../../aws/client-ports.ts";
import { type AwsPorts, type AwsPortsOptions, createAwsPorts } from "../../aws/ports.ts";
import { createTables } from "../../aws/create-tables.ts";
import { provisionDeployment } from "../../aws/provision.ts";
import { registerTables } from "../../aws/register-tables.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { LogPosition, SequenceNumber, ShardId, TableAccess } from "../../core/types.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { CommitPreference, EngineEvent } from "../../engine/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { createReplayService } from "../../functions/replay/service.ts";
import {
  batchSettings,
  functionSettings,
  scheduleMs,
  timeLimitMs,
} from "../../functions/shared/settings.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { type Client, ConnectedClient } from "../../sdk/client.ts";
import { SimulatedFunction } from "../../testing/kernel/simulated-function.ts";
import type { SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import type { BatchAnswer, ShardBatch } from "../../testing/kernel/stream-mapping.ts";
import { loadAllParts } from "../../testing/loaded-parts.ts";
import { createDelivery } from "./delivery.ts";
import { ProjectedMapping } from "./projected-mapping.ts";
import { ProjectedWorld } from "./projected-world.ts";
import { type Consumer, processorFigures } from "./published-figures.ts";
import type { Part } from "./usage-ledger.ts";

const deployment = "projection";
export const projectionTable = "items";

type Role = "oracle" | "replay";

/** A function's process, and what it does with each batch. */
type Start = (
  process: SimulatedProcess,
) => (batch: ShardBatch, context: { readonly remainingMs: () => number }) => Promise<BatchAnswer>;

const runLimitMs = 24 * 3600_000;

export class ProjectedDeployment {
  readonly world: ProjectedWorld;
  readonly shard: ShardId;
  readonly #inspector: AwsPorts;
  readonly #stream: string;
  readonly #oracle: ProjectedMapping;
  readonly #replay: ProjectedMapping;
  /** No record wakes replay for what clients commit express. */
  readonly #scheduled: SimulatedFunction<ShardBatch, BatchAnswer>;
  #processes = 0;

  static async create(options: {
    readonly seed: number | string;
    /** How the oracle is fed; replay's consumer is always a standard one. */
    readonly consumer: Consumer;
    /** Of its table. Default: transactional. */
    readonly access?: TableAccess;
  }): Promise<ProjectedDeployment> {
    const { access = "transactional" } = options;
    await loadAllParts();
    const world = new ProjectedWorld(options);
    const operator = world.startProcess("operator");
    const aws = { handles: world.handles(operator, { calm: true }), clock: operator.clock };
    const provision = async (): Promise<ShardId> => {
      const [shard] = await provisionDeployment({ ...aws, deployment });
      if (shard === undefined) throw new Error("a deployment without a shard");
      const table = { name: projectionTable, partitionKey: { name: "id", type: "S" } } as const;
      await createTables(aws, [table]);
      await registerTables({ ...aws, deployment }, [{ ...table, history: false, access }]);
      return shard;
    };
    const shard = await world.time.runUntil(provision(), runLimitMs);
    return new ProjectedDeployment(world, { shard, consumer: options.consumer });
  }

  private constructor(
    world: ProjectedWorld,
    { shard, consumer }: { readonly shard: ShardId; readonly consumer: Consumer },
  ) {
    this.world = world;
    this.shard = shard;
    this.#inspector = createAwsPorts(this.#portsOptions(world.startProcess("inspector")));
    this.#stream = this.#inspector.names.stream;
    this.#oracle = this.#mapping("oracle", consumer, (process) => {
      const service = createOracleService({
        ...createAwsPorts(this.#portsOptions(process)),
        observability: silentObservability,
      });
      return async (batch, context) => {
        await service.handle(batch, context);
        return {};
      };
    });
    const replay: Start = (process) => {
      const ports = createAwsPorts(this.#portsOptions(process));
      const service = createReplayService(ports, silentObservability);
      return (batch, context) => service.handle(batch, context);
    };
    this.#replay = this.#mapping("replay", "standard", replay);
    this.#scheduled = this.#function("replay", "replay-schedule", replay);
    void this.#runSchedule();
  }

  /** Runs the body; virtual time passes while all of it waits. */
  run<Result>(body: () => Promise<Result>): Promise<Result> {
    return this.world.time.runUntil(Promise.resolve().then(body), runLimitMs);
  }

  /** The client of a new process with a processor of its own. */
  startClient(commit: CommitPreference, onEvent: (event: EngineEvent) => void): Client {
    this.#processes += 1;
    const process = this.world.startProcess(`app#${this.#processes.toString()}`);
    this.#register(process, "client", 1);
    const engine = createClientEngine(createAwsClientPorts(this.#portsOptions(process)), {
      ...{ commit, onEvent },
    });
    return new ConnectedClient({
      connect: () => Promise.resolve({ engine, close: () => Promise.resolve() }),
      marshall: {},
      numbers: "bigint-when-unsafe",
    });
  }

  /** Waits until oracle and replay have done all that is in the stream, and in the log. */
  async settled(): Promise<void> {
    while (this.#oracle.behind > 0 || this.#replay.behind > 0) await this.world.time.sleep(100);
    const watermark = await this.#inspector.control.readWatermark(this.shard);
    const { blocks } = await this.#inspector.log.readAfter(
      this.shard,
      watermark?.position ?? (0 as LogPosition),
    );
    if (blocks.length > 0) await this.#runScheduled();
  }

  async #runSchedule(): Promise<never> {
    const { time } = this.world;
    const random = this.world.random.fork("replay-schedule");
    for (;;) {
      await time.sleep(scheduleMs("replay") * random.between(0.9, 1.1));
      await this.#runScheduled();
    }
  }

  async #runScheduled(): Promise<void> {
    const { time, ledger } = this.world;
    const beganMs = time.nowMs;
    await this.#scheduled.invoke({ shard: this.shard, records: [] });
    ledger.noteInvocation("replay", time.nowMs - beganMs);
  }

  /** How far the watermark lies behind the present. */
  async watermarkLagMs(): Promise<number> {
    const { time } = this.world;
    const watermark = await this.#inspector.control.readWatermark(this.shard);
    return time.nowMs - (watermark?.timestamp ?? 0) / 1_000;
  }

  #register(process: SimulatedProcess, part: Part, processors: number): void {
    const callMs = processorFigures.clientCallMs / processors;
    this.world.link.register(process, { part, callMs });
  }

  #portsOptions(process: SimulatedProcess): AwsPortsOptions {
    return {
      deployment,
      handles: this.world.handles(process, { calm: false }),
      clock: process.clock,
      random: process.random,
    };
  }

  #mapping(role: Role, consumer: Consumer, start: Start): ProjectedMapping {
    const { world } = this;
    const fn = this.#function(role, role, start);
    const made = new ProjectedMapping(world, fn, {
      shard: this.shard,
      part: role,
      shares: consumer === "standard",
      ...batchSettings(role),
      delivery: createDelivery(consumer, world.random.fork(`${role}-delivery`)),
      recordCount: () => world.kinesis.records(this.#stream, this.shard).length,
      records: (first, end) => this.#records(first, end),
    });
    void made.run();
    return made;
  }

  #function(role: Role, name: string, start: Start): SimulatedFunction<ShardBatch, BatchAnswer> {
    const { world } = this;
    const { memoryMb } = functionSettings[role];
    const { time, faults, trace } = world;
    return new SimulatedFunction<ShardBatch, BatchAnswer>(
      {
        name,
        timeLimitMs: timeLimitMs(role),
        start: (process) => {
          this.#register(process, role, Math.min(1, memoryMb / processorFigures.fullProcessorMb));
          return start(process);
        },
      },
      {
        ...{ time, faults, trace, random: world.random.fork(name) },
        startProcess: (processName) => world.startProcess(processName),
      },
    );
  }

  #records(start: number, end?: number): readonly StreamRecord[] {
    const stored = this.world.kinesis.records(this.#stream, this.shard);
    return stored.slice(start, end).map((record) => ({
      sequenceNumber: record.sequenceNumber as SequenceNumber,
      arrivalMs: record.arrivalMs,
      data: record.data,
    }));
  }
}
