/**
 * A log in memory to which a client appends: what becomes of each put is scripted. Its clock is
 * virtual, and blocks of others come in between.
 */
import { OpenTransactions } from "../../../core/open-transactions.ts";
import { ConflictError, StoreError } from "../../../core/errors.ts";
import type { Appended, Consumption, StoredBlock } from "../../../core/ports.ts";
import type {
  InstalledReport,
  KeyHash,
  LogBlock,
  LogPosition,
  MakerNumber,
  ShardId,
  Timestamp,
  WriteHashes,
} from "../../../core/types.ts";
import { conflictError } from "../../../engine/conflict-error.ts";
import type { ExpressAnswer } from "../../../engine/express/bid.ts";
import { BlockAppender } from "../../../engine/express/block-appender.ts";
import { CommitPolicy } from "../../../engine/express/commit-policy.ts";
import type { CommitPreference } from "../../../engine/types.ts";
import { planBlock, type ReadFrom } from "../../../engine/express/block-plan.ts";
import { InstallOutbox } from "../../../engine/installing/install-outbox.ts";
import { TailFollower, type FollowedLog } from "../../../engine/log/tail-follower.ts";
import { encodeLogBlock } from "../../../schemas/log-block-encoding.ts";
import { decodeLogBlock } from "../../../schemas/log-block.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import { VirtualClock } from "../../embedded/fixtures/memory-stream.ts";
import { followerPorts, idOf, MemoryLog } from "../memory-log.ts";

const shard = "shardId-000000000000" as ShardId;

/** What becomes of a put. */
export type PutFate =
  /** Answered as the log is. */
  | "answered"
  /** The same, and the store does not say which block stands there. */
  | "answered-blindly"
  /** Done, and the answer is lost. */
  | "answer-lost"
  | "request-lost"
  | "throttled"
  | "denied"
  /** Neither done nor answered until it is let go. */
  | "held";

export type Commit = {
  readonly id: number;
  readonly key: number;
  readonly reads?: number;
  /** The transaction whose write of what it `reads` was read, as long as that is not decided. */
  readonly from?: number;
  /** Of a competitor: it is prepared, and awaits its vote. */
  readonly isPrepared?: boolean;
  /** Of its payload; 1 by default. */
  readonly bytes?: number;
};

function keyHashOf(key: number): KeyHash {
  return BigInt(key) as KeyHash;
}

function writesOf({ key }: Commit): readonly WriteHashes[] {
  const hash = keyHashOf(key);
  return [{ table: keyHashOf(99), partition: hash, key: hash, sortKey: undefined }];
}

export class AppendingLog {
  readonly clock = new VirtualClock();
  readonly log = new MemoryLog();
  readonly reports = new InstallOutbox();
  readonly follower: TailFollower;
  readonly policy: CommitPolicy;
  readonly appender: BlockAppender;
  /** Of the puts to come; beyond it all are answered. */
  readonly fates: PutFate[] = [];
  readonly puts: StoredBlock[] = [];
  readonly denials: unknown[] = [];
  /** Each id as often as a block with it was put on its way. */
  readonly sent: number[] = [];
  /** Ids of which certainly no block is on its way any more. */
  readonly grounded: number[] = [];
  nowMicros: number | undefined = 5_000;
  readonly tables = { areFresh: true, checkFresh: () => this.tables.areFresh };
  /** Lets the puts go that are held. */
  release: () => void = () => undefined;

  constructor(mode: CommitPreference = "express") {
    this.policy = new CommitPolicy(mode);
    const ports = { ...followerPorts(this.log), clock: this.clock };
    const log: FollowedLog = {
      shard,
      hashes: sampleHashes,
      onBlock: (block, as) => {
        this.appender.saw(block, as);
      },
    };
    this.follower = new TailFollower(ports, log);
    this.appender = new BlockAppender({
      ports: { ...ports, random: { next: () => 0, bytes: (n) => new Uint8Array(n) } },
      append: (_, block, options) => this.#append(block, options?.consumption),
      shard,
      shardNumber: sampleHashes.shard,
      follower: this.follower,
      reports: this.reports,
      policy: this.policy,
      nowMicros: () => this.nowMicros,
      encode: (block) => encodeLogBlock(block, sampleHashes),
      number: 7 as MakerNumber,
      onDenied: (cause) => this.denials.push(cause),
      tables: this.tables,
      hasStream: () => true,
    });
  }

  get positions(): readonly number[] {
    return this.puts.map(({ position }) => position);
  }

  /** Its blocks, as everybody reads them. */
  blocks(): readonly LogBlock[] {
    return this.log.blocks.map((stored) =>
      decodeLogBlock(stored.bytes, stored.position, sampleHashes),
    );
  }

  /** The ids of each block. */
  ids(): readonly (readonly number[])[] {
    return this.blocks().map(({ verdicts }) => verdicts.map(({ id }) => Number(`0x${id}`)));
  }

