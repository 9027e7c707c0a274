/**
 * Which shard a key lies in: ranges of the hash of its partition, the same secret for all shards.
 * So a query lies in one shard, and a scan touches all (docs/adr/0015-many-shards.md, The map).
 *
 * A shard that is split keeps the lower part of its range. The upper one's log begins behind the
 * block that says so, its fork, and has the other log up to there as its past:
 *
 *     1 ──── 1 ──── 2 ──── 3 ──── fork 4 ──── 5 ──── 6        range [0, x)
 *     2                              └──────── 5 ──── 6       range [x, end), and 1 to 4 as past
 *
 * A shard that is joined to its neighbour below ends: its log has no range any more, and the
 * neighbour's goes on with it from a block that says so. What it has decided stays in it.
 *
 *     1 ──── 5 ──── 6 ──── end 7                              range [x, end), then none
 *     0 ──── 8 ──── 9 ──────────── takes 10 ──── 11           range [0, x), then [0, end)
 *
 * Paper: Centiman §3.1 (validators by key range).
 */
import { assert } from "./assert.ts";
import { CorruptDataError, InvalidRequestError } from "./errors.ts";
import * as limits from "./limits.ts";
import type {
  Fork,
  KeyHash,
  Lineage,
  LogBlock,
  LogPosition,
  Part,
  ShardId,
  ShardNumber,
  Takeover,
  Timestamp,
} from "./types.ts";

/** Upper 32 bits of a partition's hash: at or above `from`, and below `to`. */
export type ShardRange = { readonly from: number; readonly to: number };

/** What a log holds of: its range, and the parts of transactions that it may be one of. */
export type OwnRange = ShardRange & {
  /** Of the log, to know what it decides of a transaction in several. Default: the first one's. */
  readonly number?: ShardNumber;
  /** Whether all of these are shards, and its own is one of them. Default: nobody asks. */
  readonly mayName?: (parts: readonly Pick<Part, "shard">[]) => boolean;
};

export type ShardEntry = {
  readonly number: ShardNumber;
  readonly id: ShardId;
  /** Where its range begins; it goes up to the next one's. */
  readonly from: number;
  /** The fork that it began with; undefined for those that the deployment was made with. */
  readonly forked?: ForkPoint;
  /** An operator has said that it is to be joined to its neighbour; or was. */
  readonly joins?: true;
  /** Of one that was joined to another: it has no range any more. */
  readonly ended?: ShardEnd;
};

/** The last block of a shard's log that counts, and the one by which another has its range. */
export type ShardEnd = {
  readonly at: LogPosition;
  readonly through: Timestamp;
  /** Where its range ended. */
  readonly to: number;
  readonly heir: ShardNumber;
  readonly takenAt: LogPosition;
};

/** A block of the shard's log, from which on another one has a part of its range. */
export type ForkPoint = { readonly of: ShardNumber; readonly at: LogPosition };

const hashesEnd = 2 ** 32;
export const wholeRange: ShardRange = { from: 0, to: hashesEnd };

export function isWholeRange({ from, to }: ShardRange): boolean {
  return from === 0 && to === hashesEnd;
}

export function holds({ from, to }: ShardRange, partition: KeyHash): boolean {
  const high = Number(partition >> 32n);
  return from <= high && high < to;
}

/** Of a shard that has ended: nothing lies there, and no part may be one of it. */
const noRange: OwnRange = { from: 0, to: 0, mayName: () => false };

/** What a log has behind the block, of a range that it had before. */
export function rangeBehind(
  { fork, handover }: Pick<LogBlock, "fork" | "handover">,
  range: OwnRange,
): OwnRange {
  if (handover?.kind === "ended") return { ...range, ...noRange };
  if (handover?.kind === "takes") return { ...range, to: Math.max(range.to, handover.to) };
  if (fork === undefined) return range;
  // All of one in which the other part does not begin.
  return range.from < fork.from && fork.from < range.to ? { ...range, to: fork.from } : range;
}

/** What a shard is called that is not the deployment's first. */
export function shardIdOf(number: ShardNumber): ShardId {
  assert(number > 0, "shard map: the first shard is called as its Kinesis shard");
  return `shard-${number.toString().padStart(3, "0")}` as ShardId;
}

/** Where the ranges of so many equal shards begin. */
export function equalRanges(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => Math.floor((index * hashesEnd) / count));
}

