/**
 * The model's processes, each over the real code: an oracle instance drives
 * functions/oracle/service, a replay instance functions/replay/service, a client the engine's tail,
 * reads and installer.
 */
import { systemDigest } from "../../aws/system-digest.ts";
import { retentionDefault } from "../../core/history.ts";
import { oracleBoundsDefault } from "../../core/oracle-bounds.ts";
import type { CommitLog, InstallRequest, StoredBlock } from "../../core/ports.ts";
import { TransactionReads } from "../../core/transaction-reads.ts";
import type {
  CommitRequest,
  CommittedVerdict,
  Item,
  KeyHash,
  Payload,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { asError } from "../../engine/concurrency.ts";
import { Installer } from "../../engine/installing/installer.ts";
import { getItem } from "../../engine/reading/point-reads.ts";
import { AttemptFate } from "../../engine/attempts/attempt-fate.ts";
import { ReadView } from "../../engine/reading/read-view.ts";
import { ShardSession } from "../../engine/shard-session.ts";
import {
  createOracleService,
  type OracleServiceOptions,
  OracleUnfinishedError,
  type OracleService,
} from "../../functions/oracle/service.ts";
import { createReplayService } from "../../functions/replay/service.ts";
import type { Change } from "../../functions/shared/settings.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { type GatedShard, type Held, keyOf, modelTable, settle, shardId } from "./gated-shard.ts";
import type { ModelTransaction } from "./trace.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes, sampleRandom } from "../../testing/sample-hashes.ts";

const timeLimitMs: Change<number> = {
  value: 900_000,
  because: "an invocation lasts as long as the trace, and none ends of itself",
};
const remainingMs = (): number => timeLimitMs.value;

/** What a mutant of the code may replace. */
export type OraclePorts = {
  readonly log: OracleServiceOptions["log"];
};

export class OracleActor {
  readonly #shard: GatedShard;
  readonly #window: number;
  readonly #around: (ports: OraclePorts) => OraclePorts;
  #service: OracleService;
  #leaving = false;
  #failure: Error | undefined;
  /** The put that is on its way. */
  held: Held<StoredBlock> | undefined;

  constructor(
    shard: GatedShard,
    options: {
      readonly window: number;
      readonly around: (ports: OraclePorts) => OraclePorts;
    },
  ) {
    this.#shard = shard;
    this.#window = options.window;
    this.#around = options.around;
    this.#service = this.#start();
  }

  /**
   * Delivers the stream from its beginning up to `recordsEnd`: what the log covers the service
   * skips. One that is warm and lags finds its position taken, folds what stands there, and
   * certifies again, all in this step.
   */
  async certify(recordsEnd: number): Promise<void> {
    this.#leaving = false;
    const records = this.#shard.records.slice(0, recordsEnd);
    const budget = { remainingMs: () => (this.#leaving ? 0 : timeLimitMs.value) };
    this.#service.handle({ shard: shardId, records }, budget).catch((error: unknown) => {
      if (!(error instanceof OracleUnfinishedError)) this.#failure = asError(error);
    });
    await this.#settled();
  }

  /** Lets the put through; the invocation ends at its deadline, and another one will go on. */
  async put(): Promise<void> {
    const { held } = this;
    if (held === undefined) throw new Error("the oracle has no put on its way");
    this.held = undefined;
    this.#leaving = true;
    held.release();
    await this.#settled();
  }

  /** What was in memory is gone, and the put on its way is never made. */
  crash(): void {
    this.held = undefined;
    this.#service = this.#start();
  }

  async #settled(): Promise<void> {
    await settle();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #start(): OracleService {
    const shard = this.#shard;
    const append: CommitLog["append"] = async (_, block) => {
      if (this.#leaving || !shard.isTaken(block.position)) {
        await new Promise<void>((release) => {
          this.held = { call: block, release };
        });
      }
      return shard.append(block);
    };
    const { log } = this.#around({
      log: {
        append,
        readBackward: (_, { from, blocksMax }) => Promise.resolve(shard.backward(from, blocksMax)),
        readAfter: (_, after) => Promise.resolve(shard.after(after)),
        readAt: () => Promise.reject(new Error("the model has one shard")),
        readSpilled: () => Promise.reject(new Error("the model spills nothing")),
      },
    });
    return createOracleService({
      log,
      control: shard.control(),
      clock: {
        nowMs: () => 0,
        monotonicMs: () => 0,
        sleep: () => Promise.resolve(),
      },
      random: sampleRandom,
      digest: systemDigest,
      observability: silentObservability,
      bounds: { ...oracleBoundsDefault, windowMicros: this.#window },
    });
  }
}

export class ReplayActor {
  readonly #shard: GatedShard;
  /** Installs on their way, by key. */
  held = new Map<string, Held<InstallRequest>>();
  /** Position that this run will have reached. */
  to = 0;
  #failure: Error | undefined;

  constructor(shard: GatedShard) {
    this.#shard = shard;
  }

