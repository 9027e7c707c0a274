/**
 * One run: the workload of a seed's plan under its faults, then calm, then the judges. The run is
 * over when everything that can come right must have come right; what has not by then is a finding.
 */
import type { Clock } from "../core/ports.ts";
import type { ShardId, TransactionId } from "../core/types.ts";
import type { ClientEngine, EngineEvent } from "../engine/types.ts";
import type { Client } from "../sdk/index.ts";
import { isLocalTransactionId } from "../schemas/transaction-id.ts";
import { checkBaseHistory } from "../testing/checker/check-base.ts";
import { checkHistory } from "../testing/checker/check-history.ts";
import { checkShardedHistory } from "../testing/checker/check-sharded.ts";
import { withChainedVersions, type LoggedVersions } from "../testing/history/chained-versions.ts";
import { HistoryRecorder } from "../testing/history/recorder.ts";
import { historyKey } from "../testing/history/key-text.ts";
import { recordingEngine } from "../testing/history/recording-engine.ts";
import type { History } from "../testing/history/types.ts";
import type { FaultName } from "../testing/kernel/faults.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import type { TestClientOptions } from "../testing/test-cloud-options.ts";
import { isProgramError } from "../testing/test-deployment.ts";
import { BaseSide } from "./base/base-side.ts";
import { Balance, type Mood } from "./balance.ts";
import { CalmStage } from "./calm-stage.ts";
import { ClientFleet, type FleetCounts } from "./client-fleet.ts";
import { hasConsumers } from "./feeds/consumer-tables.ts";
import { FeedConsumers } from "./feeds/feed-consumers.ts";
import { FeedReaders } from "./feeds/feed-readers.ts";
import { pacedEngine } from "./paced-engine.ts";
import { lostWrites } from "./judges/last-writes.ts";
import { withStoredOrders } from "./judges/mixed-orders.ts";
import { MixedStoreJudge } from "./judges/mixed-store.ts";
import { StoreJudge } from "./judges/store-judge.ts";
import { withGoneRecords, writesOfLog, type LoggedWrite } from "./judges/logged-writes.ts";
import { misplacedVersions, versionsOf } from "./judges/log-versions.ts";
import { wrongPasts } from "./judges/past-reads.ts";
import { judgeWholes } from "./judges/whole-transactions.ts";
import { StarvationJudge } from "./judges/starvation.ts";
import { TurnJudge } from "./judges/turns-at-the-log.ts";
import { finalStateOf, VersionJournal } from "./judges/version-journal.ts";
import { isMixed, tableOfKey, withoutTables } from "./mixed-tables.ts";
import { NativeFleet } from "./native/native-fleet.ts";
import * as bounds from "./run-bounds.ts";
import { RestService } from "./rest-service.ts";
import { createSeedCloud, type SeedCloud } from "./seed-cloud.ts";
import { clientCommitOf, isSharded, type SeedPlan } from "./seed-plan.ts";
import type { Operators } from "./operators.ts";
import { shardOperators } from "./shard-operators.ts";
import { streamOperators } from "./stream-operators.ts";
import { WorkloadFinding, type BasePart, type Workload } from "./workloads/workload.ts";

export type SeedReport = {
  readonly seed: number;
  readonly workload: string;
  /** What is wrong; empty for a run that passed. */
  readonly findings: readonly string[];
  readonly commits: number;
  readonly aborts: number;
  readonly unknown: number;
  /** Attempts that met a conflict. */
  readonly conflicts: number;
  readonly fleet: Omit<FleetCounts, "errors"> & {
    readonly errors: Readonly<Record<string, number>>;
  };
  readonly virtualMs: number;
  readonly calls: number;
  readonly events: number;
  readonly struck: { readonly [Name in FaultName]?: number };
  readonly metrics: Readonly<Record<string, number>>;
  /** Anomalies that snapshot isolation allows, as the checker saw them. */
  readonly allowed: Readonly<Record<string, number>>;
  readonly sought: Readonly<Record<string, number>>;
  readonly digest: string;
};

export type SeedRun = {
  readonly report: SeedReport;
  readonly history: History;
  readonly trace: readonly string[];
};

export async function runSeed(
  plan: SeedPlan,
  options: { readonly keepTrace?: boolean } = {},
): Promise<SeedRun> {
  return new SeedRunner(await createSeedCloud(plan, options), plan).run();
}