export class ShardMap {
  /** Of those that have a range: by rising range. */
  readonly entries: readonly ShardEntry[];
  /** Those that were joined to others. */
  readonly ended: readonly ShardEntry[];
  readonly #byNumber: ReadonlyMap<ShardNumber, ShardEntry>;

  /** @throws CorruptDataError for entries that leave a hash to none of them, or to two. */
  constructor(entries: readonly ShardEntry[]) {
    const byRange = [...entries].sort((a, b) => a.from - b.from);
    this.entries = byRange.filter(({ ended }) => ended === undefined);
    this.ended = byRange.filter(({ ended }) => ended !== undefined);
    this.#byNumber = new Map(entries.map((entry) => [entry.number, entry]));
    const fault = faultOf(this.entries) ?? faultOfAll(entries);
    if (fault !== undefined) {
      throw new CorruptDataError(
        `the control table's entries of shards do not fit together: ${fault} ` +
          "(docs/operations.md, Shards)",
      );
    }
  }

  /** In which a partition lies, and so all its keys. */
  at(partition: KeyHash): ShardEntry {
    const high = Number(partition >> 32n);
    const entry = this.entries.findLast(({ from }) => from <= high);
    assert(entry !== undefined, "shard map: the first range begins at 0");
    return entry;
  }

  /** Also of one that has ended. */
  get(number: ShardNumber): ShardEntry | undefined {
    return this.#byNumber.get(number);
  }

  /** That one which has a range. */
  live(number: ShardNumber): ShardEntry | undefined {
    const entry = this.get(number);
    return entry?.ended === undefined ? entry : undefined;
  }

  /** Every log there is. */
  get all(): readonly ShardEntry[] {
    return [...this.#byNumber.values()];
  }

  /** Whose range ends where this one begins: that one takes it if the shard ends. */
  below(number: ShardNumber): ShardEntry | undefined {
    return this.entries[this.entries.findIndex((entry) => entry.number === number) - 1];
  }

  /** Of one that has ended: an empty one. */
  rangeOf(number: ShardNumber): ShardRange {
    const ended = this.ended.find((entry) => entry.number === number);
    if (ended !== undefined) return { from: ended.from, to: ended.from };
    const at = this.entries.findIndex((entry) => entry.number === number);
    const entry = this.entries[at];
    assert(entry !== undefined, "shard map: a range is asked for of one of its shards");
    return { from: entry.from, to: this.entries[at + 1]?.from ?? hashesEnd };
  }

  /**
   * The range that its log has at a position: before the first of its forks and takeovers all that
   * it began with.
   */
  rangeAt(number: ShardNumber, position: LogPosition): ShardRange {
    const entry = this.get(number);
    assert(entry !== undefined, "shard map: a range is asked for of one of its shards");
    let to = this.#endAtBirth(entry);
    for (const change of this.#changesOf(number)) {
      if (change.at < position) to = change.to;
    }
    return { from: entry.from, to };
  }

  /** Where its range ends from each fork and takeover of its log on. */
  #changesOf(number: ShardNumber): { readonly at: LogPosition; readonly to: number }[] {
    return this.all
      .flatMap(({ from, forked, ended }) => [
        ...(forked?.of === number ? [{ at: forked.at, to: from }] : []),
        ...(ended?.heir === number ? [{ at: ended.takenAt, to: ended.to }] : []),
      ])
      .sort((a, b) => a.at - b.at);
  }

