/**
 * The tail: what one process knows of a shard's log above the watermark. A pure fold over blocks.
 *
 * It serves three ends (docs/protocol.md §4): the decisions of awaited transactions, the newest
 * timestamp that a read timestamp can be extended to, and which committed writes may not be
 * installed yet.
 *
 * Keeps I1 and I2 by refusing any block that does not continue the one before. Paper: Centiman
 * §3.2 (watermarks, local check); here the log replaces the validators' answers.
 */
import { assert } from "./assert.ts";
import { assertContinues, assertNamesOldestOpen } from "./block-order.ts";
import * as limits from "./limits.ts";
import { OpenTransactions } from "./open-transactions.ts";
import { holds, type ShardRange } from "./shard-map.ts";
import type {
  CommittedVerdict,
  Decision,
  KeyHash,
  LogBlock,
  LogPosition,
  StreamCursor,
  Timestamp,
  TransactionId,
  Verdict,
  Version,
  Watermark,
  WriteHashes,
} from "./types.ts";
import { isDecision, placeOf } from "./decision.ts";
import type { TailWatches } from "./tail-watches.ts";

/** One committed write as the tail remembers it; `write` is its index in the payload. */
export type TailCommit = {
  /** At which it counts: its version. */
  readonly timestamp: Timestamp;
  /** Of a part: where its verdict stands, and where it was prepared. */
  readonly placed?: Timestamp;
  readonly preparedAt?: Timestamp;
  readonly verdict: CommittedVerdict;
  readonly write: number;
};

/** Tells a committed write from all others of its log: no two have one place. */
export function commitName(commit: Pick<TailCommit, "timestamp" | "placed" | "write">): string {
  return `${placeOf(commit)}/${commit.write}`;
}

/**
 * Up to where commits are asked for: to a place in the log, for who reads the present; or to the
 * moment at which they count, for who reads the past.
 */
export type UpTo = { readonly by: "place" | "moment"; readonly at: Timestamp };

/** Whether the commit is to be seen by who reads up to there. */
function isUpTo(commit: Pick<TailCommit, "timestamp" | "placed">, upTo: UpTo): boolean {
  return (upTo.by === "place" ? placeOf(commit) : commit.timestamp) <= upTo.at;
}

/**
 * Commits of a key in question. A hash may stand for several items, so a caller that has seen some
 * of them installed, and yet not at the item that it asks for, leaves these out.
 */
export type KeyRange = {
  /**
   * A version, or the watermark: those that are not at or below it. The watermark lies below all
   * that is open, so that a part counts above it exactly if its place lies above it.
   */
  readonly above: Timestamp;
  readonly except?: { has(name: string): boolean } | undefined;
};

type RetainedBlock = {
  readonly position: LogPosition;
  readonly throughTimestamp: Timestamp;
  readonly verdicts: readonly Verdict[];
};

/** `closing`: nothing new is committed in the log; `ended`: its range is another one's. */
export type TailStanding = "open" | "closing" | "ended";

export class Tail {
  /** Position of the newest block folded in. */
  #position: LogPosition;
  /** L: newest timestamp handed out by the log as far as it is known here. */
  #newest: Timestamp;
  /** How far into the stream the log reaches as far as it is known here. */
  #cursor: StreamCursor | undefined;
  /** Nothing is known of commits at or below the floor; a read timestamp below it is too old. */
  #floor: Timestamp;
  /** Position of the newest block that the tail no longer holds. */
  #floorPosition: LogPosition;
  /** I7: commits at or below it are installed (learned from the watermark). */
  #installedThrough: Timestamp;
  #rangeSince = 0 as Timestamp;
  #standing: TailStanding = "open";
  /** Ranges that it has got, each from a place in the log on. */
  readonly #taken: { readonly range: ShardRange; readonly at: Timestamp }[] = [];
  /** Blocks retained, oldest first, from `#first` on (a deque without shifting). */
  #blocks: RetainedBlock[] = [];
  #first = 0;
  /** Blocks, verdicts and writes among them. */
  #entries = 0;
  /** Newest commit timestamp per hash of a table or partition. */
  readonly #lastCommit = new Map<KeyHash, Timestamp>();
  /** Commits per key, ascending. */
  readonly #commitsByKey = new Map<KeyHash, TailCommit[]>();
  readonly #decisions = new Map<TransactionId, Decision>();
  /** Of parts that are committed: where they were prepared. */
  readonly #preparedAt = new WeakMap<CommittedVerdict, Timestamp>();
  /** Undefined: nobody watches. */
  watches: TailWatches | undefined;
  /** What is prepared and not decided: all of it, since the watermark stays below. */
  readonly open = new OpenTransactions();

