/**
 * Watches the stores while a simulation runs and judges, at every single change, what the
 * invariants of docs/protocol.md §10 say of log, tables and watermark: I1 to I3 and I6, I7. It
 * decodes what is stored and trusts nothing that the code under test believes; items go by their
 * names, since hashes collide. And no client dates a block ahead of the store's clock: others'
 * `asOf` and expiry go by it.
 */
import { markAttribute, versionAttribute } from "../../core/attributes.ts";
import * as limits from "../../core/limits.ts";
import type { Item, LogBlock, LogPosition } from "../../core/types.ts";
import { deploymentNames } from "../../aws/names.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { historyKey, historyAttribute } from "../../testing/history/key-text.ts";
import { isLiars } from "../../testing/kernel/overwritten-commits.ts";
import type { TestTable } from "../../testing/test-deployment.ts";
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

type SeenWatermark = { readonly position: number; readonly timestamp: number };

const findingsMax = 20;
/** The reaper that saw the watermark pass a tombstone, and the one that removes it, have clocks. */
const graceMsMin = limits.tombstoneGraceMs - 2 * limits.awsClockErrorMsMax;

export class StoreJudge {
  readonly findings: string[] = [];
  readonly blocks: LogBlock[] = [];
  readonly #onBlock: (block: LogBlock) => void;
  readonly #names: ReturnType<typeof deploymentNames>;
  readonly #tables: ReadonlyMap<string, TestTable>;
  readonly #hashes: KeyHashes;
  readonly #nowMs: () => number;
  readonly #decided = new Set<string>();
  readonly #items = new Map<string, ItemState>();
  /** In the order in which they came, each with the number of changes before it. */
  readonly #watermarks: (SeenWatermark & { readonly change: number; readonly atMs: number })[] = [];
  #changes = 0;
  #last = 0;

  constructor(parts: {
    readonly deployment: string;
    readonly tables: readonly TestTable[];
    /** As blocks are decoded; nothing may change their secret. */
    readonly hashes: KeyHashes;
    /** The store's clock. */
    readonly nowMs: () => number;
    /** Told of every block of the log, in its order. */
    readonly onBlock: (block: LogBlock) => void;
  }) {
    this.#onBlock = parts.onBlock;
    this.#names = deploymentNames(parts.deployment);
    this.#tables = new Map(parts.tables.map((table) => [table.name, table]));
    this.#hashes = parts.hashes;
    this.#nowMs = parts.nowMs;
  }

  /** Timestamp of the newest watermark. */
  get watermark(): number {
    return this.#watermarks.at(-1)?.timestamp ?? 0;
  }

  /** Newest timestamp of the log. */
  get newest(): number {
    return this.#last;
  }

  /** Number of the change with which the watermark came to a timestamp, counted from 1. */
  claimOf(timestamp: number): number | undefined {
    return this.#watermarks.find((watermark) => watermark.timestamp >= timestamp)?.change;
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
    const position = numberOf(after, "position");
    if (position !== this.blocks.length + 1) {
      this.#found(`I1: position ${position.toString()} after ${this.blocks.length.toString()}`);
    }
    const bytes = after?.["block"];
    if (bytes === undefined || !("B" in bytes)) {
      this.#found(`I1: position ${position.toString()} holds no block`);
      return;
    }
    const block = decodeLogBlock(bytes.B, position as LogPosition, this.#hashes);
    this.blocks.push(block);
    this.#onBlock(block);
    this.#judgeBlock(block);
  }

  #judgeBlock(block: LogBlock): void {
    const at = `block ${block.position.toString()}`;
    if (this.#last !== 0 && block.previousTimestamp !== this.#last) {
      this.#found(`I2: ${at} does not follow the one before`);
    }
    let last: number = block.previousTimestamp;
    for (const verdict of block.verdicts) {
      if (verdict.kind === "stale" || verdict.kind === "busy") continue;
      // Oracles go by the stream's arrival times, which may lie ahead.
      const aheadMs = verdict.timestamp / 1_000 - this.#nowMs();
      if (block.maker !== undefined && verdict.timestamp > last + 1 && aheadMs > 0) {
        this.#found(`time: ${at} is dated ${aheadMs.toFixed(3)} ms ahead of the store's clock`);
      }
      if (verdict.timestamp <= last) this.#found(`I2: ${verdict.timestamp.toString()} in ${at}`);
      last = verdict.timestamp;
      if (verdict.kind === "prepared") continue;
      // Whoever claims to have seen the future can have its own id refused again and again; no
      // honest client does.
      if (verdict.kind === "aborted" && verdict.reason.kind === "checked-ahead") continue;
      if (this.#decided.has(verdict.id)) this.#found(`I3: ${verdict.id} is decided twice, ${at}`);
      this.#decided.add(verdict.id);
    }
    this.#last = block.throughTimestamp;
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
    const passed = this.#watermarks.find(({ timestamp }) => timestamp >= version);
    const graceMs = passed === undefined ? 0 : this.#nowMs() - passed.atMs;
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
    if (!textOf(after, "pk").startsWith("shard#")) return;
    const watermark = {
      position: numberOf(after, "position"),
      timestamp: numberOf(after, "timestamp"),
    };
    const before = this.#watermarks.at(-1);
    this.#watermarks.push({ ...watermark, change: this.#changes, atMs: this.#nowMs() });
    if (before === undefined) return;
    if (watermark.position < before.position || watermark.timestamp < before.timestamp) {
      this.#found("I7: the watermark went back");
    }
  }

  /**
   * I7, when all is over: as each watermark came, each write at or below it was installed or
   * superseded. Writes of other tables (idempotency entries) are not judged, nor what its maker
   * has falsely called installed.
   */
  judgeInstalled(writes: readonly LoggedWrite[]): void {
    for (const { table: described, key, item, timestamp } of writes) {
      if (isLiars(item)) continue;
      const table = this.#tables.get(described.name);
      const claim = this.#watermarks.find((watermark) => watermark.timestamp >= timestamp);
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