class SeedRunner {
  readonly #cloud: TestCloud;
  readonly #workload: Workload;
  #clientsMade = 0;
  readonly #plan: SeedPlan;
  readonly #recorder: HistoryRecorder;
  readonly #journal: VersionJournal;
  readonly #stores: StoreJudge;
  readonly #mixed: MixedStoreJudge;
  readonly #mixedTables: ReadonlySet<string>;
  readonly #findings: string[] = [];
  readonly #balance = new Balance();
  /** Where clients begin BASE transactions. */
  readonly #base: BaseSide | undefined;
  readonly #feeds: FeedReaders | undefined;
  readonly #consumers: FeedConsumers | undefined;
  /** Transactions that were committed over several shards. */
  #wholes = 0;
  readonly #starvation: StarvationJudge;
  readonly #turns = new Map<ShardId, TurnJudge>();

  constructor({ cloud, workload, judged }: SeedCloud, plan: SeedPlan) {
    this.#cloud = cloud;
    this.#workload = workload;
    this.#plan = plan;
    const { time, dynamodb } = cloud.world;
    const startMs = time.nowMs;
    this.#recorder = new HistoryRecorder({
      nowNs: () => Math.round((time.nowMs - startMs) * 1_000) * 1_000,
      emit: (transaction) => {
        this.#balance.ended(transaction);
        this.#starvation.ended(transaction);
      },
    });
    const { options, logs } = cloud.deployment;
    this.#base = workload.base && this.#baseSide(workload.base);
    this.#feeds = plan.feeds ? new FeedReaders(cloud) : undefined;
    const read = workload.tables.map(({ name }) => name);
    this.#consumers = hasConsumers(plan)
      ? new FeedConsumers({ cloud, plan, tables: read })
      : undefined;
    this.#mixedTables = new Set(judged.filter(isMixed).map(({ name }) => name));
    this.#mixed = new MixedStoreJudge(judged.filter(isMixed));
    this.#stores = new StoreJudge({
      deployment: options.deployment,
      tables: [...judged.filter((table) => !isMixed(table)), ...(this.#base?.tables ?? [])],
      hashes: logs,
      nowMs: () => time.nowMs,
      onBlock: (block, shard) => {
        this.#turnsAt(shard).stands(block);
        this.#base?.stands(block, time.nowMs);
      },
    });
    cloud.deployment.onTaken = (shard, own, there) => {
      this.#turnsAt(shard).refused(own, there);
    };
    this.#journal = new VersionJournal(workload.tables);
    // On mixed tables natives commit as well, and local commits are in no log.
    const own = workload.tables.filter((table) => !isMixed(table));
    const tables = new Map(own.map((table) => [table.name, table]));
    this.#starvation = new StarvationJudge({
      nowMs: () => time.nowMs,
      keyOf: (name, key) => {
        const table = tables.get(name);
        return table === undefined ? undefined : historyKey(table, key);
      },
      bounds: { beatenMax: bounds.leftOutMax, passedMax: bounds.leftOutMax },
    });
    dynamodb.onWrite((change) => {
      this.#stores.observe(change);
      this.#mixed.observe(change);
      this.#journal.observe(change);
      this.#consumers?.observe(change);
      this.#workload.observe?.(change);
    });
  }

  #turnsAt(shard: ShardId): TurnJudge {
    const known = this.#turns.get(shard);
    if (known !== undefined) return known;
    const { time } = this.#cloud.world;
    const judge = new TurnJudge({ nowMs: () => time.nowMs, bounds: bounds.turnBounds });
    this.#turns.set(shard, judge);
    return judge;
  }

  async run(): Promise<SeedRun> {
    const cloud = this.#cloud;
    cloud.world.faults.calm();
    await cloud.run(() => this.#workload.setUp(this.#client("setup")));
    cloud.world.faults.resume();
    const operators = [
      streamOperators(cloud, this.#plan.closings),
      ...shardOperators(cloud, this.#plan),
    ];
    const fleet = new ClientFleet({
      cloud,
      workload: this.#workload,
      plan: this.#plan,
      clientOptions: (name) => this.#clientOptions(name, true),
      onCrash: (name) => {
        this.#recorder.abandon(name);
      },
      rest: new RestService(cloud, this.#recorder, {
        mayBeSharded: isSharded(this.#plan),
        commit: this.#plan.commit === "mixed" ? "auto" : this.#plan.commit,
        onEvent: (event) => {
          this.#balance.observe(event);
        },
      }),
      mood: () => this.#mood,
      isNeeded: () => !operators.every(({ isDone }) => isDone),
    });
    const natives = this.#natives(fleet);
    await cloud.run(() => this.#phases({ fleet, operators, natives }), {
      limitMs: bounds.runLimitMs,
    });
    const versions = await this.#logVersions();
    this.#findings.push(...fleet.findings, ...this.#stores.findings);
    for (const { findings } of operators) this.#findings.push(...findings);
    this.#findings.push(...(natives?.findings ?? []), ...this.#mixed.findings);
    this.#findings.push(...this.#starvation.findings, ...(this.#base?.findings ?? []));
    for (const { findings } of this.#turns.values()) this.#findings.push(...findings);
    this.#judgeWholes();
    const { longestRowOfTaken } = cloud.deployment;
    if (longestRowOfTaken > bounds.takenInRowMax) {
      this.#findings.push(`fairness: an oracle lost ${longestRowOfTaken.toString()} puts in a row`);
    }
    const finished = this.#recorder.finish();
    const transactions = this.#base?.timed(finished, versions) ?? finished;
    const pasts = wrongPasts(transactions, versions, {
      isElsewhere: this.#isMixedKey,
      hidden: this.#base?.hidden ?? new Map(),
    });
    this.#findings.push(...pasts.slice(0, bounds.wrongPastsMax));
    const logged = withChainedVersions(versions, transactions);
    const stored = new Map([...this.#journal.orders].filter(([key]) => this.#isMixedKey(key)));
    const history: History = {
      transactions,
      versionOrder: withStoredOrders(logged, stored, transactions),
      finalState: finalStateOf(this.#journal),
    };
    this.#judgeHistory(history);
    this.#judgeVacuity(history);
    return {
      report: this.#report(fleet, history),
      history,
      trace: cloud.world.trace.lines,
    };
  }

  async #phases(parts: {
    readonly fleet: ClientFleet;
    readonly operators: readonly Operators[];
    readonly natives: NativeFleet | undefined;
  }): Promise<void> {
    const { fleet, operators, natives } = parts;
    const cloud = this.#cloud;
    const { time } = cloud.world;
    fleet.start();
    natives?.start();
    this.#base?.start();
    this.#feeds?.start();
    this.#consumers?.start();
    for (const each of operators) each.start();
    await this.#until(() => fleet.isIdle, bounds.workLimitMs);
    cloud.calm();
    this.#consumers?.calm();
    for (const each of operators) {
      if (await this.#until(() => each.isDone, bounds.workLimitMs)) continue;
      this.#findings.push(`liveness: an operator has not come to an end: ${each.next}`);
    }
    if (this.#plan.housekeeping === "clients") await this.#startKeeper();
    if (!(await cloud.settled(bounds.settleLimitMs)))
      this.#findings.push("liveness: the stream is not done");
    // Frozen processes wake up within half an hour, and must do no harm then.
    if (!(await this.#until(() => fleet.isIdle, bounds.workLimitMs))) {
      this.#findings.push("liveness: a client has not come to an end");
    }
    if (natives !== undefined && !(await this.#until(() => natives.isIdle, bounds.workLimitMs))) {
      this.#findings.push("liveness: a native writer has not come to an end");
    }
    await this.#base?.end(this.#client("base watcher"));
    let isClosed = false;
    void fleet.close().then(() => {
      isClosed = true;
    });
    if (!(await this.#until(() => isClosed, bounds.closeLimitMs))) {
      this.#findings.push("liveness: a client does not close");
    }
    await this.#settleOutcomes(fleet.unknown);
    await cloud.settled(bounds.settleLimitMs);
    this.#findings.push(...(await this.#workload.judge(this.#client("judge"))));
    await this.#afterwards();
    await this.#consumers?.end();
    await time.sleep(bounds.reapedMs);
    await cloud.settled(bounds.settleLimitMs);
    await this.#feeds?.end();
    this.#judgeLiveness();
  }

  /** Whom nothing happens to: what the fleet has left is done when it is closed. */
  async #startKeeper(): Promise<void> {
    await this.#client("keeper").snapshot(() => Promise.resolve());
  }

  async #afterwards(): Promise<void> {
    const stage = new CalmStage({
      cloud: this.#cloud,
      clientOptions: (name) => this.#clientOptions(name),
      onCrash: (name) => {
        this.#recorder.abandon(name);
      },
    });
    try {
      await this.#workload.afterwards?.(stage);
    } catch (error) {
      if (!(error instanceof WorkloadFinding)) throw error;
      this.#findings.push(error.message);
    }
  }

  async #logVersions(): Promise<readonly LoggedVersions[]> {
    const { deployment, world } = this.#cloud;
    const reader = world.startProcess("log-reader", { exact: true });
    const ports = withGoneRecords(deployment.portsOf(reader, { calm: true }), deployment);
    const map = await this.#cloud.run(() => ports.control.shardMap());
    const writes: LoggedWrite[] = [];
    for (const [shard, { hashes, blocks }] of this.#stores.logs) {
      const logged = this.#cloud.run(() => writesOfLog(ports, { shard, hashes, map }, blocks));
      writes.push(...(await logged));
      this.#mixed.judgeOpen(blocks);
    }
    this.#stores.judgeInstalled(writes);
    this.#mixed.judgeInstalls(writes, ({ shard, timestamp }) =>
      this.#stores.claimOf(shard, timestamp),
    );
    this.#mixed.judgeEnd();
    this.#base?.read(writes);
    this.#feeds?.judge(writes, this.#base?.logged);
    this.#findings.push(...(this.#feeds?.findings ?? []));
    this.#findings.push(...(this.#consumers?.judge(writes, this.#base?.logged) ?? []));
    const order = versionsOf(writes);
    const own = [...this.#journal.orders].filter(([key]) => !this.#isMixedKey(key));
    this.#findings.push(...misplacedVersions(new Map(own), order));
    return order;
  }

  readonly #isMixedKey = (key: string): boolean => this.#mixedTables.has(tableOfKey(key));

  #baseSide(part: BasePart): BaseSide {
    return new BaseSide({
      ...{ cloud: this.#cloud, part },
      clientOptions: (name) => this.#clientOptions(name, true),
      onCrash: (name) => {
        this.#recorder.abandon(name);
      },
      until: (isDone, limitMs) => this.#until(isDone, limitMs),
    });
  }

  #natives(fleet: ClientFleet): NativeFleet | undefined {
    const { native: part } = this.#workload;
    if (part === undefined || this.#plan.natives === 0) return undefined;
    const { natives: processes, nativeShare: share, pauseMs } = this.#plan;
    return new NativeFleet({
      ...{ cloud: this.#cloud, part, recorder: this.#recorder, processes, share, pauseMs },
      clients: {
        get begun() {
          return fleet.counts.begun;
        },
        get isIdle() {
          return fleet.isIdle;
        },
      },
    });
  }

  async #settleOutcomes(ids: readonly TransactionId[]): Promise<void> {
    const client = this.#client("settler");
    for (const id of ids) {
      // What was one write of one item no log tells of.
      if (isLocalTransactionId(id)) continue;
      await client.outcome(id).catch((error: unknown) => {
        this.#findings.push(`liveness: the outcome of ${id} cannot be had: ${String(error)}`);
      });
    }
  }

  #judgeLiveness(): void {
    const { behind, tombstones } = this.#stores;
    for (const { watermark, newest } of behind) {
      this.#findings.push(`liveness: watermark ${watermark.toString()} below ${newest.toString()}`);
    }
    if (tombstones > 0)
      this.#findings.push(`liveness: ${tombstones.toString()} tombstones are left`);
    const [wrong] = this.#cloud.deployment.programErrors;
    if (wrong !== undefined) this.#findings.push(`an error in a function: ${wrong}`);
    const dead = this.#cloud.deployment.metrics.get("DeadLetters") ?? 0;
    if (dead > 0) this.#findings.push(`I9: ${dead.toString()} committed writes are dead letters`);
  }

  #judgeHistory(given: History): void {
    const history = withoutTables(given, this.#workload.native?.looseTables ?? []);
    const checkAcid = isSharded(this.#plan) ? checkShardedHistory : checkHistory;
    const check = this.#base === undefined ? checkAcid : checkBaseHistory;
    const result = check(history, { strict: true });
    const finals = history.finalState?.filter(({ key }) => this.#isMixedKey(key)) ?? [];
    this.#findings.push(...lostWrites(history.transactions, finals).slice(0, bounds.lostWritesMax));
    for (const { anomaly, description } of result.findings) {
      this.#findings.push(`${anomaly}: ${description}`);
    }
  }

  #judgeWholes(): void {
    const byNumber = new Map(
      Array.from(this.#stores.logs.values(), (log) => [log.hashes.shard, log] as const),
    );
    const { findings, committed } = judgeWholes(byNumber);
    this.#findings.push(...findings.slice(0, bounds.wrongPastsMax));
    this.#wholes = committed;
  }

  #judgeVacuity({ transactions }: History): void {
    if (this.#plan.transactions < bounds.judgedTransactionsMin || !this.#wantsConflicts) return;
    // By votes over several shards they are under way for long, and most attempts meet somebody.
    if (this.#mixedTables.size > 0 && isSharded(this.#plan)) return;
    this.#findings.push(...this.#balance.complaints(transactions));
  }

  #client(name: string): Client {
    return this.#cloud.createClient(name, this.#clientOptions(name));
  }

  #clientOptions(process: string, isUnderFaults = false): TestClientOptions {
    const { appendTables, universe } = this.#workload;
    this.#clientsMade += 1;
    return {
      commit: clientCommitOf(this.#plan, this.#clientsMade),
      housekeeping: this.#plan.housekeeping !== "functions",
      onEvent: (event) => {
        this.#observeHouse(process, event);
        this.#balance.observe(event);
        this.#starvation.observe(process, event);
      },
      wrapEngine: (engine: ClientEngine, clock: Clock) =>
        pacedEngine(
          recordingEngine(engine, this.#recorder, {
            process,
            mayBeSharded: isSharded(this.#plan),
            ...(appendTables === undefined ? {} : { appendTables }),
            ...(universe === undefined ? {} : { universe }),
          }),
          {
            random: this.#cloud.world.random.fork(`pace of ${process}`),
            hurried: isUnderFaults ? this.#plan.hurried : 0,
            mood: () => (isUnderFaults ? this.#mood : "even"),
            sleep: (durationMs) => clock.sleep(durationMs),
            asksAtOnce: isUnderFaults ? bounds.asksAtOnceShare : 0,
          },
        ),
    };
  }

  get #mood(): Mood {
    return this.#wantsConflicts ? this.#balance.mood : "even";
  }

  get #wantsConflicts(): boolean {
    return !this.#plan.hotLog && !this.#plan.visits;
  }

  /** What the world does to it may fail a turn; a bug of its own may not. */
  #observeHouse(process: string, event: EngineEvent): void {
    if (event.kind !== "housekeeping-failed" || !isProgramError(event.cause)) return;
    this.#findings.push(`an error in the keeper of ${process}: ${String(event.cause)}`);
  }

  async #until(isDone: () => boolean, limitMs: number): Promise<boolean> {
    const { time } = this.#cloud.world;
    const untilMs = time.nowMs + limitMs;
    while (!isDone()) {
      if (time.nowMs >= untilMs) return false;
      await time.sleep(bounds.lookMs);
    }
    return true;
  }

  #report(fleet: ClientFleet, history: History): SeedReport {
    const { world, deployment } = this.#cloud;
    const count = (status: string): number =>
      history.transactions.filter((each) => each.kind === "txn" && each.status === status).length;
    return {
      seed: this.#plan.seed,
      workload: this.#plan.workload,
      findings: this.#findings,
      commits: count("commit"),
      aborts: count("abort"),
      unknown: count("unknown"),
      conflicts: this.#balance.conflicts,
      fleet: { ...fleet.counts, errors: Object.fromEntries(fleet.counts.errors) },
      virtualMs: world.time.nowMs - world.startMs,
      calls: world.link.calls,
      events: world.time.eventCount,
      struck: Object.fromEntries(world.faults.struck),
      metrics: { ...Object.fromEntries(deployment.metrics), CommittedInShards: this.#wholes },
      allowed: this.#workload.observations?.() ?? {},
      sought: this.#workload.sought?.() ?? {},
      digest: world.trace.digest,
    };
  }
}
