/**
 * When a shard is split because of its load, and where. Pure: what was measured goes in, a decision
 * comes out. It is meant to be dull: a shard has to be busy for a whole window, after a split it
 * waits before the next one, and it makes none that would not help.
 *
 *     load  ┃      ╭─╮   ╭────────────╮
 *     limit ┣━━━━━━┿━┿━━━┿━━━━━━━━━━━━┿━━━
 *     keep  ┣╌╌╌╌╌╌┼╌┼╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌┼╌╌╌      each part of the window has to be above
 *           ┃ ─────╯ ╰───╯   split ▲  ╰──
 *
 * What a split costs comes after it: transactions over both parts write twice. So nothing is split
 * that a split could not relieve, such as a shard with one busy partition.
 */
import { assert } from "./assert.ts";
import { InvalidRequestError } from "./errors.ts";
import * as limits from "./limits.ts";
import type { ShardRange } from "./shard-map.ts";
import type { ShardNumber } from "./types.ts";

export type SplitPolicy = {
  /** Entries of a log, a second: what was decided or prepared there. */
  readonly entriesPerSecond: number;
  /** Of the log table, a second; a log is one partition, which takes 1,000. */
  readonly writeUnitsPerSecond: number;
  /** By how much replay has to lag behind for half of that load to count as too much. */
  readonly lagSeconds: number;
  /** For how long it has to be too much. */
  readonly windowSeconds: number;
  /** Between a split or a join, whoever's, and the next split. At least the window. */
  readonly coolDownSeconds: number;
  /** So many shards it makes at most. */
  readonly shardsMax: number;
};

/** What each may be, and what it is unless it is said. Whole numbers. */
export const splitPolicyBounds = {
  ...limits.splitSettings,
  shardsMax: { min: 2, max: limits.shardsMax, default: 16 },
} as const satisfies Readonly<Record<keyof SplitPolicy, Bounds>>;

type Bounds = { readonly min: number; readonly max: number; readonly default: number };

/** Of a part of the window, a second. */
export type LoadSlot = { readonly entries: number; readonly writeUnits: number };

export type ShardLoad = {
  readonly shard: ShardNumber;
  readonly range: ShardRange;
  /** Parts of the window, of one length, the oldest first. */
  readonly slots: readonly LoadSlot[];
  readonly lagMs: number;
  /** Of partitions that were written: the upper 32 bits, as often as they were seen. */
  readonly hashes: readonly number[];
};

export type SplitSituation = {
  readonly shards: readonly ShardLoad[];
  /** How many the deployment has. */
  readonly shardCount: number;
  /** Whether somebody splits or joins one at this moment. */
  readonly isUnderWay: boolean;
  /** Since the newest split or join; infinite: there was none. */
  readonly sinceChangeMs: number;
};

/** What is too much in a shard. */
export type Overload = "entries" | "write-units" | "lag";

export type SplitDecision =
  | {
      readonly kind: "split";
      readonly shard: ShardNumber;
      /** The first hash that moves. */
      readonly at: number;
      readonly because: Overload;
      /** Of the hashes seen, the share of those that move; undefined: too few were seen. */
      readonly movedShare: number | undefined;
    }
  | { readonly kind: "rest"; readonly because: "calm" }
  | {
      readonly kind: "rest";
      /** Why the shard, which is busy, is not split. */
      readonly because: "under-way" | "cooling-down" | "shards-max" | "indivisible";
      readonly shard: ShardNumber;
    };

/**
 * @returns the policy, with what is not said as it usually is.
 * @throws InvalidRequestError naming the field, its bounds and what to do.
 */
export function splitPolicyOf(wanted: Partial<SplitPolicy> = {}): SplitPolicy {
  const names = Object.keys(splitPolicyBounds) as (keyof SplitPolicy)[];
  const unknown = Object.keys(wanted).find((name) => !Object.hasOwn(splitPolicyBounds, name));
  if (unknown !== undefined) {
    throw new InvalidRequestError(
      unknown,
      `there is no setting \`${unknown}\` of splits; known are: ${names.join(", ")}`,
    );
  }
  const policy = Object.fromEntries(
    names.map((name) => {
      const { min, max, default: usual } = splitPolicyBounds[name];
      const value = wanted[name] ?? usual;
      if (Number.isInteger(value) && value >= min && value <= max) return [name, value];
      throw new InvalidRequestError(
        name,
        `\`${name}\` must be a whole number from ${min} to ${max}; got ${String(value)}`,
      );
    }),
  ) as Record<keyof SplitPolicy, number>;
  const { windowSeconds, coolDownSeconds } = policy;
  if (coolDownSeconds < windowSeconds) {
    throw new InvalidRequestError(
      "coolDownSeconds",
      `\`coolDownSeconds\` must be at least \`windowSeconds\` (${windowSeconds}), or a split is ` +
        `judged by the load of before it; got ${coolDownSeconds}: raise it, or shorten the window`,
    );
  }
  return policy;
}

