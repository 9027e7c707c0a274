/**
 * Tidemark deployed in a projected world: the real client, oracle and replay, on mappings and on
 * the schedule as they are deployed (functions/shared/settings.ts), on one shard or several. Of
 * several each log has a Kinesis shard of its own, and each of these an instance of each function,
 * which stays with it: what AWS does when instances change places is not in here.
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createAwsClientPorts } from "../../aws/client-ports.ts";
import { type AwsPorts, type AwsPortsOptions, createAwsPorts } from "../../aws/ports.ts";
import { createTables } from "../../aws/create-tables.ts";
import { provisionDeployment } from "../../aws/provision.ts";
import { registerTables } from "../../aws/register-tables.ts";
import { splitShard } from "../../aws/split-shard.ts";
import type { ClientPorts, StreamRecord } from "../../core/ports.ts";
import { compareSequenceNumbers } from "../../core/sequence-number.ts";
import type {
  AttributeValue,
  LogPosition,
  SequenceNumber,
  ShardId,
  ShardNumber,
  TableAccess,
} from "../../core/types.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { CommitPreference, EngineEvent } from "../../engine/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { createReplayService } from "../../functions/replay/service.ts";
import { carriedBatches, handleEach } from "../../functions/shared/carried-batches.ts";
import {
  batchSettings,
  functionSettings,
  scheduleMs,
  timeLimitMs,
} from "../../functions/shared/settings.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { type Client, ConnectedClient } from "../../sdk/client.ts";
import { SimulatedFunction } from "../../testing/kernel/simulated-function.ts";
import type { SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import type { BatchAnswer, ShardBatch } from "../../testing/kernel/stream-mapping.ts";
import { loadAllParts } from "../../testing/loaded-parts.ts";
import { createDelivery } from "./delivery.ts";
import { ProjectedMapping } from "./projected-mapping.ts";
import { ProjectedWorld, type ProjectedWorldOptions } from "./projected-world.ts";
import { type Consumer, processorFigures } from "./published-figures.ts";
import type { Part } from "./usage-ledger.ts";

const deployment = "projection";
export const projectionTable = "items";

export type ProjectedTable = {
  readonly name: string;
  readonly partitionKey: { readonly name: string; readonly type: "S" | "N" };
  readonly sortKey?: { readonly name: string; readonly type: "S" | "N" };
  /** For BASE transactions, whose readers wait for nobody: with history. Default false. */
  readonly base?: boolean;
};

export const itemsTable: ProjectedTable = {
  name: projectionTable,
  partitionKey: { name: "id", type: "S" },
};

/** What a process has in place of its ports, for who measures what happens there. */
export type Adapt = <Ports extends AwsPorts | ClientPorts>(
  ports: Ports,
  of: { readonly role: Role | "app"; readonly process: string; readonly world: ProjectedWorld },
) => Ports;

const asTheyAre: Adapt = (ports) => ports;

type Role = "oracle" | "replay";

/** A function's process, and what it does with each batch. */
type Start = (
  process: SimulatedProcess,
) => (batch: ShardBatch, context: { readonly remainingMs: () => number }) => Promise<BatchAnswer>;

/** Of a sort key: the shard is that of the partition. */
const sample = { S: { S: "" }, N: { N: "0" } } as const;

const runLimitMs = 24 * 3600_000;

export type DeploymentSettings = {
  /** How the oracle is fed; replay's consumer is always a standard one. */
  readonly consumer: Consumer;
  /** Of its tables. Default: transactional. */
  readonly access?: TableAccess;
  /** 1 to 64. Default 1. */
  readonly shards?: number;
  /** Default: one, for the items of transactions.ts. */
  readonly tables?: readonly ProjectedTable[];
  readonly adapt?: Adapt;
};

export class ProjectedDeployment {
  readonly world: ProjectedWorld;
  readonly #shards: ShardId[];
  /** By the log that a Kinesis shard was made for: those that were split off it, as well. */
  readonly #carried = new Map<ShardId, ShardId[]>();
  readonly #adapt: Adapt;
  readonly #inspector: AwsPorts;
  readonly #stream: string;
  readonly #mappings: readonly ProjectedMapping[];
  /** No record wakes replay for what clients commit express. */
  readonly #scheduled: SimulatedFunction<ShardBatch, BatchAnswer>;
  #processes = 0;

