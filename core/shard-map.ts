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
 * Paper: Centiman §3.1 (validators by key range).
 */
import { assert } from "./assert.ts";
import { CorruptDataError } from "./errors.ts";
import * as limits from "./limits.ts";
import type { Fork, KeyHash, Lineage, LogPosition, Part, ShardId, ShardNumber } from "./types.ts";

/** Upper 32 bits of a partition's hash: at or above `from`, and below `to`. */
export type ShardRange = { readonly from: number; readonly to: number };

/** What a log holds of: its range, and the parts of transactions that it may be one of. */
export type OwnRange = ShardRange & {
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

/** What a fork leaves of a range; all of one in which the other part does not begin. */
export function rangeLeftBy(range: OwnRange, { from }: Pick<Fork, "from">): OwnRange {
  return range.from < from && from < range.to ? { ...range, to: from } : range;
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
  /** By rising range. */
  readonly entries: readonly ShardEntry[];
  readonly #byNumber: ReadonlyMap<ShardNumber, ShardEntry>;

  /** @throws CorruptDataError for entries that leave a hash to none of them, or to two. */
  constructor(entries: readonly ShardEntry[]) {
    this.entries = [...entries].sort((a, b) => a.from - b.from);
    this.#byNumber = new Map(entries.map((entry) => [entry.number, entry]));
    const fault = faultOf(this.entries);
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

  get(number: ShardNumber): ShardEntry | undefined {
    return this.#byNumber.get(number);
  }

  rangeOf(number: ShardNumber): ShardRange {
    const at = this.entries.findIndex((entry) => entry.number === number);
    const entry = this.entries[at];
    assert(entry !== undefined, "shard map: a range is asked for of one of its shards");
    return { from: entry.from, to: this.entries[at + 1]?.from ?? hashesEnd };
  }

  /**
   * The range that its log has at a position: before the first of its forks all that it began with.
   */
  rangeAt(number: ShardNumber, position: LogPosition): ShardRange {
    const entry = this.get(number);
    assert(entry !== undefined, "shard map: a range is asked for of one of its shards");
    let to = this.#endAtBirth(entry);
    for (const { from, forked } of this.entries) {
      if (forked?.of === number && forked.at < position && from < to) to = from;
    }
    return { from: entry.from, to };
  }

  #endAtBirth({ forked, from }: ShardEntry): number {
    if (forked !== undefined) return this.rangeAt(forked.of, forked.at).to;
    const next = this.entries.find((each) => each.forked === undefined && each.from > from);
    return next?.from ?? hashesEnd;
  }

  /** The logs that its own goes on, the oldest first. */
  lineageOf(number: ShardNumber): Lineage {
    const past: { shard: ShardNumber; through: LogPosition }[] = [];
    for (let at = this.get(number)?.forked; at !== undefined; at = this.get(at.of)?.forked) {
      past.unshift({ shard: at.of, through: at.at });
    }
    return past;
  }

  /** The newest fork in its log, or at its beginning; 0: none is known. */
  forkedAt(number: ShardNumber): LogPosition {
    const forks = this.entries.flatMap((entry) => {
      const isIts = entry.forked?.of === number || entry.number === number;
      return isIts && entry.forked !== undefined ? [entry.forked.at] : [];
    });
    return Math.max(0, ...forks) as LogPosition;
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
    return new ShardMap([...this.entries, entry]);
  }

  /** As a log of it is told. @param others all shards that there are, or are about to be. */
  ownRangeOf(number: ShardNumber, others: Pick<Set<ShardNumber>, "has">): OwnRange {
    const mayName: OwnRange["mayName"] = (parts) =>
      parts.some(({ shard }) => shard === number) && parts.every(({ shard }) => others.has(shard));
    return { ...this.rangeOf(number), mayName };
  }
}

function faultOf(entries: readonly ShardEntry[]): string | undefined {
  if (entries.length === 0) return "there is no shard";
  if (entries.length > limits.shardsMax) return `there are more than ${limits.shardsMax} shards`;
  if (entries[0]?.from !== 0) return "no shard has the range that begins at 0";
  for (const [at, { number, from }] of entries.entries()) {
    if (!Number.isInteger(number) || number < 0 || number >= limits.shardsMax) {
      return `${number} is no number of a shard`;
    }
    if (!Number.isInteger(from) || from < 0 || from >= hashesEnd) {
      return `the range of shard ${number} begins at ${from}`;
    }
    if (entries[at + 1]?.from === from) return `two ranges begin at ${from}`;
  }
  const numbers = new Set(entries.map(({ number }) => number));
  if (numbers.size < entries.length) return "two shards have one number";
  return entries.map((entry) => faultOfFork(entry, entries)).find((fault) => fault !== undefined);
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