/** At most one split at a time: the busiest shard that one would relieve. */
export function decideSplit(policy: SplitPolicy, situation: SplitSituation): SplitDecision {
  const { shards, shardCount, isUnderWay, sinceChangeMs } = situation;
  const busy = shards
    .flatMap((load) => {
      const overload = overloadOf(policy, load);
      return overload === undefined ? [] : [{ load, overload, share: shareOf(policy, load) }];
    })
    .sort((a, b) => b.share - a.share || a.load.shard - b.load.shard);
  const [busiest] = busy;
  if (busiest === undefined) return { kind: "rest", because: "calm" };
  const { shard } = busiest.load;
  if (isUnderWay) return { kind: "rest", because: "under-way", shard };
  if (sinceChangeMs < policy.coolDownSeconds * 1_000) {
    return { kind: "rest", because: "cooling-down", shard };
  }
  if (shardCount >= policy.shardsMax) return { kind: "rest", because: "shards-max", shard };
  for (const { load, overload } of busy) {
    const place = placeToSplit(load);
    if (place !== undefined) {
      return { kind: "split", shard: load.shard, because: overload, ...place };
    }
  }
  return { kind: "rest", because: "indivisible", shard };
}

/** What is too much for the whole window; undefined: nothing, or not for long enough. */
function overloadOf(policy: SplitPolicy, { slots, lagMs }: ShardLoad): Overload | undefined {
  if (slots.length === 0) return undefined;
  const isTooMuch = (of: (slot: LoadSlot) => number, limit: number): boolean => {
    const rates = slots.map(of);
    return mean(rates) >= limit && Math.min(...rates) >= limit * limits.splitKeepShare;
  };
  const entries = (slot: LoadSlot): number => slot.entries;
  const writeUnits = (slot: LoadSlot): number => slot.writeUnits;
  if (isTooMuch(entries, policy.entriesPerSecond)) return "entries";
  if (isTooMuch(writeUnits, policy.writeUnitsPerSecond)) return "write-units";
  if (lagMs < policy.lagSeconds * 1_000) return undefined;
  // A shard that lags and has little to do is ill, and a split heals nothing.
  const isHalf =
    isTooMuch(entries, policy.entriesPerSecond / 2) ||
    isTooMuch(writeUnits, policy.writeUnitsPerSecond / 2);
  return isHalf ? "lag" : undefined;
}

/** Of what is too much: 1 is just so much. */
function shareOf(policy: SplitPolicy, { slots }: ShardLoad): number {
  return Math.max(
    mean(slots.map(({ entries }) => entries)) / policy.entriesPerSecond,
    mean(slots.map(({ writeUnits }) => writeUnits)) / policy.writeUnitsPerSecond,
  );
}

type Place = { readonly at: number; readonly movedShare: number | undefined };

/**
 * Between two partitions, as near to half of what was written as may be; in the middle of the range
 * where too little was seen. Undefined: a part would have too little of the load, or of the range.
 */
function placeToSplit({ range, hashes }: ShardLoad): Place | undefined {
  const { from, to } = range;
  const isWide = (at: number): boolean =>
    at - from >= limits.splitPartHashesMin && to - at >= limits.splitPartHashesMin;
  const own = hashes.filter((hash) => from <= hash && hash < to).sort((a, b) => a - b);
  if (own.length < limits.splitHashesMin) {
    const at = from + Math.floor((to - from) / 2);
    return isWide(at) ? { at, movedShare: undefined } : undefined;
  }
  let best: { readonly at: number; readonly movedShare: number } | undefined;
  for (let below = 1; below < own.length; below += 1) {
    const [left = 0, right = 0] = [own[below - 1], own[below]];
    if (left === right) continue;
    // A partition's items are in one shard: the first hash that moves may be its own.
    const at = left + Math.ceil((right - left) / 2);
    assert(left < at && at <= right, "split policy: a place lies between two partitions");
    const movedShare = (own.length - below) / own.length;
    const isEven = Math.min(movedShare, 1 - movedShare) >= limits.splitPartShareMin;
    if (!isEven || !isWide(at)) continue;
    if (best === undefined || Math.abs(movedShare - 0.5) < Math.abs(best.movedShare - 0.5)) {
      best = { at, movedShare };
    }
  }
  return best;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