  async start(): Promise<void> {
    const held = new Map<string, Held<InstallRequest>>();
    this.held = held;
    this.to = this.#shard.blocks.length;
    const ports = this.#shard.ports(
      (request) =>
        new Promise((release) => {
          held.set(keyOf(request.key), { call: request, release });
        }),
    );
    const service = createReplayService(ports, silentObservability, { ownInstallMs: 0 });
    service.handle({ shard: shardId, records: [] }, { remainingMs }).catch((error: unknown) => {
      this.#failure = asError(error);
    });
    await this.#settled();
  }

  async install(key: string): Promise<void> {
    const held = this.held.get(key);
    if (held === undefined) throw new Error(`replay has no install of ${key} on its way`);
    this.held.delete(key);
    held.release();
    await this.#settled();
  }

  crash(): void {
    this.held = new Map();
  }

  async #settled(): Promise<void> {
    await settle();
    if (this.#failure !== undefined) throw this.#failure;
  }
}

export class ClientActor {
  readonly id: TransactionId;
  readonly #shard: GatedShard;
  readonly #name: string;
  readonly #work: ModelTransaction;
  readonly #session: ShardSession;
  #view: ReadView | undefined;
  readonly read = new Map<string, Item | undefined>();

  constructor(shard: GatedShard, name: string, work: ModelTransaction) {
    this.#shard = shard;
    this.#name = name;
    this.#work = work;
    this.id = transactionIdOf(name);
    this.#session = new ShardSession(
      shard.ports(),
      { shard: shardId, hashes: sampleHashes },
      { registry: registryOf([modelTable]), onHelped: () => undefined },
    );
  }

  get readTimestamp(): Timestamp {
    return this.#view?.readTimestamp ?? (0 as Timestamp);
  }

  /** Reads one key; the first one begins the transaction. "conflict" ends it. */
  async get(key: string): Promise<"read" | "conflict"> {
    const view = this.#view ?? (await this.#begin());
    try {
      this.read.set(key, await getItem(view, view.readKey(modelTable, { k: { S: key } })));
      return "read";
    } catch (error) {
      if (view.doomed === undefined) throw error;
      return "conflict";
    }
  }

  async #begin(): Promise<ReadView> {
    const { follower } = this.#session;
    const ports = this.#shard.ports();
    const startedMs = ports.clock.nowMs();
    await follower.refresh();
    this.#view = new ReadView(ports, this.#session, {
      mode: "read-write",
      isolation: this.#work.iso,
      fate: new AttemptFate(ports.clock, startedMs, {}),
      begins: "refreshed",
      settle: () => Promise.reject(new Error("the model has one shard")),
      reads: new TransactionReads(follower.tail.newest),
      refreshed: () => Promise.resolve(),
      isStale: false,
      call: {},
    });
    return this.#view;
  }

  /** The request as it would be sent now; "conflict" if the check up to the tail's end fails. */
  async request(options: { readonly fresh: boolean }): Promise<CommitRequest | "conflict"> {
    const { follower } = this.#session;
    if (options.fresh) await follower.refresh();
    const { tail } = follower;
    const writes = this.#work.writes.map(hashOf);
    const isSnapshot = this.#work.iso === "snapshot";
    const isConflict = isSnapshot
      ? writes.some((hash) => (tail.lastCommit(hash) ?? 0) > this.readTimestamp)
      : this.#view?.reads.conflict(tail) !== undefined;
    if (isConflict) return "conflict";
    return {
      kind: "commit",
      id: this.id,
      isolation: this.#work.iso,
      checkedTo: tail.newest,
      checks: isSnapshot ? writes : this.#work.reads.map(hashOf),
      payload: { kind: "inline", bytes: encodePayload(payloadOf(this.#name, this.#work)) },
    };
  }

  async probe(): Promise<CommitRequest> {
    await this.#session.follower.refresh();
    return {
      kind: "abort",
      id: this.id,
      isolation: "serializable",
      checkedTo: this.#session.follower.tail.newest,
      checks: [],
      payload: { kind: "none" },
    };
  }

  /** Installs one key of the commit that the tail shows. */
  async install(key: string): Promise<void> {
    await this.#session.follower.refresh();
    const verdict = this.#session.follower.tail.decision(this.id);
    if (verdict?.kind !== "committed") throw new Error(`${this.#name} has no commit to install`);
    await new Installer(this.#shard.ports(), {
      earlier: undefined,
      retention: () => Promise.resolve(retentionDefault),
    }).install({
      verdict: verdict satisfies CommittedVerdict,
      payload: payloadOf(this.#name, this.#work),
      signBeforeMs: 1,
      writes: [this.#work.writes.indexOf(key)],
      isOwn: true,
    });
  }
}

function transactionIdOf(name: string): TransactionId {
  return Buffer.from(name.padStart(16, "\0"), "latin1").toString("hex") as TransactionId;
}

export function nameOf(id: TransactionId): string {
  return Buffer.from(id, "hex").toString("latin1").replaceAll("\0", "");
}

function hashOf(key: string): KeyHash {
  return sampleHashes.item(
    { name: modelTable.name, partitionKey: modelTable.partitionKey.name },
    { k: { S: key } },
  ).key;
}

function payloadOf(name: string, work: ModelTransaction): Payload {
  const { partitionKey, history } = modelTable;
  return {
    tables: [{ name: modelTable.name, partitionKey: partitionKey.name, history }],
    writes: work.writes.map((key) => ({
      table: 0,
      key: { k: { S: key } },
      item: work.deletes.includes(key) ? undefined : { k: { S: key }, by: { S: name } },
    })),
  };
}
