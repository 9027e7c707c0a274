/**
 * Watches the stores while a simulation runs and judges, at every single change, what the
 * invariants of docs/protocol.md §10 say of log, tables and watermark: I1 to I3 and I6, I7. It
 * decodes what is stored and trusts nothing that the code under test believes.
 */
import type { Item, KeyHash, LogBlock, LogPosition, Timestamp } from "../../core/types.ts";
import { deploymentNames } from "../../aws/names.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import type { TestTable } from "../../testing/test-deployment.ts";

/** A change of one stored item; `undefined` stands for its absence. */
export type StoredChange = {
  readonly table: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
};

/** What a key holds by the store, and by the log. */
type KeyState = { stored: number; tombstone: boolean; removedTombstone: number };

const findingsMax = 20;

export class StoreJudge {
  readonly findings: string[] = [];
  readonly blocks: LogBlock[] = [];
  readonly #names: ReturnType<typeof deploymentNames>;
  readonly #tables: ReadonlyMap<string, TestTable>;
  readonly #hashes: KeyHashes;
  /** Writes of other tables (idempotency entries in the control table) are not judged by key. */
  readonly #watched: ReadonlySet<KeyHash>;
  readonly #decided = new Set<string>();
  readonly #keys = new Map<KeyHash, KeyState>();
  #last = 0;
  #watermark: { position: number; timestamp: number } | undefined;
  /** Blocks before this index were found installed by an earlier watermark. */
  #judgedBlocks = 0;

  /** @param hashSecret the shard's, which nothing may change. */
  constructor(deployment: string, tables: readonly TestTable[], hashSecret: Uint8Array) {
    this.#names = deploymentNames(deployment);
    this.#tables = new Map(tables.map((table) => [table.name, table]));
    const hashes = new KeyHashes(hashSecret);
    this.#hashes = hashes;
    this.#watched = new Set(tables.map(({ name }) => hashes.table(name)));
  }

  /** Timestamp of the newest watermark. */
  get watermark(): number {
    return this.#watermark?.timestamp ?? 0;
  }

  /** Newest timestamp of the log. */
  get newest(): number {
    return this.#last;
  }

  observe(change: StoredChange): void {
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
    for (const { tombstone } of this.#keys.values()) if (tombstone) count += 1;
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
    this.#judgeBlock(block);
  }

  #judgeBlock(block: LogBlock): void {
    const at = `block ${block.position.toString()}`;
    if (this.#last !== 0 && block.previousTimestamp !== this.#last) {
      this.#found(`I2: ${at} does not follow the one before`);
    }
    let last: number = block.previousTimestamp;
    for (const verdict of block.verdicts) {
      if (verdict.kind === "stale") continue;
      if (verdict.timestamp <= last) this.#found(`I2: ${verdict.timestamp.toString()} in ${at}`);
      last = verdict.timestamp;
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
    const key = this.#hashes.item(
      {
        name: table.name,
        partitionKey: table.partitionKey.name,
        ...(table.sortKey === undefined ? {} : { sortKey: table.sortKey.name }),
      },
      item,
    ).key;
    const state = this.#keys.get(key) ?? { stored: 0, tombstone: false, removedTombstone: 0 };
    this.#keys.set(key, state);
    const version = after === undefined ? 0 : numberOf(after, "_v");
    if (after === undefined) {
      if (!state.tombstone) this.#found(`I6: an item of ${table.name} was removed`);
      state.removedTombstone = state.stored;
    } else if (version < state.stored) {
      this.#found(`I6: a version fell from ${state.stored.toString()} to ${version.toString()}`);
    } else if (version <= state.removedTombstone) {
      this.#found(`I6: version ${version.toString()} came back after its tombstone was removed`);
    }
    state.stored = version;
    state.tombstone = after !== undefined && "_x" in after;
  }

  #observeControl({ after }: StoredChange): void {
    if (after === undefined || textOf(after, "sk") !== "watermark") return;
    if (!textOf(after, "pk").startsWith("shard#")) return;
    const watermark = {
      position: numberOf(after, "position"),
      timestamp: numberOf(after, "timestamp"),
    };
    const before = this.#watermark;
    this.#watermark = watermark;
    if (before === undefined) return;
    if (watermark.position < before.position || watermark.timestamp < before.timestamp) {
      this.#found("I7: the watermark went back");
    }
    this.#judgeInstalled(watermark.timestamp);
  }

  /** I7, at the moment of the watermark: each commit at or below it is installed or superseded. */
  #judgeInstalled(watermark: number): void {
    while (this.#judgedBlocks < this.blocks.length) {
      const block = this.blocks[this.#judgedBlocks];
      if (block === undefined || block.previousTimestamp >= watermark) return;
      for (const verdict of block.verdicts) {
        if (verdict.kind !== "committed" || verdict.timestamp > watermark) continue;
        for (const { table, key } of verdict.writes) {
          if (this.#watched.has(table)) this.#judgeKey(key, verdict.timestamp, watermark);
        }
      }
      if (block.throughTimestamp > watermark) return;
      this.#judgedBlocks += 1;
    }
  }

  #judgeKey(key: KeyHash, timestamp: Timestamp, watermark: number): void {
    const state = this.#keys.get(key);
    const reached = Math.max(state?.stored ?? 0, state?.removedTombstone ?? 0);
    if (reached < timestamp) {
      this.#found(
        `I7: watermark ${watermark.toString()} claims ${timestamp.toString()}, stored is ` +
          reached.toString(),
      );
    }
  }
}

function textOf(item: Item | undefined, name: string): string {
  const value = item?.[name];
  return value !== undefined && "S" in value ? value.S : "";
}

function numberOf(item: Item | undefined, name: string): number {
  const value = item?.[name];
  return value !== undefined && "N" in value ? Number(value.N) : 0;
}
