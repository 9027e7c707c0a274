/**
 * A deployment of Tidemark in a simulated world: stream and tables, or tables alone, and the real
 * oracle, replay, reaper and housekeeping behind mappings and schedules. What runs here is what is
 * deployed; only what is below the ports' AWS clients is a model.
 */
import { createAwsClientPorts } from "../aws/client-ports.ts";
import { createAwsPorts, type AwsPorts, type AwsPortsOptions } from "../aws/ports.ts";
import { createTables } from "../aws/create-tables.ts";
import type { StreamWish } from "../aws/stream-wish.ts";
import type { JoinRequest } from "../aws/join-shard.ts";
import { splitShard, type Split, type SplitRequest } from "../aws/split-shard.ts";
import { provisionDeployment } from "../aws/provision.ts";
import { registerTables } from "../aws/register-tables.ts";
import { InvariantViolation } from "../core/assert.ts";
import type { StoredBlock, StreamRecord } from "../core/ports.ts";
import type { LogPosition, SequenceNumber, ShardId } from "../core/types.ts";
import { joinShard, type Join } from "../functions/replay/join-shard.ts";
import type { Observability } from "../functions/shared/observability.ts";
import { batchSettings, scheduleMs, type FunctionRole } from "../functions/shared/settings.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";
import { decodeLogBlockHeader } from "../schemas/log-block.ts";
import { countingObservability } from "./counting-observability.ts";
import { registeredTable, type DeploymentOptions } from "./deployment-options.ts";
import { deployedFunctions, type DeployedFunctions } from "./deployed-functions.ts";
import { ServiceError } from "../expressions/service-error.ts";
import { hostileRecord } from "./kernel/hostile-producer.ts";
import type { HostileAims } from "./kernel/table-lies.ts";
import { withHashBits } from "./narrow-hashes.ts";
import { runSchedule } from "./kernel/schedule.ts";
import { SimulatedFunction, type FunctionDefinition } from "./kernel/simulated-function.ts";
import type { SimulatedProcess } from "./kernel/simulated-process.ts";
import { StreamMapping, type BatchAnswer, type ShardBatch } from "./kernel/stream-mapping.ts";
import type { World } from "./kernel/world.ts";

/** The service's part; what is ours to set is in functions/shared/settings.ts. */
const deliveryMs = {
  "fan-out": { min: 10, max: 70 },
  standard: { min: 100, max: 1_000 },
} as const;
const expiryMs = 60_000;
/** For how long an operator waits for replay. */
const drainMs = 60 * 60_000;
const hostileLookMs = 1_000;
const hostileLookBackRecords = 120;

export class TestDeployment {
  readonly world: World;
  readonly options: DeploymentOptions;
  /** The first one; and how every process of the deployment makes its hashes. */
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly #logs: Map<ShardId, KeyHashes>;
  readonly #functions: DeployedFunctions;
  #hasStream: boolean;
  /** Streams there have been, and what stood in those that are gone. */
  #streams = 0;
  readonly #goneRecords: StreamRecord[] = [];
  #oracle: StreamMapping | undefined;
  #replay: StreamMapping | undefined;
  #isReplayPaused = false;
  readonly #scheduled = new Set<FunctionRole>();
  #operators = 0;
  /** What the functions counted, by metric name. */
  readonly metrics: ReadonlyMap<string, number>;
  /** Errors in functions that no fault excuses: the program itself is wrong. */
  readonly programErrors: string[] = [];
  /** Told of each client's put that found another block at its position. */
  onTaken: ((shard: ShardId, own: StoredBlock, there: StoredBlock) => void) | undefined;
  /** Whether a client may have put a block of its own. */
  hasClientBlocks = false;
  /** Of all oracles' puts, the longest row that found their position taken, one after another. */
  longestRowOfTaken = 0;
  readonly stream: string;
  readonly #aims: HostileAims;
  /** Ports without faults. */
  readonly #calm: AwsPorts;
  readonly #observability: Observability;