  constructor(start: Omit<Watermark, "cursor"> & Partial<Watermark>) {
    this.#position = start.position;
    this.#newest = start.timestamp;
    this.#cursor = start.cursor;
    this.#floor = start.timestamp;
    this.#floorPosition = start.position;
    this.#installedThrough = start.timestamp;
  }

  get position(): LogPosition {
    return this.#position;
  }
  get newest(): Timestamp {
    return this.#newest;
  }
  /** An express block repeats it: it decides nothing of the stream. */
  get cursor(): StreamCursor | undefined {
    return this.#cursor;
  }
  get floor(): Timestamp {
    return this.#floor;
  }
  get floorPosition(): LogPosition {
    return this.#floorPosition;
  }
  get installedThrough(): Timestamp {
    return this.#installedThrough;
  }
  /** From when on the shard has the range that it has; 0: as long as this tail knows of it. */
  get rangeSince(): Timestamp {
    return this.#rangeSince;
  }
  /** Whether the shard is being joined to its neighbour, as far as the log was followed. */
  get standing(): TailStanding {
    return this.#standing;
  }
  get blockCount(): number {
    return this.#blocks.length - this.#first;
  }
  /**
   * What its memory grows with: blocks, verdicts and writes that it holds, and payloads that lie in
   * blocks.
   */
  get entries(): number {
    return this.#entries;
  }

  /**
   * Adds the next block. Blocks arrive in position order without gaps; the follower sees to it.
   * @throws CorruptDataError for a block that does not continue the one before.
   */
  fold(block: LogBlock): void {
    assert(block.position === this.#position + 1, "I1: the tail folds dense positions");
    assertContinues(block, this.#newest);
    let last = block.previousTimestamp;
    assertNamesOldestOpen(block, this.open);
    for (const verdict of block.verdicts) {
      const opened = this.open.get(verdict.id);
      this.open.fold(verdict, block.position);
      if (verdict.kind === "stale" || verdict.kind === "busy") continue;
      const place = placeOf(verdict);
      assert(place > last, "I2: timestamps rise strictly by place");
      last = place;
      if (verdict.kind === "prepared") continue;
      // I3 holds for ids that honest clients make. A hostile one can have its own id decided again
      // once the oracle has forgotten it; that must not stop everybody's tail. What was decided
      // first stands.
      if (!this.#decisions.has(verdict.id)) this.#decisions.set(verdict.id, verdict);
      if (verdict.kind === "committed") this.#enter(verdict, opened?.prepared.timestamp);
    }
    assert(last <= block.throughTimestamp, "I2: no verdict above its block's timestamp");
    this.#entries += entriesOf(block);
    this.#position = block.position;
    this.#newest = block.throughTimestamp;
    this.#cursor = block.cursor;
    const { fork, handover } = block;
    if (fork !== undefined || handover !== undefined) {
      this.#rangeSince = block.throughTimestamp;
      this.watches?.noteAll();
    }
    if (handover?.kind === "takes") this.#take(handover);
    else if (handover !== undefined) this.#standing = handover.kind;
    this.open.mark();
    this.#blocks.push({
      position: block.position,
      throughTimestamp: block.throughTimestamp,
      verdicts: block.verdicts,
    });
  }

  /**
   * What this log has committed in a range that was another one's since may be overwritten there.
   * All of it stands in the tables, so that nothing need be known of it.
   */
  #take(taken: ShardRange): void {
    // mutant: remembers-what-was-given-away
    for (const { verdicts } of this.#blocks.slice(this.#first)) {
      for (const verdict of verdicts) {
        if (verdict.kind !== "committed") continue;
        for (const { partition, key } of verdict.writes) {
          if (holds(taken, partition)) this.#commitsByKey.delete(key);
        }
      }
    }
    this.#taken.push({ range: taken, at: this.#newest });
  }

