/**
 * An in-memory cloud for tests: DynamoDB, Kinesis, and Tidemark's own functions, in virtual time
 * and from one seed. Hours of virtual time take seconds, faults strike when and how often a test
 * says, and the same seed gives the same run.
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { listeningOutside } from "../aws/command-support.ts";
import type { Clock } from "../core/ports.ts";
import type { ShardNumber } from "../core/types.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { createClientEngine } from "../engine/client-engine.ts";
import { startKeeper } from "../functions/housekeeping/by-clients/keeper.ts";
import { publicError } from "../engine/public-error.ts";
import type { CommitPreference } from "../engine/types.ts";
import { checkOptions } from "../sdk/check-options.ts";
import { ConnectedClient, type Client, type Connection } from "../sdk/client.ts";
import { RowCodec } from "../sdk/row-codec.ts";
import type { AnyTable, KeyInput, KeyOf, RowOf } from "../sdk/table.ts";
import { Competitor } from "./competitor.ts";
import { DirectedFaults } from "./directed-faults.ts";
import { hintingEngine } from "./forgotten-run.ts";
import { HistoryRecorder } from "./history/recorder.ts";
import { recordingEngine } from "./history/recording-engine.ts";
import type { History } from "./history/types.ts";
import type { FaultName } from "./kernel/faults.ts";
import type { ServiceName } from "./kernel/service-link.ts";
import type { SimulatedProcess } from "./kernel/simulated-process.ts";
import type { StreamMapping } from "./kernel/stream-mapping.ts";
import { World } from "./kernel/world.ts";
import { loadAllParts } from "./loaded-parts.ts";
import { plainRows, putPlainRows } from "./table-contents.ts";
import { TestDeployment } from "./test-deployment.ts";
import {
  checkOrder,
  checkRun,
  checkTestCloudOptions,
  type TestClientOptions,
  testClientChecks,
  type TestCloudOptions,
} from "./test-cloud-options.ts";
import type { TestProcess } from "./test-process.ts";
import { assertKeyTypes, describedTable, testTableOf } from "./test-tables.ts";

const runLimitMsDefault = 24 * 3600_000;
const settleLookMs = 1_000;
const slowFactorDefault = 20;
/** For keys that tests give; rows go through their client's own. */
const keyCodec = new RowCodec({ marshall: {}, numbers: "bigint-when-unsafe" });

/**
 * A cloud with the tables, and Tidemark deployed in it.
 * @throws InvalidRequestError naming the option that there is not, or that cannot be.
 * @example
 * const cloud = await createTestCloud({ tables: [accounts] });
 * const db = cloud.createClient();
 * await cloud.run(() => db.transact(async (tx) => tx.put(accounts, "ann", { balanceCents: 1 })));
 */
export async function createTestCloud(options: TestCloudOptions = {}): Promise<TestCloud> {
  checkTestCloudOptions(options);
  await loadAllParts();
  const world = new World({
    seed: options.seed ?? 1,
    faults: options.faults ?? {},
    strikesMax: options.strikesMax,
    latency: options.latency,
    keepTrace: options.keepTrace ?? false,
  });
  world.faults.calm();
  const deployment = await world.time.runUntil(
    TestDeployment.create(world, {
      deployment: "test",
      tables: (options.tables ?? []).map(testTableOf),
      historyRetentionMs: options.historyRetentionMs ?? limits.historyRetentionMsDefault,
      oracleConsumer: options.oracleConsumer ?? "fan-out",
      functionTimeLimitMs: options.functionTimeLimitMs,
      oracle: options.oracle ?? {},
      hashBits: options.hashBits,
      stream: options.tablesOnly !== true,
      shards: options.shards,
      housekeeping: options.housekeeping,
    }).catch((error: unknown) => {
      throw publicError(error);
    }),
    runLimitMsDefault,
  );
  world.faults.resume();
  return new TestCloud(world, deployment, options);
}

export class TestCloud {
  /**
   * Underneath, for simulators and judges: changes without notice.
   * @internal
   */
  readonly world: World;
  /** @internal */
  readonly deployment: TestDeployment;
  /** DynamoDB without Tidemark and without faults: what other programs do to the tables. */
  readonly dynamodb: DynamoDBClient;
  readonly #test: SimulatedProcess;
  readonly #competitor: Competitor;
  readonly #commit: CommitPreference;
  readonly #recorder: HistoryRecorder | undefined;
  /** Whether a client may have appended to the log. */
  #isExpress = false;
  readonly #maySplit: boolean;
  #processes = 0;

