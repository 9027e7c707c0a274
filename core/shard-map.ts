/**
 * Which shard a key lies in: ranges of the hash of its partition, the same secret for all shards.
 * So a query lies in one shard, and a scan touches all (docs/adr/0015-many-shards.md, The map).
 *
 * Paper: Centiman §3.1 (validators by key range).
 */
import { assert } from "./assert.ts";
import { CorruptDataError } from "./errors.ts";
import * as limits from "./limits.ts";
import type { KeyHash, ShardId, ShardNumber } from "./types.ts";

/** Upper 32 bits of a partition's hash: at or above `from`, and below `to`. */
export type ShardRange = { readonly from: number; readonly to: number };

export type ShardEntry = {
  readonly number: ShardNumber;
  readonly id: ShardId;
  /** Where its range begins; it goes up to the next one's. */
  readonly from: number;
};

const hashesEnd = 2 ** 32;
export const wholeRange: ShardRange = { from: 0, to: hashesEnd };

export function isWholeRange({ from, to }: ShardRange): boolean {
  return from === 0 && to === hashesEnd;
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
  return numbers.size < entries.length ? "two shards have one number" : undefined;
}