  #isElsewhere({ partition }: WriteHashes, place: Timestamp): boolean {
    return this.#taken.some(({ range, at }) => place < at && holds(range, partition));
  }

  #commitOf(verdict: CommittedVerdict, write: number): TailCommit {
    const { timestamp, placed } = verdict;
    if (placed === undefined) return { timestamp, verdict, write };
    const preparedAt = this.#preparedAt.get(verdict);
    const part = preparedAt === undefined ? { placed } : { placed, preparedAt };
    return { timestamp, ...part, verdict, write };
  }

  #enter(verdict: CommittedVerdict, preparedAt: Timestamp | undefined): void {
    const place = placeOf(verdict);
    if (verdict.placed !== undefined && preparedAt !== undefined) {
      this.#preparedAt.set(verdict, preparedAt);
    }
    verdict.writes.forEach((hashes, write) => {
      this.watches?.noteCommit(hashes);
      this.#lastCommit.set(hashes.table, place);
      // Without a sort key they are the same.
      if (hashes.partition !== hashes.key) this.#lastCommit.set(hashes.partition, place);
      const commit = this.#commitOf(verdict, write);
      const commits = this.#commitsByKey.get(hashes.key);
      if (commits === undefined) this.#commitsByKey.set(hashes.key, [commit]);
      else commits.push(commit);
    });
  }

  /** A watermark ahead of this tail is of no use yet and is ignored; it will be read again. */
  learnWatermark(watermark: Pick<Watermark, "position" | "timestamp">): void {
    if (watermark.position > this.#position || watermark.timestamp <= this.#installedThrough)
      return;
    assert(watermark.timestamp <= this.#newest, "I7: a watermark lies within the log");
    this.#installedThrough = watermark.timestamp;
  }

  /**
   * Forgets blocks that no read timestamp in use can need: at or below both the watermark and the
   * oldest read timestamp (undefined: no transaction is running).
   */
  release(oldestReadTimestamp: Timestamp | undefined): void {
    const limit =
      oldestReadTimestamp === undefined
        ? this.#installedThrough
        : Math.min(this.#installedThrough, oldestReadTimestamp);
    for (;;) {
      const block = this.#blocks[this.#first];
      if (block === undefined || block.throughTimestamp > limit) break;
      this.#forget(block);
      this.#first += 1;
    }
    if (this.#first > 1024 && this.#first * 2 > this.#blocks.length) {
      this.#blocks = this.#blocks.slice(this.#first);
      this.#first = 0;
    }
  }

  #forget(block: RetainedBlock): void {
    for (const verdict of block.verdicts) {
      if (!isDecision(verdict)) continue;
      if (this.#decisions.get(verdict.id) === verdict) this.#decisions.delete(verdict.id);
      if (verdict.kind !== "committed") continue;
      const place = placeOf(verdict);
      for (const hashes of verdict.writes) {
        for (const hash of [hashes.table, hashes.partition]) {
          if (this.#lastCommit.get(hash) === place) this.#lastCommit.delete(hash);
        }
        const commits = this.#commitsByKey.get(hashes.key);
        // The oldest commit of a key leaves first; a key written twice by one transaction is one
        // write.
        if (commits?.[0]?.verdict === verdict) commits.shift();
        if (commits?.length === 0) this.#commitsByKey.delete(hashes.key);
      }
    }
    this.#entries -= entriesOf(block);
    this.#floor = block.throughTimestamp;
    this.#floorPosition = block.position;
  }

  /**
   * Place of the newest commit of a key, partition or table; undefined when none lies above the
   * floor.
   */
  lastCommit(hash: KeyHash): Timestamp | undefined {
    const newest = this.#commitsByKey.get(hash)?.at(-1);
    const ofKey = newest && placeOf(newest);
    const under = this.#lastCommit.get(hash);
    // One hash may stand for a key and for a table or partition.
    return ofKey === undefined || (under !== undefined && under > ofKey) ? under : ofKey;
  }

  decision(id: TransactionId): Decision | undefined {
    return this.#decisions.get(id);
  }

  /** Every committed write of a key whose place lies in `(above, upTo]`, oldest first. */
  commitsOf(
    key: KeyHash,
    { above, upTo }: { readonly above: Timestamp; readonly upTo: Timestamp },
  ): readonly TailCommit[] {
    const commits = this.#commitsByKey.get(key) ?? [];
    return commits.filter((commit) => placeOf(commit) > above && placeOf(commit) <= upTo);
  }

  /** Place of the commit that has left the version: of one below the floor, itself. */
  placeOfVersion(key: KeyHash, version: Version): Timestamp {
    const commit = this.#commitsByKey.get(key)?.findLast(({ timestamp }) => timestamp === version);
    return commit === undefined ? version : placeOf(commit);
  }

  /**
   * The newest committed write of a key in `(above, upTo]`. With `above` the version stored, or the
   * watermark known when the store was asked (if higher): a write that is not installed yet.
   */
  newestCommit(
    key: KeyHash,
    { above, upTo, except }: KeyRange & { readonly upTo: UpTo },
  ): TailCommit | undefined {
    return this.#commitsByKey
      .get(key)
      ?.findLast(
        (commit) =>
          commit.timestamp > above &&
          isUpTo(commit, upTo) &&
          except?.has(commitName(commit)) !== true,
      );
  }

  /**
   * The oldest one in `(above, below)`: what an installer in timestamp order must see installed
   * first.
   */
  oldestCommit(
    key: KeyHash,
    { above, below, except }: KeyRange & { readonly below: Timestamp },
  ): TailCommit | undefined {
    return this.#commitsByKey
      .get(key)
      ?.find(
        (commit) =>
          commit.timestamp > above &&
          commit.timestamp < below &&
          except?.has(commitName(commit)) !== true,
      );
  }

  /**
   * Every committed write under a partition or table hash, by rising place: from above a place (or
   * the watermark) up to a place or moment. Linear
   * in the retained blocks of the range, and so used only when `lastCommit(hash)` says that there
   * is something to find.
   */
  *commitsUnder(
    hash: KeyHash,
    range: { readonly above: Timestamp; readonly upTo: UpTo },
  ): Generator<{ readonly commit: TailCommit; readonly hashes: WriteHashes }> {
    assert(range.above >= this.#floor, "I8: a range is judged only where the tail knows the log");
    for (let b = this.#first; b < this.#blocks.length; b += 1) {
      const block = this.#blocks[b];
      if (block === undefined || block.throughTimestamp <= range.above) continue;
      for (const verdict of block.verdicts) {
        if (verdict.kind !== "committed" || placeOf(verdict) <= range.above) continue;
        if (!isUpTo(verdict, range.upTo)) {
          // What counts later may stand before what counts earlier.
          if (range.upTo.by === "place") return;
          continue;
        }
        for (const [write, hashes] of verdict.writes.entries()) {
          if (hashes.partition !== hash && hashes.table !== hash) continue;
          if (this.#isElsewhere(hashes, placeOf(verdict))) continue;
          yield { commit: this.#commitOf(verdict, write), hashes };
        }
      }
    }
  }
}

function entriesOf({ verdicts }: Pick<LogBlock, "verdicts">): number {
  return verdicts.reduce((sum, verdict) => sum + entriesOfVerdict(verdict), 1);
}

function entriesOfVerdict(verdict: Verdict): number {
  if (verdict.kind === "prepared") return 1 + verdict.checks.length + verdict.writes.length;
  if (verdict.kind !== "committed") return 1;
  const { payload, writes } = verdict;
  const bytes = payload.kind === "inline" ? payload.bytes.length : 0;
  return 1 + writes.length + Math.ceil(bytes / limits.tailEntryBytes);
}