  /** A transaction that has read at the tail's end as it is now. */
  commit(
    commit: Commit,
    options: { readonly signal?: AbortSignal; readonly consumption?: Consumption } = {},
  ): Promise<ExpressAnswer> {
    const id = idOf(commit.id);
    const { newest } = this.follower.tail;
    const user = { readTimestamp: newest };
    this.follower.enter(user);
    const checks = [keyHashOf(commit.reads ?? commit.key)];
    return this.appender
      .commit({
        kind: "commit",
        id,
        checks,
        writes: writesOf(commit),
        payload: { kind: "inline" as const, bytes: new Uint8Array(commit.bytes ?? 1) },
        readFrom: () => this.#readFrom(commit),
        look: () => {
          const { tail } = this.follower;
          if (newest < tail.floor) return "gap";
          return tail.decision(id);
        },
        recheck: () => {
          this.#check(checks, this.#checkedFrom(commit, newest));
        },
        onTrouble: () => undefined,
        onWay: (isOpen) => (isOpen ? this.sent : this.grounded).push(commit.id),
        signal: options.signal ?? new AbortController().signal,
        call: options.consumption === undefined ? {} : { consumption: options.consumption },
      })
      .finally(() => {
        this.follower.leave(user);
      });
  }

  #readFrom({ key, reads = key, from }: Commit): readonly ReadFrom[] {
    if (from === undefined || this.follower.tail.decision(idOf(from)) !== undefined) return [];
    return [{ key: keyHashOf(reads), from: idOf(from) }];
  }

  /** What was read from another is checked from its commit on. */
  #checkedFrom({ from }: Commit, newest: Timestamp): Timestamp {
    const decision = from === undefined ? undefined : this.follower.tail.decision(idOf(from));
    return decision?.kind === "committed" ? decision.timestamp : newest;
  }

  #check(checks: readonly KeyHash[], readTimestamp: Timestamp): void {
    for (const check of checks) {
      const timestamp = this.follower.tail.lastCommit(check);
      if (timestamp === undefined || timestamp <= readTimestamp) continue;
      throw conflictError({ read: { table: "t", key: {} } }, { timestamp });
    }
  }

  /** How many others append, in turn. */
  competitors = 1;

  /** Another client's block, at the log's end. */
  competitor(...commits: readonly Commit[]): void {
    const last = this.blocks().at(-1);
    const end = {
      position: (last?.position ?? 0) as LogPosition,
      newest: last?.throughTimestamp ?? this.log.watermark.timestamp,
      cursor: last?.cursor,
      open: new OpenTransactions(),
    };
    const requests = commits.map((commit) => ({
      kind: commit.isPrepared === true ? ("prepare" as const) : ("commit" as const),
      id: idOf(commit.id),
      checks: [],
      writes: writesOf(commit),
      payload: { kind: "inline" as const, bytes: Uint8Array.of(commit.id) },
    }));
    const number = (8 + (end.position % this.competitors)) as MakerNumber;
    const maker = { number, installed: [] };
    const { block } = planBlock(requests, { log: end, nowMicros: 0, maker });
    this.#store({ position: block.position, bytes: encodeLogBlock(block, sampleHashes) });
  }

  #store(block: StoredBlock): Appended {
    const taken = this.log.blocks.find(({ position }) => position === block.position);
    if (taken !== undefined) return { taken };
    this.log.blocks.push(block);
    return "appended";
  }

  async #append(block: StoredBlock, consumption: Consumption | undefined): Promise<Appended> {
    this.puts.push(block);
    if (consumption !== undefined) {
      consumption.calls += 1;
      consumption.writeUnits += 3;
    }
    const fate = this.fates.shift() ?? "answered";
    switch (fate) {
      case "answered":
        return Promise.resolve(this.#store(block));
      case "answered-blindly": {
        const answer = this.#store(block);
        return Promise.resolve(answer === "appended" ? answer : { taken: undefined });
      }
      case "answer-lost":
        this.#store(block);
        throw new StoreError("unavailable", "the answer was lost");
      case "request-lost":
        throw new StoreError("unavailable", "the request was lost");
      case "throttled":
        throw new StoreError("throttled", "too many requests");
      case "denied":
        throw new StoreError("rejected", "access denied");
      case "held":
        await new Promise<void>((resolve) => {
          this.release = resolve;
        });
        return this.#store(block);
    }
  }
}

/** What an id became, in a word. */
export async function endOf(answer: Promise<ExpressAnswer>): Promise<string> {
  try {
    const end = await answer;
    return end.kind === "decided" ? end.decision.kind : end.kind;
  } catch (error) {
    return error instanceof ConflictError ? "conflict" : String(error);
  }
}

export function reportOf(timestamp: number): InstalledReport {
  return { timestamp: timestamp as Timestamp, proof: new Uint8Array(9).fill(1) };
}
