/** What one process holds for one shard: its tail, its way into the stream, its installers. */
import { assert } from "../core/assert.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { CallOptions, ClientPorts } from "../core/ports.ts";
import type { TailCommit } from "../core/tail.ts";
import type { CommittedVerdict, PreparedVerdict, ShardId, ShardNumber } from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import type { CommitHelper } from "./installing/commit-helper.ts";
import { CommitSender } from "./committing/commit-sender.ts";
import type { ExpressWay, WithoutStream } from "./express-way.ts";
import { InstalledCommits } from "./installing/installed-commits.ts";
import { InstallOutbox } from "./installing/install-outbox.ts";
import { Installer } from "./installing/installer.ts";
import type { LogSearches } from "./log/log-searches.ts";
import type { TableRegistry } from "./table-registry.ts";
import type { MixedWay } from "./mixed-way.ts";
import type { RememberedReads } from "./reading/remembered-answers.ts";
import { TailFollower, type FollowedLog } from "./log/tail-follower.ts";

/** For who installs what others have committed. */
const helpers = new OnDemand("helpers", () => import("./installing/commit-helper.ts"));
/** For who asks about ids of others, or has slept. */
const searches = new OnDemand("searches", () => import("./log/log-searches.ts"));

/** What a session needs for commits by blocks of its own. */
export type BlockMaking = {
  /** Whether the registry knows of no stream. */
  readonly streamless: () => boolean;
  readonly load: (session: ShardSession) => Promise<{
    /** Undefined for a process that cannot put blocks. */
    readonly way: ExpressWay | undefined;
    readonly withoutStream: WithoutStream;
  }>;
};

/** Who waits for what becomes of a part. */
export type MetPart = { readonly signal: AbortSignal; readonly call: CallOptions };

type SettlePart = (session: ShardSession, prepared: PreparedVerdict, met: MetPart) => Promise<void>;

/** What a session asks of the registry. */
export type RegistryView = Pick<TableRegistry, "find" | "lookAgain" | "retention">;

export class ShardSession {
  readonly shard: ShardId;
  readonly number: ShardNumber;
  readonly hashes: KeyHashes;
  readonly follower: TailFollower;
  readonly sender: CommitSender;
  readonly installer: Installer;
  readonly registry: RegistryView;
  /** What of the log's newest commits needs no waiting for. */
  readonly installed = new InstalledCommits();
  /** Of own commits, to replay. */
  readonly reports = new InstallOutbox();
  /** Undefined where all of its commits have gone by the stream. */
  express: ExpressWay | undefined;
  /** Undefined where no table is nobody's but Tidemark's to write: without BASE transactions. */
  remembered: RememberedReads | undefined;
  readonly #blocks: BlockMaking | undefined;
  #loading: Promise<void> | undefined;
  #withoutStream: WithoutStream | undefined;
  #helper: CommitHelper | undefined;
  #searches: LogSearches | undefined;
  readonly #ports: ClientPorts;
  readonly #onHelped: (verdict: CommittedVerdict) => void;
  readonly #loadMixed: ((session: ShardSession) => Promise<MixedWay>) | undefined;
  #mixed: MixedWay | undefined;
  readonly #settlePart: SettlePart | undefined;

  constructor(
    ports: ClientPorts,
    log: FollowedLog,
    options: {
      readonly registry: RegistryView;
      /** Without them all goes by the stream. */
      readonly blocks?: BlockMaking;
      /** Without it no transaction touches a mixed table. */
      readonly loadMixed?: (session: ShardSession) => Promise<MixedWay>;
      /** Without it no transaction touches several shards. */
      readonly settlePart?: SettlePart;
      readonly onHelped: (verdict: CommittedVerdict) => void;
    },
  ) {
    this.#ports = ports;
    this.shard = log.shard;
    this.hashes = log.hashes;
    this.number = log.hashes.shard;
    this.#settlePart = options.settlePart;
    this.#onHelped = options.onHelped;
    this.registry = options.registry;
    this.#blocks = options.blocks;
    this.#loadMixed = options.loadMixed;
    this.follower = new TailFollower(ports, log);
    this.sender = new CommitSender(ports.stream, log, this.reports);
    this.installer = new Installer(ports, {
      retention: () => Promise.resolve(this.registry.retention),
      earlier: {
        installedThrough: () => this.follower.tail.installedThrough,
        oldest: (key, range) => this.follower.tail.oldestCommit(key, range),
        finish: (commit) => this.#helping((helper) => helper.finishOutOfTurn(commit)),
      },
    });
  }

  /**
   * Whether nobody decides what a stream holds. The log says so, once it has had one; the registry,
   * of a deployment that began as one of tables alone.
   */
  get isStreamless(): boolean {
    const cursor = this.follower.started ? this.follower.tail.cursor : undefined;
    if (cursor === undefined) return this.#blocks?.streamless() === true;
    // mutant: stream-client-keeps-its-way
    return this.follower.isStreamClosed;
  }

  /** What is told instead of going by the stream, where there is none. */
  get withoutStream(): WithoutStream | undefined {
    return this.isStreamless ? this.#withoutStream : undefined;
  }

  /** Whether commits need blocks, and this process cannot make them yet: `readyExpress` comes. */
  get lacksExpress(): boolean {
    return this.#withoutStream === undefined && this.#blocks !== undefined && this.isStreamless;
  }

  /** Makes what commits by blocks; once. */
  async readyExpress(): Promise<void> {
    this.#loading ??= this.#blocks
      ?.load(this)
      .then(({ way, withoutStream }) => {
        this.express = way;
        this.#withoutStream = withoutStream;
      })
      .finally(() => {
        this.#loading = undefined;
      });
    await this.#loading;
  }

  /** Brings about what becomes of a part that is open here, and enters it (sharded/). */
  settlePart(prepared: PreparedVerdict, met: MetPart): Promise<void> {
    assert(this.#settlePart !== undefined, "whoever meets a part knows of other shards");
    return this.#settlePart(this, prepared, met);
  }

  /** For transactions over mixed tables; the same for all. */
  async mixed(): Promise<MixedWay> {
    assert(this.#loadMixed !== undefined, "whoever runs transactions knows of mixed tables");
    const made = await this.#loadMixed(this);
    return (this.#mixed ??= made);
  }

  /** Ends following the log. Every call has ended, and what they left running. */
  close(): void {
    this.follower.close();
  }

  async searching<T>(task: (searches: LogSearches) => T | Promise<T>): Promise<T> {
    return searches.use(async (part) => {
      this.#searches ??= new part.LogSearches(this.#ports, this);
      return task(this.#searches);
    });
  }

  /**
   * Installs committed writes whose owners have not (Mediator §4.3), unless the watermark says that
   * it is done. `signal` ends it between two commits.
   */
  finish(commits: readonly TailCommit[], signal?: AbortSignal): Promise<void> {
    return this.#helping((helper) => helper.finish(commits, signal));
  }

  #helping(task: (helper: CommitHelper) => Promise<void>): Promise<void> {
    return helpers.use((part) => {
      this.#helper ??= new part.CommitHelper(this.#ports, this, this.#onHelped);
      return task(this.#helper);
    });
  }
}