  #endAtBirth({ forked, from }: ShardEntry): number {
    if (forked !== undefined) return this.rangeAt(forked.of, forked.at).to;
    const later = this.all.filter((each) => each.forked === undefined && each.from > from);
    return Math.min(hashesEnd, ...later.map((each) => each.from));
  }

  /** The logs that its own goes on, the oldest first. */
  lineageOf(number: ShardNumber): Lineage {
    const past: { shard: ShardNumber; through: LogPosition }[] = [];
    for (let at = this.get(number)?.forked; at !== undefined; at = this.get(at.of)?.forked) {
      past.unshift({ shard: at.of, through: at.at });
    }
    return past;
  }

  /**
   * The newest fork, end or takeover in its log, or at its beginning; 0: none is known.
   * @param through of those up to there.
   */
  changedAt(number: ShardNumber, through = Infinity): LogPosition {
    const { forked, ended } = this.get(number) ?? {};
    const all = [forked?.at ?? 0, ended?.at ?? 0, ...this.#changesOf(number).map(({ at }) => at)];
    return Math.max(0, ...all.filter((at) => at <= through)) as LogPosition;
  }

  /**
   * As it is from a fork on.
   * @throws CorruptDataError for a fork that leaves nothing, or names a shard that is there.
   */
  forkedBy({ shard: number, from }: Fork, at: ForkPoint): ShardMap {
    const { from: first, to } = this.rangeOf(at.of);
    if (from <= first || from >= to) {
      throw new CorruptDataError(
        `block ${at.at} of shard ${at.of}'s log splits its range at ${from}, outside of it`,
      );
    }
    const entry = { number, id: shardIdOf(number), from, forked: at };
    return new ShardMap([...this.all, entry]);
  }

  /** As it is from a takeover on. @throws CorruptDataError for one of no neighbour. */
  joinedBy(
    taken: Takeover,
    by: { readonly heir: ShardNumber; readonly at: LogPosition },
  ): ShardMap {
    const entry = this.live(taken.shard);
    const isNext = entry !== undefined && this.below(taken.shard)?.number === by.heir;
    if (!isNext) {
      throw new CorruptDataError(
        `block ${by.at} of shard ${by.heir}'s log takes the range of shard ${taken.shard}, which ` +
          "is not the next one above it",
      );
    }
    const others = this.all.filter(({ number }) => number !== taken.shard);
    return new ShardMap([...others, { ...entry, ended: shardEndOf(taken, by) }]);
  }

  /** As a log of it is told. @param others all shards that there are, or are about to be. */
  ownRangeOf(number: ShardNumber, others: Pick<Set<ShardNumber>, "has">): OwnRange {
    if (this.live(number) === undefined) return { ...noRange, number };
    const mayName: OwnRange["mayName"] = (parts) =>
      parts.some(({ shard }) => shard === number) && parts.every(({ shard }) => others.has(shard));
    return { ...this.rangeOf(number), number, mayName };
  }
}

export function shardEndOf(
  { endedAt, endedThrough, to }: Takeover,
  { heir, at }: { readonly heir: ShardNumber; readonly at: LogPosition },
): ShardEnd {
  return { at: endedAt, through: endedThrough, to, heir, takenAt: at };
}

function faultOf(entries: readonly ShardEntry[]): string | undefined {
  if (entries.length === 0) return "there is no shard";
  if (entries.length > limits.shardsMax) return `there are more than ${limits.shardsMax} shards`;
  if (entries[0]?.from !== 0) return "no shard has the range that begins at 0";
  const twice = entries.find(({ from }, at) => entries[at + 1]?.from === from);
  return twice && `two ranges begin at ${twice.from}`;
}

function faultOfAll(entries: readonly ShardEntry[]): string | undefined {
  for (const { number, from } of entries) {
    if (!Number.isInteger(number) || number < 0 || number >= limits.shardNumbersMax) {
      return `${number} is no number of a shard`;
    }
    if (!Number.isInteger(from) || from < 0 || from >= hashesEnd) {
      return `the range of shard ${number} begins at ${from}`;
    }
  }
  const numbers = new Set(entries.map(({ number }) => number));
  if (numbers.size < entries.length) return "two shards have one number";
  return entries
    .flatMap((entry) => [faultOfFork(entry, entries), faultOfEnd(entry, numbers)])
    .find((fault) => fault !== undefined);
}

function faultOfEnd(
  { number, from, ended }: ShardEntry,
  numbers: ReadonlySet<ShardNumber>,
): string | undefined {
  if (ended === undefined) return undefined;
  if (ended.heir === number || !numbers.has(ended.heir)) {
    return `shard ${number} was joined to one that is not there`;
  }
  return ended.to > from
    ? undefined
    : `shard ${number} ended with a range that ends at ${ended.to}`;
}

/** Its log begins behind the other's, and so on: in no circle. */
function faultOfFork(
  { number, forked }: ShardEntry,
  entries: readonly ShardEntry[],
): string | undefined {
  if (forked === undefined) return undefined;
  const parent = entries.find((entry) => entry.number === forked.of);
  if (parent === undefined) return `shard ${number} was split off from one that is not there`;
  if (forked.at > (parent.forked?.at ?? 0)) return undefined;
  return `shard ${number} was split off at block ${forked.at}, before its log's first`;
}

/** For who names one that is not there, or has ended. */
export function noSuchShard(number: ShardNumber, map: ShardMap | undefined): InvalidRequestError {
  const there = (map?.entries ?? []).map((entry) => entry.number).sort((a, b) => a - b);
  return new InvalidRequestError(
    "shard",
    `the deployment has no shard ${number}; it has ${there.join(", ")}`,
  );
}