  static async create(
    options: ProjectedWorldOptions & DeploymentSettings,
  ): Promise<ProjectedDeployment> {
    const { access = "transactional", tables = [itemsTable], shards: count = 1 } = options;
    await loadAllParts();
    const world = new ProjectedWorld(options);
    const operator = world.startProcess("operator");
    const aws = {
      ...{ handles: world.handles(operator, { calm: true }), clock: operator.clock },
      // Of the hashes' secret, by which it is decided what lies in which shard.
      random: operator.random,
    };
    const provision = async (): Promise<readonly ShardId[]> => {
      await provisionDeployment({ ...aws, deployment, shardCount: count, shards: count });
      await createTables(aws, tables);
      await registerTables(
        { ...aws, deployment },
        tables.map(({ base = false, ...table }) => ({ ...table, base, history: base, access })),
      );
      const { control } = createAwsPorts({ ...aws, deployment });
      const entries = await control.shardEntries();
      return entries.toSorted((a, b) => a.number - b.number).map(({ shard }) => shard);
    };
    const shards = await world.time.runUntil(provision(), runLimitMs);
    const { consumer, adapt = asTheyAre } = options;
    return new ProjectedDeployment(world, { shards, consumer, adapt });
  }

  private constructor(
    world: ProjectedWorld,
    {
      shards,
      consumer,
      adapt,
    }: {
      readonly shards: readonly ShardId[];
      readonly consumer: Consumer;
      readonly adapt: Adapt;
    },
  ) {
    this.world = world;
    this.#shards = [...shards];
    for (const shard of shards) this.#carried.set(shard, [shard]);
    this.#adapt = adapt;
    this.#inspector = createAwsPorts(this.#portsOptions(world.startProcess("inspector")));
    this.#stream = this.#inspector.names.stream;
    const oracle: Start = (process) => {
      const ports = this.#functionPorts("oracle", process);
      const service = createOracleService({ ...ports, observability: silentObservability });
      return async (batch, context) => {
        const batches = await this.#batches(ports, batch);
        await handleEach(batches, (each) => service.handle(each, context));
        return {};
      };
    };
    const replay: Start = (process) => {
      const ports = this.#functionPorts("replay", process);
      const service = createReplayService(ports, silentObservability);
      return async (batch, context) => {
        const batches = await this.#batches(ports, batch);
        const ends = await handleEach(batches, (each) => service.handle(each, context));
        const [unfinishedFrom] = ends
          .flatMap((end) => end.unfinishedFrom ?? [])
          .sort(compareSequenceNumbers);
        return { unfinishedFrom };
      };
    };
    this.#mappings = shards.flatMap((_, number) => [
      this.#mapping({ role: "oracle", number, consumer, start: oracle }),
      this.#mapping({ role: "replay", number, consumer: "standard", start: replay }),
    ]);
    this.#scheduled = this.#function("replay", "replay-schedule", replay);
    void this.#runSchedule();
  }

  /** By rising number; those that were split off come last. */
  get shards(): readonly ShardId[] {
    return this.#shards;
  }

  /** Splits a shard in the middle of its range, as an operator does, while clients commit. */
  async splitShard(number: number): Promise<void> {
    const parent = this.#shards[number];
    if (parent === undefined) throw new RangeError("there is no such shard");
    const operator = this.world.startProcess("shard operator");
    const { kinesis } = this.world.handles(operator, { calm: false });
    const ports = createAwsPorts(this.#portsOptions(operator));
    const parts = { ...ports, carrier: { kinesis, stream: this.#stream } };
    const { id } = await splitShard(parts, { shard: number as ShardNumber });
    this.#shards.push(id);
    this.#carried.get(parent)?.push(id);
  }

  /** Until it is resumed the oracle of that shard does nothing, as if its function were down. */
  pauseOracle(number: number): void {
    this.#oracleOf(number).pause();
  }

  resumeOracle(number: number): void {
    this.#oracleOf(number).resume();
  }

  #oracleOf(number: number): ProjectedMapping {
    // Each shard has two mappings, its oracle's first.
    const mapping = this.#mappings[2 * number];
    if (mapping === undefined) throw new RangeError("there is no such shard");
    return mapping;
  }

  /** A batch as each log takes it that its Kinesis shard carries. */
  async #batches(ports: AwsPorts, batch: ShardBatch): Promise<readonly ShardBatch[]> {
    const owners = this.#carried.get(batch.shard) ?? [];
    if (owners.length < 2) return [batch];
    const ownersOf = (): Promise<readonly ShardId[]> => Promise.resolve(owners);
    return carriedBatches(ports.control, { ownersOf, records: batch.records }, {});
  }

  /** Runs the body; virtual time passes while all of it waits. */
  run<Result>(body: () => Promise<Result>): Promise<Result> {
    return this.world.time.runUntil(Promise.resolve().then(body), runLimitMs);
  }

  /** The client of a new process with a processor of its own. */
  startClient(commit: CommitPreference, onEvent: (event: EngineEvent) => void): Client {
    this.#processes += 1;
    const { world } = this;
    const process = world.startProcess(`app#${this.#processes.toString()}`);
    this.#register(process, "client", 1);
    const ports = createAwsClientPorts(this.#portsOptions(process));
    const adapted = this.#adapt(ports, { role: "app", process: process.name, world });
    const engine = createClientEngine(adapted, { commit, onEvent });
    return new ConnectedClient({
      connect: () => Promise.resolve({ engine, close: () => Promise.resolve() }),
      marshall: {},
      numbers: "bigint-when-unsafe",
    });
  }

  /** Plain calls of a new process with a processor of its own. */
  startPlainClient(): DynamoDBClient {
    this.#processes += 1;
    const process = this.world.startProcess(`app#${this.#processes.toString()}`);
    this.#register(process, "client", 1);
    return this.world.handles(process, { calm: false }).dynamodb.client;
  }

  /** Waits until oracle and replay have done all that is in the stream, and in the log. */
  async settled(): Promise<void> {
    while (this.#mappings.some(({ behind }) => behind > 0)) await this.world.time.sleep(100);
    for (const shard of this.shards) {
      const watermark = await this.#inspector.control.readWatermark(shard);
      const after = watermark?.position ?? (0 as LogPosition);
      const { blocks } = await this.#inspector.log.readAfter(shard, after);
      if (blocks.length > 0) await this.#runScheduled(shard);
    }
  }

  async #runSchedule(): Promise<never> {
    const { time } = this.world;
    const random = this.world.random.fork("replay-schedule");
    for (;;) {
      await time.sleep(scheduleMs("replay") * random.between(0.9, 1.1));
      for (const shard of this.shards) await this.#runScheduled(shard);
    }
  }

  async #runScheduled(shard: ShardId): Promise<void> {
    const { time, ledger } = this.world;
    const beganMs = time.nowMs;
    // What a store refuses it, the next turn does.
    await this.#scheduled.invoke({ shard, records: [] }).catch(() => undefined);
    ledger.noteInvocation("replay", time.nowMs - beganMs);
  }

  /** How far the watermark lies behind the present; of several shards the one that lies lowest. */
  async watermarkLagMs(): Promise<number> {
    const { time } = this.world;
    const { control } = this.#inspector;
    const watermarks = await Promise.all(this.shards.map((shard) => control.readWatermark(shard)));
    const lowest = Math.min(...watermarks.map((watermark) => watermark?.timestamp ?? 0));
    return time.nowMs - lowest / 1_000;
  }

  /** Tells in which shard the partition of the table with this key lies, by number. */
  async locator(table: ProjectedTable): Promise<(partition: AttributeValue) => number> {
    const { control } = this.#inspector;
    const look = async (): Promise<(partition: AttributeValue) => number> => {
      const [map, [first]] = await Promise.all([control.shardMap(), control.shards()]);
      if (map === undefined || first === undefined) throw new Error("there is no shard");
      const hashes = new KeyHashes(await control.keyHasher(first));
      const { name, partitionKey, sortKey } = table;
      const named = {
        ...{ name, partitionKey: partitionKey.name },
        ...(sortKey === undefined ? {} : { sortKey: sortKey.name }),
      };
      return (partition) => {
        const sort = sortKey === undefined ? {} : { [sortKey.name]: sample[sortKey.type] };
        const key = { [partitionKey.name]: partition, ...sort };
        return map.at(hashes.item(named, key).partition).number;
      };
    };
    return this.run(look);
  }

  #register(process: SimulatedProcess, part: Part, processors: number): void {
    const callMs = processorFigures.clientCallMs / processors;
    this.world.link.register(process, { part, callMs });
  }

  #functionPorts(role: Role, process: SimulatedProcess): AwsPorts {
    const ports = createAwsPorts(this.#portsOptions(process));
    return this.#adapt(ports, { role, process: process.name, world: this.world });
  }

  #portsOptions(process: SimulatedProcess): AwsPortsOptions {
    return {
      deployment,
      handles: this.world.handles(process, { calm: false }),
      clock: process.clock,
      random: process.random,
    };
  }

  #mapping({ role, number, consumer, start }: MappingOptions): ProjectedMapping {
    const { world } = this;
    const shard = this.shards[number];
    if (shard === undefined) throw new RangeError("there is no such shard");
    // Those of the first are called as if it were alone: their chances are the same.
    const name = number === 0 ? role : `${role}-${number.toString()}`;
    const carrier = `shardId-${number.toString().padStart(12, "0")}`;
    const stored = (): ReturnType<typeof world.kinesis.records> =>
      world.kinesis.records(this.#stream, carrier);
    const made = new ProjectedMapping(world, this.#function(role, name, start), {
      shard,
      carrier,
      part: role,
      shares: consumer === "standard",
      ...batchSettings(role),
      delivery: createDelivery(consumer, world.random.fork(`${name}-delivery`)),
      recordCount: () => stored().length,
      records: (first, end) => stored().slice(first, end).map(toStreamRecord),
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
}

type MappingOptions = {
  readonly role: Role;
  readonly number: number;
  readonly consumer: Consumer;
  readonly start: Start;
};

function toStreamRecord(record: {
  readonly sequenceNumber: string;
  readonly arrivalMs: number;
  readonly data: Uint8Array;
}): StreamRecord {
  return { ...record, sequenceNumber: record.sequenceNumber as SequenceNumber };
}
