/**
 * Watches the stores while a simulation runs and judges, at every single change, what the
 * invariants of docs/protocol.md §10 say of logs (log-judge.ts), tables and watermarks: I1 to I3
 * and I6, I7. It decodes what is stored and trusts nothing that the code under test believes; items
 * go by their names, since hashes collide.
 */
import { markAttribute, versionAttribute } from "../../core/attributes.ts";
import * as limits from "../../core/limits.ts";
import { shardIdOf } from "../../core/shard-map.ts";
import type { Item, LogBlock, LogPosition, ShardId, ShardNumber } from "../../core/types.ts";
import { deploymentNames } from "../../aws/names.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { historyKey, historyAttribute } from "../../testing/history/key-text.ts";
import { isLiars } from "../../testing/kernel/overwritten-commits.ts";
import type { TestTable } from "../../testing/deployment-options.ts";
import { LogJudge } from "./log-judge.ts";
import type { LoggedWrite } from "./logged-writes.ts";

/** A change of one stored item; `undefined` stands for its absence. */
export type StoredChange = {
  readonly table: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
};

/** What an item has come to, change by change. */
type ItemState = {
  stored: number;
  tombstone: boolean;
  removedTombstone: number;
  /** Versions up to here were installed or superseded, from that change on. */
  readonly reached: { readonly change: number; readonly version: number }[];
};

const findingsMax = 20;
const watermarkOf = "shard#";
/** The reaper that saw the watermark pass a tombstone, and the one that removes it, have clocks. */
const graceMsMin = limits.tombstoneGraceMs - 2 * limits.awsClockErrorMsMax;

export class StoreJudge {
  readonly findings: string[] = [];
  /** By shard. */
  readonly logs: Map<ShardId, LogJudge>;
  readonly #onBlock: (block: LogBlock, shard: ShardId) => void;
  readonly #names: ReturnType<typeof deploymentNames>;
  readonly #tables: ReadonlyMap<string, TestTable>;
  readonly #nowMs: () => number;
  readonly #items = new Map<string, ItemState>();
  #changes = 0;

  constructor(parts: {
    readonly deployment: string;
    readonly tables: readonly TestTable[];
    /** Of each shard, as its blocks are decoded; nothing may change their secret. */
    readonly hashes: ReadonlyMap<ShardId, KeyHashes>;
    /** The store's clock. */
    readonly nowMs: () => number;
    /** Told of every block of a log, in its order. */
    readonly onBlock: (block: LogBlock, shard: ShardId) => void;
  }) {
    this.#onBlock = parts.onBlock;
    this.#names = deploymentNames(parts.deployment);
    this.#tables = new Map(parts.tables.map((table) => [table.name, table]));
    const { nowMs } = parts;
    this.#nowMs = nowMs;
    const found = (finding: string): void => {
      this.#found(finding);
    };
    this.logs = new Map(
      Array.from(parts.hashes, ([shard, hashes]) => [
        shard,
        new LogJudge({ hashes, found, nowMs }),
      ]),
    );
  }

  /** The newest watermark of each log that lies below its log's end. */
  get behind(): readonly { readonly watermark: number; readonly newest: number }[] {
    return [...this.logs.values()].filter(({ watermark, newest }) => watermark < newest);
  }

  /** Number of the change with which a shard's watermark came to a timestamp, counted from 1. */
  claimOf(shard: ShardId, timestamp: number): number | undefined {
    return this.logs.get(shard)?.claimOf(timestamp)?.change;
  }

  observe(change: StoredChange): void {
    this.#changes += 1;
    if (change.table === this.#names.logTable) this.#observeLog(change);
    else if (change.table === this.#names.controlTable) this.#observeControl(change);
    else {
      const table = this.#tables.get(change.table);
      if (table !== undefined) this.#observeItem(table, change);
    }
  }

  /** Of the tables' items, those that are tombstones. */
  get tombstones(): number {
    let count = 0;
    for (const { tombstone } of this.#items.values()) if (tombstone) count += 1;
    return count;
  }

  #found(finding: string): void {
    if (this.findings.length < findingsMax) this.findings.push(finding);
  }

  #observeLog({ before, after }: StoredChange): void {
    const shard = textOf(after ?? before, "shard");
    if (shard.startsWith("spill#")) return;
    if (before !== undefined) {
      // TTL takes blocks long after every run; until then a block is for ever.
      this.#found(`I1: block ${numberOf(before, "position").toString()} was changed or removed`);
      return;
    }
    const log = this.logs.get(shard as ShardId);
    if (log === undefined) {
      this.#found(`a block was put into ${shard}, which is no log`);
      return;
    }
    const bytes = after?.["block"];
    const isBlock = bytes !== undefined && "B" in bytes;
    const block = log.append(numberOf(after, "position"), isBlock ? bytes.B : undefined);
    if (block === undefined) return;
    this.#onBlock(block, shard as ShardId);
    if (block.fork !== undefined) this.#fork(log, block.fork.shard);
  }

  /** The same fork may be put twice, by two at once: the first one counts. */
  #fork(forkOf: LogJudge, number: ShardNumber): void {
    const shard = shardIdOf(number);
    if (this.logs.has(shard)) return;
    const { hasher, shard: of, past } = forkOf.hashes;
    const lineage = [...past, { shard: of, through: forkOf.all.length as LogPosition }];
    const hashes = new KeyHashes(hasher, { shard: number, lineage });
    const found = (finding: string): void => {
      this.#found(finding);
    };
    const nowMs = this.#nowMs;
    this.logs.set(shard, new LogJudge({ hashes, found, nowMs, forkOf }));
  }