  static async create(world: World, options: DeploymentOptions): Promise<TestDeployment> {
    const operator = world.startProcess("operator", { exact: true });
    const { clock, random } = operator;
    const aws = { handles: world.handles(operator, { calm: true }), clock };
    const { deployment, historyRetentionMs, stream, shards } = options;
    const kept = { historyRetentionMs, stream, shards };
    await provisionDeployment({ ...aws, random, deployment, ...kept });
    await createTables(aws, options.tables);
    await registerTables({ ...aws, deployment }, options.tables.map(registeredTable));
    const { control } = withHashBits(createAwsPorts({ ...aws, deployment }), options.hashBits);
    const map = await control.shardMap();
    const logs = new Map<ShardId, KeyHashes>();
    for (const { id } of map?.entries ?? []) {
      logs.set(id, new KeyHashes(await control.keyHasher(id)));
    }
    return new TestDeployment(world, options, logs);
  }

  private constructor(
    world: World,
    options: DeploymentOptions,
    logs: ReadonlyMap<ShardId, KeyHashes>,
  ) {
    const [first] = logs;
    if (first === undefined) throw new Error("a deployment without a shard");
    const [shard, hashes] = first;
    this.#logs = new Map(logs);
    this.world = world;
    this.options = options;
    this.shard = shard;
    this.hashes = hashes;
    const metrics = new Map<string, number>();
    this.metrics = metrics;
    const observability = countingObservability(metrics, (tries) => {
      this.longestRowOfTaken = Math.max(this.longestRowOfTaken, tries);
    });
    this.#observability = observability;
    const calm = world.startProcess("inspector", { exact: true });
    this.#calm = this.portsOf(calm, { calm: true });
    this.stream = this.#calm.names.stream;
    this.#aims = {
      shard,
      controlTable: this.#calm.names.controlTable,
      hashFingerprint: hashes.fingerprint,
      tables: options.tables.map((table) => ({ history: false, ...table })),
    };
    this.#functions = deployedFunctions({
      ...{ options, observability, shards: [...logs.keys()] },
      portsOf: (process) => this.portsOf(process),
      define: (definition) => this.defineFunction(definition),
    });
    this.#hasStream = options.stream ?? true;
    if (this.#hasStream) this.#startStream();
    this.#runSchedules();
    this.#every(expiryMs, () => {
      if (!world.faults.strikes("ttl-late", "tables")) world.dynamodb.expire();
    });
    this.#every(hostileLookMs, () => {
      this.#maybeHostile();
    });
    // The stream tells its consumers of new records; what they then wait is the delivery's own
    // time.
    world.onStreamWrite(() => {
      this.#oracle?.wake();
      this.#replay?.wake();
    });
  }

  /** Undefined where there is no stream. */
  get oracle(): StreamMapping | undefined {
    return this.#oracle;
  }

  /**
   * Gives the deployment a stream, or takes it away, as an operator does, while clients commit.
   * @param skips what the operator leaves out, to see what comes of it.
   */
  async switchStream(
    isOn: boolean,
    { undrained = false }: { readonly undrained?: boolean } = {},
  ): Promise<void> {
    if (isOn === this.#hasStream) return;
    this.#operators += 1;
    const name = `stream operator ${this.#operators.toString()}`;
    const operator = this.world.startProcess(name, { exact: true });
    const { clock, random } = operator;
    const handles = this.world.handles(operator, { calm: true });
    const { deployment } = this.options;
    const provision = (stream: StreamWish) =>
      provisionDeployment({ handles, clock, random, deployment, stream, drainMs });
    if (isOn) {
      await provision(true);
      this.attachFunctions();
      return;
    }
    if (!undrained) await provision("closing");
    this.detachFunctions();
    this.deleteStream();
    if (!undrained) await provision(false);
  }

  /** Splits a shard, as an operator does, while clients commit. */
  async splitShard(request: SplitRequest): Promise<Split> {
    this.#operators += 1;
    const name = `shard operator ${this.#operators.toString()}`;
    const operator = this.world.startProcess(name, { exact: true });
    const { kinesis } = this.world.handles(operator, { calm: true });
    const carrier = this.#hasStream ? { kinesis, stream: this.stream } : undefined;
    const split = await splitShard({ ...this.portsOf(operator, { calm: true }), carrier }, request);
    await this.learnShards();
    return split;
  }

  /** Joins a shard to its neighbour below, as an operator does, while clients commit. */
  async joinShard(request: JoinRequest): Promise<Join> {
    this.#operators += 1;
    const name = `shard operator ${this.#operators.toString()}`;
    const operator = this.world.startProcess(name, { exact: true });
    const ports = this.portsOf(operator, { calm: true });
    return joinShard({ ports, observability: this.#observability }, request);
  }

  /** Takes in what the map says by now. */
  async learnShards(): Promise<void> {
    const map = await this.#calm.control.shardMap();
    for (const { id } of map?.all ?? []) {
      if (!this.#logs.has(id))
        this.#logs.set(id, new KeyHashes(await this.#calm.control.keyHasher(id)));
    }
  }

  /** Of all shards, in the order in which they came. */
  get logs(): ReadonlyMap<ShardId, KeyHashes> {
    return this.#logs;
  }

  /** Whether functions are there that read the stream. */
  get hasStream(): boolean {
    return this.#hasStream;
  }

  /** The stream alone; nothing if it is there. */
  makeStream(): void {
    const { kinesis } = this.world;
    try {
      kinesis.execute("CreateStream", { StreamName: this.stream, ShardCount: 1 });
    } catch (error) {
      if (!(error instanceof ServiceError && error.name === "ResourceInUseException")) throw error;
    }
  }

  /** Deploys the functions that read the stream, which is there. */
  attachFunctions(): void {
    this.#hasStream = true;
    this.#startStream();
    this.#runSchedules();
  }

  /** What they have begun goes on. */
  detachFunctions(): void {
    this.#oracle?.stop();
    this.#replay?.stop();
    this.#oracle = undefined;
    this.#replay = undefined;
    this.#hasStream = false;
    this.#runSchedules();
  }

  deleteStream(): void {
    this.#goneRecords.push(...this.records());
    this.world.kinesis.execute("DeleteStream", { StreamName: this.stream });
  }

  /** What stood in streams that are gone. */
  get goneRecords(): readonly StreamRecord[] {
    return this.#goneRecords;
  }

  #startStream(): void {
    this.#streams += 1;
    const { oracle, replay } = this.#functions;
    this.#oracle = this.#mapping("oracle", oracle, this.options.oracleConsumer);
    this.#replay = this.#mapping("replay", replay, "standard");
  }

  /** Of functions that are deployed with a stream, or without: each runs while it is there. */
  #runSchedules(): void {
    const { replay, reaper, housekeeping } = this.#functions;
    if (this.#hasStream) {
      this.#schedule("replay", () => this.#hasStream && !this.#isReplayPaused, replay);
      this.#schedule("reaper", () => this.#hasStream, reaper);
    } else if (this.options.housekeeping !== false) {
      this.#schedule("housekeeping", () => !this.#hasStream && !this.#isReplayPaused, housekeeping);
    }
  }

  #schedule(
    name: "replay" | "reaper" | "housekeeping",
    isThere: () => boolean,
    fn: Pick<SimulatedFunction<undefined, unknown>, "invoke">,
  ): void {
    if (this.#scheduled.has(name)) return;
    this.#scheduled.add(name);
    const invoke = async (): Promise<unknown> => (isThere() ? fn.invoke(undefined) : undefined);
    void runSchedule({ name, invoke }, scheduleMs(name), this.#part(`${name}-schedule`));
  }

  /** Ports of a process in this world, on the real adapters, as functions have them. */
  portsOf(process: SimulatedProcess, { calm = false }: { readonly calm?: boolean } = {}): AwsPorts {
    const ports = createAwsPorts(this.#portsOptions(process, calm));
    return withHashBits(ports, this.options.hashBits);
  }

  /** Ports as an application has them. */
  clientPortsOf(
    process: SimulatedProcess,
    { calm = false }: { readonly calm?: boolean } = {},
  ): ReturnType<typeof createAwsClientPorts> {
    const ports = createAwsClientPorts(this.#portsOptions(process, calm));
    return withHashBits(this.#watched(ports), this.options.hashBits);
  }

  /** No function installs for clients, until `resumeReplay`. */
  pauseReplay(): void {
    this.#replay?.pause();
    this.#isReplayPaused = true;
  }

  resumeReplay(): void {
    this.#replay?.resume();
    this.#isReplayPaused = false;
  }

  /** Whether the stream holds what its functions have not done. */
  get isBehind(): boolean {
    return [this.#oracle, this.#replay].some((mapping) => (mapping?.behind ?? 0) > 0);
  }

  /** Whether the log holds blocks of clients' own that the watermark has not passed. */
  async owesExpress(): Promise<boolean> {
    const { control, log } = this.#calm;
    for (const shard of this.logs.keys()) {
      const watermark = await control.readWatermark(shard);
      const page = await log.readAfter(shard, watermark?.position ?? (0 as LogPosition));
      const owes = page.blocks.some(
        ({ bytes, position }) => decodeLogBlockHeader(bytes, position).maker !== undefined,
      );
      if (owes) return true;
    }
    return false;
  }

  /** Another function of the deployment, such as the REST service. */
  defineFunction<Event, Answer>(
    definition: FunctionDefinition<Event, Answer>,
  ): SimulatedFunction<Event, Answer> {
    return new SimulatedFunction(definition, {
      ...this.#part(definition.name),
      startProcess: (name) => this.world.startProcess(name, { isAws: true }),
      threw: (name, error) => {
        if (isProgramError(error)) this.programErrors.push(`${name}: ${String(error)}`);
      },
    });
  }

  /** The commit stream's records, as functions get them. */
  records(start = 0, end?: number): readonly StreamRecord[] {
    const stored = this.world.kinesis.records(this.stream, this.shard);
    return stored.slice(start, end).map(toStreamRecord);
  }

  #watched(ports: ReturnType<typeof createAwsClientPorts>): typeof ports {
    const { log } = ports;
    const { append } = log;
    if (append === undefined) return ports;
    const watched: typeof append = async (shard, block, options) => {
      this.hasClientBlocks = true;
      const answer = await append(shard, block, options);
      if (answer !== "appended" && answer.taken !== undefined) {
        this.onTaken?.(shard, block, answer.taken);
      }
      return answer;
    };
    return { ...ports, log: { ...log, append: watched } };
  }

  #portsOptions(process: SimulatedProcess, calm: boolean): AwsPortsOptions {
    return {
      deployment: this.options.deployment,
      handles: this.world.handles(process, { calm }),
      clock: process.clock,
      random: process.random,
    };
  }

  #mapping(
    role: "oracle" | "replay",
    fn: SimulatedFunction<ShardBatch, BatchAnswer>,
    consumer: keyof typeof deliveryMs,
  ): StreamMapping {
    const delivery = { shard: this.shard, deliveryMs: deliveryMs[consumer] };
    // This stream's own, also when it is gone.
    const stored = this.world.kinesis.records(this.stream, this.shard);
    const again = this.#streams > 1 ? `-${this.#streams.toString()}` : "";
    const mapping = new StreamMapping({ ...batchSettings(role), ...delivery }, fn, {
      ...this.#part(`${fn.name}-mapping${again}`),
      weather: this.world.weather,
      recordCount: () => stored.length,
      records: (start, end) => stored.slice(start, end).map(toStreamRecord),
    });
    void mapping.run();
    return mapping;
  }

  #part(name: string): Pick<World, "time" | "faults" | "random" | "trace"> {
    const { time, faults, trace } = this.world;
    return { time, faults, trace, random: this.world.random.fork(name) };
  }

  #every(periodMs: number, act: () => void): void {
    const { time } = this.world;
    const tick = (): void => {
      act();
      time.after(periodMs, tick);
    };
    time.after(periodMs, tick);
  }

  #maybeHostile(): void {
    const { faults, kinesis, time, trace } = this.world;
    if (!this.#hasStream || !faults.strikes("hostile-record", this.stream)) return;
    const random = faults.of("hostile-record");
    const records = kinesis.records(this.stream, this.shard).slice(-hostileLookBackRecords);
    const recent = records.at(-random.integer(1, 30));
    const arrivals = records.map(({ arrivalMs }) => arrivalMs);
    const hostile = hostileRecord(random, recent?.data, { ...this.#aims, arrivals });
    trace.note(time.nowMs, `hostile record: ${hostile.kind}`);
    const put = (data: Uint8Array): void => {
      kinesis.execute("PutRecord", { StreamName: this.stream, PartitionKey: "x", Data: data });
    };
    put(hostile.data);
    const [mine] = kinesis.records(this.stream, this.shard).slice(-1);
    if (hostile.report !== undefined && mine !== undefined) put(hostile.report(mine.arrivalMs));
    this.world.streamWritten();
  }
}

function toStreamRecord({
  sequenceNumber,
  ...rest
}: ReturnType<World["kinesis"]["records"]>[number]): StreamRecord {
  const { arrivalMs, data } = rest;
  return { sequenceNumber: sequenceNumber as SequenceNumber, arrivalMs, data };
}

/** Whether no fault excuses it: the program itself is wrong. */
export function isProgramError(error: unknown): boolean {
  return [InvariantViolation, TypeError, ReferenceError, RangeError, SyntaxError].some(
    (kind) => error instanceof kind,
  );
}