  /** @internal */
  constructor(world: World, deployment: TestDeployment, options: TestCloudOptions) {
    this.world = world;
    this.deployment = deployment;
    this.#commit = options.commit ?? "auto";
    this.#maySplit = options.maySplit ?? false;
    this.#test = world.startProcess("test", { exact: true });
    this.dynamodb = world.handles(this.#test, { calm: true }).dynamodb.client;
    this.#competitor = new Competitor(() => {
      const competitor = world.startProcess("competitor", { exact: true });
      const ports = deployment.clientPortsOf(competitor, { calm: true });
      this.#isExpress ||= this.#commit !== "stream";
      return createClientEngine(ports, { commit: this.#commit });
    });
    // Whole microseconds: as fine as timestamps, and exact however long the run is.
    const nowNs = (): number => Math.round((world.time.nowMs - world.startMs) * 1_000) * 1_000;
    this.#recorder = options.recordHistory ? new HistoryRecorder({ nowNs }) : undefined;
  }

  /** The right time, in which a test may sleep; time passes only within `run`. */
  get clock(): Clock {
    return this.#test.clock;
  }

  /** How often each fault has struck. */
  get struck(): ReadonlyMap<FaultName, number> {
    return this.world.faults.struck;
  }

  /** What happened, one line an event; empty without `keepTrace`. */
  get trace(): readonly string[] {
    return this.world.trace.lines;
  }

  /**
   * 16 hexadecimal digits over all that happened so far: equal for equal runs, with or without
   * `keepTrace`.
   */
  get traceDigest(): string {
    return this.world.trace.digest;
  }

  /**
   * Runs the body; virtual time passes while all of it waits. Does not nest.
   * @param options.limitMs virtual time that it may take; default 24 hours.
   * @throws whatever the body throws; VirtualTimeoutError past the limit, with the body left where
   * it stands.
   * @example
   * const { receipt } = await cloud.run(() => db.transact((tx) => tx.get(accounts, "ann")));
   */
  async run<Result>(
    body: () => Promise<Result>,
    options: { readonly limitMs?: number } = {},
  ): Promise<Result> {
    checkRun(body, options);
    const { limitMs = runLimitMsDefault } = options;
    const { time } = this.world;
    if (time.isRunning) throw new Error("`run` does not nest: time passes already");
    // Time runs already when the body begins, so that the body may order it about.
    return time.runUntil(Promise.resolve().then(body), limitMs);
  }

  /**
   * Starts an application process. Two of one name differ in their randomness.
   * @example const app = cloud.startProcess("app", { onEvent: ({ kind }) => console.log(kind) });
   */
  startProcess(name = "app", options: TestClientOptions = {}): TestProcess {
    checkOptions("", options, testClientChecks);
    this.#processes += 1;
    const { clockOffsetMs: offsetMs } = options;
    const process = this.world.startProcess(`${name}#${this.#processes.toString()}`, {
      ...(offsetMs === undefined ? {} : { clockError: { offsetMs, drift: 0 } }),
    });
    const faults = new DirectedFaults(this.#competitor);
    const client = new ConnectedClient({
      connect: () => {
        const keeper =
          options.housekeeping === true
            ? startKeeper(this.deployment.portsOf(process), options.onEvent)
            : undefined;
        const engine = this.#engine(process, faults, options);
        return Promise.resolve({ engine, close: async () => keeper?.stop() });
      },
      clock: process.clock,
      marshall: options.marshall ?? {},
      numbers: options.numbers ?? "bigint-when-unsafe",
    });
    process.onCrash(() => this.#recorder?.abandon(process.name));
    let dynamodb: DynamoDBClient | undefined;
    const handles = () => this.world.handles(process, { calm: false });
    return {
      client,
      get dynamodb() {
        return (dynamodb ??= handles().dynamodb.client);
      },
      clock: process.clock,
      beforeNextCommit: (act) => {
        checkOrder({ act });
        faults.beforeNextCommit(act);
      },
      nextCommitUnknown: (outcome) => {
        checkOrder({ outcome });
        faults.nextCommitUnknown(outcome);
      },
      get state() {
        return process.state;
      },
      crash: () => {
        process.crash();
      },
      freeze: (durationMs, clocks) => {
        checkOrder({ durationMs, clocks }, ["durationMs", "clocks"]);
        process.freeze(durationMs, clocks);
      },
      thaw: () => {
        process.thaw();
      },
      onCrash: (react) => {
        checkOrder({ react });
        process.onCrash(react);
      },
    };
  }

  /**
   * The client of a new process.
   * @example const db = cloud.createClient();
   */
  createClient(name?: string, options?: TestClientOptions): Client {
    return this.startProcess(name, options).client;
  }

  /**
   * Another program writes the row between the reads and the commit of the next transaction that
   * this makes fail: one that has read it (serializable), or is about to write it (snapshot
   * isolation), and writes anything. The row's content stays the same. The attempt meets a
   * conflict; `attemptsMax` decides whether there is another.
   * @param at how many attempts (`times`), of whatever transactions; default 1.
   * @throws InvalidRequestError for a table that the cloud has not, or a key that does not fit.
   * @example cloud.conflictOn(accounts, "ann", { times: 3 });
   */
  conflictOn<T extends AnyTable>(
    table: T,
    key: KeyInput<KeyOf<T>>,
    { times = 1 }: { readonly times?: number } = {},
  ): void {
    checkOrder({ times });
    const description = describedTable(this.deployment.options.tables, table);
    const item = keyCodec.key(table, description, key);
    assertKeyTypes(description, item);
    this.#competitor.conflictOn(description, item, times);
  }

  /**
   * The service refuses every call as throttled for `durationMs`, Tidemark's functions' calls
   * included.
   * @example cloud.refuseCalls("dynamodb", 5_000);
   */
  refuseCalls(service: ServiceName, durationMs: number): void {
    checkOrder({ service, durationMs });
    this.world.trouble.refuse(service, durationMs);
  }

  /**
   * Calls of the service take `factor` times as long for `durationMs`. Default 20 times.
   * @example cloud.slowCalls("kinesis", 5_000, { factor: 50 });
   */
  slowCalls(
    service: ServiceName,
    durationMs: number,
    { factor = slowFactorDefault }: { readonly factor?: number } = {},
  ): void {
    checkOrder({ service, durationMs, factor });
    this.world.trouble.slow(service, { durationMs, factor });
  }

  /**
   * Splits a shard of the deployment, as an operator does, while its clients go on. Within `run`.
   * @param at upper 32 bits of the first hash that moves; default: half of the shard's range.
   * @returns the number of the new shard.
   * @throws InvalidRequestError for what cannot be split.
   * @example const made = await cloud.splitShard(0);
   */
  async splitShard(number: number, { at }: { readonly at?: number } = {}): Promise<number> {
    const { shard } = await this.deployment.splitShard({ shard: number as ShardNumber, at });
    return shard;
  }

  /**
   * Joins a shard of the deployment to its neighbour below, as an operator does, while its clients
   * go on. Within `run`.
   * @param into its neighbour's number, to be sure of it.
   * @returns the number of the shard that has its range now.
   * @throws InvalidRequestError for what cannot be joined.
   * @example const left = await cloud.joinShards(1);
   */
  async joinShards(number: number, { into }: { readonly into?: number } = {}): Promise<number> {
    const request = { shard: number as ShardNumber, into: into as ShardNumber | undefined };
    const { heir } = await this.deployment.joinShard(request);
    return heir;
  }

  /**
   * Lets `durationMs` pass; within `run` or outside of it. An idle day costs some seconds.
   * @example await cloud.advance(25 * 3_600_000); // Idempotency keys are forgotten.
   */
  advance(durationMs: number): Promise<void> {
    checkOrder({ durationMs });
    return this.#within(() => this.world.time.sleep(durationMs), durationMs);
  }

  /**
   * Puts rows as a program does that knows nothing of Tidemark: at once, unvalidated, without
   * versions. Not for rows that transactions are using.
   * @throws InvalidRequestError for a key of another type than the cloud's table has; ServiceError
   * for a row without its key.
   * @example cloud.seed(accounts, [{ id: "ann", balanceCents: 100 }]);
   */
  seed(table: AnyTable, rows: readonly object[]): void {
    const description = describedTable(this.deployment.options.tables, table);
    putPlainRows(this.world.dynamodb, description, rows);
  }

  /**
   * The rows that the table holds now, as every other program sees them, ordered by key: what is
   * committed and not yet installed is missing. Without Tidemark's own attributes; `dynamodb` shows
   * these, too.
   * @example const cents = cloud.rows(accounts).map(({ balanceCents }) => balanceCents);
   */
  rows<T extends AnyTable>(table: T): readonly RowOf<T>[] {
    const description = describedTable(this.deployment.options.tables, table);
    return plainRows(this.world.dynamodb, description) as readonly RowOf<T>[];
  }

  /**
   * Ends the recording. @returns what every transaction of every client has read and written, for
   * `checkHistory`.
   * @throws InvalidRequestError without `recordHistory`.
   * @example const { findings } = checkHistory(cloud.history(), { strict: true });
   */
  history(): History {
    if (this.#recorder === undefined) {
      throw new InvalidRequestError("recordHistory", "the cloud was made without `recordHistory`");
    }
    return { transactions: this.#recorder.finish() };
  }

  /**
   * No decisions are made until `resumeOracle`: commits that are sent stay open, and time out as
   * unknown.
   * @throws InvalidRequestError where there is no oracle, with `tablesOnly`.
   * @example cloud.pauseOracle();
   */
  pauseOracle(): void {
    this.#oracle.pause();
  }

  /**
   * @example cloud.resumeOracle();
   */
  resumeOracle(): void {
    this.#oracle.resume();
  }

  get #oracle(): StreamMapping {
    const { oracle } = this.deployment;
    if (oracle !== undefined) return oracle;
    throw new InvalidRequestError("tablesOnly", "the cloud was made without a stream and oracle");
  }

  /**
   * No function replays until `resumeReplay`: what crashed clients left stays uninstalled, unless
   * somebody reads it, or a client keeps house.
   * @example cloud.pauseReplay();
   */
  pauseReplay(): void {
    this.deployment.pauseReplay();
  }

  /**
   * @example cloud.resumeReplay();
   */
  resumeReplay(): void {
    this.deployment.resumeReplay();
  }

  /**
   * Ends all faults.
   * @example
   * cloud.calm();
   * await cloud.settled();
   */
  calm(): void {
    this.world.calm();
  }

  /**
   * Waits until oracle and replay have done all that is in the stream, and all that clients have
   * appended to the log; within `run` or outside of it.
   * @returns whether they have within `limitMs`.
   * @example if (!(await cloud.settled())) throw new Error("something is stuck");
   */
  settled(limitMs = 10 * 60_000): Promise<boolean> {
    checkOrder({ limitMs });
    return this.#within(() => this.#settled(limitMs), limitMs + settleLookMs);
  }

  async #settled(limitMs: number): Promise<boolean> {
    const untilMs = this.world.time.nowMs + limitMs;
    const { deployment } = this;
    const mayOwe = (): boolean =>
      this.#isExpress || deployment.hasClientBlocks || deployment.oracle === undefined;
    const isBusy = async (): Promise<boolean> =>
      deployment.isBehind || (mayOwe() && (await deployment.owesExpress()));
    while (await isBusy()) {
      if (this.world.time.nowMs >= untilMs) return false;
      await this.world.time.sleep(settleLookMs);
    }
    return true;
  }

  #within<Result>(body: () => Promise<Result>, limitMs: number): Promise<Result> {
    return this.world.time.isRunning ? body() : this.run(body, { limitMs });
  }

  #engine(
    process: SimulatedProcess,
    faults: DirectedFaults,
    { onEvent, wrapEngine, chaining, commit = this.#commit }: TestClientOptions,
  ): Connection["engine"] {
    const ports = faults.ports(this.deployment.clientPortsOf(process));
    this.#isExpress ||= commit !== "stream";
    const told = onEvent && listeningOutside(onEvent);
    const engine = createClientEngine(ports, {
      chaining,
      commit,
      onEvent: (event) => {
        faults.observe(event);
        told?.(event);
      },
    });
    const directed = faults.engine(engine);
    const recorder = this.#recorder;
    const recorded =
      recorder === undefined
        ? directed
        : recordingEngine(directed, recorder, {
            process: process.name,
            mayBeSharded: this.#maySplit || this.deployment.logs.size > 1,
          });
    const hinting = hintingEngine(recorded, this.world.time);
    return wrapEngine === undefined ? hinting : wrapEngine(hinting, process.clock);
  }
}