  #observeItem(table: TestTable, { before, after }: StoredChange): void {
    const item = after ?? before;
    if (item === undefined) return;
    const state = this.#stateOf(historyKey(table, item));
    const version = after === undefined ? 0 : numberOf(after, versionAttribute);
    if (after === undefined) {
      if (!state.tombstone) this.#found(`I6: an item of ${table.name} was removed`);
      else this.#judgeGrace(table, state.stored);
      state.removedTombstone = state.stored;
    } else if (version < state.stored) {
      this.#found(`I6: a version fell from ${state.stored.toString()} to ${version.toString()}`);
    } else if (version <= state.removedTombstone && !isPlain(after, state)) {
      this.#found(`I6: version ${version.toString()} came back after its tombstone was removed`);
    }
    state.stored = version;
    state.tombstone = after !== undefined && markAttribute in after;
    const reached = Math.max(version, state.removedTombstone);
    state.reached.push({ change: this.#changes, version: reached });
  }

  /** A tombstone is removed long after the watermark has passed it, whoever removes it. */
  #judgeGrace(table: TestTable, version: number): void {
    // By the log that passed it first: which of them is the item's, its hash would say.
    const passed = [...this.logs.values()].map((log) => log.claimOf(version)?.atMs ?? Infinity);
    const graceMs = Math.max(0, this.#nowMs() - Math.min(...passed));
    if (graceMs >= graceMsMin) return;
    this.#found(`I6: a tombstone of ${table.name} was removed after ${graceMs.toFixed(0)} ms`);
  }

  #stateOf(name: string): ItemState {
    const known = this.#items.get(name);
    if (known !== undefined) return known;
    const state = { stored: 0, tombstone: false, removedTombstone: 0, reached: [] };
    this.#items.set(name, state);
    return state;
  }

  #observeControl({ after }: StoredChange): void {
    if (after === undefined || textOf(after, "sk") !== "watermark") return;
    const pk = textOf(after, "pk");
    if (!pk.startsWith(watermarkOf)) return;
    this.logs.get(pk.slice(watermarkOf.length) as ShardId)?.advance({
      position: numberOf(after, "position"),
      timestamp: numberOf(after, "timestamp"),
      change: this.#changes,
      atMs: this.#nowMs(),
    });
  }

  /**
   * I7, when all is over: as each watermark came, each write at or below it was installed or
   * superseded. Writes of other tables (idempotency entries) are not judged, nor what its maker
   * has falsely called installed.
   */
  judgeInstalled(writes: readonly LoggedWrite[]): void {
    for (const { shard, table: described, key, item, timestamp } of writes) {
      if (isLiars(item)) continue;
      const table = this.#tables.get(described.name);
      const claim = this.logs.get(shard)?.claimOf(timestamp);
      if (table === undefined || claim === undefined) continue;
      const name = historyKey(table, key);
      const states = this.#items.get(name)?.reached ?? [];
      const reached = states.findLast(({ change }) => change < claim.change)?.version ?? 0;
      if (reached >= timestamp) continue;
      this.#found(
        `I7: watermark ${claim.timestamp.toString()} claims ${timestamp.toString()} of ${name}, ` +
          `stored is ${reached.toString()}`,
      );
    }
  }
}

/** A row that no commit has written, where none has been before. */
function isPlain(after: Item, { stored, removedTombstone }: ItemState): boolean {
  const isNew = stored === 0 && removedTombstone === 0;
  return isNew && !(versionAttribute in after) && !(historyAttribute in after);
}

function textOf(item: Item | undefined, name: string): string {
  const value = item?.[name];
  return value !== undefined && "S" in value ? value.S : "";
}

function numberOf(item: Item | undefined, name: string): number {
  const value = item?.[name];
  return value !== undefined && "N" in value ? Number(value.N) : 0;
}
